"""Many metrics of many queries, with one sort of the documents.

>>> from directranker.metrics.inputs import group_scores
>>> from directranker.metrics.metric import Metric
>>> groups = group_scores([1, 0, 0, 1], [2, 1, 2, 1], offsets=[0, 2, 4])
>>> compute_per_query([Metric("precision", 1), Metric("reciprocal_rank")], groups)
array([[1. , 0. ],
       [1. , 0.5]])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from directranker.arrays import FloatArray, IntArray
from directranker.compilation import compiled, get_n_threads, run_in_parallel, split_queries_evenly
from directranker.metrics.inputs import GroupedScores
from directranker.metrics.kernels import (
    AVERAGE,
    GAINS,
    MEASURES,
    SPEC,
    TIES,
    USE_GAINS,
    WORST,
    Specs,
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

if TYPE_CHECKING:
    from directranker.metrics.metric import Metric
    from directranker.metrics.rules import GainTable

__all__ = [
    "build_specs",
    "compute_discounts",
    "compute_per_query",
    "fill_skipped",
    "sort_ties_by_relevance",
]

# With fewer documents per thread, starting threads costs more than it saves.
MIN_DOCUMENTS_PER_THREAD = 20_000


def compute_per_query(metrics: Sequence[Metric], groups: GroupedScores) -> FloatArray:
    """Return (n_metrics, n_queries) values; nan where a query is skipped."""
    specs, grades = build_specs(metrics, groups)
    # A read-only array is another type to numba; a copy avoids compiling the kernel for it.
    scores, offsets = (
        np.require(groups.scores, requirements="W"),
        np.require(groups.offsets, requirements="W"),
    )
    values = np.empty((len(metrics), len(groups.offsets) - 1))
    discounts = compute_discounts(int(np.diff(groups.offsets).max()))

    def measure(first: int, last: int) -> None:
        measure_queries(specs, grades, scores, offsets, discounts, first, last, values)

    parts = min(get_n_threads(), 1 + len(groups.scores) // MIN_DOCUMENTS_PER_THREAD)
    run_in_parallel(measure, split_queries_evenly(groups.offsets, parts))
    for metric, row in zip(metrics, values, strict=True):
        fill_skipped(row, metric)
    return values


def fill_skipped(values: FloatArray, metric: Metric) -> None:
    """Replace nan by the convention's value for queries without a relevant document, if it has one."""
    value = metric.convention.no_relevant
    if value != "skip":
        values[np.isnan(values)] = 0.0 if metric.measure == "dcg" else value


def compute_discounts(longest: int) -> FloatArray:
    """Return (2, longest) discounts: 1 / log2(rank + 1), and LETOR 4's: 1, 1, then 1 / log2(rank)."""
    ranks = np.arange(1, longest + 1)
    return np.stack([1 / np.log2(ranks + 1), 1 / np.log2(np.maximum(ranks, 2))])


def build_specs(metrics: Sequence[Metric], groups: GroupedScores) -> tuple[Specs, FloatArray]:
    """Return the metrics as records for the kernel, and the rows of grades to which they refer."""
    specs = np.zeros(len(metrics), dtype=SPEC)
    rows: dict[GainTable | None, FloatArray] = {None: groups.relevance}
    for spec, metric in zip(specs, metrics, strict=True):
        rules = metric.convention
        table = rules.gain_table if metric.measure in ("dcg", "ndcg") else None
        if table not in rows:
            rows[table] = _look_up_gains(table or (), groups)
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
        spec["max_grade"] = _resolve_max_grade(metric, groups)
    return specs, np.stack(list(rows.values()))


def _look_up_gains(table: GainTable, groups: GroupedScores) -> FloatArray:
    labels, gains = np.array(table).T
    index = np.searchsorted(labels, groups.relevance).clip(max=len(labels) - 1)
    unknown = np.flatnonzero(labels[index] != groups.relevance)
    if len(unknown):
        row, known = unknown[0], ", ".join(f"{label:g}" for label in labels)
        raise ValueError(
            f"label {groups.relevance[row]:g} in row {groups.get_input_row(row)} has no gain in the table, "
            f"which has {known}; add its gain"
        )
    return np.asarray(gains[index], dtype=np.float64)


def _resolve_max_grade(metric: Metric, groups: GroupedScores) -> float:
    given = metric.convention.max_grade
    if metric.measure != "err" or metric.convention.gain == "binary":
        return 0.0
    highest = float(groups.relevance.max(initial=0.0))
    if given is not None and highest > given:
        row = groups.get_input_row(int(groups.relevance.argmax()))
        raise ValueError(
            f"label {highest:g} in row {row} is above max_grade {given:g} of ERR; "
            "pass the highest grade of the scale, or max_grade=None for the highest label"
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
    """Measure the queries `first:last`: sort each one once, then compute all its metrics."""
    longest = max_group_size(offsets, first, last)
    keys, ranked, ideal = np.empty(longest), np.empty(longest), np.empty(longest)
    order, ends = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    scratch = np.empty(longest, dtype=np.int64)
    singles, workspace = np.arange(1, longest + 1), make_sort_workspace(longest)
    for query in range(first, last):
        start, n = offsets[query], offsets[query + 1] - offsets[query]
        sort_descending(scores[start : start + n], keys[:n], order, workspace)
        tie_ends = ends[: find_tie_groups(keys[:n], ends)]
        for number in range(len(specs)):
            spec, previous = specs[number], specs[number - 1]
            if number == 0 or spec.grades != previous.grades or spec.ties != previous.ties:
                query_grades = grades[spec.grades, start : start + n]
                for rank in range(n):
                    ranked[rank] = query_grades[order[rank]]
                if spec.ties == WORST:
                    sort_ties_by_relevance(ranked[:n], tie_ends, keys, scratch, workspace)
            if spec.measure in USE_GAINS:
                select_highest(ranked[:n], min(n, spec.k), ideal, scratch, workspace)
            group_ends = tie_ends if spec.ties == AVERAGE else singles[:n]
            values[number, query] = measure_ranking(spec, ranked[:n], group_ends, ideal, discounts)


@compiled
def sort_ties_by_relevance(
    grades: FloatArray, ends: IntArray, keys: FloatArray, scratch: IntArray, workspace: SortWorkspace
) -> None:
    """Sort the grades of each tie group, the lowest first; `keys` and `scratch` are overwritten."""
    start = 0
    for end in ends:
        size = end - start
        if size > 1:
            sort_descending(grades[start:end], keys[:size], scratch, workspace)
            for index in range(size):
                grades[start + index] = keys[size - 1 - index]
        start = end
