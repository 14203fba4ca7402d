"""Columns of text, one per document, as Arrow arrays instead of Python strings.

A million document ids as Python strings take about 70 MB more than their characters. An Arrow array holds
the characters in one buffer, which can be memory-mapped.

>>> ids = as_texts(["GX029-35", "GX030-01"], 2, "document ids")
>>> take_texts(ids, np.array([1])).to_pylist()
['GX030-01']
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from directranker.arrays import IntArray
from directranker.errors import DataError

__all__ = ["Texts", "are_texts_equal", "as_texts", "concatenate_texts", "take_texts", "texts_from_buffers"]

Texts: TypeAlias = Any  # pyarrow.LargeStringArray, which has no type stubs


def as_texts(values: ArrayLike | Texts | None, n_rows: int, what: str) -> Texts | None:
    """Convert values, one per row, to an Arrow array of text; a null becomes ''.

    `what` is the name of the values in errors.
    """
    if values is None:
        return None
    array: Any = values
    if not isinstance(array, pa.Array | pa.ChunkedArray):
        array = pa.array(np.asarray(array, dtype=object), from_pandas=True)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if len(array) != n_rows:
        raise ValueError(f"{len(array)} {what} for {n_rows} rows; give one per row")
    try:
        column = array.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"{what} are not text: {error}") from None
    return column.fill_null("") if column.null_count else column


def texts_from_buffers(offsets: IntArray, letters: NDArray[np.uint8], what: str) -> Texts:
    """Make texts of which number i is `letters[offsets[i]:offsets[i + 1]]`, validated as UTF-8."""
    if not len(offsets):
        raise DataError(f"{what} have no offsets")
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(letters)]
    column = pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        raise DataError(f"{what} are not UTF-8 text, or truncated") from None
    return column


def take_texts(texts: Texts | None, rows: slice | IntArray) -> Texts | None:
    """Return the texts of these rows; a slice is a view."""
    if texts is None:
        return None
    if isinstance(rows, slice):
        return texts[rows]
    return texts.take(pa.array(rows))


def concatenate_texts(columns: list[Texts | None], lengths: list[int]) -> Texts | None:
    """Concatenate columns; the rows of a missing column become ''.

    >>> concatenate_texts([None, as_texts(["a"], 1, "ids")], [2, 1]).to_pylist()
    ['', '', 'a']
    """
    if all(column is None for column in columns):
        return None
    filled = [
        pa.array([""] * length, pa.large_string()) if column is None else column
        for column, length in zip(columns, lengths, strict=True)
    ]
    return pa.concat_arrays(filled)


def are_texts_equal(one: Texts | None, other: Texts | None) -> bool:
    """Whether both are None or hold the same texts."""
    if one is None or other is None:
        return one is other
    return bool(one.equals(other))
