"""Labels of any kind as LightGBM wants them: whole numbers from 0 on, and a table of what each gains.

A label y gains 2^y − 1, as in NDCG, and labels below 0 are shifted to begin there. Where that would go
beyond 2^31, which leaves nothing to any but the highest label, the gain is the label's distance from the
lowest, as a share of the highest's.

>>> codes, gains = label_gains(np.array([0.5, 4.0, 0.0, 0.5]))
>>> codes.tolist(), [round(gain, 3) for gain in gains]
([1, 2, 0, 1], [0.0, 0.414, 15.0])
>>> label_gains(np.array([-1.0, 0.0, 1.0]))[1]
[0.0, 1.0, 3.0]
>>> label_gains(np.array([0.0, 1000.0, 10.0]))[1]
[0.0, 0.01, 1.0]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import IntArray, Relevance

__all__ = ["label_gains"]

HIGHEST_EXPONENT = 31
MAX_LEVELS = 1024  # LightGBM goes through its table for each query


def label_gains(relevance: Relevance) -> tuple[IntArray, list[float]]:
    """The code of each label, and the growing gains of the codes.

    More than 1,024 different labels become so many levels, with about as many labels in each.
    """
    levels = np.unique(relevance)
    if len(levels) > MAX_LEVELS:
        levels = levels[np.arange(MAX_LEVELS) * len(levels) // MAX_LEVELS]
    codes = np.searchsorted(levels, relevance, side="right") - 1
    return codes, _gains(levels).tolist()


def _gains(levels: NDArray[np.float64]) -> NDArray[np.float64]:
    lowest, highest = float(levels[0]), float(levels[-1])
    gains: NDArray[np.float64]
    if highest - min(lowest, 0.0) <= HIGHEST_EXPONENT:
        grades = levels - min(lowest, 0.0)
        # 2^y − 1 would be 0 for the smallest labels; the other way is not exact for whole ones.
        gains = np.where(grades < 1e-3, np.expm1(np.log(2) * grades), np.exp2(grades) - 1)
    else:
        gains = levels / 2 - lowest / 2  # the whole distance may be more than a float64 holds
        gains /= gains[-1]
    return gains
