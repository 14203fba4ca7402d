"""How well a ranker does on synthetic data of different kinds: the paper's four studies.

Section "Synthetic Data Generation and Evaluation": one property of the data changes, the others stay. For
each value a training and a test set are made, a ranker is trained, 50 to 150 random test documents are sorted
and measured by NDCG@20, 50 times; all that on several data sets, which gives a mean and its standard error.

>>> small = Setting(n_classes=3, n_features=5, n_train=300, n_test=200)
>>> from directranker.rankers import RankSVM
>>> values, seconds = measure_setting(small, RankSVM(), seed=0)
>>> len(values), bool(0.5 < values.mean() <= 1)
(50, True)
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike, NDArray

from directranker.data.files import Progress, no_progress
from directranker.data.synthetic import make_synthetic
from directranker.errors import TrainingWarning
from directranker.experiments import PROCEDURE
from directranker.metrics import Metric
from directranker.model_selection.digests import describe, compute_digest
from directranker.model_selection.fingerprints import environment_fingerprint
from directranker.model_selection.fitting import disable_progress_bars
from directranker.model_selection.jobs import configure_ranker
from directranker.model_selection.store import JobResult, JobStore
from directranker.model_selection.threads import count_cores, limit_threads, set_threads, threads_per_worker
from directranker.model_selection.workers import run_in_process_pool
from directranker.rankers import DirectRanker
from directranker.rankers.registry import registered
from directranker.suggestions import unknown_name
from directranker.training.interrupts import interrupts_raised

__all__ = [
    "LIST_SIZE",
    "N_STEPS",
    "PROCEDURE",
    "STUDIES",
    "Point",
    "Setting",
    "measure_random_subsets",
    "measure_setting",
    "run_studies",
    "make_study_ranker",
]

METRIC = Metric.parse("ndcg@20", convention="graded")
FORMAT = 1  # raised when the procedure changes, so that older results are not taken for new ones
N_DRAWS, MIN_DRAWN, MAX_DRAWN = 50, 50, 150
# The paper does not say. Of lists that see as many documents in all, long ones are the quickest and at least
# as good: `benchmarks/sensitivity_benchmark.py sizes` has the table.
LIST_SIZE, N_STEPS = 2000, 500


@dataclass(frozen=True)
class Setting:
    """The properties of a synthetic data set."""

    n_classes: int = 5
    n_features: int = 70
    noise: float = 0.0
    n_train: int = 100_000
    n_test: int = 10_000
    noisy_test: bool = True
    """Whether the noise falls on the test labels too, as the paper makes its test sets.

    Against true labels the question is how well a ranker finds the true order; against noisy ones even the
    true order does not reach 1.
    """


@dataclass(frozen=True)
class Study:
    """Which property changes, and through which values."""

    field: str
    values: tuple[float, ...]
    quick: tuple[float, ...]
    """For a first look."""
    least: int = 0

    def checked(self, value: float) -> float:
        """The value as the setting takes it: whole, but for noise, and not below the least.

        >>> STUDIES["size"].checked(1e3)
        1000
        """
        if self.field == "noise":
            return float(value)
        if not math.isfinite(value) or value != int(value) or value < self.least:
            raise ValueError(f"{self.field} is {value:g}; give a whole number of at least {self.least}")
        return int(value)


STUDIES: Mapping[str, Study] = MappingProxyType(
    {
        "classes": Study("n_classes", (2, 3, 4, 5, 7, 10, 15, 20), (2, 5, 10), least=2),
        "features": Study("n_features", (5, 10, 20, 30, 50, 70, 100), (10, 30, 70), least=1),
        "noise": Study("noise", (0, 0.125, 0.25, 0.375, 0.5, 0.75, 1.0), (0, 0.25, 0.75)),
        "size": Study("n_train", (1000, 3000, 10_000, 30_000, 100_000), (1000, 10_000), least=10),
    }
)


@dataclass(frozen=True)
class Point:
    """One value of a study: the mean over data sets, and its standard error."""

    study: str
    value: float
    ranker: str
    mean: float
    error: float
    """nan with a single data set."""
    n_sets: int
    seconds: float
    """The mean time of a training."""


def make_study_ranker(name: str, setting: Setting) -> Any:
    """The ranker of this name; the paper's has layers of 70 and of as many neurons as there are classes.

    >>> make_study_ranker(PROCEDURE, Setting(n_classes=3)).hidden_layers
    (70, 3)
    """
    if name == PROCEDURE:
        return DirectRanker.paper(
            hidden_layers=(70, setting.n_classes),
            cost="relevance_weighted",
            max_pairs=None,
            transform="standard",
            list_size=LIST_SIZE,
            max_steps=N_STEPS,
            early_stopping=False,
            progress=False,
        )
    if name not in registered():
        raise ValueError(unknown_name("ranker", name, [PROCEDURE, *registered()]))
    return registered()[name].make()


def measure_setting(
    setting: Setting, ranker: Any, *, seed: int, query_size: tuple[int, int] | None = None
) -> tuple[NDArray[np.float64], float]:
    """NDCG@20 of each draw from the test set, and the seconds of the training."""
    made = make_synthetic(**asdict(setting), query_size=query_size, random_state=seed)
    start = time.perf_counter()
    # A training that was stopped is no result, and how each of many ended is not told.
    with interrupts_raised(), warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        fitted = disable_progress_bars(configure_ranker(ranker, {}, seed)).fit(made.train)
    seconds = time.perf_counter() - start
    # The test set is one list, however the training set is dealt.
    relevance, scores = made.test.relevance, fitted.predict(made.test.features)
    return measure_random_subsets(relevance, scores, seed), seconds


def measure_random_subsets(relevance: ArrayLike, scores: ArrayLike, seed: int) -> NDArray[np.float64]:
    """NDCG@20 of 50 lists of 50 to 150 documents each, drawn at random.

    >>> measure_random_subsets([0, 1] * 100, [0, 1] * 100, seed=0).tolist() == [1.0] * 50
    True
    """
    labels, given = np.asarray(relevance), np.asarray(scores)
    rng = np.random.default_rng((seed, 20))
    lists = []
    for _ in range(N_DRAWS):
        n = min(int(rng.integers(MIN_DRAWN, MAX_DRAWN, endpoint=True)), len(given))
        lists.append(rng.choice(len(given), n, replace=False))
    rows, offsets = np.concatenate(lists), np.cumsum([0, *map(len, lists)])
    return METRIC.per_query(labels[rows], given[rows], offsets=offsets)


@dataclass(frozen=True)
class _Task:
    """One data set of one point."""

    study: str
    value: float
    setting: Setting
    ranker: str
    seed: int

    @property
    def query_size(self) -> tuple[int, int] | None:
        # The paper's pairs are of any two documents; other rankers need lists like those that are measured.
        return None if self.ranker == PROCEDURE else (MIN_DRAWN, MAX_DRAWN)

    def key(self) -> str:
        """The same for all that has the same result."""
        words = {
            "format": FORMAT,
            "setting": describe(asdict(self.setting)),
            "ranker": describe(make_study_ranker(self.ranker, self.setting)),
            "query_size": describe(self.query_size),
            "seed": self.seed,
            "environment": environment_fingerprint(),
        }
        return compute_digest(words)

    def run(self, threads: int) -> JobResult:
        """Make the data, train, measure."""
        start = time.perf_counter()
        ranker = make_study_ranker(self.ranker, self.setting)
        values, seconds = measure_setting(self.setting, ranker, seed=self.seed, query_size=self.query_size)
        return JobResult(
            key=self.key(),
            data="synthetic",
            fold=f"{self.study}={self.value:g}",
            ranker=self.ranker,
            parameters=asdict(self.setting),
            inner_fold=None,
            metric=str(METRIC),
            seed=self.seed,
            score=float(values.mean()),
            per_query=values,
            fit_seconds=seconds,
            score_seconds=time.perf_counter() - start - seconds,
            n_train=self.setting.n_train,
            n_test=self.setting.n_test,
            threads=threads,
            finished=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def run_studies(
    values: Mapping[str, Sequence[float]],
    store: JobStore,
    *,
    rankers: Sequence[str] = (PROCEDURE,),
    n_sets: int = 5,
    setting: Setting | None = None,
    workers: int | None = None,
    progress: Progress = no_progress,
) -> list[Point]:
    """Run what the store does not hold yet, and give the points of all studies.

    Parameters
    ----------
    values
        The values of each study, by its name in `STUDIES`.
    store
        Keeps each data set's result as soon as it is there.
    rankers
        Registered names, or `PROCEDURE`.
    n_sets
        On how many data sets each point is measured.
    setting
        What stays where it is not what changes; the paper's unless given.
    workers
        Trainings at the same time, in processes of their own; as many as there are cores unless given.
    progress
        Called with how many data sets are done, and of how many.

    """
    tasks = _tasks(values, rankers, n_sets, setting or Setting())
    keys = {task: task.key() for task in tasks}
    known = store.known(keys.values())
    # Two studies share a point where both have their usual values.
    missing = {keys[task]: task for task in tasks if keys[task] not in known}
    total = len(set(keys.values()))
    progress(total - len(missing), total)
    for done, cell in enumerate(_results(list(missing.values()), workers), start=total - len(missing) + 1):
        store.add([cell])
        progress(done, total)
    cells = store.get(keys.values())
    points: dict[tuple[str, float, str], list[JobResult]] = {}
    for task in tasks:
        points.setdefault((task.study, task.value, task.ranker), []).append(cells[keys[task]])
    return [_point(*place, of_point) for place, of_point in points.items()]


def _tasks(
    values: Mapping[str, Sequence[float]], rankers: Sequence[str], n_sets: int, setting: Setting
) -> list[_Task]:
    if n_sets < 1:
        raise ValueError(f"n_sets is {n_sets}; give a whole number from 1 on")
    tasks = []
    for name, of_study in values.items():
        if name not in STUDIES:
            raise ValueError(unknown_name("study", name, STUDIES))
        study = STUDIES[name]
        # A value or a ranker that is named twice counts once.
        for value in dict.fromkeys(map(study.checked, of_study)):
            changes: dict[str, Any] = {study.field: value}
            changed = replace(setting, **changes)
            tasks += [
                _Task(name, value, changed, ranker, seed)
                for ranker in dict.fromkeys(rankers)
                for seed in range(n_sets)
            ]
    return tasks


def _results(tasks: Sequence[_Task], workers: int | None) -> Generator[JobResult]:
    n_workers = max(1, min(workers or count_cores(), count_cores(), len(tasks)))
    threads = threads_per_worker(n_workers)
    if n_workers == 1:
        with limit_threads(threads):
            yield from (task.run(threads) for task in tasks)
        return
    calls = [delayed(_run_in_worker)(task, threads) for task in tasks]
    yield from run_in_process_pool(calls, n_workers, threads)


def _run_in_worker(task: _Task, threads: int) -> JobResult:
    set_threads(threads)
    return task.run(threads)


def _point(study: str, value: float, ranker: str, cells: Sequence[JobResult]) -> Point:
    scores = np.array([cell.score for cell in cells])
    error = float(scores.std(ddof=1) / math.sqrt(len(scores))) if len(scores) > 1 else math.nan
    seconds = float(np.mean([cell.fit_seconds for cell in cells]))
    return Point(study, value, ranker, float(scores.mean()), error, len(scores), seconds)
