"""A teacher for the DirectRanker: what another ranker thinks of documents that it has not learnt from.

Its scores of unseen queries are brought to the scale on which they explain the labels best. What is left are
beliefs about all pairs, those of equal labels too, which are less noisy than a few grades.

>>> from directranker.data.synthetic import example_dataset
>>> data = example_dataset()
>>> queries = TrainingData(data.features, None, data.relevance, data.offsets)
>>> beliefs = soft_targets_of(resolve_teacher("trees", queries), queries, None, seed=0, progress=False)
>>> len(beliefs.logits) == data.n_documents
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from directranker.rankers.base import Ranker
from directranker.rankers.nets.net_ranker import AUTO
from directranker.rankers.nets.out_of_fold_scores import N_FOLDS, as_log_odds, out_of_fold_scores
from directranker.rankers.training_data import TrainingData
from directranker.rankers.trees.lambdamart import LambdaMART

# ruff: noqa: PLC0415 - the costs import torch, which takes seconds.
if TYPE_CHECKING:
    from directranker.costs.soft_targets import SoftTargets

__all__ = ["resolve_teacher", "soft_targets_of"]

N_REPEATS = 2
MIN_QUERIES, MAX_DOCUMENTS = 30, 100_000  # between which "auto" has a teacher
DOCUMENTS_PER_THREAD = 50_000  # up to so many, LightGBM's threads wait for each other more than they help


def resolve_teacher(teacher: Any, data: TrainingData) -> Ranker | None:
    """The ranker that is meant: `"trees"`, one that is given, or none; `"auto"` is trees on small data.

    >>> few = TrainingData(np.ones((3, 1), np.float32), None, np.array([0.0, 1.0, 2.0]), np.array([0, 3]))
    >>> resolve_teacher("auto", few) is None
    True
    """
    if isinstance(teacher, str) and teacher == AUTO:
        is_small = data.n_queries >= MIN_QUERIES and len(data.relevance) <= MAX_DOCUMENTS
        teacher = "trees" if is_small else None
    if isinstance(teacher, str) and teacher == "trees":
        # The usual metric knows no label below 1, such as a rate of clicks.
        has_ones = bool((data.relevance >= 1).any())
        return LambdaMART(
            metric="ndcg@10" if has_ones else "ndcg@10:graded",
            pair_weight=None,
            num_leaves=15,
            learning_rate=0.1,
            patience=30,
            n_jobs=1 if len(data.relevance) <= DOCUMENTS_PER_THREAD else None,
            progress=False,
        )
    if teacher is not None and not isinstance(teacher, Ranker):
        raise ValueError(f"teacher is {teacher!r}; give 'auto', 'trees', None or a ranker")
    return teacher


def soft_targets_of(
    teacher: Ranker,
    data: TrainingData,
    validation: TrainingData | None,
    *,
    seed: int,
    progress: bool | None = None,
) -> SoftTargets:
    """What teachers that have not seen a query think of its documents."""
    from directranker.costs.soft_targets import SoftTargets

    if data.n_queries < N_FOLDS:
        raise ValueError(
            f"a teacher scores queries that it has not learnt from, and takes {N_FOLDS} to learn from; there "
            f"are {data.n_queries}: take teacher=None"
        )
    scores = out_of_fold_scores(
        teacher, data, validation, seed=seed, n_repeats=N_REPEATS, title="teacher", progress=progress
    )
    if not np.isfinite(scores).all():
        raise ValueError(
            f"the teacher {type(teacher).__name__} gives scores that are NaN or infinite to queries that it "
            "has not learnt from; mend it, or take teacher=None"
        )
    return SoftTargets(as_log_odds(scores, data).logits)
