"""Which rows belong to which query.

Query ids are ints or strings, one per row, in any order. Queries keep the order in which they first
appear, and rows keep their order within a query.

>>> grouping = group_by_query(["b", "a", "b"], n_rows=3)
>>> grouping.query_ids.tolist(), grouping.offsets.tolist(), grouping.order.tolist()
(['b', 'a'], [0, 2, 3], [0, 2, 1])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from directranker.arrays import IntArray
from directranker.errors import DataError

__all__ = [
    "Grouping",
    "QueryIds",
    "check_offsets",
    "group_by_query",
    "group_runs",
    "means_of_queries",
    "query_id_array",
    "query_ids_of",
    "rows_of_queries",
]

QueryIds = NDArray[Any]  # int64, or object holding str


@dataclass(frozen=True)
class Grouping:
    """Rows `order[offsets[q]:offsets[q + 1]]` of the input belong to query `query_ids[q]`."""

    offsets: IntArray
    query_ids: QueryIds
    order: IntArray | None
    """The input row of each grouped row; None where the rows come grouped already."""


def group_by_query(qid: ArrayLike | None, *, n_rows: int, first_row: int = 0) -> Grouping:
    """Group rows by query id; without ids all rows are one list, with the id 0.

    Errors count rows from `first_row` on.

    >>> group_by_query(None, n_rows=4).offsets.tolist()
    [0, 4]
    """
    if qid is None:
        one_list = np.array([0, n_rows] if n_rows else [0], dtype=np.int64)
        return Grouping(one_list, np.zeros(len(one_list) - 1, dtype=np.int64), None)
    ids = _without_casting(qid)
    if ids.ndim != 1:
        raise ValueError(f"qid has shape {ids.shape}; give one query id per row, shape ({n_rows},)")
    if len(ids) != n_rows:
        raise ValueError(f"qid has {len(ids)} entries for {n_rows} rows; give one query id per row")
    starts = np.concatenate([[0], np.flatnonzero(ids[1:] != ids[:-1]) + 1])[: len(ids)]
    run_ids = query_id_array(ids[starts], rows=starts + first_row)
    return group_runs(run_ids, starts.astype(np.int64), n_rows)


def query_ids_of(X: Any, qid: ArrayLike | None) -> ArrayLike | None:
    """The query ids that were given, else the index of a pandas table where one of its levels is named `qid`.

    scikit-learn hands an index on wherever it takes rows of a table, but not always other arguments.

    >>> import pandas as pd
    >>> query_ids_of(pd.DataFrame({"bm25": [0.5, 0.7]}, index=pd.Index([7, 8], name="qid")), None).tolist()
    [7, 8]
    """
    index = getattr(X, "index", None)
    if qid is None and "qid" in getattr(index, "names", ()):
        ids: NDArray[Any] = index.get_level_values("qid").to_numpy()  # type: ignore[union-attr]
        return ids
    return qid


def group_runs(run_ids: QueryIds, run_starts: IntArray, n_rows: int) -> Grouping:
    """Group rows that come in runs of one query each; a query may have several runs."""
    unique, first, code = np.unique(run_ids, return_index=True, return_inverse=True)
    bounds = np.append(run_starts, n_rows).astype(np.int64)
    if len(unique) == len(run_ids):
        return Grouping(bounds, run_ids, None)
    appearance = np.argsort(first)
    rank = np.empty_like(appearance)
    rank[appearance] = np.arange(len(unique))
    lengths = np.diff(bounds)
    query_of_row = np.repeat(rank[code], lengths)
    counts = np.bincount(query_of_row, minlength=len(unique))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    order = np.argsort(query_of_row, kind="stable").astype(np.int64)
    return Grouping(offsets, unique[appearance], order)


def rows_of_queries(offsets: IntArray, queries: IntArray) -> tuple[IntArray, IntArray]:
    """The rows of these queries, one query after another → (rows, their offsets).

    >>> rows, bounds = rows_of_queries(np.array([0, 2, 3, 6]), np.array([2, 0]))
    >>> rows.tolist(), bounds.tolist()
    ([3, 4, 5, 0, 1], [0, 3, 5])
    """
    lengths = np.diff(offsets)[queries]
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.repeat(offsets[:-1][queries] - bounds[:-1], lengths) + np.arange(bounds[-1]), bounds


def query_id_array(ids: ArrayLike, *, rows: IntArray | None = None) -> QueryIds:
    """Query ids as int64 or as an object array of str; `rows` names the place of a bad one.

    >>> query_id_array(np.array([3.0, 4.0])).tolist()
    [3, 4]
    >>> query_id_array([3, "x"])
    Traceback (most recent call last):
    directranker.errors.DataError: query ids mix int and str (row 0: 3, row 1: 'x'); use one kind
    """
    array = _without_casting(ids)
    if array.dtype.kind in "iu":
        if array.dtype.kind == "u" and len(array) and array.max() > np.iinfo(np.int64).max:
            raise DataError(f"query id {array.max()} does not fit 64 bits; use strings")
        return array.astype(np.int64)
    if array.dtype.kind == "f":
        return _ints_from_floats(array, rows)
    if array.dtype.kind in "UT":
        return array.astype(object)
    if array.dtype.kind != "O":
        raise TypeError(f"query ids have dtype {array.dtype}; use ints or strings")
    return _ids_from_objects(array, rows)


def _without_casting(ids: ArrayLike) -> NDArray[Any]:
    # NumPy would turn [3, "x"] into ["3", "x"] without a word.
    return np.asarray(ids, dtype=object if isinstance(ids, list | tuple) else None)


def _ints_from_floats(array: NDArray[Any], rows: IntArray | None) -> QueryIds:
    array = array.astype(np.float64)  # which knows 2**53
    broken = np.flatnonzero(~(np.isfinite(array) & (array == np.floor(array)) & (abs(array) < 2**53)))
    if len(broken):
        at = broken[0]
        row = at if rows is None else rows[at]
        raise DataError(f"query id {array[at]} in row {row} is not an int or a string")
    return array.astype(np.int64)


def _ids_from_objects(array: NDArray[Any], rows: IntArray | None) -> QueryIds:
    first_of_kind: dict[type, int] = {}
    for at, value in enumerate(array):
        kind = str if isinstance(value, str) else int if _is_int(value) else type(value)
        first_of_kind.setdefault(kind, at)
    places = {
        kind: f"row {at if rows is None else rows[at]}: {array[at]!r}" for kind, at in first_of_kind.items()
    }
    for kind in places.keys() - {int, str}:
        raise DataError(f"query id of type {kind.__name__} ({places[kind]}); use ints or strings")
    if len(places) == 2:
        raise DataError(f"query ids mix int and str ({places[int]}, {places[str]}); use one kind")
    if int not in places:
        return array
    try:
        return array.astype(np.int64)
    except OverflowError:
        raise DataError("a query id does not fit 64 bits; use strings") from None


def _is_int(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def means_of_queries(values: NDArray[np.float64], offsets: IntArray) -> NDArray[np.float64]:
    """The mean of each query's values; 0 where it has none.

    >>> means_of_queries(np.array([1.0, 3.0, 5.0]), np.array([0, 2, 2, 3])).tolist()
    [2.0, 0.0, 5.0]
    """
    sizes = np.diff(offsets)
    sums = np.bincount(np.repeat(np.arange(len(sizes)), sizes), values, len(sizes))
    return sums / np.maximum(sizes, 1)


def check_offsets(offsets: ArrayLike, *, n_rows: int) -> IntArray:
    """Offsets as int64, checked to start at 0, never to fall, and to end at `n_rows`.

    >>> check_offsets([0, 3, 2], n_rows=2)
    Traceback (most recent call last):
    ValueError: offsets fall from 3 to 2 at query 1; they must start at 0, grow, and end at 2
    """
    array = np.asarray(offsets)
    rule = f"they must start at 0, grow, and end at {n_rows}"
    if array.ndim != 1 or len(array) == 0 or array.dtype.kind not in "iu":
        raise ValueError(f"offsets must be a list of whole numbers; {rule}")
    array = array.astype(np.int64)
    falls = np.flatnonzero(np.diff(array) < 0)
    if len(falls):
        at = falls[0]
        raise ValueError(f"offsets fall from {array[at]} to {array[at + 1]} at query {at}; {rule}")
    if array[0] != 0 or array[-1] != n_rows:
        raise ValueError(f"offsets go from {array[0]} to {array[-1]}; {rule}")
    return array
