"""The cross-validated choice of the feature encoding of a net.

Piecewise-linear bins fit any shape, are robust to outliers, and are better on most data. Where features are
long-tailed counts and scores and queries are few, a net fits them better by their logarithms, as `"auto"`
scales them. So nets with either encoding are trained on two thirds of the queries and score the rest, fold by
fold. The encoding with the lower cross-entropy of pairs is selected, once the difference is significant.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers.nets.direct_ranker import DirectRanker
>>> select_encoding(DirectRanker(), TrainingData.from_dataset(example_dataset()), None, seed=0)
'piecewise-linear'
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator, clone

from directranker.arrays import FloatArray, IntArray
from directranker.rankers.base import Ranker
from directranker.rankers.nets.out_of_fold_scores import (
    N_FOLDS,
    SCORED_MESSAGE,
    accumulate_scores,
    calibrate_scores,
    score_folds,
)
from directranker.training.data import TrainingData
from directranker.training.progress import show_progress

__all__ = ["CROSS_VALIDATED", "PIECEWISE_LINEAR", "SCALED", "select_encoding"]

CROSS_VALIDATED = "cross-validated"
PIECEWISE_LINEAR, SCALED = "piecewise-linear", "auto"
MIN_QUERIES, MAX_DOCUMENTS = 30, 20_000  # of data that is cross-validated
MAX_REPEATED_DOCUMENTS = 5_000  # on less data, one partition is too noisy
MIN_STANDARD_ERRORS = 4.0  # of a significant difference


def select_encoding(
    ranker: Ranker,
    data: TrainingData,
    validation: TrainingData | None,
    *,
    seed: int,
    progress: bool | None = False,
) -> str | BaseEstimator:
    """Return the ranker's parameter `transform`; for `"cross-validated"` the better encoding.

    With few queries, with much data, and for a user's feature net, which may need a fixed number of columns,
    that is `"piecewise-linear"` without cross-validation.
    """
    parameters = ranker.get_params(deep=False)
    transform = parameters.get("transform")
    if not isinstance(transform, str) or transform != CROSS_VALIDATED:
        return transform
    is_default_net = parameters["feature_net"] is None and not hasattr(ranker, "input_shape_")
    is_small = data.n_queries >= MIN_QUERIES and data.n_documents <= MAX_DOCUMENTS
    if not (is_default_net and is_small):
        return PIECEWISE_LINEAR

    plain: dict[str, object] = {"teacher": None, "checkpoint": None, "callbacks": (), "progress": False}
    candidates = [
        clone(ranker).set_params(transform=encoding, **plain) for encoding in (PIECEWISE_LINEAR, SCALED)
    ]
    costs = _cross_validate(candidates, data, validation, seed=seed, progress=progress)
    return PIECEWISE_LINEAR if costs[0] <= costs[1] else SCALED


def _cross_validate(
    candidates: Sequence[Ranker],
    data: TrainingData,
    validation: TrainingData | None,
    *,
    seed: int,
    progress: bool | None,
) -> tuple[float, float]:
    """Return the out-of-fold cost of two rankers, on all folds or until the difference is significant."""
    n_repeats = 2 if data.n_documents <= MAX_REPEATED_DOCUMENTS else 1
    totals = [np.zeros(data.n_documents) for _ in candidates]
    scored_queries = np.empty(0, dtype=np.int64)
    folds = [score_folds(one, data, validation, seed=seed, n_repeats=n_repeats) for one in candidates]
    with show_progress("selecting the encoding", n_repeats * N_FOLDS, enabled=progress) as report:
        for done, scored in enumerate(zip(*folds, strict=True), start=1):
            for total, (held_out, scores) in zip(totals, scored, strict=True):
                accumulate_scores(total, data, held_out, scores)
            report(done, SCORED_MESSAGE)
            scored_queries = np.union1d(scored_queries, scored[0][0])
            first, second = (_compute_query_costs(total, data, scored_queries) for total in totals)
            # In the second partition, only some queries have a second score yet.
            if done <= N_FOLDS and _is_significant(first, second):
                break
    return float(first.sum()), float(second.sum())


def _compute_query_costs(total: FloatArray, data: TrainingData, queries: IntArray) -> FloatArray:
    scores = total[np.isin(data.query_of_row, queries)]
    if not np.isfinite(scores).all():  # a diverged net; if both diverge, the training itself warns
        return np.full(len(queries), np.inf)
    return calibrate_scores(scores, data.take(queries)).query_costs


def _is_significant(first: FloatArray, second: FloatArray) -> bool:
    """Whether the mean difference is so many standard errors from 0 that more folds would not change it."""
    if not np.isfinite([*first, *second]).all():
        return False
    differences = (first - second)[(first > 0) | (second > 0)]  # a query of one class costs nothing
    if len(differences) < 2:
        return False
    standard_error = differences.std(ddof=1) / np.sqrt(len(differences))
    return bool(abs(differences.mean()) > MIN_STANDARD_ERRORS * standard_error)
