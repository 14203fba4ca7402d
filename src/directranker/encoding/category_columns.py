"""The columns of categories in a piecewise-linear encoding: one per frequent value, one for all rare values.

A categorical feature is a column of codes: the index of a value, −1 for a value that is not among them, NaN
for a missing one. The columns of feature j are in `columns[offsets[j]:offsets[j + 1]]`: first that of the
code −1, then that of each code, as an index among the feature's own columns; −1 means no column.

>>> columns, n_columns = assign_columns(np.array([90, 2, 70, 1]), min_count=20, max_columns=10)
>>> columns.tolist(), n_columns  # the rare values share column 2, which unseen values use too
([2, 0, 2, 1, 2], 3)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from directranker.arrays import IntArray
from directranker.compilation import compiled
from directranker.data.column_kinds import ColumnKinds
from directranker.data.grouping import Grouping
from directranker.encoding.blocks import Table

__all__ = [
    "CategoryColumns",
    "assign_columns",
    "count_codes",
    "fit_category_columns",
    "locate_code",
    "varies_within_queries",
]

MIN_COVERED = 0.2  # of the rows by columns of their own; else columns of the most frequent values add noise
MIN_VARYING_QUERIES = 0.5  # of the queries of two rows or more; else a net could only memorise queries


class CategoryColumns(NamedTuple):
    """The columns of each code, see above, and the number of columns of each feature; 0 for numbers."""

    columns: IntArray
    offsets: IntArray
    n_columns: IntArray


def fit_category_columns(
    table: Table, kinds: ColumnKinds, grouping: Grouping, *, min_count: int, max_columns: int
) -> CategoryColumns:
    """Assign columns to the categories of a table that differ within its queries."""
    offsets = np.cumsum([0, *np.where(kinds.is_categorical, kinds.n_categories + 1, 0)], dtype=np.int64)
    columns, n_columns = np.full(offsets[-1], -1, dtype=np.int64), np.zeros(len(offsets) - 1, dtype=np.int64)
    for feature in np.flatnonzero(kinds.is_categorical):
        codes = table[:, feature]
        counts = count_codes(codes, int(kinds.n_categories[feature]))
        of_codes, n = assign_columns(counts, min_count=min_count, max_columns=max_columns)
        n_in_columns = int(counts[of_codes[1:] != of_codes[0]].sum())
        is_covered = n_in_columns >= MIN_COVERED * counts.sum()
        if n + bool(np.isnan(codes).any()) > 1 and is_covered and varies_within_queries(codes, grouping):
            columns[offsets[feature] : offsets[feature + 1]], n_columns[feature] = of_codes, n
    return CategoryColumns(columns, offsets, n_columns)


def count_codes(codes: Table, n_categories: int) -> IntArray:
    """Count each code; NaN and codes outside the categories are left out.

    >>> count_codes(np.array([1.0, np.nan, 1.0, -1.0]), 3).tolist()
    [0, 2, 0]
    """
    known = codes[(codes >= 0) & (codes < n_categories)]
    return np.bincount(known.astype(np.int64), minlength=n_categories)


def assign_columns(counts: IntArray, *, min_count: int, max_columns: int) -> tuple[IntArray, int]:
    """Return the column of the code −1 and of each code, and the number of columns.

    Values with at least `min_count` rows have a column each, at most the `max_columns` most frequent ones.
    The others share one more column, if there are any.
    """
    frequent = np.flatnonzero(counts >= max(1, min_count))
    if len(frequent) > max_columns:
        frequent = np.sort(frequent[np.argsort(-counts[frequent], kind="stable")[:max_columns]])
    has_rare = bool(counts.sum() > counts[frequent].sum())
    columns = np.full(len(counts) + 1, len(frequent) if has_rare else -1, dtype=np.int64)
    columns[1 + frequent] = np.arange(len(frequent))
    return columns, len(frequent) + has_rare


def varies_within_queries(codes: Table, grouping: Grouping) -> bool:
    """Whether at least half of the queries of two rows or more have different codes; missing is one, too.

    >>> from directranker.data.grouping import group_by_query
    >>> queries = group_by_query([7, 7, 8, 8, 9], n_rows=5)
    >>> varies_within_queries(np.array([1.0, np.nan, 2.0, 2.0, 5.0]), queries)
    True
    """
    rows = slice(None) if grouping.order is None else grouping.order
    filled, sizes = np.where(np.isnan(codes), -2, codes)[rows], np.diff(grouping.offsets)
    starts = grouping.offsets[:-1][sizes > 0]
    lowest, highest = (extreme.reduceat(filled, starts) for extreme in (np.minimum, np.maximum))
    varies = (lowest < highest)[sizes[sizes > 0] > 1]
    return bool(varies.sum() >= max(1, MIN_VARYING_QUERIES * len(varies)))


@compiled
def locate_code(value: float, first: int, stop: int) -> int:
    """Return the position of a code in `CategoryColumns.columns[first:stop]`: of −1 where it is invalid.

    >>> locate_code(2.0, 10, 14), locate_code(-1.0, 10, 14), locate_code(1e30, 10, 14)
    (13, 10, 10)
    """
    if value >= 0 and value < stop - first - 1:
        return first + 1 + int(value)
    return first
