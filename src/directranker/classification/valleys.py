"""Where sorted scores thin out between two crowds: the compiled search for the clearest valley.

A window of `n` neighbouring gaps that is `width` wide holds documents of density n / width. Where the density
has only one top, a window V is, on one of its sides, not thinner than any window there: on that side the
density falls away from V. So V is a valley only if a window to its left *and* one to its right are denser.
How surprising that is follows from order alone, whatever the density: among equally dense windows of v and l
gaps the share V takes of both widths is Beta(v, l), and where V's is the denser one a larger share is rarer
still. Its tail is that of a binomial, and Chernoff bounds it:

    P(share ≥ x) = P(Bin(v + l − 1, x) ≤ v − 1) ≤ exp(−(v + l − 1) · KL((v − 1)/(v + l − 1) ‖ x))

which is exact for a single gap, v = 1. Windows have 1, 2, 3, 4, 6, 9, 13, … gaps, so that both a bare gap
between few documents and a thin stretch of many are seen, and nearly all documents of a small crowd count.

>>> scores = np.array([0.0, 1.0, 2.0, 3.0, 20.0, 21.0, 22.0, 23.0])
>>> start, stop, log_chance = clearest_valley(scores, 0, 7)
>>> start, stop, round(log_chance, 2)  # 3 gaps of 1 against one of 17: 3·log(3/20)
(3, 4, -5.69)
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from directranker.compilation import compiled

__all__ = ["clearest_valley", "log_chance_of_share", "log_chance_of_valley", "next_size"]

Scores = NDArray[np.float64]


@compiled
def next_size(n: int) -> int:
    """The next larger window: half as many gaps again."""
    return n + max(1, n // 2)


@compiled
def log_chance_of_share(v: int, width: float, n_others: int, width_of_others: float) -> float:
    """The logarithm of the bound above: v gaps as wide as `width` beside equally dense others."""
    n = v + n_others - 1
    share = width / (width + width_of_others)
    if share * n <= v - 1:
        return 0.0
    logarithm = n_others * math.log((1.0 - share) * n / n_others)
    if v > 1:
        logarithm += (v - 1) * math.log(share * n / (v - 1))
    return logarithm


@compiled
def log_chance_of_valley(scores: Scores, first: int, start: int, stop: int, last: int) -> float:
    """The same for the valley from document `start` to `stop` against the densest windows on both sides.

    The windows lie between the documents `first` and `start`, and between `stop` and `last`.
    """
    v, width = stop - start, scores[stop] - scores[start]
    larger = -np.inf
    for low, high in ((first, start), (stop, last)):
        least, n = 0.0, 1
        while n <= high - low:
            densest = np.inf
            for place in range(low, high - n + 1):
                densest = min(densest, scores[place + n] - scores[place])
            least = min(least, log_chance_of_share(v, width, n, densest))
            n = next_size(n)
        larger = max(larger, least)
    return larger


@compiled
def clearest_valley(scores: Scores, first: int, last: int) -> tuple[int, int, float]:
    """Start, stop and logarithm of the chance of the least likely valley among documents `first` to `last`.

    The scores are ascending and no two are equal. Without a valley, start and stop are `first`.
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
                left[start - first] = min(left[start - first], log_chance_of_share(v, width, n, densest))
            densest = np.inf
            for stop in range(last - n, first + v, -1):
                densest = min(densest, scores[stop + n] - scores[stop])
                width = scores[stop] - scores[stop - v]
                place = stop - v - first
                right[place] = min(right[place], log_chance_of_share(v, width, n, densest))
            n = next_size(n)
        for place in range(1, n_gaps - v):
            larger = max(left[place], right[place])
            if larger < best:
                best_start, best_stop, best = first + place, first + place + v, larger
        v = next_size(v)
    return best_start, best_stop, best
