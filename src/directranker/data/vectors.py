"""Columns of lists: one feature per dimension, and comparisons of two such columns.

The lists of a column have one length. Two columns can be compared row by row:

>>> a, b = np.array([[3.0, 4.0]]), np.array([[4.0, 3.0]])
>>> compare_rows(a, b).round(4).tolist()  # dot product, cosine, Euclidean distance
[[24.0, 0.96, 1.4142]]
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain

import numpy as np
import pyarrow as pa

from directranker.arrays import FloatArray
from directranker.errors import DataError

__all__ = ["COMPARISONS", "compare_rows", "fix_list_sizes", "is_list_type", "name_comparisons"]

COMPARISONS = ("dot", "cosine", "distance")


def is_list_type(dtype: pa.DataType) -> bool:
    """Whether an Arrow type holds lists that may differ in length."""
    return bool(pa.types.is_list(dtype) or pa.types.is_large_list(dtype))


def name_comparisons(one: str, other: str) -> tuple[str, ...]:
    """Return the names of the features that compare two vector columns.

    >>> name_comparisons("query", "title")
    ('dot(query, title)', 'cosine(query, title)', 'distance(query, title)')
    """
    return tuple(f"{comparison}({one}, {other})" for comparison in COMPARISONS)


def compare_rows(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return dot product, cosine and distance of each pair of rows; the cosine of a zero vector is NaN."""
    dot = np.einsum("ij,ij->i", one, other)
    norms = np.sqrt(np.einsum("ij,ij->i", one, one) * np.einsum("ij,ij->i", other, other))
    with np.errstate(divide="ignore", invalid="ignore"):
        cosine = np.where(norms > 0, dot / norms, np.nan)
    distance = np.linalg.norm(one - other, axis=1)
    return np.column_stack([dot, cosine, distance])  # (n_rows, 3)


def fix_list_sizes(
    schema: pa.Schema, batches: Iterable[pa.RecordBatch], names: Collection[str]
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Turn list columns of these names into lists of the size that the first row has."""
    lists = [name for name in names if name in schema.names and is_list_type(schema.field(name).type)]
    remaining = iter(batches)
    first = next((batch for batch in remaining if batch.num_rows), None) if lists else None
    if first is None:
        return schema, remaining
    sizes = {name: _find_size(first.column(name), name) for name in lists}
    for name, size in sizes.items():
        index = schema.get_field_index(name)
        value_type = schema.field(name).type.value_type
        schema = schema.set(index, schema.field(name).with_type(pa.list_(value_type, size)))
    return schema, _fix_batches(schema, chain([first], remaining), sizes)


def _find_size(lists: pa.Array, name: str) -> int:
    if not lists[0].is_valid:
        raise DataError(f"column {name!r}: the list in row 0 is null; give every row a list")
    if not len(lists[0]):
        raise DataError(f"column {name!r}: the list in row 0 is empty; give every row a list of numbers")
    return len(lists[0])


def _fix_batches(
    schema: pa.Schema, batches: Iterable[pa.RecordBatch], sizes: dict[str, int]
) -> Iterator[pa.RecordBatch]:
    row = 0
    for batch in batches:
        columns = [
            _fix_lists(batch.column(name), name, sizes[name], row) if name in sizes else batch.column(name)
            for name in schema.names
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)
        row += batch.num_rows


def _fix_lists(lists: pa.Array, name: str, size: int, first_row: int) -> pa.Array:
    lengths = lists.value_lengths().fill_null(-1).to_numpy(zero_copy_only=False)
    other = np.flatnonzero(lengths != size)
    if len(other):
        row, length = first_row + int(other[0]), lengths[other[0]]
        if length < 0:
            raise DataError(f"column {name!r}: the list in row {row} is null; give every row a list")
        raise DataError(
            f"column {name!r} has a list of {length} numbers in row {row}, but of {size} in row 0; give all "
            "rows lists of one length"
        )
    return pa.FixedSizeListArray.from_arrays(lists.flatten(), size)
