"""Arrays from users, checked in one place and in words that say where the fault is.

>>> as_features([[1, 1e39]])
Traceback (most recent call last):
directranker.errors.DataError: 1e+39 in row 0, column 1 does not fit float32; rescale the column
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from directranker.arrays import Features, IntArray, Relevance
from directranker.errors import DataError

__all__ = [
    "as_feature_names",
    "as_features",
    "as_original_rows",
    "as_query_numbers",
    "as_relevance",
    "check_class_labels",
    "check_finite",
    "naming_columns",
]

BLOCK_ROWS = 4096  # looked at at a time
UNORDERED = (str, bytes, complex, np.datetime64, np.timedelta64)  # no labels, also where NumPy casts them


def as_features(X: Any, *, names: Sequence[str] = ()) -> Features:
    """Features as a two-dimensional float32 array; what does not fit float32 is an error.

    Errors name columns by `names`, else as a table does, else by number.
    """
    array = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    if array.ndim != 2:
        raise ValueError(f"features have {array.ndim} dimensions; give a table of rows and columns")
    if array.dtype == np.float32:
        return array
    if array.dtype.kind == "c":
        raise TypeError("features are complex numbers; give real ones")
    try:
        with naming_columns(X), np.errstate(over="ignore"):
            features = array.astype(np.float32)
    except DataError:
        raise
    except (TypeError, ValueError) as error:
        raise DataError(f"features are not all numbers: {error}") from None
    columns: Any = names if len(names) else getattr(X, "columns", range(array.shape[1]))
    for row, column in np.argwhere(np.isinf(features)):
        if np.isfinite(np.float64(array[row, column])):
            raise DataError(
                f"{array[row, column]} in row {row}, column {columns[column]!r} does not fit float32; "
                "rescale the column"
            )
    return features


def check_finite(
    table: Features, X: Any, *, names: Sequence[str] | None = None, rows: IntArray | None = None
) -> None:
    """Raise where a feature is infinite; NaN means missing and passes.

    `X` is what the user gave, `names` are the columns', and `rows` the user's row of each row of the table.

    >>> check_finite(np.float32([[1, np.inf]]), [[1, 1e39]], names=["price", "sold"], rows=np.array([7]))
    Traceback (most recent call last):
    directranker.errors.DataError: X has 1e+39 in row 7, column 'sold'; give finite numbers that fit float32,
    or NaN where a value is missing
    """
    for start in range(0, len(table), BLOCK_ROWS):
        infinite = np.isinf(table[start : start + BLOCK_ROWS])
        if infinite.any():
            row, column = np.argwhere(infinite)[0] + (start, 0)
            value = np.asarray(X)[row, column]
            named = column if names is None else repr(str(names[column]))
            raise DataError(
                f"X has {value} in row {row if rows is None else rows[row]}, column {named}; "
                "give finite numbers that fit float32, or NaN where a value is missing"
            )


@contextmanager
def naming_columns(X: Any) -> Iterator[None]:
    """Where a table of features cannot be read, name the first column that holds no numbers.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"price": [1.5], "brand": ["Acme"]})
    >>> with naming_columns(frame):
    ...     frame.to_numpy(dtype=np.float32)
    Traceback (most recent call last):
    directranker.errors.DataError: column 'brand' holds 'Acme' in row 0, not a number; encode it, or leave it
    out
    """
    try:
        yield
    except (TypeError, ValueError):
        for name, values in _columns_of(X):
            row = _first_without_number(values)
            if row is not None:
                raise DataError(
                    f"column {name!r} holds {_shown(values[row])} in row {row}, not a number; encode it, or "
                    "leave it out"
                ) from None
        raise


def _columns_of(X: Any) -> Iterator[tuple[str | int, NDArray[Any]]]:
    """The columns of a table by name, or of an array of strings by number; nothing of all else."""
    if hasattr(X, "columns"):
        yield from ((name, np.asarray(X[name])) for name in X.columns)
        return
    array = np.empty(0) if hasattr(X, "toarray") else np.asarray(X)
    if array.ndim == 2 and array.dtype.kind in "UST":
        yield from enumerate(array.T)


def _first_without_number(values: NDArray[Any]) -> int | None:
    """The row of the first value that is a time, a list or a string of no number."""
    if values.dtype.kind in "mM":
        return 0
    if values.dtype.kind not in "OUST" and values.ndim == 1:
        return None
    return next((row for row, value in enumerate(values) if not _is_number(value)), None)


def _is_number(value: Any) -> bool:
    if np.ndim(value):
        return False
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return _is_missing(value)
    return True


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType"  # pandas' own


def _shown(value: Any) -> str:
    """A value, cut where it is long."""
    text = repr(str(value)) if isinstance(value, str) else str(value)
    return text if len(text) <= 40 else f"{text[:37]}…"


def as_relevance(y: Any, n_rows: int, *, name: str | None = None, first_row: int = 0) -> Relevance:
    """Labels as finite float64, one per row or in one column.

    Errors name them by `name`, the column's, and by rows from `first_row` on.

    >>> as_relevance([0, None], 2)
    Traceback (most recent call last):
    directranker.errors.DataError: label nan in row 1; labels must be finite numbers
    >>> as_relevance(["good", "bad"], 2)
    Traceback (most recent call last):
    directranker.errors.DataError: label 'good' in row 0 is not a number; map the grades to numbers
    """
    labels = _as_array(y)
    of_column = "" if name is None else f", column {name!r}"
    if labels.dtype.kind not in "biuf":
        for row, value in enumerate(labels):
            if isinstance(value, UNORDERED) or not _is_number(value):
                raise DataError(
                    f"label {_shown(value)} in row {first_row + row}{of_column} is not a number; "
                    "map the grades to numbers"
                )
        labels = np.array([np.nan if _is_missing(value) else float(value) for value in labels])
    relevance = labels.astype(np.float64, copy=False)
    if relevance.ndim != 1 or len(relevance) != n_rows:
        raise ValueError(f"labels have shape {relevance.shape} for {n_rows} rows; give one label per row")
    if not np.isfinite(relevance).all():
        row = int(np.flatnonzero(~np.isfinite(relevance))[0])
        raise DataError(
            f"label {relevance[row]} in row {first_row + row}{of_column}; labels must be finite numbers"
        )
    return relevance


def check_class_labels(y: Any) -> None:
    """Raise where a label of a class is missing or infinite, and name its row.

    >>> check_class_labels(["ham", None])
    Traceback (most recent call last):
    directranker.errors.DataError: label None in row 1; give each row a class, or leave the row out
    """
    if y is None:
        return  # scikit-learn's own error says what is missing
    labels = _as_array(y)
    if labels.dtype.kind == "f":
        invalid = ~np.isfinite(labels)
    else:
        invalid = np.array([_is_missing(label) or _is_nan(label) for label in labels.ravel().tolist()])
    if invalid.any():
        row = int(np.argmax(invalid))
        raise DataError(f"label {labels.flat[row]} in row {row}; give each row a class, or leave the row out")


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value  # noqa: PLR0124 - only NaN differs from itself


def _as_array(y: Any) -> NDArray[Any]:
    """Labels as an array; mixed kinds and lists of several lengths stay as they are."""
    try:
        array = np.asarray(y)
    except ValueError:  # lists of several lengths
        array = np.empty(len(y), dtype=object)
        array[:] = list(y)
    if array.dtype.kind in "US" and isinstance(y, list | tuple):
        array = np.array(y, dtype=object)
    return array.ravel() if array.ndim == 2 and array.shape[1] == 1 else array


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
