"""Validate arrays from users; errors name the row and the column.

>>> as_features([[1, 1e39]])
Traceback (most recent call last):
directranker.errors.DataError: 1e+39 in row 0, column 1 does not fit float32; rescale the column
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from directranker.arrays import Features, IntArray, Relevance
from directranker.errors import DataError
from directranker.parameters import between

__all__ = [
    "are_bits_equal",
    "as_feature_names",
    "as_features",
    "as_original_rows",
    "as_query_indices",
    "as_relevance",
    "check_class_labels",
    "check_finite",
    "check_fractions",
    "densify",
    "locate_non_numeric_column",
    "make_read_only",
]

Table: TypeAlias = Any  # an array, a sparse matrix, or a pandas or polars frame

BLOCK_ROWS = 4096  # rows checked at a time
NOT_LABELS = (str, bytes, complex, np.datetime64, np.timedelta64)  # even where NumPy casts them to float


def as_features(X: Table, *, names: Sequence[str] = ()) -> Features:
    """Convert to a two-dimensional float32 array; raise where a value overflows float32.

    Errors name columns by `names`, else by the frame's columns, else by index.
    """
    array = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    if array.ndim != 2:
        raise ValueError(f"features have {array.ndim} dimensions; give an array of rows and columns")
    if array.dtype == np.float32:
        return array
    if array.dtype.kind == "c":
        raise TypeError("features are complex numbers; give real numbers")
    try:
        with locate_non_numeric_column(X), np.errstate(over="ignore"):
            features = array.astype(np.float32)
    except DataError:
        raise
    except (TypeError, ValueError) as error:
        raise DataError(f"features are not all numbers: {error}") from None
    columns: Sequence[object] = names if len(names) else getattr(X, "columns", range(array.shape[1]))
    for row, column in np.argwhere(np.isinf(features)):
        if np.isfinite(np.float64(array[row, column])):
            raise DataError(
                f"{array[row, column]} in row {row}, column {columns[column]!r} does not fit float32; "
                "rescale the column"
            )
    return features


def densify(X: Table) -> Any:
    """Return a sparse matrix as a dense float32 array, and anything else unchanged.

    >>> from scipy.sparse import csr_array
    >>> densify(csr_array([[0.0, 2.0]]))
    array([[0., 2.]], dtype=float32)
    """
    if not hasattr(X, "toarray") or X.dtype.kind not in "biuf":
        return X
    try:
        with np.errstate(over="ignore"):
            return X.astype(np.float32).toarray()
    except (MemoryError, ValueError):
        size = f"{X.shape[0]} rows of {X.shape[1]} features, {X.shape[0] * X.shape[1] * 4 / 1e9:.0f} GB"
        raise DataError(f"{size} as a dense array, do not fit in memory; make fewer columns") from None


def check_finite(
    table: Features, X: Table, *, names: Sequence[str] | None = None, rows: IntArray | None = None
) -> None:
    """Raise where a feature is infinite; NaN means missing and is accepted.

    `X` is the user's input and `names` its columns. `rows[i]` is the user's row of row i of `table`.

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
            column_name = column if names is None else repr(str(names[column]))
            raise DataError(
                f"X has {value} in row {row if rows is None else rows[row]}, column {column_name}; "
                "give finite numbers that fit float32, or NaN where a value is missing"
            )


@contextmanager
def locate_non_numeric_column(X: Table) -> Iterator[None]:
    """Turn an error of converting a table to numbers into one that names the column and the row.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"price": [1.5], "brand": ["Acme"]})
    >>> with locate_non_numeric_column(frame):
    ...     frame.to_numpy(dtype=np.float32)
    Traceback (most recent call last):
    directranker.errors.DataError: column 'brand' holds 'Acme' in row 0, not a number; encode it, or leave it
    out
    """
    try:
        yield
    except (TypeError, ValueError):
        for name, values in _iterate_columns(X):
            row = _find_non_numeric_row(values)
            if row is not None:
                raise DataError(
                    f"column {name!r} holds {_format_value(values[row])} in row {row}, not a number; encode "
                    "it, or leave it out"
                ) from None
        raise


def _iterate_columns(X: Table) -> Iterator[tuple[str | int, NDArray[Any]]]:
    """Yield the columns of a frame by name, or of an array of strings by index; else nothing."""
    if hasattr(X, "columns"):
        yield from ((name, np.asarray(X[name])) for name in X.columns)
        return
    array = np.empty(0) if hasattr(X, "toarray") else np.asarray(X)
    if array.ndim == 2 and array.dtype.kind in "UST":
        yield from enumerate(array.T)


def _find_non_numeric_row(values: NDArray[Any]) -> int | None:
    """Return the row of the first value that is a time, a list or a non-numeric string."""
    if values.dtype.kind in "mM":
        return 0
    if values.dtype.kind not in "OUST" and values.ndim == 1:
        return None
    return next((row for row, value in enumerate(values) if not _is_number(value)), None)


def _is_number(value: Any) -> bool:  # anything that float() may accept
    if np.ndim(value):
        return False
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return _is_missing(value)
    return True


def _is_missing(value: object) -> bool:
    return value is None or type(value).__name__ == "NAType"  # pandas.NA


def _format_value(value: object) -> str:
    """Format a value in at most 40 characters."""
    text = repr(str(value)) if isinstance(value, str) else str(value)
    return text if len(text) <= 40 else f"{text[:37]}…"


def as_relevance(y: ArrayLike, n_rows: int, *, name: str | None = None, first_row: int = 0) -> Relevance:
    """Convert labels, one per row, to float64; raise where one is not finite.

    Errors name the column by `name` and count rows from `first_row` on.

    >>> as_relevance([0, None], 2)
    Traceback (most recent call last):
    directranker.errors.DataError: label nan in row 1; labels must be finite numbers
    >>> as_relevance(["good", "bad"], 2)
    Traceback (most recent call last):
    directranker.errors.DataError: label 'good' in row 0 is not a number; map the grades to numbers
    """
    labels = _as_label_array(y)
    in_column = "" if name is None else f", column {name!r}"
    if labels.dtype.kind not in "biuf":
        for row, value in enumerate(labels):
            if isinstance(value, NOT_LABELS) or not _is_number(value):
                raise DataError(
                    f"label {_format_value(value)} in row {first_row + row}{in_column} is not a number; "
                    "map the grades to numbers"
                )
        labels = np.array([np.nan if _is_missing(value) else float(value) for value in labels])
    relevance = labels.astype(np.float64, copy=False)
    if relevance.ndim != 1 or len(relevance) != n_rows:
        raise ValueError(f"labels have shape {relevance.shape} for {n_rows} rows; give one label per row")
    if not np.isfinite(relevance).all():
        row = int(np.flatnonzero(~np.isfinite(relevance))[0])
        raise DataError(
            f"label {relevance[row]} in row {first_row + row}{in_column}; labels must be finite numbers"
        )
    return relevance


def check_class_labels(y: ArrayLike | None) -> None:
    """Raise where a class label is missing or infinite, and name its row.

    >>> check_class_labels(["ham", None])
    Traceback (most recent call last):
    directranker.errors.DataError: label None in row 1; give each row a class, or leave the row out
    """
    if y is None:
        return  # scikit-learn raises an error of its own
    labels = _as_label_array(y)
    if labels.dtype.kind == "f":
        invalid = ~np.isfinite(labels)
    else:
        invalid = np.array([_is_missing(label) or _is_nan(label) for label in labels.ravel().tolist()])
    if invalid.any():
        row = int(np.argmax(invalid))
        raise DataError(f"label {labels.flat[row]} in row {row}; give each row a class, or leave the row out")


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and value != value  # noqa: PLR0124 - only NaN differs from itself


def _as_label_array(y: Any) -> NDArray[Any]:
    """Convert labels to an array; mixed types and ragged lists become an object array."""
    try:
        array = np.asarray(y)
    except ValueError:  # ragged lists
        array = np.empty(len(y), dtype=object)
        array[:] = list(y)
    if array.dtype.kind in "US" and isinstance(y, list | tuple):
        array = np.array(y, dtype=object)
    return array.ravel() if array.ndim == 2 and array.shape[1] == 1 else array


def as_original_rows(rows: ArrayLike, n_rows: int) -> IntArray:
    """Convert the source's row of each row to int64: from 0 on, all different, in any order.

    They may be larger than `n_rows`: rows of selected queries keep their original number.

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
    ascending = array if (array[1:] > array[:-1]).all() else np.sort(array)
    duplicates = np.flatnonzero(ascending[1:] == ascending[:-1])
    if len(duplicates):
        raise DataError(f"original_rows has row {ascending[duplicates[0]]} twice; give each row once")
    if n_rows and ascending[0] < 0:
        raise DataError(f"original_rows has row {ascending[0]}; rows are numbered from 0 on")
    return array


def as_feature_names(names: Sequence[str], n_features: int) -> tuple[str, ...]:
    """Return one unique name per feature; without names `feature_1`, `feature_2`, …

    >>> as_feature_names((), 2)
    ('feature_1', 'feature_2')
    """
    if not len(names):
        return tuple(f"feature_{number}" for number in range(1, n_features + 1))
    strings = tuple(map(str, names))
    if len(strings) != n_features:
        raise ValueError(f"{len(strings)} feature names for {n_features} features; give one name per feature")
    if len(set(strings)) != len(strings):
        duplicate = next(name for name in strings if strings.count(name) > 1)
        raise ValueError(f"feature name {duplicate!r} is used twice; give each feature a unique name")
    return strings


def as_query_indices(queries: ArrayLike, n_queries: int) -> IntArray:
    """Convert indices of queries or a boolean mask to unique indices in range."""
    array = np.asarray(queries)
    if array.dtype == bool:
        if array.shape != (n_queries,):
            raise ValueError(f"mask of shape {array.shape} for {n_queries} queries; give one value per query")
        return np.flatnonzero(array).astype(np.int64)
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError("queries are neither integers nor booleans; give query indices or a boolean mask")
    invalid = array[(array < 0) | (array >= n_queries)]
    if len(invalid):
        raise IndexError(f"query index {invalid[0]} is out of range; give indices from 0 to {n_queries - 1}")
    if len(np.unique(array)) != len(array):
        raise ValueError("a query is selected twice; select each query once")
    return array.astype(np.int64)


def check_fractions(fractions: Sequence[float]) -> None:
    """Raise unless the fractions leave a rest.

    >>> check_fractions([0.6, 0.4])
    Traceback (most recent call last):
    ValueError: fractions [0.6, 0.4] must be positive and sum to less than 1
    """
    for fraction in fractions:
        between(0, 1).check("a fraction", fraction)
    if not fractions or sum(fractions) >= 1:
        raise ValueError(f"fractions {fractions} must be positive and sum to less than 1")


def make_read_only(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return a view that cannot be written to; the caller's array stays writable."""
    view = array.view()
    view.flags.writeable = False
    return view


def are_bits_equal(one: NDArray[np.generic], other: NDArray[np.generic]) -> bool:
    """Whether numbers are equal bit for bit, where all NaN are equal."""
    if one.shape != other.shape:
        return False
    same = (one == other) & (np.signbit(one) == np.signbit(other))
    return bool(np.all(same | (np.isnan(one) & np.isnan(other))))
