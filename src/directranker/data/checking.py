"""Arrays from users, checked in one place and in words that say where the fault is.

>>> as_features([[1, 1e39]])
Traceback (most recent call last):
directranker.errors.DataError: 1e+39 in row 0, column 1 does not fit float32
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from directranker.compilation import IntArray
from directranker.errors import DataError

__all__ = [
    "Features",
    "Relevance",
    "as_feature_names",
    "as_features",
    "as_original_rows",
    "as_query_numbers",
    "as_relevance",
    "naming_columns",
]

Features = NDArray[np.float32]
Relevance = NDArray[np.float64]


def as_features(X: Any) -> Features:
    """Features as a two-dimensional float32 array; what does not fit float32 is an error."""
    array = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    if array.ndim != 2:
        raise ValueError(f"features have {array.ndim} dimensions; give a table of rows and columns")
    if array.dtype == np.float32:
        return array
    if array.dtype.kind == "c":
        raise TypeError("features are complex numbers; give real ones")
    try:
        with np.errstate(over="ignore"):
            features = array.astype(np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"features are not all numbers: {error}") from None
    for row, column in np.argwhere(np.isinf(features)):
        if np.isfinite(np.float64(array[row, column])):
            raise DataError(f"{array[row, column]} in row {row}, column {column} does not fit float32")
    return features


@contextmanager
def naming_columns(X: Any) -> Iterator[None]:
    """Where a table of features cannot be read, name the first column that holds no numbers.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"price": [1.5], "brand": ["Acme"]})
    >>> with naming_columns(frame):
    ...     frame.to_numpy(dtype=np.float32)
    Traceback (most recent call last):
    directranker.errors.DataError: column 'brand' holds 'Acme', no number; encode it, or leave it out
    """
    try:
        yield
    except (TypeError, ValueError):
        for name in getattr(X, "columns", ()):
            value = _no_number(np.asarray(X[name]).ravel())
            if value is not None:
                raise DataError(
                    f"column {name!r} holds {value}, no number; encode it, or leave it out"
                ) from None
        raise


def _no_number(values: NDArray[Any]) -> str | None:
    """The first value that is a time or a word, in words."""
    if values.dtype.kind in "mM":
        return "times"
    if values.dtype.kind not in "OUST":
        return None
    for value in values:
        if isinstance(value, str | bytes):
            try:
                float(value)
            except ValueError:
                return repr(str(value)) if isinstance(value, str) else repr(value)
    return None


def as_relevance(y: Any, n_rows: int) -> Relevance:
    """Labels as finite float64, one per row.

    >>> as_relevance([0, None], 2)
    Traceback (most recent call last):
    directranker.errors.DataError: label nan in row 1; labels must be finite numbers
    """
    try:
        relevance = np.asarray(y).astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise DataError(f"labels are not all numbers: {error}") from None
    if relevance.ndim != 1 or len(relevance) != n_rows:
        raise ValueError(f"labels have shape {relevance.shape} for {n_rows} rows; give one label per row")
    if not np.isfinite(relevance).all():
        row = int(np.flatnonzero(~np.isfinite(relevance))[0])
        raise DataError(f"label {relevance[row]} in row {row}; labels must be finite numbers")
    return relevance


def as_original_rows(rows: Any, n_rows: int) -> IntArray:
    """The row of the input that each row was: whole numbers from 0 on, all different, in any order.

    They need not go up to `n_rows`: of queries that were selected, each row keeps the number it had.

    >>> as_original_rows([7, 3, 7], 3)
    Traceback (most recent call last):
    directranker.errors.DataError: original_rows has row 7 twice; give each row once
    """
    array = np.asarray(rows)
    if array.shape != (n_rows,) or (array.dtype.kind not in "iu" and n_rows):
        raise DataError(
            f"original_rows has shape {array.shape} and dtype {array.dtype}; give a whole number for each of "
            f"{n_rows} rows"
        )
    array = array.astype(np.int64, copy=False)
    in_order = array if (array[1:] > array[:-1]).all() else np.sort(array)
    twice = np.flatnonzero(in_order[1:] == in_order[:-1])
    if len(twice):
        raise DataError(f"original_rows has row {in_order[twice[0]]} twice; give each row once")
    if n_rows and in_order[0] < 0:
        raise DataError(f"original_rows has row {in_order[0]}; rows are numbered from 0 on")
    return array


def as_feature_names(names: Sequence[str], n_features: int) -> tuple[str, ...]:
    """One name per feature, all different; without names `feature_1`, `feature_2`, …

    >>> as_feature_names((), 2)
    ('feature_1', 'feature_2')
    """
    if not len(names):
        return tuple(f"feature_{number}" for number in range(1, n_features + 1))
    checked = tuple(map(str, names))
    if len(checked) != n_features:
        raise ValueError(f"{len(checked)} feature names for {n_features} features; give one each")
    if len(set(checked)) != len(checked):
        twice = next(name for name in checked if checked.count(name) > 1)
        raise ValueError(f"feature name {twice!r} stands twice; names must differ")
    return checked


def as_query_numbers(queries: ArrayLike, n_queries: int) -> IntArray:
    """Numbers of queries from numbers or from a mask, each in range and none twice."""
    array = np.asarray(queries)
    if array.dtype == bool:
        if array.shape != (n_queries,):
            raise ValueError(f"mask of shape {array.shape} for {n_queries} queries; give one per query")
        return np.flatnonzero(array).astype(np.int64)
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError("queries are chosen by their numbers or by a mask of True and False")
    outside = array[(array < 0) | (array >= n_queries)]
    if len(outside):
        raise IndexError(f"query number {outside[0]} of {n_queries}; numbers go from 0 to {n_queries - 1}")
    if len(np.unique(array)) != len(array):
        raise ValueError("a query is chosen twice; its id would stand twice")
    return array.astype(np.int64)
