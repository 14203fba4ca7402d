"""All trainings of a search: those whose cells are stored are left out, the others run and are stored.

>>> import tempfile
>>> from directranker.data.synthetic import example_dataset
>>> from directranker.model_selection.jobs import Part
>>> from directranker.rankers import RankSVM
>>> data = {"all": example_dataset().select(range(60))}
>>> train, test = Part("all", tuple(range(40))), Part("all", tuple(range(40, 60)))
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
from directranker.model_selection.jobs import Fit, Keys
from directranker.model_selection.progress import Report, Tally
from directranker.model_selection.store import JobResult, JobStore
from directranker.model_selection.threads import cores_given, threads_each
from directranker.model_selection.workers import Task, run_here, run_in_processes
from directranker.parameters import integer, or_none

__all__ = ["Runner", "run_fits"]


def run_fits(
    fits: Sequence[Fit],
    data: Mapping[str, RankingDataset],
    store: JobStore,
    *,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Report | None = None,
) -> None:
    """Train what has no cells in the store yet, and store each training's cells as soon as it ends.

    Fits that train the same are trained once for all their metrics.

    Parameters
    ----------
    fits
        What to train.
    data
        The data sets by the names that the fits use.
    store
        Where cells are looked up and kept.
    workers
        How many trainings run at the same time, in processes of their own; at most, and by default, as many
        as there are cores. The cores are shared out among them. 1 trains in this process.
    cluster
        The address of a Dask scheduler, whose workers train instead.
    progress
        Called with a `Progress` at the start and after each training.

    """
    runner = Runner(data, store, workers=workers, cluster=cluster)
    runner.run(fits, Tally(len(runner.job_keys(fits)), progress))


class Runner:
    """The data, the store and the workers of a search, for several calls."""

    def __init__(
        self,
        data: Mapping[str, RankingDataset],
        store: JobStore,
        *,
        workers: int | None = None,
        cluster: str | None = None,
        keys: Keys | None = None,
    ) -> None:
        or_none(integer(1)).check("workers", workers)
        self.store = store
        self._data = data
        self._workers = min(workers or cores_given(), cores_given())
        self._cluster = cluster
        self._keys = keys or Keys({name: data_fingerprint(dataset) for name, dataset in data.items()})

    def job_keys(self, fits: Sequence[Fit]) -> set[str]:
        """The keys of all cells of these fits."""
        return {key for fit in fits for key in self._keys.of_cells(fit).values()}

    def cells(self, fits: Sequence[Fit]) -> list[dict[str, JobResult]]:
        """The cell of each metric of each fit, where there is one."""
        keys = [self._keys.of_cells(fit) for fit in fits]
        known = self.store.get(key for of_fit in keys for key in of_fit.values())
        return [{metric: known[key] for metric, key in of_fit.items() if key in known} for of_fit in keys]

    def run(self, fits: Sequence[Fit], tally: Tally) -> None:
        """Train what is missing; see `run_fits`."""
        wanted = self.job_keys(fits)
        known = self.store.known(wanted)
        tally.skip(len(known))
        tasks = self._tasks(fits, known)
        if not tasks:
            return
        with closing(self._results(tasks)) as results:
            for cells in results:
                self.store.add(cells)
                tally.count(cells)

    def _tasks(self, fits: Sequence[Fit], known: set[str]) -> list[Task]:
        """One for all fits that train the same, with the metrics that are missing."""
        missing: dict[tuple[str, ...], tuple[Fit, dict[str, str]]] = {}
        for fit in fits:
            keys = {metric: key for metric, key in self._keys.of_cells(fit).items() if key not in known}
            if keys:
                alike = (self._keys.of_training(fit), fit.test.data, fit.test.digest, fit.convention)
                kept = (str(fit.keep_queries), str(fit.shown))
                _, together = missing.setdefault((*alike, *kept), (fit, {}))
                together.update(keys)
        environment = environment_fingerprint()
        return [Task(replace(fit, metrics=tuple(keys)), keys, environment) for fit, keys in missing.values()]

    def _results(self, tasks: Sequence[Task]) -> Generator[list[JobResult]]:
        parts = (part for task in tasks for part in (task.fit.train, task.fit.validation, task.fit.test))
        names = {part.data for part in parts if part is not None}
        data = {name: dataset for name, dataset in self._data.items() if name in names}
        if self._cluster is not None:
            return run_on_cluster(tasks, data, self._cluster)
        threads = threads_each(self._workers)
        if min(self._workers, len(tasks)) == 1:
            return run_here(tasks, data, threads)
        return run_in_processes(tasks, data, self._workers, threads)
