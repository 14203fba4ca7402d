"""Compiled stable sorting of one query's documents by falling score.

A bucket sort with twice as many buckets as keys comes first; the keys are then usually almost sorted, and an
insertion sort finishes. Where they are not (a few keys far from all others), a merge sort takes over, so no
input takes more than n log n steps.

>>> keys, order = np.empty(4), np.empty(4, dtype=np.int64)
>>> sort_descending(np.array([1.0, 3.0, 1.0, 2.0]), keys, order, make_sort_workspace(4))
>>> keys.tolist(), order.tolist()
([3.0, 2.0, 1.0, 1.0], [1, 3, 0, 2])
"""

from __future__ import annotations

import numpy as np

from directranker.arrays import FloatArray, IntArray
from directranker.compilation import compiled

__all__ = [
    "MAX_SELECTED",
    "SortWorkspace",
    "find_tie_groups",
    "make_sort_workspace",
    "max_group_size",
    "merge",
    "select_highest",
    "sort_descending",
]

SortWorkspace = tuple[FloatArray, IntArray, IntArray]  # spare keys, spare order, bucket counts
RUN_LENGTH = 16  # runs of this length are sorted by insertion before they are merged
MAX_MOVES_PER_KEY = 8  # an insertion sort that needs more moves stops, and a merge sort takes over
MAX_SELECTED = 32  # up to this many highest values are selected one by one; for more, all are sorted


@compiled
def max_group_size(offsets: IntArray, first: int, last: int) -> int:
    """Return the size of the largest of the groups `first:last`; group g is `offsets[g]:offsets[g + 1]`."""
    size = 0
    for group in range(first, last):
        size = max(size, offsets[group + 1] - offsets[group])
    return size


@compiled
def make_sort_workspace(n: int) -> SortWorkspace:
    """Allocate the workspace for sorting up to n values."""
    return np.empty(n), np.empty(n, dtype=np.int64), np.empty(2 * n + 1, dtype=np.int64)


@compiled
def sort_descending(values: FloatArray, keys: FloatArray, order: IntArray, workspace: SortWorkspace) -> None:
    """Write the values in falling order to `keys`, and the index of each to `order`."""
    n = len(values)
    bucket_sort(values, keys, order, workspace[2])
    if not insertion_sort(keys, order, 0, n, MAX_MOVES_PER_KEY * n + RUN_LENGTH * RUN_LENGTH):
        merge_sort(keys, order, workspace)


@compiled
def bucket_sort(values: FloatArray, keys: FloatArray, order: IntArray, counts: IntArray) -> None:
    """Distribute values over buckets, high values first, in input order within a bucket."""
    n, low, high = len(values), np.inf, -np.inf
    for value in values:
        low, high = min(low, value), max(high, value)
    buckets = 2 * n
    per_unit = (buckets - 1) / (high - low)
    if not 0.0 < per_unit < np.inf:  # all values equal, infinite or too close to divide by
        per_unit, high = 0.0, 0.0
    counts[: buckets + 1] = 0
    for index in range(n):
        counts[get_bucket(values[index], high, per_unit) + 1] += 1
    for bucket in range(buckets):
        counts[bucket + 1] += counts[bucket]
    for index in range(n):
        bucket = get_bucket(values[index], high, per_unit)
        position = counts[bucket]
        counts[bucket] = position + 1
        keys[position], order[position] = values[index], index


@compiled
def get_bucket(value: float, high: float, per_unit: float) -> int:
    """Return the bucket of a value, the highest values in bucket 0; always 0 where `per_unit` is 0."""
    return int((high - value) * per_unit) if per_unit > 0.0 else 0


@compiled
def insertion_sort(keys: FloatArray, order: IntArray, start: int, stop: int, max_moves: int) -> bool:
    """Sort a run in place; return False where it takes more than about `max_moves` moves."""
    for index in range(start + 1, stop):
        if keys[index - 1] >= keys[index]:  # the common case, cheaper to test first
            continue
        key, origin, position = keys[index], order[index], index
        while position > start and keys[position - 1] < key:
            keys[position], order[position] = keys[position - 1], order[position - 1]
            position -= 1
        keys[position], order[position] = key, origin
        max_moves -= index - position
        if max_moves < 0:
            return False
    return True


@compiled
def merge_sort(keys: FloatArray, order: IntArray, workspace: SortWorkspace) -> None:
    """Sort short runs by insertion, then merge them pair by pair, alternating with the spare arrays."""
    n = len(keys)
    spare, spare_order, _ = workspace
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
    if merges % 2 == 1:  # the last merge wrote to the spare arrays
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
    """Merge the falling runs `start:middle` and `middle:stop`; of equal keys the left one comes first."""
    left, right = start, middle
    for index in range(start, stop):
        take_left = right >= stop or (left < middle and source[left] >= source[right])
        taken = left if take_left else right
        target[index], target_order[index] = source[taken], source_order[taken]
        left += take_left
        right += not take_left


@compiled
def find_tie_groups(sorted_keys: FloatArray, ends: IntArray) -> int:
    """Write the end of each group of equal keys; return the number of groups."""
    n_groups = 0
    for end in range(1, len(sorted_keys) + 1):
        if end == len(sorted_keys) or sorted_keys[end] != sorted_keys[end - 1]:
            ends[n_groups] = end
            n_groups += 1
    return n_groups


@compiled
def select_highest(
    values: FloatArray, n: int, highest: FloatArray, scratch: IntArray, workspace: SortWorkspace
) -> None:
    """Write the n highest values, falling, to `highest`, which is as long as `values`, as is `scratch`."""
    if n > MAX_SELECTED:
        sort_descending(values, highest, scratch, workspace)
        return
    level, taken = np.inf, 0
    while taken < n:  # one distinct value per pass; labels have few distinct values
        highest_below, count = -np.inf, 0
        for value in values:
            highest_below = max(highest_below, value if value < level else -np.inf)
        for value in values:
            count += value == highest_below
        level = highest_below
        for _ in range(min(count, n - taken)):
            highest[taken] = level
            taken += 1
