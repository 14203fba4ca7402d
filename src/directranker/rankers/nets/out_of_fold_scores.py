"""Out-of-fold scores, and their calibration to log-odds.

Queries are partitioned into folds. A ranker is trained on all folds but one and scores that one.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers.linear.rank_svm import RankSVM
>>> data = TrainingData.from_dataset(example_dataset())
>>> scores = out_of_fold_scores(RankSVM(), data, None, seed=0)
>>> bool(calibrate_scores(scores, data).cost < np.log(2))  # better than random
True
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.base import clone

from directranker.arrays import FloatArray, IntArray
from directranker.errors import TrainingWarning
from directranker.rankers.base import Ranker
from directranker.training.data import TrainingData
from directranker.training.progress import show_progress

__all__ = [
    "N_FOLDS",
    "SCORED_MESSAGE",
    "LogOdds",
    "accumulate_scores",
    "calibrate_scores",
    "out_of_fold_scores",
    "score_folds",
]

N_FOLDS = 3
SCORED_MESSAGE = "held-out queries scored"  # in a progress bar
MAX_LOG_SCALE = 12.0


@dataclass(frozen=True)
class LogOdds:
    """Scores whose differences are log-odds of pairs, and the cross-entropy of each query."""

    logits: FloatArray
    query_costs: FloatArray
    """The contribution of each query to the mean cross-entropy of labelled pairs."""

    @property
    def cost(self) -> float:
        """The mean cross-entropy of labelled pairs."""
        return float(self.query_costs.sum())


def out_of_fold_scores(
    ranker: Ranker,
    data: TrainingData,
    validation: TrainingData | None,
    *,
    seed: int,
    n_repeats: int = 1,
    title: str = "",
    progress: bool | None = False,
) -> FloatArray:
    """Return the sum over `n_repeats` partitions of each document's out-of-fold score."""
    total = np.zeros(data.n_documents)
    with show_progress(title, n_repeats * N_FOLDS, enabled=progress) as report:
        folds = score_folds(ranker, data, validation, seed=seed, n_repeats=n_repeats)
        for done, (held_out, scores) in enumerate(folds, start=1):
            accumulate_scores(total, data, held_out, scores)
            report(done, SCORED_MESSAGE)
    return total


def score_folds(
    ranker: Ranker, data: TrainingData, validation: TrainingData | None, *, seed: int, n_repeats: int
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield the held-out queries of each fold, and the scores of their documents."""
    for repeat in range(n_repeats):
        fold = np.random.default_rng((seed, 19, repeat)).permutation(data.n_queries) % N_FOLDS
        for number in range(N_FOLDS):
            held_out, others = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
            fold_seed = seed + repeat * N_FOLDS + number
            yield (
                held_out,
                _fit_and_score(ranker, data.take(others), validation, data.take(held_out), fold_seed),
            )


def accumulate_scores(total: FloatArray, data: TrainingData, queries: IntArray, scores: FloatArray) -> None:
    """Add the scores of these queries' documents to the total, in place."""
    with np.errstate(invalid="ignore"):  # a diverged ranker; the caller checks for NaN
        total[np.isin(data.query_of_row, queries)] += scores


def _fit_and_score(
    ranker: Ranker,
    data: TrainingData,
    validation: TrainingData | None,
    held_out: TrainingData,
    seed: int,
) -> FloatArray:
    """Return the scores of the held-out documents; zeros where the data cannot be trained on."""
    if not (data.is_trainable and held_out.n_documents):
        return np.zeros(held_out.n_documents)
    fitted = clone(ranker)
    if "random_state" in fitted.get_params():
        fitted.set_params(random_state=seed)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always", TrainingWarning)
        fitted._check_and_fit(data, validation)
        scores: FloatArray = fitted._scores(held_out.features, held_out.query_of_row).astype(np.float64)
    if getattr(fitted, "stopped_", "") == "interrupted":
        raise KeyboardInterrupt
    return scores


def calibrate_scores(scores: FloatArray, data: TrainingData) -> LogOdds:
    """Scale the scores to the minimum cross-entropy of labelled pairs."""
    from directranker.costs import Objective  # noqa: PLC0415 - slow to import
    from directranker.costs.execution import compute_cost  # noqa: PLC0415 - slow to import
    from directranker.costs.plans import plan_cost  # noqa: PLC0415 - slow to import

    objective = Objective(reduction="root")
    plan = plan_cost(
        objective,
        data.relevance,
        data.offsets,
        query_weight=data.query_weight,
        document_weight=data.document_weight,
    )
    largest = float(np.abs(scores).max(initial=0.0))
    unit = scores / largest if largest > 0 else scores

    def compute_query_costs(log_scale: float) -> FloatArray:
        return compute_cost(objective, plan, np.exp(log_scale) * unit)[0]

    best = minimize_scalar(
        lambda log_scale: float(compute_query_costs(log_scale).sum()),
        bounds=(-MAX_LOG_SCALE, MAX_LOG_SCALE),
        method="bounded",
    )
    return LogOdds(float(np.exp(best.x)) * unit, compute_query_costs(best.x))
