"""One exponential per document instead of one per pair, compiled.

With τ(o) = tanh(k o/2) all that a pair needs is e^(−k o) = e^(k (s_j − top)) · 1/e^(k (s_i − top)), a product
of two numbers that each belong to a document, as long as the scores do not lie too far apart.

>>> scores, exponentials = np.array([3.0, 1.0]), np.empty(2)
>>> take_exponentials(scores, 1.0, exponentials)
2.0
>>> exponentials.round(4)
array([1.    , 0.1353])
"""

from __future__ import annotations

import math

import numpy as np

from directranker.compilation import compiled
from directranker.metrics.sorting import FloatArray

__all__ = ["FAR_APART", "take_exponentials"]

FAR_APART = 300.0  # e^300 is far within a float64, and so are its inverse and the product of two


@compiled
def take_exponentials(scores: FloatArray, steepness: float, exponentials: FloatArray) -> float:
    """Write e^(k (s − top)) and return k times the range of scores; beyond FAR_APART write nothing."""
    top, bottom = -np.inf, np.inf
    for score in scores:
        top, bottom = max(top, score), min(bottom, score)
    spread = steepness * (top - bottom)
    if spread <= FAR_APART:
        for at in range(len(scores)):
            exponentials[at] = math.exp(steepness * (scores[at] - top))
    return spread
