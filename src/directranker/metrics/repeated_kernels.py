"""The kernels of `repeated`: one metric of many score vectors for the same documents."""

from __future__ import annotations

import numpy as np

from directranker.arrays import BoolArray, Float32Array, FloatArray, IntArray
from directranker.compilation import compiled
from directranker.metrics.computation import sort_ties_by_relevance
from directranker.metrics.kernels import (
    AVERAGE,
    DCG,
    NDCG,
    USE_GAINS,
    WORST,
    Specs,
    compute_gain_exponent,
    compute_scaled_gain,
    measure_ranking,
)
from directranker.metrics.sorting import (
    SortWorkspace,
    find_tie_groups,
    make_sort_workspace,
    max_group_size,
    select_highest,
    sort_descending,
)

__all__ = [
    "Column",
    "compute_worths",
    "measure_columns",
    "measure_scores",
    "measure_steps",
    "sum_leader_gains",
    "update_leaders",
]

Column = Float32Array
MeasureWorkspace = tuple[FloatArray, IntArray, IntArray, SortWorkspace, BoolArray]


@compiled
def compute_worths(specs: Specs, grades: FloatArray, offsets: IntArray, discounts: FloatArray) -> FloatArray:
    """Return each document's gain, for NDCG divided by its query's ideal DCG; nan in queries without gain."""
    spec, worth = specs[0], np.empty(len(grades))
    longest = max_group_size(offsets, 0, len(offsets) - 1)
    ideal, scratch = np.empty(longest), np.empty(longest, dtype=np.int64)
    workspace = make_sort_workspace(longest)
    for query in range(len(offsets) - 1):
        start, stop = offsets[query], offsets[query + 1]
        if start == stop:
            continue
        ranks = min(stop - start, spec.k)
        select_highest(grades[start:stop], ranks, ideal, scratch, workspace)
        exponent = 0.0 if spec.measure == DCG else compute_gain_exponent(ideal[0], spec.gain)
        best = 0.0
        for rank in range(ranks):
            gain = compute_scaled_gain(ideal[rank], spec.gain, spec.threshold, exponent)
            best += gain * discounts[spec.discount, rank]
        unit = 1.0 if spec.measure == DCG else best
        if spec.measure == NDCG and spec.short_list_is_zero and stop - start < spec.k:
            unit = np.inf
        for row in range(start, stop):
            gain = compute_scaled_gain(grades[row], spec.gain, spec.threshold, exponent)
            worth[row] = gain / unit if best > 0.0 else np.nan
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
    workspace = make_measure_workspace(max_group_size(offsets, first, last))
    for query in range(first, last):
        rows = slice(offsets[query], offsets[query + 1])
        values[query] = measure_query(specs, grades[rows], scores[rows], discounts, leaders[query], workspace)


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
    """Measure the queries `first:last` with the scores + step × column for each step."""
    longest = max_group_size(offsets, first, last)
    workspace, stepped = make_measure_workspace(longest), np.empty(longest)
    for query in range(first, last):
        start, n = offsets[query], offsets[query + 1] - offsets[query]
        for number in range(len(steps)):
            for row in range(n):
                stepped[row] = scores[start + row] + steps[number] * column[start + row]
            values[number, query] = measure_query(
                specs, grades[start : start + n], stepped[:n], discounts, leaders[query], workspace
            )


@compiled
def measure_columns(
    specs: Specs,
    grades: FloatArray,
    columns: Float32Array,
    sign: float,
    offsets: IntArray,
    discounts: FloatArray,
    leaders: IntArray,
    first: int,
    last: int,
    values: FloatArray,
) -> None:
    """Measure the queries `first:last` with each column as scores; columns start at the first offset."""
    longest = max_group_size(offsets, first, last)
    workspace, stepped = make_measure_workspace(longest), np.empty(longest)
    for query in range(first, last):
        start, n = offsets[query], offsets[query + 1] - offsets[query]
        for column in range(len(columns)):
            for row in range(n):
                stepped[row] = sign * columns[column, start - offsets[0] + row]
            values[column, query] = measure_query(
                specs, grades[start : start + n], stepped[:n], discounts, leaders[query], workspace
            )


@compiled
def make_measure_workspace(longest: int) -> MeasureWorkspace:
    """Allocate the workspace for measuring queries of up to this length."""
    floats, ints = np.empty((2, longest)), np.empty((3, longest), dtype=np.int64)
    singles, is_leader = np.arange(1, longest + 1), np.zeros(longest, dtype=np.bool_)
    return floats, ints, singles, make_sort_workspace(longest), is_leader


@compiled
def measure_query(
    specs: Specs,
    grades: FloatArray,
    scores: FloatArray,
    discounts: FloatArray,
    leaders: IntArray,
    workspace: MeasureWorkspace,
) -> float:
    """Return the measure of one query ranked by its scores; for NDCG and DCG, `grades` are worths.

    `leaders` are distinct rows, one per rank that counts, or empty where a sort is needed.
    """
    spec, n = specs[0], len(scores)
    floats, ints, singles, sort_workspace, is_leader = workspace
    keys, ranked, order, ends = floats[0, :n], floats[1, :n], ints[0], ints[1]
    if n == 0 or np.isnan(grades[0]):
        return np.nan
    uses_gains = spec.measure in USE_GAINS
    if len(leaders) > 0:
        update_leaders(scores, leaders[:n], keys, is_leader)
        value = sum_leader_gains(grades, scores, leaders[:n], keys, discounts[spec.discount])
        return value if spec.measure == DCG else min(value, 1.0)
    sort_descending(scores, keys, order, sort_workspace)
    tie_ends = ends[: find_tie_groups(keys, ends)]
    for rank in range(n):
        ranked[rank] = grades[order[rank]]
    if spec.ties == WORST:
        sort_ties_by_relevance(ranked, tie_ends, floats[0], ints[2], sort_workspace)
    group_ends = tie_ends if spec.ties == AVERAGE else singles[:n]
    if not uses_gains:
        return measure_ranking(spec, ranked, group_ends, floats[0], discounts)
    value = sum_group_gains(ranked, group_ends, spec.k, discounts[spec.discount])
    return value if spec.measure == DCG else min(value, 1.0)


@compiled
def sum_group_gains(worth: FloatArray, ends: IntArray, k: int, discount: FloatArray) -> float:
    """Return Σ over groups of equal scores of their mean worth × the discounts of their ranks up to k."""
    total, start = 0.0, 0
    for end in ends:
        if start >= k:
            break
        total += worth[start:end].sum() / (end - start) * discount[start : min(end, k)].sum()
        start = end
    return total


@compiled
def sum_leader_gains(
    worth: FloatArray, scores: FloatArray, leaders: IntArray, top: FloatArray, discount: FloatArray
) -> float:
    """Return the same from the rows of the first ranks, `leaders`, and their scores, `top`."""
    k, total, start = len(leaders), 0.0, 0
    while start < k:
        gain, weight, end = 0.0, 0.0, start
        while end < k and top[end] == top[start]:
            gain += worth[leaders[end]]
            weight += discount[end]
            end += 1
        size = end - start
        if end == k:
            size = count_equal(scores, top[start])
            if size > end - start:  # documents beyond rank k tie with the last group
                gain = 0.0
                for row in range(len(scores)):
                    if scores[row] == top[start]:
                        gain += worth[row]
        total += gain / size * weight
        start = end
    return total


@compiled
def count_equal(scores: FloatArray, score: float) -> int:
    """Count the occurrences of a score."""
    count = 0
    for each in scores:
        count += each == score
    return count


@compiled
def update_leaders(scores: FloatArray, leaders: IntArray, top: FloatArray, is_leader: BoolArray) -> None:
    """Write the rows of the k highest scores to `leaders`, and these scores, falling, to `top`.

    The previous leaders are sorted first: where scores change little, they are often still the leaders.
    """
    k, above = len(leaders), 0
    for rank in range(k):
        insert_leader(scores[leaders[rank]], leaders[rank], rank, leaders, top)
    for rank in range(k):
        above += top[rank] > top[k - 1]
    if count_above(scores, top[k - 1]) == above:
        return
    for row in leaders:
        is_leader[row] = True
    for row in range(len(scores)):
        if scores[row] > top[k - 1] and not is_leader[row]:
            is_leader[leaders[k - 1]], is_leader[row] = False, True
            insert_leader(scores[row], row, k - 1, leaders, top)
    for row in leaders:
        is_leader[row] = False


@compiled
def insert_leader(score: float, row: int, rank: int, leaders: IntArray, top: FloatArray) -> None:
    """Insert a row into the sorted leaders before `rank`, after equal scores; drop the one at `rank`."""
    while rank > 0 and top[rank - 1] < score:
        top[rank], leaders[rank] = top[rank - 1], leaders[rank - 1]
        rank -= 1
    top[rank], leaders[rank] = score, row


@compiled
def count_above(scores: FloatArray, score: float) -> int:
    """Count the higher scores."""
    count = 0
    for each in scores:
        count += each > score
    return count
