"""Labels of any kind as LightGBM needs them: integer codes from 0, and the gain of each code.

The gain of a label y is 2^y − 1, as in NDCG; labels below 0 are shifted to start at 0. Where labels span more
than 31, so that all gains but the highest would vanish, the gain is linear: the distance from the lowest
label as a fraction of that of the highest.

>>> codes, gains = encode_labels(np.array([0.5, 4.0, 0.0, 0.5]))
>>> codes.tolist(), [round(gain, 3) for gain in gains]
([1, 2, 0, 1], [0.0, 0.414, 15.0])
>>> encode_labels(np.array([-1.0, 0.0, 1.0]))[1]
[0.0, 1.0, 3.0]
>>> encode_labels(np.array([0.0, 1000.0, 10.0]))[1]
[0.0, 0.01, 1.0]
"""

from __future__ import annotations

import numpy as np

from directranker.arrays import FloatArray, IntArray, Relevance

__all__ = ["encode_labels"]

MAX_EXPONENT = 31
MAX_LEVELS = 1024  # LightGBM scans its gain table for each query


def encode_labels(relevance: Relevance) -> tuple[IntArray, list[float]]:
    """Return the code of each label, and the increasing gains of the codes.

    More than 1,024 different labels become 1,024 levels with about as many labels each.
    """
    levels = np.unique(relevance)
    if len(levels) > MAX_LEVELS:
        levels = levels[np.arange(MAX_LEVELS) * len(levels) // MAX_LEVELS]
    codes = np.searchsorted(levels, relevance, side="right") - 1
    return codes, _compute_gains(levels).tolist()


def _compute_gains(levels: FloatArray) -> FloatArray:
    lowest, highest = float(levels[0]), float(levels[-1])
    gains: FloatArray
    if highest - min(lowest, 0.0) <= MAX_EXPONENT:
        grades = levels - min(lowest, 0.0)
        # 2^y − 1 would be 0 for the smallest labels, and expm1 is not exact for integers.
        gains = np.where(grades < 1e-3, np.expm1(np.log(2) * grades), np.exp2(grades) - 1)
    else:
        gains = levels / 2 - lowest / 2  # highest − lowest may overflow
        gains /= gains[-1]
    return gains
