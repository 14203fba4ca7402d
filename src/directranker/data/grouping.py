"""Group rows by query.

Query ids are ints or strings, one per row, in any order. Queries keep the order of their first appearance,
and rows keep their order within a query.

>>> grouping = group_by_query(["b", "a", "b"], n_rows=3)
>>> grouping.query_ids.tolist(), grouping.offsets.tolist(), grouping.order.tolist()
(['b', 'a'], [0, 2, 3], [0, 2, 1])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from directranker.arrays import FloatArray, IntArray, query_of_rows
from directranker.errors import DataError

__all__ = [
    "Grouping",
    "QueryIds",
    "as_query_ids",
    "check_offsets",
    "compute_query_means",
    "group_by_query",
    "group_runs",
    "resolve_query_ids",
    "select_query_rows",
]

QueryIds = NDArray[Any]  # int64, or object holding str


@dataclass(frozen=True)
class Grouping:
    """Rows `order[offsets[q]:offsets[q + 1]]` of the input belong to query `query_ids[q]`."""

    offsets: IntArray
    query_ids: QueryIds
    order: IntArray | None
    """The input row of each grouped row; None where the input is grouped already."""


def group_by_query(qid: ArrayLike | None, *, n_rows: int, first_row: int = 0) -> Grouping:
    """Group rows by query id; without ids all rows belong to one query, with the id 0.

    Errors count rows from `first_row` on.

    >>> group_by_query(None, n_rows=4).offsets.tolist()
    [0, 4]
    """
    if qid is None:
        offsets = np.array([0, n_rows] if n_rows else [0], dtype=np.int64)
        return Grouping(offsets, np.zeros(len(offsets) - 1, dtype=np.int64), None)
    ids = _to_array_uncast(qid)
    if ids.ndim != 1:
        raise ValueError(f"qid has shape {ids.shape}; give one query id per row, shape ({n_rows},)")
    if len(ids) != n_rows:
        raise ValueError(f"qid has {len(ids)} entries for {n_rows} rows; give one query id per row")
    starts = np.concatenate([[0], np.flatnonzero(ids[1:] != ids[:-1]) + 1])[: len(ids)]
    run_ids = as_query_ids(ids[starts], rows=starts + first_row)
    return group_runs(run_ids, starts.astype(np.int64), n_rows)


def resolve_query_ids(X: object, qid: ArrayLike | None) -> ArrayLike | None:
    """Return `qid`, or if it is None the index level named `qid` of a pandas frame.

    scikit-learn keeps a frame's index when it slices rows, but does not always pass on other arguments.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"bm25": [0.5, 0.7]}, index=pd.Index([7, 8], name="qid"))
    >>> resolve_query_ids(frame, None).tolist()
    [7, 8]
    """
    index = getattr(X, "index", None)
    if qid is None and "qid" in getattr(index, "names", ()):
        ids: NDArray[Any] = index.get_level_values("qid").to_numpy()  # type: ignore[union-attr]
        return ids
    return qid


def group_runs(run_ids: QueryIds, run_starts: IntArray, n_rows: int) -> Grouping:
    """Group rows that come in runs of one query each; a query may have several runs.

    Run i has the id `run_ids[i]` and begins at row `run_starts[i]`.
    """
    unique, first, code = np.unique(run_ids, return_index=True, return_inverse=True)
    bounds = np.append(run_starts, n_rows).astype(np.int64)
    if len(unique) == len(run_ids):
        return Grouping(bounds, run_ids, None)
    appearance = np.argsort(first)
    rank = np.empty_like(appearance)
    rank[appearance] = np.arange(len(unique))
    lengths = np.diff(bounds)
    queries = np.repeat(rank[code], lengths)  # (n_rows,)
    counts = np.bincount(queries, minlength=len(unique))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    order = np.argsort(queries, kind="stable").astype(np.int64)
    return Grouping(offsets, unique[appearance], order)


def select_query_rows(offsets: IntArray, queries: IntArray) -> tuple[IntArray, IntArray]:
    """Return the rows of these queries, one query after another, and their offsets.

    >>> rows, bounds = select_query_rows(np.array([0, 2, 3, 6]), np.array([2, 0]))
    >>> rows.tolist(), bounds.tolist()
    ([3, 4, 5, 0, 1], [0, 3, 5])
    """
    lengths = np.diff(offsets)[queries]
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.repeat(offsets[:-1][queries] - bounds[:-1], lengths) + np.arange(bounds[-1]), bounds


def as_query_ids(ids: ArrayLike, *, rows: IntArray | None = None) -> QueryIds:
    """Convert query ids to int64 or to an object array of str; errors name id i by `rows[i]`.

    >>> as_query_ids(np.array([3.0, 4.0])).tolist()
    [3, 4]
    >>> as_query_ids([3, "x"])
    Traceback (most recent call last):
    directranker.errors.DataError: query ids mix int and str (row 0: 3, row 1: 'x'); use one type
    """
    array = _to_array_uncast(ids)
    if array.dtype.kind in "iu":
        if array.dtype.kind == "u" and len(array) and array.max() > np.iinfo(np.int64).max:
            raise DataError(f"query id {array.max()} does not fit 64 bits; use strings")
        return array.astype(np.int64)
    if array.dtype.kind == "f":
        return _convert_float_ids(array, rows)
    if array.dtype.kind in "UT":
        return array.astype(object)
    if array.dtype.kind != "O":
        raise TypeError(f"query ids have dtype {array.dtype}; use ints or strings")
    return _convert_object_ids(array, rows)


def _to_array_uncast(ids: ArrayLike) -> NDArray[np.generic]:
    # NumPy would silently turn [3, "x"] into ["3", "x"].
    return np.asarray(ids, dtype=object if isinstance(ids, list | tuple) else None)


def _convert_float_ids(array: NDArray[np.generic], rows: IntArray | None) -> QueryIds:
    array = array.astype(np.float64)  # float16 and float32 cannot be compared with 2**53
    invalid = np.flatnonzero(~(np.isfinite(array) & (array == np.floor(array)) & (abs(array) < 2**53)))
    if len(invalid):
        index = invalid[0]
        row = index if rows is None else rows[index]
        raise DataError(f"query id {array[index]} in row {row} is not an int or a string")
    return array.astype(np.int64)


def _convert_object_ids(array: NDArray[np.generic], rows: IntArray | None) -> QueryIds:
    first_of_type: dict[type, int] = {}
    for index, value in enumerate(array):
        id_type = str if isinstance(value, str) else int if _is_int(value) else type(value)
        first_of_type.setdefault(id_type, index)
    examples = {
        id_type: f"row {index if rows is None else rows[index]}: {array[index]!r}"
        for id_type, index in first_of_type.items()
    }
    for id_type in examples.keys() - {int, str}:
        raise DataError(f"query id of type {id_type.__name__} ({examples[id_type]}); use ints or strings")
    if len(examples) == 2:
        raise DataError(f"query ids mix int and str ({examples[int]}, {examples[str]}); use one type")
    if int not in examples:
        return array
    try:
        return array.astype(np.int64)
    except OverflowError:
        raise DataError("a query id does not fit 64 bits; use strings") from None


def _is_int(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def compute_query_means(values: FloatArray, offsets: IntArray) -> FloatArray:
    """Return the mean of each query's values; 0 for an empty query.

    >>> compute_query_means(np.array([1.0, 3.0, 5.0]), np.array([0, 2, 2, 3])).tolist()
    [2.0, 0.0, 5.0]
    """
    sizes = np.diff(offsets)
    means: FloatArray = np.bincount(query_of_rows(offsets), values, len(sizes)) / np.maximum(sizes, 1)
    return means


def check_offsets(offsets: ArrayLike, *, n_rows: int) -> IntArray:
    """Convert offsets to int64; raise unless they start at 0, never decrease and end at `n_rows`.

    >>> check_offsets([0, 3, 2], n_rows=2)
    Traceback (most recent call last):
    ValueError: offsets decrease from 3 to 2 at query 1; they must start at 0, increase, and end at 2
    """
    array = np.asarray(offsets)
    expected = f"they must start at 0, increase, and end at {n_rows}"
    if array.ndim != 1 or len(array) == 0 or array.dtype.kind not in "iu":
        raise ValueError(f"offsets must be a list of whole numbers; {expected}")
    array = array.astype(np.int64)
    decreases = np.flatnonzero(np.diff(array) < 0)
    if len(decreases):
        query = decreases[0]
        change = f"from {array[query]} to {array[query + 1]} at query {query}"
        raise ValueError(f"offsets decrease {change}; {expected}")
    if array[0] != 0 or array[-1] != n_rows:
        raise ValueError(f"offsets go from {array[0]} to {array[-1]}; {expected}")
    return array
