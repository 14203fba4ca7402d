"""Which encoding of the features suits a net on this data: the one by which it orders unseen queries better.

Piecewise-linear bins take any shape and fear no outlier, and are better on most data. Where features are
counts and scores with long tails and queries are few, what is linear in their logarithms is learnt sooner,
and `"auto"` is better. So nets of both kinds learn from two thirds of the queries and score the others, in
turn, and the kind whose scores explain the labelled pairs better is taken, as soon as that is clear.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers.nets.direct_ranker import DirectRanker
>>> data = example_dataset()
>>> queries = TrainingData(data.features, None, data.relevance, data.offsets)
>>> select_encoding(DirectRanker(), queries, None, seed=0)
'piecewise-linear'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from directranker.arrays import IntArray
from directranker.metrics.sorting import FloatArray
from directranker.rankers.base import Ranker
from directranker.rankers.nets.out_of_fold_scores import (
    N_FOLDS,
    SCORED,
    add_scores,
    as_log_odds,
    scored_folds,
)
from directranker.rankers.training_data import TrainingData
from directranker.training.progress import shown_progress

__all__ = ["CROSS_VALIDATED", "IN_BINS", "SCALED", "select_encoding"]

CROSS_VALIDATED = "cross-validated"
IN_BINS, SCALED = "piecewise-linear", "auto"
MIN_QUERIES, MAX_DOCUMENTS = 30, 20_000  # between which both are tried
TRIED_TWICE = 5_000  # documents up to which one trial leaves too much to chance
CLEAR = 4.0  # standard errors


def select_encoding(
    ranker: Ranker,
    data: TrainingData,
    validation: TrainingData | None,
    *,
    seed: int,
    progress: bool | None = False,
) -> Any:
    """What the ranker's parameter `transform` means: itself, or for `"cross-validated"` what suits better.

    With few queries, with much data, and for a net of one's own, which may want a certain number of columns,
    that is `"piecewise-linear"` without a trial.
    """
    parameters = ranker.get_params(deep=False)
    transform = parameters.get("transform")
    if not isinstance(transform, str) or transform != CROSS_VALIDATED:
        return transform
    is_usual = parameters["feature_net"] is None and not hasattr(ranker, "input_shape_")
    is_small = data.n_queries >= MIN_QUERIES and len(data.relevance) <= MAX_DOCUMENTS
    if not (is_usual and is_small):
        return IN_BINS

    alone: dict[str, Any] = {"teacher": None, "checkpoint": None, "callbacks": (), "progress": False}
    trials = [clone(ranker).set_params(transform=encoding, **alone) for encoding in (IN_BINS, SCALED)]
    costs = _costs_of_unseen(trials, data, validation, seed=seed, progress=progress)
    return IN_BINS if costs[0] <= costs[1] else SCALED


def _costs_of_unseen(
    trials: Sequence[Ranker],
    data: TrainingData,
    validation: TrainingData | None,
    *,
    seed: int,
    progress: bool | None,
) -> tuple[float, float]:
    """What queries cost that neither ranker has seen: all of them, or some folds where that is enough."""
    n_repeats = 2 if len(data.relevance) <= TRIED_TWICE else 1
    totals = [np.zeros(len(data.relevance)) for _ in trials]
    seen = np.empty(0, dtype=np.int64)
    folds = [scored_folds(one, data, validation, seed=seed, n_repeats=n_repeats) for one in trials]
    with shown_progress("choosing the encoding", n_repeats * N_FOLDS, wanted=progress) as report:
        for done, scored in enumerate(zip(*folds, strict=True), start=1):
            for total, (held_out, scores) in zip(totals, scored, strict=True):
                add_scores(total, data, held_out, scores)
            report(done, SCORED)
            seen = np.union1d(seen, scored[0][0])
            first, second = (_query_costs(total, data, seen) for total in totals)
            # Later folds give some queries a second score and others not yet.
            if done <= N_FOLDS and _is_clear(first, second):
                break
    return float(first.sum()), float(second.sum())


def _query_costs(total: FloatArray, data: TrainingData, queries: IntArray) -> FloatArray:
    scores = total[np.isin(data.query_of_row, queries)]
    if not np.isfinite(scores).all():  # a net that went astray; where both do, training itself says so
        return np.full(len(queries), np.inf)
    return as_log_odds(scores, data.take(queries)).query_costs


def _is_clear(first: FloatArray, second: FloatArray) -> bool:
    """Whether the mean difference is so many errors from 0 that more queries would hardly turn it."""
    if not np.isfinite([*first, *second]).all():
        return False
    differences = (first - second)[(first > 0) | (second > 0)]  # a query of one class costs nothing
    if len(differences) < 2:
        return False
    return bool(abs(differences.mean()) > CLEAR * differences.std(ddof=1) / np.sqrt(len(differences)))
