"""Scores of held-out rows, from which thresholds and probabilities are fitted.

If all classes have enough rows, a fraction of the rows is held out. If a class is rare, its rows are too
valuable for that: the ranker is trained on all rows, and each fold is scored by a further ranker that is
trained without it. The scores of these rankers are matched to the main ranker's mean and standard deviation.

>>> from directranker.rankers import RankSVM
>>> table, codes = np.arange(40, dtype=np.float32)[:, None], np.repeat([0, 1], [36, 4])
>>> new_ranker = lambda n_rows: RankSVM(random_state=0)
>>> held_out = score_held_out(new_ranker, table, codes, calibration_fraction=0.2, seed=0)
>>> len(held_out.rows), bool(np.corrcoef(held_out.scores, table[:, 0])[0, 1] > 0.99)
(40, True)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold, train_test_split

from directranker.arrays import Features, FloatArray, IntArray

__all__ = ["HeldOutScores", "score_held_out"]

MIN_ROWS_PER_CLASS = 10  # in a held-out split; with fewer rows there is cross-validation
MAX_FOLDS = 5  # each needs another training


@dataclass(frozen=True, eq=False)
class HeldOutScores:
    """A fitted ranker, and the scores of held-out rows on its scale."""

    ranker: Any
    rows: IntArray
    scores: FloatArray


def score_held_out(
    new_ranker: Callable[[int], BaseEstimator],
    table: Features,
    codes: IntArray,
    *,
    calibration_fraction: float,
    seed: int,
) -> HeldOutScores:
    """Fit a ranker and score rows that it was not trained on; `new_ranker(n_rows)` makes a ranker.

    Splits are stratified by class. If a class is too small for that, all rows are used for both.
    """
    rows, counts = np.arange(len(codes)), np.bincount(codes)
    n_folds = min(MAX_FOLDS, max(2, round(1 / calibration_fraction)), int(counts.min()))
    if n_folds >= 2 and calibration_fraction * counts.min() < MIN_ROWS_PER_CLASS:
        return _cross_validate(new_ranker, table, codes, n_folds, seed)
    if (1 - calibration_fraction) * counts.min() < 1 or n_folds < 2:
        ranker = new_ranker(len(rows)).fit(table, codes)
        return HeldOutScores(ranker, rows, _score(ranker, table))
    train, held_out = (
        np.sort(split)
        for split in train_test_split(
            rows, test_size=calibration_fraction, stratify=codes, random_state=seed % 2**32
        )
    )
    ranker = new_ranker(len(train)).fit(table[train], codes[train])
    return HeldOutScores(ranker, held_out, _score(ranker, table[held_out]))


def _cross_validate(
    new_ranker: Callable[[int], BaseEstimator], table: Features, codes: IntArray, n_folds: int, seed: int
) -> HeldOutScores:
    ranker = new_ranker(len(codes)).fit(table, codes)
    scores_of_all = _score(ranker, table)
    scores = np.empty(len(codes))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed % 2**32)
    for train, held_out in folds.split(table, codes):
        fold_scores = _score(new_ranker(len(train)).fit(table[train], codes[train]), table)
        scores[held_out] = (fold_scores[held_out] - fold_scores.mean()) / (fold_scores.std() or 1.0)
    return HeldOutScores(ranker, np.arange(len(codes)), scores * scores_of_all.std() + scores_of_all.mean())


def _score(ranker: BaseEstimator, table: Features) -> FloatArray:
    scores: FloatArray = ranker.predict(table).astype(np.float64)
    return scores
