"""Compiled sorting of one query's documents: by falling score, equal scores in input order.

Keys are first spread over buckets, twice as many as keys, by their value between the lowest and the
highest; what is left to do is then usually little, and an insertion sort does it. Where it is not (a few
keys far from all others), a merge sort takes over, so no input takes more than n log n steps. All of it
is stable, which input order needs.

>>> keys, order = np.empty(4), np.empty(4, dtype=np.int64)
>>> sort_descending(np.array([1.0, 3.0, 1.0, 2.0]), keys, order, room_to_sort(4))
>>> keys.tolist(), order.tolist()
([3.0, 2.0, 1.0, 1.0], [1, 3, 0, 2])
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import IntArray
from directranker.compilation import compiled

__all__ = ["FloatArray", "Workspace", "highest_first", "room_to_sort", "sort_descending", "tie_groups"]

FloatArray = NDArray[np.float64]
Workspace = tuple[FloatArray, IntArray, IntArray]  # spare keys, spare order, counts of buckets
RUN_LENGTH = 16  # runs of this length are sorted by insertion before they are merged
MOVES_PER_KEY = 8  # an insertion sort that needs more of them leaves the rest to merging
FEW = 32  # so many highest values are picked one by one; for more, all values are sorted


@compiled
def room_to_sort(n: int) -> Workspace:
    """Workspace to work in for sorting up to n values."""
    return np.empty(n), np.empty(n, dtype=np.int64), np.empty(2 * n + 1, dtype=np.int64)


@compiled
def sort_descending(values: FloatArray, keys: FloatArray, order: IntArray, room: Workspace) -> None:
    """Write the values in falling order into `keys`, and where each came from into `order`."""
    n = len(values)
    spread(values, keys, order, room[2])
    if not insertion_sort(keys, order, 0, n, MOVES_PER_KEY * n + RUN_LENGTH * RUN_LENGTH):
        merge_sort(keys, order, room)


@compiled
def spread(values: FloatArray, keys: FloatArray, order: IntArray, counts: IntArray) -> None:
    """Distribute values over buckets, high ones first; within a bucket they stay in input order."""
    n, low, high = len(values), np.inf, -np.inf
    for value in values:
        low, high = min(low, value), max(high, value)
    buckets = 2 * n
    per_unit = (buckets - 1) / (high - low)
    if not 0.0 < per_unit < np.inf:  # all values equal, infinite or too close to divide by
        per_unit, high = 0.0, 0.0
    counts[: buckets + 1] = 0
    for at in range(n):
        counts[bucket_of(values[at], high, per_unit) + 1] += 1
    for bucket in range(buckets):
        counts[bucket + 1] += counts[bucket]
    for at in range(n):
        bucket = bucket_of(values[at], high, per_unit)
        place = counts[bucket]
        counts[bucket] = place + 1
        keys[place], order[place] = values[at], at


@compiled
def bucket_of(value: float, high: float, per_unit: float) -> int:
    """A bucket, counted from the highest values on; always 0 where values cannot be spread."""
    return int((high - value) * per_unit) if per_unit > 0.0 else 0


@compiled
def insertion_sort(keys: FloatArray, order: IntArray, start: int, stop: int, moves: int) -> bool:
    """Sort a run in place; stop after about so many moves, and tell whether it is sorted."""
    for at in range(start + 1, stop):
        if keys[at - 1] >= keys[at]:  # mostly so, and cheaper to ask first
            continue
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
def merge_sort(keys: FloatArray, order: IntArray, room: Workspace) -> None:
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
        order[:n] = spare_order[:n]


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
def highest_first(values: FloatArray, n: int, highest: FloatArray, unused: IntArray, room: Workspace) -> None:
    """Write the n highest values, falling, into `highest`, which has room for all; `unused` too."""
    if n > FEW:
        sort_descending(values, highest, unused, room)
        return
    level, taken = np.inf, 0
    while taken < n:  # value by value; grades are few, and each pass over them is quick
        highest_below, count = -np.inf, 0
        for value in values:
            highest_below = max(highest_below, value if value < level else -np.inf)
        for value in values:
            count += value == highest_below
        level = highest_below
        for _ in range(min(count, n - taken)):
            highest[taken] = level
            taken += 1
