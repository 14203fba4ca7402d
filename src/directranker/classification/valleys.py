"""Compiled search for the clearest valley in the density of sorted scores.

A window of `n` consecutive gaps with total width `width` has the density n / width. If the density is
unimodal, then on at least one side of any window V the density falls away from V, so no window on that side
is denser than V. So V is a valley only if a window to its left *and* one to its right are denser. The
probability of that under a unimodal density depends on order alone: for equally dense windows of v and l
gaps, the fraction of the total width that belongs to V is Beta(v, l); if V is the denser one, a larger
fraction is less likely still. The tail of the Beta distribution is that of a binomial, with the Chernoff
bound

    P(fraction ≥ x) = P(Bin(v + l − 1, x) ≤ v − 1) ≤ exp(−(v + l − 1) · KL((v − 1)/(v + l − 1) ‖ x))

which is exact for a single gap, v = 1. Window sizes are 1, 2, 3, 4, 6, 9, 13, … gaps. So the search finds
both a single gap between few documents and a thin region of many, and nearly all documents of a small mode
count.

>>> scores = np.array([0.0, 1.0, 2.0, 3.0, 20.0, 21.0, 22.0, 23.0])
>>> start, stop, log_probability = find_clearest_valley(scores, 0, 7)
>>> start, stop, round(log_probability, 2)  # 3 gaps of 1 against one of 17: 3·log(3/20)
(3, 4, -5.69)
"""

from __future__ import annotations

import math

import numpy as np

from directranker.arrays import FloatArray
from directranker.compilation import compiled

__all__ = ["bound_log_probability", "compute_valley_log_probability", "find_clearest_valley", "next_size"]


@compiled
def next_size(n: int) -> int:
    """Return the next larger window size: half as many gaps again."""
    return n + max(1, n // 2)


@compiled
def bound_log_probability(v: int, width: float, n_others: int, width_of_others: float) -> float:
    """Compute the logarithm of the bound above for v gaps of total `width` beside equally dense others."""
    n = v + n_others - 1
    fraction = width / (width + width_of_others)
    if fraction * n <= v - 1:
        return 0.0
    logarithm = n_others * math.log((1.0 - fraction) * n / n_others)
    if v > 1:
        logarithm += (v - 1) * math.log(fraction * n / (v - 1))
    return logarithm


@compiled
def compute_valley_log_probability(scores: FloatArray, first: int, start: int, stop: int, last: int) -> float:
    """Bound the log probability of the valley `start` to `stop` against the densest windows on both sides.

    The windows are between the documents `first` and `start`, and between `stop` and `last`.
    """
    v, width = stop - start, scores[stop] - scores[start]
    larger = -np.inf
    for low, high in ((first, start), (stop, last)):
        smallest, n = 0.0, 1
        while n <= high - low:
            densest = np.inf
            for index in range(low, high - n + 1):
                densest = min(densest, scores[index + n] - scores[index])
            smallest = min(smallest, bound_log_probability(v, width, n, densest))
            n = next_size(n)
        larger = max(larger, smallest)
    return larger


@compiled
def find_clearest_valley(scores: FloatArray, first: int, last: int) -> tuple[int, int, float]:
    """Find the least probable valley among documents `first` to `last`: start, stop, log probability.

    The scores must be strictly ascending. Without a valley, start and stop are `first`.
    """
    n_gaps = last - first
    left, right = np.empty(n_gaps + 1), np.empty(n_gaps + 1)
    best_start, best_stop, best = first, first, 0.0
    v = 1
    while v <= n_gaps - 2:
        left[:], right[:] = 0.0, 0.0
        n = 1
        while n <= n_gaps - v - 1:
            densest = np.inf
            for start in range(first + n, last - v):
                densest = min(densest, scores[start] - scores[start - n])
                width = scores[start + v] - scores[start]
                left[start - first] = min(left[start - first], bound_log_probability(v, width, n, densest))
            densest = np.inf
            for stop in range(last - n, first + v, -1):
                densest = min(densest, scores[stop + n] - scores[stop])
                width = scores[stop] - scores[stop - v]
                index = stop - v - first
                right[index] = min(right[index], bound_log_probability(v, width, n, densest))
            n = next_size(n)
        for index in range(1, n_gaps - v):
            larger = max(left[index], right[index])
            if larger < best:
                best_start, best_stop, best = first + index, first + index + v, larger
        v = next_size(v)
    return best_start, best_stop, best
