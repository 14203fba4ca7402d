"""Pairs drawn at random, compiled: each pair of a query equally often, with replacement.

Numbers come from splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
OOPSLA 2014), a stream for each query that begins at a mix of the seed and the query's number. So the same
seed draws the same pairs, however many threads share the queries.

>>> from directranker.pairs.classes import classes_of
>>> more, less = np.empty((2, 4), dtype=np.int64)
>>> sample_pairs(classes_of([2, 1, 1, 0]).layout, 0, True, np.uint64(7), more, less)
>>> sorted(set(zip(more.tolist(), less.tolist(), strict=True)) - {(0, 1), (0, 2), (1, 3), (2, 3)})
[]
"""

from __future__ import annotations

import numpy as np

from directranker.arrays import IntArray
from directranker.compilation import compiled, inlined
from directranker.pairs.classes import Layout

__all__ = ["lower_stop", "sample_pairs"]

STEP = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, odd


@inlined
def lower_stop(layout: Layout, query: int, upper: int, neighbours: int) -> int:
    """Where the places end that class `upper` meets; they begin where the class ends."""
    stop: int = layout.starts[upper + 2] if neighbours else layout.offsets[query + 1]
    return stop


@compiled
def mixed(state: np.uint64) -> np.uint64:
    """Splitmix64's output for a state: each bit depends on all of them."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@compiled
def draw_below(state: np.uint64, n: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The next state and a number from 0 to n − 1, each equally likely."""
    # 2^64 is rarely a multiple of n: its lowest 2^64 mod n numbers would favour the small remainders.
    uneven = (np.uint64(0) - n) % n
    while True:
        state += STEP
        number = mixed(state)
        if number >= uneven:
            return state, number % n


@compiled
def sample_pairs(
    layout: Layout, query: int, neighbours: int, seed: np.uint64, more: IntArray, less: IntArray
) -> None:
    """Fill `more` and `less` with the places of pairs of a query that has some."""
    first, n_upper = layout.first[query], layout.first[query + 1] - layout.first[query] - 1
    ends = np.empty(n_upper, dtype=np.int64)  # pairs are numbered class by class
    total = 0
    for c in range(n_upper):
        upper = first + c
        begin = layout.starts[upper + 1]
        total += (begin - layout.starts[upper]) * (lower_stop(layout, query, upper, neighbours) - begin)
        ends[c] = total
    state = mixed(seed + np.uint64(query + 1) * STEP)
    for at in range(len(more)):
        state, drawn = draw_below(state, np.uint64(total))
        number = np.int64(drawn)
        c = int(np.searchsorted(ends, number, side="right"))
        upper = first + c
        begin = layout.starts[upper + 1]
        n_lower = lower_stop(layout, query, upper, neighbours) - begin
        if c > 0:
            number -= ends[c - 1]
        more[at] = layout.starts[upper] + number // n_lower
        less[at] = begin + number % n_lower
