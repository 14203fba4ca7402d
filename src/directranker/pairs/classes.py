"""The documents of each query in label order: by falling label, grouped into classes of equal labels.

All code about pairs works in label order: a document is compared with a contiguous range of others, so inner
loops run over contiguous memory. A *position* is an index in label order, a *row* one in the order of the
input. Where the labels of each query fall already, as a training loop can arrange once, both are the same.

>>> classes = group_by_label([0, 2, 0, 1], [0, 3, 4])
>>> classes.rows.tolist(), classes.relevance.tolist()
([1, 0, 2, 3], [2.0, 0.0, 0.0, 1.0])
>>> classes.layout.starts.tolist(), classes.layout.first.tolist()
([0, 1, 3, 4], [0, 2, 3])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from directranker.arrays import FloatArray, IntArray, query_of_rows
from directranker.compilation import compiled, get_n_threads, run_in_parallel, split_queries_evenly
from directranker.data.checking import as_relevance
from directranker.data.grouping import check_offsets
from directranker.metrics.sorting import make_sort_workspace, max_group_size, sort_descending

__all__ = ["MIN_DOCUMENTS_PER_THREAD", "ClassLayout", "QueryClasses", "group_by_label"]

# With fewer documents to sort per thread, starting threads costs more than it saves.
MIN_DOCUMENTS_PER_THREAD = 20_000


class ClassLayout(NamedTuple):
    """The boundaries of queries and classes, for kernels.

    Query q has the positions `offsets[q]:offsets[q + 1]` and the classes `first[q]:first[q + 1]`, the highest
    label first; class c has the positions `starts[c]:starts[c + 1]`.
    """

    offsets: IntArray
    first: IntArray
    starts: IntArray


@dataclass(frozen=True)
class QueryClasses:
    """Labels in label order, the boundaries of their classes, and the row of each position."""

    relevance: FloatArray
    layout: ClassLayout
    rows: IntArray | None
    """The row of each position; None where rows are in label order already."""

    @property
    def n_queries(self) -> int:
        """The number of queries, including those without pairs."""
        return len(self.layout.offsets) - 1

    @property
    def n_classes(self) -> IntArray:
        """The number of distinct labels of each query."""
        return np.diff(self.layout.first)

    def query_of_rows(self) -> IntArray:
        """Return the query index of each position.

        >>> group_by_label([1, 0, 1], [0, 2, 3]).query_of_rows().tolist()
        [0, 0, 1]
        """
        return query_of_rows(self.layout.offsets)

    def take(self, queries: IntArray) -> tuple[QueryClasses, IntArray]:
        """Return the classes of these queries, in this order, and the row of each of their positions.

        >>> classes, rows = group_by_label([0, 2, 0, 1], [0, 3, 4]).take(np.array([1, 0]))
        >>> classes.relevance.tolist(), classes.layout.starts.tolist(), rows.tolist()
        ([1.0, 2.0, 0.0, 0.0], [0, 1, 2, 4], [3, 1, 0, 2])
        """
        offsets, first, _ = self.layout
        new_offsets, new_first = (np.zeros(len(queries) + 1, dtype=np.int64) for _ in range(2))
        np.cumsum(offsets[queries + 1] - offsets[queries], out=new_offsets[1:])
        np.cumsum(first[queries + 1] - first[queries], out=new_first[1:])
        new_starts = np.empty(new_first[-1] + 1, dtype=np.int64)
        labels, rows = np.empty(new_offsets[-1]), np.empty(new_offsets[-1], dtype=np.int64)
        old_rows = np.empty(0, dtype=np.int64) if self.rows is None else self.rows
        copy_queries(self.relevance, self.layout, old_rows, queries, labels, new_starts, rows)
        return QueryClasses(labels, ClassLayout(new_offsets, new_first, new_starts), None), rows

    def to_label_order(self, values: NDArray[np.generic]) -> FloatArray:
        """Return values per row as float64 in label order."""
        moved = values if self.rows is None else values[self.rows]
        return np.require(moved, np.float64, ["C", "A", "W"])

    def to_row_order(self, values: FloatArray) -> FloatArray:
        """Return values per position in row order; a new array if the order differs."""
        if self.rows is None:
            return values
        moved = np.empty_like(values)
        moved[self.rows] = values
        return moved


def group_by_label(relevance: ArrayLike | QueryClasses, offsets: ArrayLike | None = None) -> QueryClasses:
    """Sort each query's documents by falling label, stably, and find the classes of equal labels.

    Without offsets all documents are one query. A `QueryClasses` is returned unchanged.

    >>> group_by_label([3, 1, 1]).rows is None
    True
    """
    if isinstance(relevance, QueryClasses):
        return relevance
    n = np.size(relevance)
    labels = np.require(as_relevance(relevance, n), np.float64, ["C", "A", "W"])
    bounds = check_offsets([0, n] if offsets is None else offsets, n_rows=n)
    first, starts = np.empty(len(bounds), dtype=np.int64), np.empty(n + 1, dtype=np.int64)
    rows = None
    n_classes = find_classes(labels, bounds, first, starts)
    if n_classes < 0:
        rows = _sort_rows_by_label(labels, bounds)
        labels = labels[rows]
        n_classes = find_classes(labels, bounds, first, starts)
    return QueryClasses(labels, ClassLayout(bounds, first, starts[: n_classes + 1]), rows)


def _sort_rows_by_label(labels: FloatArray, offsets: IntArray) -> IntArray:
    rows = np.empty(len(labels), dtype=np.int64)
    parts = min(get_n_threads(), 1 + len(labels) // MIN_DOCUMENTS_PER_THREAD)
    run_in_parallel(
        lambda first, last: sort_by_label(labels, offsets, first, last, rows),
        split_queries_evenly(offsets, parts),
    )
    return rows


@compiled
def find_classes(relevance: FloatArray, offsets: IntArray, first: IntArray, starts: IntArray) -> int:
    """Write the layout of labels that fall within each query; return their number, -1 if one rises."""
    count = 0
    for query in range(len(offsets) - 1):
        first[query] = count
        for position in range(offsets[query], offsets[query + 1]):
            if position == offsets[query] or relevance[position] < relevance[position - 1]:
                starts[count] = position
                count += 1
            elif relevance[position] > relevance[position - 1]:
                return -1
    first[len(offsets) - 1] = count
    starts[count] = len(relevance)
    return count


@compiled
def copy_queries(
    relevance: FloatArray,
    layout: ClassLayout,
    rows: IntArray,
    queries: IntArray,
    new_relevance: FloatArray,
    new_starts: IntArray,
    new_rows: IntArray,
) -> None:
    """Write labels, class starts and rows of these queries, one after another.

    An empty `rows` means that rows are in label order.
    """
    end, count = 0, 0
    for query in queries:
        shift = end - layout.offsets[query]
        for c in range(layout.first[query], layout.first[query + 1]):
            new_starts[count] = layout.starts[c] + shift
            count += 1
        for position in range(layout.offsets[query], layout.offsets[query + 1]):
            new_relevance[end] = relevance[position]
            new_rows[end] = rows[position] if len(rows) > 0 else position
            end += 1
    new_starts[count] = end


@compiled
def sort_by_label(relevance: FloatArray, offsets: IntArray, first: int, last: int, rows: IntArray) -> None:
    """Write the rows of the queries `first:last` by falling label, equal labels in input order."""
    longest = max_group_size(offsets, first, last)
    keys, order = np.empty(longest), np.empty(longest, dtype=np.int64)
    workspace = make_sort_workspace(longest)
    for query in range(first, last):
        start, n = offsets[query], offsets[query + 1] - offsets[query]
        if n > 0:
            sort_descending(relevance[start : start + n], keys[:n], order, workspace)
        for rank in range(n):
            rows[start + rank] = start + order[rank]
