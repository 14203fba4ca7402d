"""The paper's four sensitivity studies: the quality of a ranker on synthetic data with varied properties.

Section "Synthetic Data Generation and Evaluation": one property of the data varies, the others are fixed. For
each value, a training and a test set are generated, a ranker is trained, and NDCG@20 is computed on 50 random
subsets of 50 to 150 test documents; several data sets give a mean and its standard error.

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
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from directranker.arrays import FloatArray
from directranker.data.files import Progress, ignore_progress
from directranker.data.synthetic import make_synthetic
from directranker.errors import TrainingWarning
from directranker.experiments import PROCEDURE
from directranker.metrics import Metric
from directranker.model_selection.digests import compute_digest, describe
from directranker.model_selection.fingerprints import environment_fingerprint
from directranker.model_selection.fitting import disable_progress_bars
from directranker.model_selection.jobs import configure_ranker
from directranker.model_selection.store import JobResult, JobStore
from directranker.model_selection.threads import count_cores, limit_threads, set_threads, threads_per_worker
from directranker.model_selection.workers import run_in_process_pool
from directranker.rankers import DirectRanker
from directranker.rankers.registry import load_registry
from directranker.suggestions import describe_unknown_name
from directranker.training.interrupts import raise_interrupts

__all__ = [
    "LIST_SIZE",
    "N_STEPS",
    "PROCEDURE",
    "STUDIES",
    "Point",
    "Setting",
    "make_study_ranker",
    "measure_random_subsets",
    "measure_setting",
    "run_studies",
]

METRIC = Metric.parse("ndcg@20", convention="graded")
FORMAT = 1  # raised when the procedure changes, so that older results are not reused
N_SUBSETS, MIN_DOCUMENTS, MAX_DOCUMENTS = 50, 50, 150
# The paper does not specify these. For the same total number of documents, long lists are the fastest and at
# least as good: see `benchmarks/sensitivity_benchmark.py sizes`.
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
    """Whether the test labels are noisy too, as in the paper.

    True labels measure how well a ranker recovers the true order; with noisy labels even the true order does
    not reach 1.
    """


@dataclass(frozen=True)
class Study:
    """The property that a study varies, and its values."""

    field: str
    values: tuple[float, ...]
    quick: tuple[float, ...]
    """Fewer values, for a first result."""
    min_value: int = 0

    def validate(self, value: float) -> float:
        """Return the value as an integer, or as a float for noise; raise if it is not valid.

        >>> STUDIES["size"].validate(1e3)
        1000
        """
        if self.field == "noise":
            return float(value)
        if not math.isfinite(value) or value != int(value) or value < self.min_value:
            raise ValueError(f"{self.field} is {value:g}; pass an integer of at least {self.min_value}")
        return int(value)


STUDIES: Mapping[str, Study] = MappingProxyType(
    {
        "classes": Study("n_classes", (2, 3, 4, 5, 7, 10, 15, 20), (2, 5, 10), min_value=2),
        "features": Study("n_features", (5, 10, 20, 30, 50, 70, 100), (10, 30, 70), min_value=1),
        "noise": Study("noise", (0, 0.125, 0.25, 0.375, 0.5, 0.75, 1.0), (0, 0.25, 0.75)),
        "size": Study("n_train", (1000, 3000, 10_000, 30_000, 100_000), (1000, 10_000), min_value=10),
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
    """The mean training time."""


def make_study_ranker(name: str, setting: Setting) -> BaseEstimator:
    """Create the ranker of this name; the paper's has layers of 70 and of `n_classes` neurons.

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
    if name not in load_registry():
        raise ValueError(describe_unknown_name("ranker", name, [PROCEDURE, *load_registry()]))
    return load_registry()[name].make()


def measure_setting(
    setting: Setting, ranker: BaseEstimator, *, seed: int, query_size: tuple[int, int] | None = None
) -> tuple[FloatArray, float]:
    """Train a ranker; return NDCG@20 of each random subset of the test set, and the training time."""
    data = make_synthetic(**asdict(setting), query_size=query_size, random_state=seed)
    start = time.perf_counter()
    # An interrupted training is not a result, and there are too many trainings for warnings.
    with raise_interrupts(), warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        fitted = disable_progress_bars(configure_ranker(ranker, {}, seed)).fit(data.train)
    seconds = time.perf_counter() - start
    # The test set is one query, even if the training set has several.
    relevance, scores = data.test.relevance, fitted.predict(data.test.features)
    return measure_random_subsets(relevance, scores, seed), seconds


def measure_random_subsets(relevance: ArrayLike, scores: ArrayLike, seed: int) -> FloatArray:
    """Compute NDCG@20 of 50 random subsets of 50 to 150 documents each.

    >>> measure_random_subsets([0, 1] * 100, [0, 1] * 100, seed=0).tolist() == [1.0] * 50
    True
    """
    labels, predicted = np.asarray(relevance), np.asarray(scores)
    rng = np.random.default_rng((seed, 20))
    subsets = []
    for _ in range(N_SUBSETS):
        n = min(int(rng.integers(MIN_DOCUMENTS, MAX_DOCUMENTS, endpoint=True)), len(predicted))
        subsets.append(rng.choice(len(predicted), n, replace=False))
    rows, offsets = np.concatenate(subsets), np.cumsum([0, *map(len, subsets)])
    return METRIC.per_query(labels[rows], predicted[rows], offsets=offsets)


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
        # The paper pairs any two documents; other rankers need queries of the size that is evaluated.
        return None if self.ranker == PROCEDURE else (MIN_DOCUMENTS, MAX_DOCUMENTS)

    def key(self) -> str:
        """Compute the key of the result."""
        description = {
            "format": FORMAT,
            "setting": describe(asdict(self.setting)),
            "ranker": describe(make_study_ranker(self.ranker, self.setting)),
            "query_size": describe(self.query_size),
            "seed": self.seed,
            "environment": environment_fingerprint(),
        }
        return compute_digest(description)

    def run(self, threads: int) -> JobResult:
        """Generate the data, train and evaluate."""
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
    progress: Progress = ignore_progress,
) -> list[Point]:
    """Run the jobs that the store lacks, and return the points of all studies.

    Parameters
    ----------
    values
        The values of each study, by its name in `STUDIES`.
    store
        Where the result of each data set is stored as soon as it is computed.
    rankers
        Registered names, or `PROCEDURE`.
    n_sets
        The number of data sets per point.
    setting
        The properties that a study does not vary; by default the paper's.
    workers
        How many trainings run at the same time, each in its own process; by default the number of cores.
    progress
        Called with the number of finished data sets and the total.

    """
    tasks = _build_tasks(values, rankers, n_sets, setting or Setting())
    keys = {task: task.key() for task in tasks}
    existing = store.existing_keys(keys.values())
    # Studies share the points at which all properties are equal.
    missing = {keys[task]: task for task in tasks if keys[task] not in existing}
    total = len(set(keys.values()))
    n_before = total - len(missing)
    progress(n_before, total)
    for done, result in enumerate(_run_tasks(list(missing.values()), workers), start=n_before + 1):
        store.add([result])
        progress(done, total)
    results = store.get(keys.values())
    points: dict[tuple[str, float, str], list[JobResult]] = {}
    for task in tasks:
        points.setdefault((task.study, task.value, task.ranker), []).append(results[keys[task]])
    return [_build_point(*key, of_point) for key, of_point in points.items()]


def _build_tasks(
    values: Mapping[str, Sequence[float]], rankers: Sequence[str], n_sets: int, setting: Setting
) -> list[_Task]:
    if n_sets < 1:
        raise ValueError(f"n_sets is {n_sets}; pass an integer of at least 1")
    tasks = []
    for name, of_study in values.items():
        if name not in STUDIES:
            raise ValueError(describe_unknown_name("study", name, STUDIES))
        study = STUDIES[name]
        # A value or a ranker that is listed twice counts once.
        for value in dict.fromkeys(map(study.validate, of_study)):
            changes: dict[str, Any] = {study.field: value}
            changed = replace(setting, **changes)
            tasks += [
                _Task(name, value, changed, ranker, seed)
                for ranker in dict.fromkeys(rankers)
                for seed in range(n_sets)
            ]
    return tasks


def _run_tasks(tasks: Sequence[_Task], workers: int | None) -> Generator[JobResult]:
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


def _build_point(study: str, value: float, ranker: str, results: Sequence[JobResult]) -> Point:
    scores = np.array([result.score for result in results])
    error = float(scores.std(ddof=1) / math.sqrt(len(scores))) if len(scores) > 1 else math.nan
    seconds = float(np.mean([result.fit_seconds for result in results]))
    return Point(study, value, ranker, float(scores.mean()), error, len(scores), seconds)
