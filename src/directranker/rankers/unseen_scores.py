"""What rankers think of documents that they have not learnt from, and how well that explains the labels.

Queries are dealt to folds; a ranker learns from all folds but one and scores that one.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers.rank_svm import RankSVM
>>> data = example_dataset()
>>> queries = TrainingData(data.features, None, data.relevance, data.offsets)
>>> scores = unseen_scores(RankSVM(), queries, None, seed=0)
>>> odds = as_log_odds(scores, queries)
>>> bool(odds.cost < np.log(2))  # better than not knowing
True
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.base import clone

from directranker.errors import TrainingWarning
from directranker.metrics.sorting import FloatArray
from directranker.rankers.base import Ranker
from directranker.rankers.training_data import TrainingData
from directranker.training.progress import shown_progress

# ruff: noqa: PLC0415 - the costs import torch, which takes seconds.

__all__ = ["N_FOLDS", "LogOdds", "as_log_odds", "unseen_scores"]

N_FOLDS = 3
LARGEST_LOG_SCALE = 12.0


@dataclass(frozen=True)
class LogOdds:
    """Scores whose differences are log odds, and the mean cross-entropy of the labelled pairs by them."""

    logits: FloatArray
    cost: float


def unseen_scores(
    ranker: Ranker,
    data: TrainingData,
    validation: TrainingData | None,
    *,
    seed: int,
    n_repeats: int = 1,
    title: str = "",
    progress: bool | None = False,
) -> FloatArray:
    """The sum, over so many ways to deal the queries, of each document's score by a ranker new to it."""
    total, done = np.zeros(len(data.relevance)), 0
    with shown_progress(title, n_repeats * N_FOLDS, wanted=progress) as report:
        for repeat in range(n_repeats):
            fold = np.random.default_rng((seed, 19, repeat)).permutation(data.n_queries) % N_FOLDS
            for number in range(N_FOLDS):
                held_out = np.flatnonzero(fold == number)
                others = data.take(np.flatnonzero(fold != number))
                scores = _scores_of_new(ranker, others, validation, data.take(held_out), seed + done)
                with np.errstate(invalid="ignore"):  # a ranker that went astray; whoever asked will see
                    total[np.isin(data.query_of_row, held_out)] += scores
                done += 1
                report(done, "held-out queries are scored")
    return total


def _scores_of_new(
    ranker: Ranker,
    data: TrainingData,
    validation: TrainingData | None,
    held_out: TrainingData,
    seed: int,
) -> FloatArray:
    """Scores of the held-out part; equal ones where there is nothing to learn from."""
    if not (data.can_teach and len(held_out.relevance)):
        return np.zeros(len(held_out.relevance))
    learner = clone(ranker)
    if "random_state" in learner.get_params():
        learner.set_params(random_state=seed)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always", TrainingWarning)
        learner._learn_checked(data, validation)
        scores: FloatArray = learner._scores(held_out.features, held_out.query_of_row).astype(np.float64)
    if getattr(learner, "stopped_", "") == "interrupted":
        raise KeyboardInterrupt
    return scores


def as_log_odds(scores: FloatArray, data: TrainingData) -> LogOdds:
    """The scores times what makes the cross-entropy of labelled pairs least."""
    from directranker.costs import Objective

    objective = Objective(normalise="root")
    width = float(np.abs(scores).max(initial=0.0))
    unit = scores / width if width > 0 else scores

    def cost(logarithm: float) -> float:
        result = objective(
            np.exp(logarithm) * unit, data.relevance, data.offsets, query_weight=data.query_weight
        )
        return result.cost

    bounds = (-LARGEST_LOG_SCALE, LARGEST_LOG_SCALE)
    best = minimize_scalar(cost, bounds=bounds, method="bounded")
    return LogOdds(float(np.exp(best.x)) * unit, float(best.fun))
