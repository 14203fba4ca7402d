"""Columns of tables in text, such as CSV: their types, and how they are written.

Text has no types. They are inferred from the first 4 MB and hold for all rows: a value that does not fit is
an error with its row and column, never a missing value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from directranker.data.column_roles import ColumnRoles, is_numeric_type
from directranker.data.dataset import RankingDataset
from directranker.data.files import Progress, write_atomically
from directranker.data.sources import COMPRESSIONS
from directranker.data.table_stream import BLOCK_ROWS
from directranker.data.tabular import build_table
from directranker.data.vectors import is_list_type

__all__ = [
    "SAMPLE_BYTES",
    "TEXT",
    "as_plain",
    "describe_misfit",
    "open_compressed",
    "settle_type",
    "write_rows",
]

SAMPLE_BYTES = 4 << 20
TEXT = pa.dictionary(pa.int32(), pa.string())


def settle_type(name: str, inferred: pa.DataType, columns: ColumnRoles) -> pa.DataType:
    """Return the type of a column for all rows, given the one of the first rows.

    >>> roles = ColumnRoles(categorical=("seller",))
    >>> settle_type("price", pa.int64(), roles), settle_type("seller", pa.int64(), roles)
    (DataType(double), DataType(int64))
    """
    if name in (columns.query, columns.document, *columns.categorical):
        return TEXT if pa.types.is_null(inferred) else inferred
    if name in columns.reference_dates or name in columns.reference_dates.values():
        return pa.string() if pa.types.is_null(inferred) else inferred
    if is_numeric_type(inferred) and not pa.types.is_boolean(inferred):
        return pa.float64()
    if is_list_type(inferred) and is_numeric_type(inferred.value_type):
        return pa.list_(pa.float64())
    return inferred


def describe_misfit(name: str, row: int | None, value: str, expected: pa.DataType) -> str:
    """Describe a value that does not fit the type of the first rows."""
    place = f"column {name!r}" if row is None else f"row {row}, column {name!r}"
    kind = "numbers" if is_numeric_type(expected) else str(expected)
    return (
        f"{place} holds {value}, but the first rows of the column are {kind}; correct the value, or name the "
        f"column in categorical=[{name!r}] (`--categorical {name}`) to read it as text"
    )


@contextmanager
def open_compressed(path: Path) -> Iterator[pa.NativeFile]:
    """Open a file for writing, atomically, compressed as its extension says."""
    codec = COMPRESSIONS.get(path.suffix.lower())
    with write_atomically(path) as temporary, temporary.open("wb") as file, pa.PythonFile(file, "w") as raw:
        if codec is None:
            yield raw
        else:
            with pa.CompressedOutputStream(raw, codec) as compressed:
                yield compressed


def write_rows(data: RankingDataset, progress: Progress, write: Callable[[pa.Table], object]) -> None:
    """Write all rows, block by block: categories as text, missing numbers as null."""
    for start in range(0, data.n_documents, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, data.n_documents)
        write(as_plain(build_table(data, start, stop)))
        progress(stop, data.n_documents)


def as_plain(table: pa.Table) -> pa.Table:
    """Return a table without dictionaries and NaN."""
    import pyarrow.compute as pc  # noqa: PLC0415 - slow to import

    for index, field in enumerate(table.schema):
        column = table.column(index)
        if pa.types.is_dictionary(field.type):
            table = table.set_column(index, field.name, column.cast(pa.large_string()))
        elif pa.types.is_floating(field.type):
            plain = pc.if_else(pc.is_nan(column), pa.scalar(None, field.type), column)
            table = table.set_column(index, field.name, plain)
    return table
