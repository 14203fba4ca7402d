"""Many metrics of many lists at once: the documents are sorted once, whatever is asked of them.

>>> from directranker.metrics.inputs import ranked_lists
>>> from directranker.metrics.metric import Metric
>>> lists = ranked_lists([1, 0, 0, 1], [2, 1, 2, 1], offsets=[0, 2, 4])
>>> values_per_query([Metric("precision", 1), Metric("reciprocal_rank")], lists)
array([[1. , 0. ],
       [1. , 0.5]])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from directranker.arrays import IntArray
from directranker.compilation import compiled, get_n_threads, run_in_parallel, split_queries_evenly
from directranker.metrics.inputs import RankedLists
from directranker.metrics.kernels import (
    AVERAGE,
    GAINS,
    MEASURES,
    SPEC,
    TIES,
    USE_GAINS,
    WORST,
    Specs,
    measure_list,
)
from directranker.metrics.sorting import (
    FloatArray,
    Workspace,
    highest_first,
    room_to_sort,
    sort_descending,
    tie_groups,
)

if TYPE_CHECKING:
    from directranker.metrics.metric import Metric
    from directranker.metrics.rules import GainTable

__all__ = [
    "discounts_of_ranks",
    "fill_left_out",
    "least_relevant_first",
    "specs_and_grades",
    "values_per_query",
]

# Below this many documents, handing work to threads costs more than the work.
WORTH_A_THREAD = 20_000


def values_per_query(metrics: Sequence[Metric], lists: RankedLists) -> FloatArray:
    """One row per metric, one column per query; nan where a query is left out."""
    specs, grades = specs_and_grades(metrics, lists)
    # Kernels are compiled for each kind of array; read-only ones would be one more, so they are copied.
    scores, offsets = np.require(lists.scores, requirements="W"), np.require(lists.offsets, requirements="W")
    values = np.empty((len(metrics), len(lists.offsets) - 1))
    discounts = discounts_of_ranks(int(np.diff(lists.offsets).max()))

    def work(first: int, last: int) -> None:
        measure_queries(specs, grades, scores, offsets, discounts, first, last, values)

    parts = min(get_n_threads(), 1 + len(lists.scores) // WORTH_A_THREAD)
    run_in_parallel(work, split_queries_evenly(lists.offsets, parts))
    for metric, row in zip(metrics, values, strict=True):
        fill_left_out(row, metric)
    return values


def fill_left_out(values: FloatArray, metric: Metric) -> None:
    """Put the convention's value, if it has one, where a query has none."""
    value = metric.convention.no_relevant
    if value != "skip":
        values[np.isnan(values)] = 0.0 if metric.measure == "dcg" else value


def discounts_of_ranks(longest: int) -> FloatArray:
    """Row 0: 1 / log2(rank + 1); row 1: LETOR 4's, two ranks undiscounted, then 1 / log2(rank)."""
    ranks = np.arange(1, longest + 1)
    return np.stack([1 / np.log2(ranks + 1), 1 / np.log2(np.maximum(ranks, 2))])


def specs_and_grades(metrics: Sequence[Metric], lists: RankedLists) -> tuple[Specs, FloatArray]:
    """The metrics as records for the kernel, and the rows of grades that they measure."""
    specs = np.zeros(len(metrics), dtype=SPEC)
    rows: dict[GainTable | None, FloatArray] = {None: lists.relevance}
    for spec, metric in zip(specs, metrics, strict=True):
        rules = metric.convention
        table = rules.gain_table if metric.measure in ("dcg", "ndcg") else None
        if table not in rows:
            rows[table] = _gains_by_table(table or (), lists)
        spec["measure"] = MEASURES[metric.measure]
        spec["k"] = np.iinfo(np.int64).max if metric.k is None else metric.k
        spec["grades"] = list(rows).index(table)
        spec["gain"] = GAINS["linear" if isinstance(rules.gain, tuple) else str(rules.gain)]
        spec["threshold"] = rules.threshold
        spec["discount"] = rules.discount == "letor4"
        spec["ties"] = TIES[rules.ties]
        spec["short_list_is_zero"] = rules.short_lists == "zero" and metric.k is not None
        spec["precision_over_k"] = rules.precision_over == "k" and metric.k is not None
        spec["over_reachable"] = rules.average_precision_over == "reachable"
        spec["max_grade"] = _max_grade(metric, lists)
    return specs, np.stack(list(rows.values()))


def _gains_by_table(table: GainTable, lists: RankedLists) -> FloatArray:
    labels, gains = np.array(table).T
    place = np.searchsorted(labels, lists.relevance).clip(max=len(labels) - 1)
    unknown = np.flatnonzero(labels[place] != lists.relevance)
    if len(unknown):
        at, known = unknown[0], ", ".join(f"{label:g}" for label in labels)
        raise ValueError(
            f"label {lists.relevance[at]:g} in row {lists.row(at)} has no gain in the table, "
            f"which has {known}; add it"
        )
    return np.asarray(gains[place], dtype=np.float64)


def _max_grade(metric: Metric, lists: RankedLists) -> float:
    given = metric.convention.max_grade
    if metric.measure != "err" or metric.convention.gain == "binary":
        return 0.0
    highest = float(lists.relevance.max(initial=0.0))
    if given is not None and highest > given:
        row = lists.row(int(lists.relevance.argmax()))
        raise ValueError(
            f"label {highest:g} in row {row} is above max_grade {given:g} of ERR; "
            "give the highest grade of the scale, or max_grade=None for the highest label"
        )
    return highest if given is None else float(given)


@compiled
def measure_queries(
    specs: Specs,
    grades: FloatArray,
    scores: FloatArray,
    offsets: IntArray,
    discounts: FloatArray,
    first: int,
    last: int,
    values: FloatArray,
) -> None:
    """Measure the queries `first:last`: sort each one once, then take every measure of it."""
    longest = 0
    for query in range(first, last):
        longest = max(longest, offsets[query + 1] - offsets[query])
    keys, ranked, ideal = np.empty(longest), np.empty(longest), np.empty(longest)
    order, ends = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    unused = np.empty(longest, dtype=np.int64)
    singles, room = np.arange(1, longest + 1), room_to_sort(longest)
    for query in range(first, last):
        start, n = offsets[query], offsets[query + 1] - offsets[query]
        sort_descending(scores[start : start + n], keys[:n], order, room)
        groups = ends[: tie_groups(keys[:n], ends)]
        for at in range(len(specs)):
            spec = specs[at]
            if at == 0 or spec.grades != specs[at - 1].grades or spec.ties != specs[at - 1].ties:
                own = grades[spec.grades, start : start + n]
                for place in range(n):
                    ranked[place] = own[order[place]]
                if spec.ties == WORST:
                    least_relevant_first(ranked[:n], groups, keys, unused, room)
            if spec.measure in USE_GAINS:
                highest_first(ranked[:n], min(n, spec.k), ideal, unused, room)
            tied = groups if spec.ties == AVERAGE else singles[:n]
            values[at, query] = measure_list(spec, ranked[:n], tied, ideal, discounts)


@compiled
def least_relevant_first(
    grades: FloatArray, ends: IntArray, keys: FloatArray, unused: IntArray, room: Workspace
) -> None:
    """Let the grades grow within each tie group; `keys` and `unused` are overwritten."""
    start = 0
    for end in ends:
        size = end - start
        if size > 1:
            sort_descending(grades[start:end], keys[:size], unused, room)
            for at in range(size):
                grades[start + at] = keys[size - 1 - at]
        start = end
