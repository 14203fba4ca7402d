"""The documents of each query by falling label, cut into classes of equal labels.

Everything about pairs happens in this order: a document meets a contiguous stretch of others, so inner
loops run over neighbouring memory. A position in it is called a *place*. Where the labels fall within each
query already, as a training loop can arrange once and for all, places are rows and nothing is moved.

>>> classes = classes_of([0, 2, 0, 1], [0, 3, 4])
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

from directranker.arrays import IntArray
from directranker.compilation import compiled, get_n_threads, run_in_parallel, split_queries_evenly
from directranker.data.checking import as_relevance
from directranker.data.grouping import check_offsets
from directranker.metrics.sorting import FloatArray, room_to_sort, sort_descending

__all__ = ["WORTH_A_THREAD", "Layout", "QueryClasses", "classes_of"]

# Below this many documents to sort, handing work to threads costs more than the work.
WORTH_A_THREAD = 20_000


class Layout(NamedTuple):
    """Where queries and classes begin, for kernels.

    Query q has the places `offsets[q]:offsets[q + 1]` and the classes `first[q]:first[q + 1]`, the highest
    label first; class c has the places `starts[c]:starts[c + 1]`.
    """

    offsets: IntArray
    first: IntArray
    starts: IntArray


@dataclass(frozen=True)
class QueryClasses:
    """Labels in the order of places, their layout, and the way back to rows."""

    relevance: FloatArray
    layout: Layout
    rows: IntArray | None
    """The row of each place; None where they are the same."""

    @property
    def n_queries(self) -> int:
        """How many queries there are, with those that have no pairs."""
        return len(self.layout.offsets) - 1

    @property
    def n_classes(self) -> IntArray:
        """How many different labels each query has."""
        return np.diff(self.layout.first)

    def query_of_place(self) -> IntArray:
        """The query of each place.

        >>> classes_of([1, 0, 1], [0, 2, 3]).query_of_place().tolist()
        [0, 0, 1]
        """
        return np.repeat(np.arange(self.n_queries), np.diff(self.layout.offsets))

    def take(self, queries: IntArray) -> tuple[QueryClasses, IntArray]:
        """These queries, one after another, with their labels falling → (their classes, the rows they have).

        >>> classes, rows = classes_of([0, 2, 0, 1], [0, 3, 4]).take(np.array([1, 0]))
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
        return QueryClasses(labels, Layout(new_offsets, new_first, new_starts), None), rows

    def by_place(self, values: NDArray[np.generic]) -> FloatArray:
        """Values per row, as float64 in the order of places."""
        moved = values if self.rows is None else values[self.rows]
        return np.require(moved, np.float64, ["C", "A", "W"])

    def by_row(self, values: FloatArray) -> FloatArray:
        """Values per place, in the order of rows; a new array where they move."""
        if self.rows is None:
            return values
        moved = np.empty_like(values)
        moved[self.rows] = values
        return moved


def classes_of(relevance: ArrayLike | QueryClasses, offsets: ArrayLike | None = None) -> QueryClasses:
    """Order each query's documents by falling label, equal labels as they come, and find the classes.

    Without offsets all documents are one list. What has been through here once comes back as it is.

    >>> classes_of([3, 1, 1]).rows is None
    True
    """
    if isinstance(relevance, QueryClasses):
        return relevance
    n = np.size(relevance)
    labels = np.require(as_relevance(relevance, n), np.float64, ["C", "A", "W"])
    bounds = check_offsets([0, n] if offsets is None else offsets, n_rows=n)
    first, starts = np.empty(len(bounds), dtype=np.int64), np.empty(n + 1, dtype=np.int64)
    rows = None
    n_classes = cut_into_classes(labels, bounds, first, starts)
    if n_classes < 0:
        rows = _rows_by_label(labels, bounds)
        labels = labels[rows]
        n_classes = cut_into_classes(labels, bounds, first, starts)
    return QueryClasses(labels, Layout(bounds, first, starts[: n_classes + 1]), rows)


def _rows_by_label(labels: FloatArray, offsets: IntArray) -> IntArray:
    rows = np.empty(len(labels), dtype=np.int64)
    parts = min(get_n_threads(), 1 + len(labels) // WORTH_A_THREAD)
    run_in_parallel(
        lambda first, last: order_by_label(labels, offsets, first, last, rows),
        split_queries_evenly(offsets, parts),
    )
    return rows


@compiled
def cut_into_classes(relevance: FloatArray, offsets: IntArray, first: IntArray, starts: IntArray) -> int:
    """Write the layout of labels that fall within each query; return how many classes, -1 if one rises."""
    count = 0
    for query in range(len(offsets) - 1):
        first[query] = count
        for place in range(offsets[query], offsets[query + 1]):
            if place == offsets[query] or relevance[place] < relevance[place - 1]:
                starts[count] = place
                count += 1
            elif relevance[place] > relevance[place - 1]:
                return -1
    first[len(offsets) - 1] = count
    starts[count] = len(relevance)
    return count


@compiled
def copy_queries(
    relevance: FloatArray,
    layout: Layout,
    rows: IntArray,
    queries: IntArray,
    new_relevance: FloatArray,
    new_starts: IntArray,
    new_rows: IntArray,
) -> None:
    """Write the labels, the starts of the classes and the rows of these queries, one after another.

    Empty `rows` say that places are rows.
    """
    at, count = 0, 0
    for query in queries:
        shift = at - layout.offsets[query]
        for c in range(layout.first[query], layout.first[query + 1]):
            new_starts[count] = layout.starts[c] + shift
            count += 1
        for place in range(layout.offsets[query], layout.offsets[query + 1]):
            new_relevance[at] = relevance[place]
            new_rows[at] = rows[place] if len(rows) > 0 else place
            at += 1
    new_starts[count] = at


@compiled
def order_by_label(relevance: FloatArray, offsets: IntArray, first: int, last: int, rows: IntArray) -> None:
    """Write the rows of the queries `first:last` by falling label, equal labels in input order."""
    longest = 0
    for query in range(first, last):
        longest = max(longest, offsets[query + 1] - offsets[query])
    keys, order, room = np.empty(longest), np.empty(longest, dtype=np.int64), room_to_sort(longest)
    for query in range(first, last):
        start, n = offsets[query], offsets[query + 1] - offsets[query]
        if n > 0:
            sort_descending(relevance[start : start + n], keys[:n], order, room)
        for place in range(n):
            rows[start + place] = start + order[place]
