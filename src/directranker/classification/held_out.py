"""Scores by a ranker of rows that it did not learn from, for thresholds and probabilities to come from.

Where all classes have rows enough, a part of them is held out. Where one is rare, its rows are too dear for
that: each part is held out in turn from a ranker of its own, and the ranker itself learns from all rows. The
scores of the others are brought to its scale, by mean and deviation over all rows.

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
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, train_test_split

from directranker.arrays import Features, IntArray

__all__ = ["HeldOut", "score_held_out"]

ENOUGH = 10  # rows of each class among those held out, below which each part is held out in turn
MAX_PARTS = 5  # each is a training more


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A fitted ranker, and rows with their scores on its scale."""

    ranker: Any
    rows: IntArray
    scores: NDArray[np.float64]


def score_held_out(
    new_ranker: Callable[[int], Any],
    table: Features,
    codes: IntArray,
    *,
    calibration_fraction: float,
    seed: int,
) -> HeldOut:
    """Fit and score; `new_ranker` makes one for so many rows, of the rows this fraction is held out.

    Classes are in all parts in equal shares. Where that cannot be, all rows are learnt from and scored.
    """
    rows, counts = np.arange(len(codes)), np.bincount(codes)
    n_parts = min(MAX_PARTS, max(2, round(1 / calibration_fraction)), int(counts.min()))
    if n_parts >= 2 and calibration_fraction * counts.min() < ENOUGH:
        return _each_in_turn(new_ranker, table, codes, n_parts, seed)
    if (1 - calibration_fraction) * counts.min() < 1 or n_parts < 2:
        ranker = new_ranker(len(rows)).fit(table, codes)
        return HeldOut(ranker, rows, _scores(ranker, table))
    seen, held_out = (
        np.sort(part)
        for part in train_test_split(
            rows, test_size=calibration_fraction, stratify=codes, random_state=seed % 2**32
        )
    )
    ranker = new_ranker(len(seen)).fit(table[seen], codes[seen])
    return HeldOut(ranker, held_out, _scores(ranker, table[held_out]))


def _each_in_turn(
    new_ranker: Callable[[int], Any], table: Features, codes: IntArray, n_parts: int, seed: int
) -> HeldOut:
    ranker = new_ranker(len(codes)).fit(table, codes)
    of_all = _scores(ranker, table)
    scores = np.empty(len(codes))
    parts = StratifiedKFold(n_parts, shuffle=True, random_state=seed % 2**32)
    for seen, held_out in parts.split(table, codes):
        own = _scores(new_ranker(len(seen)).fit(table[seen], codes[seen]), table)
        scores[held_out] = (own[held_out] - own.mean()) / (own.std() or 1.0)
    return HeldOut(ranker, np.arange(len(codes)), scores * of_all.std() + of_all.mean())


def _scores(ranker: Any, table: Features) -> NDArray[np.float64]:
    scores: NDArray[np.float64] = ranker.predict(table).astype(np.float64)
    return scores
