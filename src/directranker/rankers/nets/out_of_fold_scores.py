"""What rankers think of documents that they have not learnt from, and how well that explains the labels.

Queries are dealt to folds; a ranker learns from all folds but one and scores that one.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers.linear.rank_svm import RankSVM
>>> data = example_dataset()
>>> queries = TrainingData(data.features, None, data.relevance, data.offsets)
>>> scores = out_of_fold_scores(RankSVM(), queries, None, seed=0)
>>> odds = as_log_odds(scores, queries)
>>> bool(odds.cost < np.log(2))  # better than not knowing
True
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.base import clone

from directranker.compilation import IntArray
from directranker.errors import TrainingWarning
from directranker.metrics.sorting import FloatArray
from directranker.rankers.base import Ranker
from directranker.rankers.training_data import TrainingData
from directranker.training.progress import shown_progress

# ruff: noqa: PLC0415 - the costs import torch, which takes seconds.

__all__ = ["N_FOLDS", "SCORED", "LogOdds", "add_scores", "as_log_odds", "out_of_fold_scores", "scored_folds"]

N_FOLDS = 3
SCORED = "held-out queries are scored"  # in a progress bar
LARGEST_LOG_SCALE = 12.0


@dataclass(frozen=True)
class LogOdds:
    """Scores whose differences are log odds, and what each query adds to the pairs' cross-entropy by them."""

    logits: FloatArray
    query_costs: FloatArray

    @property
    def cost(self) -> float:
        """The mean cross-entropy of the labelled pairs."""
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
    """The sum, over so many ways to deal the queries, of each document's score by a ranker new to it."""
    total = np.zeros(len(data.relevance))
    with shown_progress(title, n_repeats * N_FOLDS, wanted=progress) as report:
        folds = scored_folds(ranker, data, validation, seed=seed, n_repeats=n_repeats)
        for done, (held_out, scores) in enumerate(folds, start=1):
            add_scores(total, data, held_out, scores)
            report(done, SCORED)
    return total


def scored_folds(
    ranker: Ranker, data: TrainingData, validation: TrainingData | None, *, seed: int, n_repeats: int
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Fold by fold, the queries that were held out, and the scores of their documents."""
    for repeat in range(n_repeats):
        fold = np.random.default_rng((seed, 19, repeat)).permutation(data.n_queries) % N_FOLDS
        for number in range(N_FOLDS):
            held_out, others = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
            own_seed = seed + repeat * N_FOLDS + number
            yield (
                held_out,
                _scores_of_new(ranker, data.take(others), validation, data.take(held_out), own_seed),
            )


def add_scores(total: FloatArray, data: TrainingData, queries: IntArray, scores: FloatArray) -> None:
    """Add scores of these queries' documents to those of all, in place."""
    with np.errstate(invalid="ignore"):  # a ranker that went astray; whoever asked will see
        total[np.isin(data.query_of_row, queries)] += scores


def _scores_of_new(
    ranker: Ranker,
    data: TrainingData,
    validation: TrainingData | None,
    held_out: TrainingData,
    seed: int,
) -> FloatArray:
    """Scores of the held-out part; equal ones where there is nothing to learn from."""
    if not (data.is_trainable and len(held_out.relevance)):
        return np.zeros(len(held_out.relevance))
    learner = clone(ranker)
    if "random_state" in learner.get_params():
        learner.set_params(random_state=seed)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always", TrainingWarning)
        learner._fit_checked(data, validation)
        scores: FloatArray = learner._scores(held_out.features, held_out.query_of_row).astype(np.float64)
    if getattr(learner, "stopped_", "") == "interrupted":
        raise KeyboardInterrupt
    return scores


def as_log_odds(scores: FloatArray, data: TrainingData) -> LogOdds:
    """The scores times what makes the cross-entropy of labelled pairs least."""
    from directranker.costs import Objective
    from directranker.costs.execution import compute_cost
    from directranker.costs.plans import plan_cost

    objective = Objective(reduction="root")
    plan = plan_cost(
        objective,
        data.relevance,
        data.offsets,
        query_weight=data.query_weight,
        document_weight=data.document_weight,
    )
    width = float(np.abs(scores).max(initial=0.0))
    unit = scores / width if width > 0 else scores

    def query_costs(logarithm: float) -> FloatArray:
        return compute_cost(objective, plan, np.exp(logarithm) * unit)[0]

    bounds = (-LARGEST_LOG_SCALE, LARGEST_LOG_SCALE)
    best = minimize_scalar(
        lambda logarithm: float(query_costs(logarithm).sum()), bounds=bounds, method="bounded"
    )
    return LogOdds(float(np.exp(best.x)) * unit, query_costs(best.x))
