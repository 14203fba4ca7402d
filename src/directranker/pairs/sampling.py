"""Uniform sampling of pairs with replacement, compiled.

Random numbers come from splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
OOPSLA 2014), with one stream per query that starts at a hash of the seed and the query's index. So a seed
determines the pairs, for any number of threads.

>>> from directranker.pairs.classes import group_by_label
>>> higher, lower = np.empty((2, 4), dtype=np.int64)
>>> sample_pairs(group_by_label([2, 1, 1, 0]).layout, 0, True, np.uint64(7), higher, lower)
>>> sorted(set(zip(higher.tolist(), lower.tolist(), strict=True)) - {(0, 1), (0, 2), (1, 3), (2, 3)})
[]
"""

from __future__ import annotations

import numpy as np

from directranker.arrays import IntArray
from directranker.compilation import compiled, inlined
from directranker.pairs.classes import ClassLayout

__all__ = ["lower_stop", "sample_pairs"]

STEP = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, odd


@inlined
def lower_stop(layout: ClassLayout, query: int, upper: int, adjacent: int) -> int:
    """Return the end of the positions below class `upper` that it is compared with."""
    stop: int = layout.starts[upper + 2] if adjacent else layout.offsets[query + 1]
    return stop


@compiled
def mix_bits(state: np.uint64) -> np.uint64:
    """Return splitmix64's output for a state: each bit depends on all bits of the state."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@compiled
def draw_below(state: np.uint64, n: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the next state and a uniform number from 0 to n − 1."""
    # 2^64 is rarely a multiple of n: without rejection of 2^64 mod n numbers, small remainders were likelier.
    n_rejected = (np.uint64(0) - n) % n
    while True:
        state += STEP
        number = mix_bits(state)
        if number >= n_rejected:
            return state, number % n


@compiled
def sample_pairs(
    layout: ClassLayout, query: int, adjacent: int, seed: np.uint64, higher: IntArray, lower: IntArray
) -> None:
    """Fill `higher` and `lower` with the positions of sampled pairs of a query, which must have pairs."""
    first, n_upper = layout.first[query], layout.first[query + 1] - layout.first[query] - 1
    ends = np.empty(n_upper, dtype=np.int64)  # pairs are numbered class by class
    total = 0
    for c in range(n_upper):
        upper = first + c
        begin = layout.starts[upper + 1]
        total += (begin - layout.starts[upper]) * (lower_stop(layout, query, upper, adjacent) - begin)
        ends[c] = total
    state = mix_bits(seed + np.uint64(query + 1) * STEP)
    for pair in range(len(higher)):
        state, drawn = draw_below(state, np.uint64(total))
        number = np.int64(drawn)
        c = int(np.searchsorted(ends, number, side="right"))
        upper = first + c
        begin = layout.starts[upper + 1]
        n_lower = lower_stop(layout, query, upper, adjacent) - begin
        if c > 0:
            number -= ends[c - 1]
        higher[pair] = layout.starts[upper] + number // n_lower
        lower[pair] = begin + number % n_lower
