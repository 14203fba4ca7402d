"""A teacher for the DirectRanker: what another ranker thinks of documents that it has not learnt from.

Queries are dealt to folds several times; the teacher learns from all folds but one and scores that one. The
means of its scores are brought to the scale on which they explain the labels best. What is left are beliefs
about all pairs, those of equal labels too, which are less noisy than a few grades.

>>> from directranker.data.synthetic import example_dataset
>>> data = example_dataset()
>>> queries = TrainingData(data.features, None, data.relevance, data.offsets)
>>> beliefs = beliefs_of(chosen_teacher("trees", queries), queries, None, seed=0, progress=False)
>>> len(beliefs.logits) == data.n_documents
True
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.base import clone

from directranker.errors import TrainingWarning
from directranker.metrics.sorting import FloatArray
from directranker.rankers.base import Ranker
from directranker.rankers.lambdamart import LambdaMART
from directranker.rankers.net_ranker import AUTO
from directranker.rankers.training_data import TrainingData
from directranker.training.progress import shown_progress

# ruff: noqa: PLC0415 - the costs import torch, which takes seconds.
if TYPE_CHECKING:
    from directranker.costs.beliefs import Beliefs

__all__ = ["beliefs_of", "chosen_teacher"]

N_FOLDS, N_REPEATS = 3, 2
FEWEST_QUERIES, MOST_DOCUMENTS = 30, 100_000  # between which "auto" has a teacher
DOCUMENTS_PER_THREAD = 50_000  # up to so many, LightGBM's threads wait for each other more than they help
LARGEST_LOG_SCALE = 12.0


def chosen_teacher(teacher: Any, data: TrainingData) -> Ranker | None:
    """The ranker that is meant: `"trees"`, one that is given, or none; `"auto"` is trees on small data.

    >>> few = TrainingData(np.ones((3, 1), np.float32), None, np.array([0.0, 1.0, 2.0]), np.array([0, 3]))
    >>> chosen_teacher("auto", few) is None
    True
    """
    if isinstance(teacher, str) and teacher == AUTO:
        is_small = data.n_queries >= FEWEST_QUERIES and len(data.relevance) <= MOST_DOCUMENTS
        teacher = "trees" if is_small else None
    if isinstance(teacher, str) and teacher == "trees":
        return LambdaMART(
            pair_weight=None,
            n_leaves=15,
            learning_rate=0.1,
            patience=30,
            n_jobs=1 if len(data.relevance) <= DOCUMENTS_PER_THREAD else None,
            progress=False,
        )
    if teacher is not None and not isinstance(teacher, Ranker):
        raise ValueError(f"teacher is {teacher!r}; give 'auto', 'trees', None or a ranker")
    return teacher


def beliefs_of(
    teacher: Ranker,
    data: TrainingData,
    validation: TrainingData | None,
    *,
    seed: int,
    progress: bool | None = None,
) -> Beliefs:
    """What teachers that have not seen a query think of its documents."""
    from directranker.costs.beliefs import Beliefs

    if data.n_queries < N_FOLDS:
        raise ValueError(
            f"a teacher scores queries that it has not learnt from, and takes {N_FOLDS} to learn from; there "
            f"are {data.n_queries}: take teacher=None"
        )
    total, done = np.zeros(len(data.relevance)), 0
    with shown_progress("teacher", N_REPEATS * N_FOLDS, wanted=progress) as report:
        for repeat in range(N_REPEATS):
            fold = np.random.default_rng((seed, 19, repeat)).permutation(data.n_queries) % N_FOLDS
            for number in range(N_FOLDS):
                held_out = np.flatnonzero(fold == number)
                others = data.take(np.flatnonzero(fold != number))
                scores = _taught(teacher, others, validation, data.take(held_out), seed + done)
                total[np.isin(data.query_of_row, held_out)] += scores
                done += 1
                report(done, "held-out queries are scored")
    return Beliefs(total * _scale(total, data))


def _taught(
    teacher: Ranker,
    data: TrainingData,
    validation: TrainingData | None,
    held_out: TrainingData,
    seed: int,
) -> FloatArray:
    """Scores of the held-out part; equal ones where there is nothing to learn from."""
    if not (data.can_teach and len(held_out.relevance)):
        return np.zeros(len(held_out.relevance))
    ranker = clone(teacher)
    if "random_state" in ranker.get_params():
        ranker.set_params(random_state=seed)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always", TrainingWarning)
        ranker._learn(data, validation)
    if getattr(ranker, "stopped_", "") == "interrupted":
        raise KeyboardInterrupt
    scores: FloatArray = ranker._scores(held_out.features, held_out.query_of_row).astype(np.float64)
    return scores


def _scale(scores: FloatArray, data: TrainingData) -> float:
    """What scores are multiplied by so that they are log odds: the least cross-entropy of labelled pairs."""
    from directranker.costs import Objective

    width = float(np.abs(scores).max(initial=0.0))
    if width == 0:
        return 0.0
    objective = Objective(normalise="root")
    unit = scores / width

    def cost(logarithm: float) -> float:
        result = objective(
            np.exp(logarithm) * unit, data.relevance, data.offsets, query_weight=data.query_weight
        )
        return result.cost

    bounds = (-LARGEST_LOG_SCALE, LARGEST_LOG_SCALE)
    return float(np.exp(minimize_scalar(cost, bounds=bounds, method="bounded").x)) / width
