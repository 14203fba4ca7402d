"""Columns of text, one per document, in Arrow's compact form instead of Python objects.

A million document ids as Python strings take some 70 MB more than their letters do; an Arrow array holds
the letters in one buffer that can also lie in a memory-mapped file.

>>> ids = as_texts(["GX029-35", "GX030-01"], 2, "document ids")
>>> take_texts(ids, np.array([1])).to_pylist()
['GX030-01']
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from directranker.arrays import IntArray
from directranker.errors import DataError

__all__ = ["Texts", "as_texts", "join_texts", "same_texts", "take_texts", "texts_from_buffers"]

Texts: TypeAlias = Any  # pyarrow.LargeStringArray, which has no type stubs


def as_texts(values: Any, n_rows: int, what: str) -> Texts | None:
    """Values as an Arrow array of text, one per row; numbers become their digits, a null ''."""
    if values is None:
        return None
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        values = pa.array(np.asarray(values, dtype=object), from_pandas=True)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if len(values) != n_rows:
        raise ValueError(f"{len(values)} {what} for {n_rows} rows; give one per row")
    try:
        column = values.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"{what} are not text: {error}") from None
    return column.fill_null("") if column.null_count else column


def texts_from_buffers(offsets: IntArray, letters: Any, what: str) -> Texts:
    """Text i is `letters[offsets[i]:offsets[i + 1]]`; an error where they do not fit or are not UTF-8."""
    if not len(offsets):
        raise DataError(f"{what} have no offsets")
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(letters)]
    column = pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        raise DataError(f"{what} are not UTF-8 text, or cut off") from None
    return column


def take_texts(texts: Texts | None, rows: slice | IntArray) -> Texts | None:
    """The texts of these rows; a slice is a view."""
    if texts is None:
        return None
    if isinstance(rows, slice):
        return texts[rows]
    return texts.take(pa.array(rows))


def join_texts(parts: list[Texts | None], lengths: list[int]) -> Texts | None:
    """Put columns one after another, '' for the rows of a part that has none.

    >>> join_texts([None, as_texts(["a"], 1, "ids")], [2, 1]).to_pylist()
    ['', '', 'a']
    """
    if all(part is None for part in parts):
        return None
    columns = [
        pa.array([""] * length, pa.large_string()) if part is None else part
        for part, length in zip(parts, lengths, strict=True)
    ]
    return pa.concat_arrays(columns)


def same_texts(one: Texts | None, other: Texts | None) -> bool:
    """Whether both are absent or hold the same texts."""
    if one is None or other is None:
        return one is other
    return bool(one.equals(other))
