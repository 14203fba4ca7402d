"""The compiled part of measuring many scorings of the same lists; see `repeated`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import IntArray
from directranker.compilation import compiled
from directranker.metrics.computation import least_relevant_first
from directranker.metrics.kernels import (
    AVERAGE,
    DCG,
    NDCG,
    USE_GAINS,
    WORST,
    Specs,
    gain_exponent,
    measure_list,
    scaled_gain,
)
from directranker.metrics.sorting import (
    FloatArray,
    Workspace,
    highest_first,
    room_to_sort,
    sort_descending,
    tie_groups,
)

__all__ = [
    "Column",
    "gain_of_top",
    "keep_highest",
    "measure_columns",
    "measure_scores",
    "measure_steps",
    "worths",
]

Column = NDArray[np.float32]
BoolArray = NDArray[np.bool_]
Space = tuple[FloatArray, IntArray, IntArray, Workspace, BoolArray]


@compiled
def worths(specs: Specs, grades: FloatArray, offsets: IntArray, discounts: FloatArray) -> FloatArray:
    """Each document's gain, for NDCG divided by what its query can reach; nan in a query that has none."""
    spec, worth = specs[0], np.empty(len(grades))
    longest = longest_of(offsets, 0, len(offsets) - 1)
    ideal, unused, room = np.empty(longest), np.empty(longest, dtype=np.int64), room_to_sort(longest)
    for query in range(len(offsets) - 1):
        start, stop = offsets[query], offsets[query + 1]
        if start == stop:
            continue
        ranks = min(stop - start, spec.k)
        highest_first(grades[start:stop], ranks, ideal, unused, room)
        exponent = 0.0 if spec.measure == DCG else gain_exponent(ideal[0], spec.gain)
        best = 0.0
        for rank in range(ranks):
            gain = scaled_gain(ideal[rank], spec.gain, spec.threshold, exponent)
            best += gain * discounts[spec.discount, rank]
        unit = 1.0 if spec.measure == DCG else best
        if spec.measure == NDCG and spec.short_list_is_zero and stop - start < spec.k:
            unit = np.inf
        for at in range(start, stop):
            gain = scaled_gain(grades[at], spec.gain, spec.threshold, exponent)
            worth[at] = gain / unit if best > 0.0 else np.nan
    return worth


@compiled
def measure_scores(
    specs: Specs,
    grades: FloatArray,
    scores: FloatArray,
    offsets: IntArray,
    discounts: FloatArray,
    leaders: IntArray,
    first: int,
    last: int,
    values: FloatArray,
) -> None:
    """Measure the queries `first:last`."""
    space = space_for(longest_of(offsets, first, last))
    for query in range(first, last):
        rows = slice(offsets[query], offsets[query + 1])
        values[query] = measure_scoring(specs, grades[rows], scores[rows], discounts, leaders[query], space)


@compiled
def measure_steps(
    specs: Specs,
    grades: FloatArray,
    scores: FloatArray,
    column: Column,
    steps: FloatArray,
    offsets: IntArray,
    discounts: FloatArray,
    leaders: IntArray,
    first: int,
    last: int,
    values: FloatArray,
) -> None:
    """Measure the queries `first:last` under scores + step × column for each step."""
    longest = longest_of(offsets, first, last)
    space, own = space_for(longest), np.empty(longest)
    for query in range(first, last):
        start, n = offsets[query], offsets[query + 1] - offsets[query]
        for at in range(len(steps)):
            for row in range(n):
                own[row] = scores[start + row] + steps[at] * column[start + row]
            values[at, query] = measure_scoring(
                specs, grades[start : start + n], own[:n], discounts, leaders[query], space
            )


@compiled
def measure_columns(
    specs: Specs,
    grades: FloatArray,
    columns: NDArray[np.float32],
    sign: float,
    offsets: IntArray,
    discounts: FloatArray,
    leaders: IntArray,
    first: int,
    last: int,
    values: FloatArray,
) -> None:
    """Measure the queries `first:last` under each column; columns begin at the first offset."""
    longest = longest_of(offsets, first, last)
    space, own = space_for(longest), np.empty(longest)
    for query in range(first, last):
        start, n = offsets[query], offsets[query + 1] - offsets[query]
        for column in range(len(columns)):
            for row in range(n):
                own[row] = sign * columns[column, start - offsets[0] + row]
            values[column, query] = measure_scoring(
                specs, grades[start : start + n], own[:n], discounts, leaders[query], space
            )


@compiled
def longest_of(offsets: IntArray, first: int, last: int) -> int:
    """The length of the longest of the queries `first:last`."""
    longest = 0
    for query in range(first, last):
        longest = max(longest, offsets[query + 1] - offsets[query])
    return longest


@compiled
def space_for(longest: int) -> Space:
    """Workspace to measure lists of up to this length."""
    floats, ints = np.empty((2, longest)), np.empty((3, longest), dtype=np.int64)
    singles, is_leader = np.arange(1, longest + 1), np.zeros(longest, dtype=np.bool_)
    return floats, ints, singles, room_to_sort(longest), is_leader


@compiled
def measure_scoring(
    specs: Specs,
    grades: FloatArray,
    scores: FloatArray,
    discounts: FloatArray,
    leaders: IntArray,
    space: Space,
) -> float:
    """The measure of one list in the order of its scores; of NDCG and DCG, `grades` are worths.

    `leaders` are different rows, as many as ranks count, or none where a sort is needed.
    """
    spec, n = specs[0], len(scores)
    floats, ints, singles, room, is_leader = space
    keys, ranked, order, ends = floats[0, :n], floats[1, :n], ints[0], ints[1]
    if n == 0 or np.isnan(grades[0]):
        return np.nan
    uses_gains = spec.measure in USE_GAINS
    if len(leaders) > 0:
        keep_highest(scores, leaders[:n], keys, is_leader)
        value = gain_of_top(grades, scores, leaders[:n], keys, discounts[spec.discount])
        return value if spec.measure == DCG else min(value, 1.0)
    sort_descending(scores, keys, order, room)
    groups = ends[: tie_groups(keys, ends)]
    for place in range(n):
        ranked[place] = grades[order[place]]
    if spec.ties == WORST:
        least_relevant_first(ranked, groups, floats[0], ints[2], room)
    tied = groups if spec.ties == AVERAGE else singles[:n]
    if not uses_gains:
        return measure_list(spec, ranked, tied, floats[0], discounts)
    value = gain_of_groups(ranked, tied, spec.k, discounts[spec.discount])
    return value if spec.measure == DCG else min(value, 1.0)


@compiled
def gain_of_groups(worth: FloatArray, ends: IntArray, k: int, discount: FloatArray) -> float:
    """Σ over groups of equal scores of their mean worth × the discounts of their ranks up to k."""
    total, start = 0.0, 0
    for end in ends:
        if start >= k:
            break
        total += worth[start:end].sum() / (end - start) * discount[start : min(end, k)].sum()
        start = end
    return total


@compiled
def gain_of_top(
    worth: FloatArray, scores: FloatArray, leaders: IntArray, top: FloatArray, discount: FloatArray
) -> float:
    """The same by the rows of the first ranks, `leaders`, and their scores, `top`."""
    k, total, start = len(leaders), 0.0, 0
    while start < k:
        gain, weight, end = 0.0, 0.0, start
        while end < k and top[end] == top[start]:
            gain += worth[leaders[end]]
            weight += discount[end]
            end += 1
        size = end - start
        if end == k:
            size = number_of(scores, top[start])
            if size > end - start:  # documents behind rank k share the last group's score
                gain = 0.0
                for row in range(len(scores)):
                    if scores[row] == top[start]:
                        gain += worth[row]
        total += gain / size * weight
        start = end
    return total


@compiled
def number_of(scores: FloatArray, score: float) -> int:
    """How often a score occurs."""
    count = 0
    for each in scores:
        count += each == score
    return count


@compiled
def keep_highest(scores: FloatArray, leaders: IntArray, top: FloatArray, is_leader: BoolArray) -> None:
    """Make the rows of the k highest scores the k leaders, and write these scores, falling, into `top`.

    Those who led before are looked at first: where scores change little, nobody else comes in.
    """
    k, above = len(leaders), 0
    for place in range(k):
        insert(scores[leaders[place]], leaders[place], place, leaders, top)
    for place in range(k):
        above += top[place] > top[k - 1]
    if number_above(scores, top[k - 1]) == above:
        return
    for row in leaders:
        is_leader[row] = True
    for row in range(len(scores)):
        if scores[row] > top[k - 1] and not is_leader[row]:
            is_leader[leaders[k - 1]], is_leader[row] = False, True
            insert(scores[row], row, k - 1, leaders, top)
    for row in leaders:
        is_leader[row] = False


@compiled
def insert(score: float, row: int, place: int, leaders: IntArray, top: FloatArray) -> None:
    """Put a row behind those of scores as high, among the first `place`, and drop the one at this place."""
    while place > 0 and top[place - 1] < score:
        top[place], leaders[place] = top[place - 1], leaders[place - 1]
        place -= 1
    top[place], leaders[place] = score, row


@compiled
def number_above(scores: FloatArray, score: float) -> int:
    """How many scores are higher."""
    count = 0
    for each in scores:
        count += each > score
    return count
