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
from directranker.encoding.blocks import Table

__all__ = ["CategoryColumns", "assign_columns", "count_codes", "fit_category_columns", "locate_code"]


class CategoryColumns(NamedTuple):
    """The columns of each code, see above, and the number of columns of each feature; 0 for numbers."""

    columns: IntArray
    offsets: IntArray
    n_columns: IntArray


def fit_category_columns(
    table: Table, kinds: ColumnKinds, *, min_count: int, max_columns: int
) -> CategoryColumns:
    """Assign columns to the categories of a table."""
    offsets = np.cumsum([0, *np.where(kinds.is_categorical, kinds.n_categories + 1, 0)], dtype=np.int64)
    columns, n_columns = np.full(offsets[-1], -1, dtype=np.int64), np.zeros(len(offsets) - 1, dtype=np.int64)
    for feature in np.flatnonzero(kinds.is_categorical):
        counts = count_codes(table[:, feature], int(kinds.n_categories[feature]))
        of_codes, n = assign_columns(counts, min_count=min_count, max_columns=max_columns)
        has_missing = bool(np.isnan(table[:, feature]).any())
        if n + has_missing > 1:  # one column alone would be the same for all documents
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


@compiled
def locate_code(value: float, first: int, stop: int) -> int:
    """Return the position of a code in `CategoryColumns.columns[first:stop]`: of −1 where it is invalid.

    >>> locate_code(2.0, 10, 14), locate_code(-1.0, 10, 14), locate_code(1e30, 10, 14)
    (13, 10, 10)
    """
    if value >= 0 and value < stop - first - 1:
        return first + 1 + int(value)
    return first
