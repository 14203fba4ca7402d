"""Run the fits of a search: skip those whose results are stored, train and store the others.

>>> import tempfile
>>> from directranker.data.synthetic import example_dataset
>>> from directranker.model_selection.jobs import QuerySubset
>>> from directranker.rankers import RankSVM
>>> data = {"all": example_dataset().select(range(60))}
>>> train, test = QuerySubset("all", tuple(range(40))), QuerySubset("all", tuple(range(40, 60)))
>>> fits = [Fit(RankSVM(), "RankSVM", {"alpha": a}, 0, train, None, test, ("map",)) for a in (0.01, 1.0)]
>>> with tempfile.TemporaryDirectory() as folder, JobStore(folder + "/jobs.sqlite") as store:
...     for _ in range(2):  # the second time nothing is trained
...         run_fits(fits, data, store, workers=1, progress=lambda now: print(now.done, "of", now.total))
0 of 2
1 of 2
2 of 2
2 of 2
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

from directranker.data.dataset import RankingDataset
from directranker.model_selection.cluster import run_on_cluster
from directranker.model_selection.fingerprints import data_fingerprint, environment_fingerprint
from directranker.model_selection.jobs import Fit, JobKeys
from directranker.model_selection.progress import ProgressCallback, ProgressTracker
from directranker.model_selection.store import JobResult, JobStore
from directranker.model_selection.threads import count_cores, threads_per_worker
from directranker.model_selection.workers import Task, run_in_processes, run_in_this_process
from directranker.parameters import integer, or_none

__all__ = ["Runner", "run_fits"]


def run_fits(
    fits: Sequence[Fit],
    data: Mapping[str, RankingDataset],
    store: JobStore,
    *,
    workers: int | None = None,
    cluster: str | None = None,
    progress: ProgressCallback | None = None,
) -> None:
    """Train the fits that have no results in the store, and store the results of each as soon as it ends.

    Fits with identical training are trained once for all their metrics.

    Parameters
    ----------
    fits
        The fits to train.
    data
        The data sets, by the names that the fits use.
    store
        Where results are looked up and stored.
    workers
        How many fits run at the same time, each in its own process; at most, and by default, the number of
        cores. The cores are divided among the workers. 1 trains in this process.
    cluster
        The address of a Dask scheduler, whose workers train instead.
    progress
        Called with a `Progress` at the start and after each fit.

    """
    runner = Runner(data, store, workers=workers, cluster=cluster)
    runner.run(fits, ProgressTracker(len(runner.job_keys(fits)), progress))


class Runner:
    """The data, the store and the workers of a search, for several calls."""

    def __init__(
        self,
        data: Mapping[str, RankingDataset],
        store: JobStore,
        *,
        workers: int | None = None,
        cluster: str | None = None,
        keys: JobKeys | None = None,
    ) -> None:
        or_none(integer(1)).check("workers", workers)
        self.store = store
        self._data = data
        self._workers = min(workers or count_cores(), count_cores())
        self._cluster = cluster
        self._keys = keys or JobKeys({name: data_fingerprint(dataset) for name, dataset in data.items()})

    def job_keys(self, fits: Sequence[Fit]) -> set[str]:
        """Return the keys of all jobs of these fits."""
        return {key for fit in fits for key in self._keys.keys_by_metric(fit).values()}

    def results(self, fits: Sequence[Fit]) -> list[dict[str, JobResult]]:
        """Return the stored results of each fit by metric."""
        keys = [self._keys.keys_by_metric(fit) for fit in fits]
        stored = self.store.get(key for by_metric in keys for key in by_metric.values())
        return [
            {metric: stored[key] for metric, key in by_metric.items() if key in stored} for by_metric in keys
        ]

    def run(self, fits: Sequence[Fit], tracker: ProgressTracker) -> None:
        """Train the fits whose results are missing; see `run_fits`."""
        existing = self.store.existing_keys(self.job_keys(fits))
        tracker.skip(len(existing))
        tasks = self._build_tasks(fits, existing)
        if not tasks:
            return
        with closing(self._run_tasks(tasks)) as finished:
            for results in finished:
                self.store.add(results)
                tracker.count(results)

    def _build_tasks(self, fits: Sequence[Fit], existing: set[str]) -> list[Task]:
        """Build one task, with the missing metrics, for all fits with identical training and evaluation."""
        missing: dict[tuple[str, ...], tuple[Fit, dict[str, str]]] = {}
        for fit in fits:
            keys = {
                metric: key for metric, key in self._keys.keys_by_metric(fit).items() if key not in existing
            }
            if keys:
                training = self._keys.training_key(fit)
                evaluation = (fit.test.data, fit.test.digest, fit.convention)
                kept = (str(fit.keep_per_query), str(fit.example_queries))
                _, merged = missing.setdefault((training, *evaluation, *kept), (fit, {}))
                merged.update(keys)
        environment = environment_fingerprint()
        return [Task(replace(fit, metrics=tuple(keys)), keys, environment) for fit, keys in missing.values()]

    def _run_tasks(self, tasks: Sequence[Task]) -> Generator[list[JobResult]]:
        names = {name for task in tasks for name in task.data_names()}
        data = {name: dataset for name, dataset in self._data.items() if name in names}
        if self._cluster is not None:
            return run_on_cluster(tasks, data, self._cluster)
        threads = threads_per_worker(self._workers)
        if min(self._workers, len(tasks)) == 1:
            return run_in_this_process(tasks, data, threads)
        return run_in_processes(tasks, data, self._workers, threads)
