"""Distillation: a teacher's out-of-fold scores as soft targets for the DirectRanker.

The scores are calibrated to log-odds that explain the labels best. They give soft targets for all pairs,
those of equal labels too, and are less noisy than a few grades.

>>> from directranker.data.synthetic import example_dataset
>>> data = TrainingData.from_dataset(example_dataset())
>>> soft_targets = compute_soft_targets(resolve_teacher("trees", data), data, None, seed=0, progress=False)
>>> len(soft_targets.logits) == data.n_documents
True
"""

from __future__ import annotations

import numpy as np

from directranker.costs.soft_targets import SoftTargets
from directranker.rankers.base import Ranker
from directranker.rankers.nets.net_ranker import AUTO
from directranker.rankers.nets.out_of_fold_scores import N_FOLDS, calibrate_scores, out_of_fold_scores
from directranker.rankers.trees.lambdamart import LambdaMART
from directranker.training.data import TrainingData

__all__ = ["compute_soft_targets", "resolve_teacher"]

N_REPEATS = 2
MIN_QUERIES, MAX_DOCUMENTS = 30, 100_000  # of data for which "auto" has a teacher
MAX_SINGLE_THREAD_DOCUMENTS = 50_000  # on less data, several threads make LightGBM slower


def resolve_teacher(teacher: object, data: TrainingData) -> Ranker | None:
    """Return the teacher: `"trees"`, the given ranker, or None; `"auto"` is trees on small data.

    >>> few = TrainingData(np.ones((3, 1), np.float32), None, np.array([0.0, 1.0, 2.0]), np.array([0, 3]))
    >>> resolve_teacher("auto", few) is None
    True
    """
    if isinstance(teacher, str) and teacher == AUTO:
        is_small = data.n_queries >= MIN_QUERIES and data.n_documents <= MAX_DOCUMENTS
        teacher = "trees" if is_small else None
    if isinstance(teacher, str) and teacher == "trees":
        # The default metric counts labels below 1, such as click rates, as not relevant.
        has_relevant = bool((data.relevance >= 1).any())
        return LambdaMART(
            metric="ndcg@10" if has_relevant else "ndcg@10:graded",
            pair_weight=None,
            num_leaves=15,
            learning_rate=0.1,
            patience=30,
            n_jobs=1 if data.n_documents <= MAX_SINGLE_THREAD_DOCUMENTS else None,
            progress=False,
        )
    if teacher is not None and not isinstance(teacher, Ranker):
        raise ValueError(f"teacher is {teacher!r}; give 'auto', 'trees', None or a ranker")
    return teacher


def compute_soft_targets(
    teacher: Ranker,
    data: TrainingData,
    validation: TrainingData | None,
    *,
    seed: int,
    progress: bool | None = None,
) -> SoftTargets:
    """Return the soft targets of each document, by teachers that were not trained on its query."""
    if data.n_queries < N_FOLDS:
        raise ValueError(
            f"a teacher needs at least {N_FOLDS} queries, since it scores queries that it was not trained "
            f"on; there are {data.n_queries}: give teacher=None"
        )
    scores = out_of_fold_scores(
        teacher, data, validation, seed=seed, n_repeats=N_REPEATS, title="teacher", progress=progress
    )
    if not np.isfinite(scores).all():
        raise ValueError(
            f"the teacher {type(teacher).__name__} gives scores that are NaN or infinite to queries that it "
            "was not trained on; fix it, or give teacher=None"
        )
    return SoftTargets(calibrate_scores(scores, data).logits)
