"""Compiled sorting of one query's documents: by falling score, equal scores in input order.

Keys are first spread over as many buckets as there are keys, by their value between the lowest and the
highest; what is left to do is then usually little, and an insertion sort does it. Where it is not (a few
keys far from all others), a merge sort takes over, so no input takes more than n log n steps. All of it
is stable, which input order needs.

>>> keys, order = np.array([1.0, 3.0, 1.0, 2.0]), np.arange(4)
>>> sort_descending(keys, order, room_to_sort(4))
>>> keys.tolist(), order.tolist()
([3.0, 2.0, 1.0, 1.0], [1, 3, 0, 2])
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from directranker.compilation import IntArray, compiled

__all__ = ["FloatArray", "least_relevant_first", "room_to_sort", "sort_descending", "tie_groups"]

FloatArray = NDArray[np.float64]
Room = tuple[FloatArray, IntArray, IntArray]  # spare keys, spare order, counts of buckets
RUN_LENGTH = 16  # runs of this length are sorted by insertion before they are merged
MOVES_PER_KEY = 8  # an insertion sort that needs more of them leaves the rest to merging


@compiled
def room_to_sort(n: int) -> Room:
    """Room to work in for sorting up to n keys."""
    return np.empty(n), np.empty(n, dtype=np.int64), np.empty(n + 1, dtype=np.int64)


@compiled
def sort_descending(keys: FloatArray, order: IntArray, room: Room) -> None:
    """Sort `keys` so that they fall, stably, and move `order` along."""
    n = len(keys)
    if n > RUN_LENGTH:
        spread(keys, order, room)
    if not insertion_sort(keys, order, 0, n, MOVES_PER_KEY * n + RUN_LENGTH * RUN_LENGTH):
        merge_sort(keys, order, room)


@compiled
def spread(keys: FloatArray, order: IntArray, room: Room) -> None:
    """Move keys into buckets by value: a distribution by counting, not yet an order within a bucket."""
    spare, spare_order, counts = room
    n, low, high = len(keys), keys.min(), keys.max()
    per_bucket = (n - 1) / (high - low)
    if not 0.0 < per_bucket < np.inf:  # all keys equal, infinite or too close to divide by
        return
    counts[: n + 1] = 0
    for key in keys:
        counts[int((high - key) * per_bucket) + 1] += 1
    for bucket in range(n):
        counts[bucket + 1] += counts[bucket]
    for at in range(n):
        bucket = int((high - keys[at]) * per_bucket)
        place = counts[bucket]
        counts[bucket] = place + 1
        spare[place], spare_order[place] = keys[at], order[at]
    keys[:] = spare[:n]
    order[:] = spare_order[:n]


@compiled
def insertion_sort(keys: FloatArray, order: IntArray, start: int, stop: int, moves: int) -> bool:
    """Sort a run in place; stop after about so many moves, and tell whether it is sorted."""
    for at in range(start + 1, stop):
        key, carried, place = keys[at], order[at], at
        while place > start and keys[place - 1] < key:
            keys[place], order[place] = keys[place - 1], order[place - 1]
            place -= 1
        keys[place], order[place] = key, carried
        moves -= at - place
        if moves < 0:
            return False
    return True


@compiled
def merge_sort(keys: FloatArray, order: IntArray, room: Room) -> None:
    """Sort short runs by insertion, then merge them pair by pair, back and forth with the spares."""
    n = len(keys)
    spare, spare_order, _ = room
    for start in range(0, n, RUN_LENGTH):
        insertion_sort(keys, order, start, min(start + RUN_LENGTH, n), RUN_LENGTH * RUN_LENGTH)
    source, source_order, target, target_order = keys, order, spare, spare_order
    width, merges = RUN_LENGTH, 0
    while width < n:
        for start in range(0, n, 2 * width):
            middle, stop = min(start + width, n), min(start + 2 * width, n)
            merge(source, source_order, start, middle, stop, target, target_order)
        source, source_order, target, target_order = target, target_order, source, source_order
        width, merges = 2 * width, merges + 1
    if merges % 2 == 1:  # the last merge wrote into the spares
        keys[:] = spare[:n]
        order[:] = spare_order[:n]


@compiled
def merge(
    source: FloatArray,
    source_order: IntArray,
    start: int,
    middle: int,
    stop: int,
    target: FloatArray,
    target_order: IntArray,
) -> None:
    """Merge the falling runs `start:middle` and `middle:stop`; of equal keys the left one goes first."""
    left, right = start, middle
    for at in range(start, stop):
        take_left = right >= stop or (left < middle and source[left] >= source[right])
        taken = left if take_left else right
        target[at], target_order[at] = source[taken], source_order[taken]
        left += take_left
        right += not take_left


@compiled
def tie_groups(sorted_keys: FloatArray, ends: IntArray) -> int:
    """Write where each group of equal keys ends; return how many groups there are."""
    groups = 0
    for at in range(1, len(sorted_keys) + 1):
        if at == len(sorted_keys) or sorted_keys[at] != sorted_keys[at - 1]:
            ends[groups] = at
            groups += 1
    return groups


@compiled
def least_relevant_first(grades: FloatArray, ends: IntArray, unused: IntArray, room: Room) -> None:
    """Let the grades grow within each tie group; `unused` is overwritten."""
    start = 0
    for end in ends:
        if end - start > 1:
            tied = grades[start:end]
            tied[:] = -tied
            sort_descending(tied, unused[: end - start], room)
            tied[:] = -tied
        start = end
