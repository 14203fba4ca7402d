"""One exponential per document instead of one per pair, compiled.

With τ(o) = tanh(k o/2) a pair needs only e^(−k o) = e^(k (s_j − max)) · 1/e^(k (s_i − max)), a product of one
factor per document. It is exact as long as the scores of a query are not too far apart.

>>> scores, exponentials = np.array([3.0, 1.0]), np.empty(2)
>>> compute_exponentials(scores, 1.0, exponentials)
2.0
>>> exponentials.round(4)
array([1.    , 0.1353])
"""

from __future__ import annotations

import math

import numpy as np

from directranker.arrays import FloatArray
from directranker.compilation import compiled

__all__ = ["MAX_SPREAD", "compute_exponentials"]

MAX_SPREAD = 300.0  # e^300, its inverse and the product of two of them are all within the range of a float64


@compiled
def compute_exponentials(scores: FloatArray, steepness: float, exponentials: FloatArray) -> float:
    """Write e^(k (s − max)) and return k times the range of the scores; above MAX_SPREAD, write nothing."""
    highest, lowest = -np.inf, np.inf
    for score in scores:
        highest, lowest = max(highest, score), min(lowest, score)
    spread = steepness * (highest - lowest)
    if spread <= MAX_SPREAD:
        for index in range(len(scores)):
            exponentials[index] = math.exp(steepness * (scores[index] - highest))
    return spread
