"""Tables ⇄ data sets: pandas, polars and pyarrow in memory, Parquet on disk.

All conversions use Arrow. On disk the columns are `qid`, `docid` if there are document ids, `relevance`, and
the features, either one column each or all in one column of fixed-size lists.

>>> import pyarrow as pa
>>> table = pa.table({"query": ["a", "b"], "grade": [1, 0], "bm25": [2.5, 0.5]})
>>> dataset_from_frame(table, ColumnRoles(relevance="grade", query="query"))
RankingDataset(2 documents, 2 queries, 1 feature)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from directranker.arrays import Features, Relevance
from directranker.data.checking import as_relevance
from directranker.data.column_roles import (
    ColumnRoles,
    format_in_one_line,
    is_numeric_type,
    name_column_in_errors,
    resolve_feature_names,
)
from directranker.data.dataset import RankingDataset
from directranker.data.files import Progress, ignore_progress, open_seekable, write_atomically
from directranker.data.grouping import Grouping, group_by_query
from directranker.data.texts import Texts, as_texts
from directranker.errors import DataError

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

__all__ = [
    "FrameKind",
    "Layout",
    "check_n_rows",
    "dataset_from_frame",
    "frame_from_dataset",
    "open_parquet",
    "read_parquet",
    "write_parquet",
]

FrameKind = Literal["pandas", "polars", "pyarrow"]
Layout = Literal["columns", "list"]
BLOCK_ROWS = 16_384  # rows converted at a time; bounds the memory beyond the array itself


def dataset_from_frame(frame: object, columns: ColumnRoles, *, first_row: int = 0) -> RankingDataset:
    """Convert anything that Arrow can read as a table; errors count its rows from `first_row` on."""
    table = _to_arrow_table(frame)
    batches = table.to_batches(max_chunksize=BLOCK_ROWS)
    return _build_dataset(table.schema, table.num_rows, batches, columns, first_row)


@contextmanager
def open_parquet(path: str | Path) -> Iterator[ParquetFile]:
    """Open a Parquet file; an error in its content raises a `DataError` that names the file."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to import

    try:
        with open_seekable(Path(path)) as source, pq.ParquetFile(source) as file:
            yield file
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    except (pa.ArrowException, UnicodeDecodeError, MemoryError) as error:
        raise DataError(f"{path}: not a readable Parquet file: {format_in_one_line(error)}") from None
    except OSError as error:
        if error.errno is not None:  # an error of the file system; Arrow's errors have no errno
            raise
        raise DataError(f"{path}: not a readable Parquet file: {format_in_one_line(error)}") from None


def read_parquet(
    path: str | Path, *, columns: ColumnRoles | None = None, progress: Progress = ignore_progress
) -> RankingDataset:
    """Read a Parquet file in blocks; memory beyond the array itself does not grow with the file."""
    with open_parquet(path) as file:
        n_rows = file.metadata.num_rows
        batches = _report_progress(file.iter_batches(batch_size=BLOCK_ROWS), n_rows, progress)
        return _build_dataset(file.schema_arrow, n_rows, batches, columns or ColumnRoles())


def write_parquet(
    data: RankingDataset,
    path: str | Path,
    *,
    layout: Layout = "columns",
    progress: Progress = ignore_progress,
) -> None:
    """Write a Parquet file; `layout="list"` puts all features into one column `features`."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to import

    if layout not in ("columns", "list"):
        raise ValueError(f"layout is {layout!r}; use 'columns' or 'list'")
    schema = _build_table(data, 0, 0, layout).schema
    with (
        write_atomically(path) as temporary,
        temporary.open("wb") as file,
        pq.ParquetWriter(file, schema) as writer,
    ):
        for start in range(0, data.n_documents, BLOCK_ROWS * 4):
            stop = min(start + BLOCK_ROWS * 4, data.n_documents)
            writer.write_table(_build_table(data, start, stop, layout))
            progress(stop, data.n_documents)


def frame_from_dataset(data: RankingDataset, kind: FrameKind) -> Any:
    """Convert to a pandas, polars or pyarrow table."""
    if kind not in ("pandas", "polars", "pyarrow"):
        raise ValueError(f"frame kind {kind!r}; use 'pandas', 'polars' or 'pyarrow'")
    table = _build_table(data, 0, data.n_documents, "columns")
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        return _to_polars(table)
    return table


def _to_polars(table: pa.Table) -> Any:
    import polars  # noqa: PLC0415 - slow to import

    return polars.from_arrow(table)


def _to_arrow_table(frame: object) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    if not hasattr(frame, "__arrow_c_stream__"):
        raise TypeError(f"{type(frame).__name__} is not a table; give a pandas, polars or pyarrow table")
    if hasattr(frame, "iloc"):  # pandas; its index is not data
        try:
            return pa.Table.from_pandas(frame, preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise DataError(f"a column cannot be read: {error.args[0]}; give it one type") from None
    return pa.table(frame)


def _report_progress(
    batches: Iterable[pa.RecordBatch], n_rows: int, progress: Progress
) -> Iterator[pa.RecordBatch]:
    done = 0
    for batch in batches:
        yield batch
        done += batch.num_rows
        progress(done, n_rows)


def _build_dataset(
    schema: pa.Schema,
    n_rows: int,
    batches: Iterable[pa.RecordBatch],
    columns: ColumnRoles,
    first_row: int = 0,
) -> RankingDataset:
    columns = columns.resolve(schema)
    names = resolve_feature_names(schema, columns)
    features = _allocate_features(n_rows, len(names))
    # Only the other columns are kept as Arrow arrays until the end.
    kept: dict[str, list[pa.Array]] = {
        name: [] for name in (columns.relevance, columns.query, columns.document) if name
    }
    row = 0
    for batch in batches:
        if row + batch.num_rows <= n_rows:
            _fill_features(features[row : row + batch.num_rows], batch, columns, first_row + row)
        row += batch.num_rows
        for name, chunks in kept.items():
            chunks.append(batch.column(name))
    check_n_rows(row, n_rows)
    values = {name: pa.chunked_array(chunks, schema.field(name).type) for name, chunks in kept.items()}
    return RankingDataset.from_grouping(
        _group_rows(values, columns.query, n_rows, first_row),
        features=features,
        relevance=_read_relevance(values[columns.relevance], n_rows, columns.relevance, first_row),
        feature_names=names,
        document_texts=_read_document_ids(values, columns.document, n_rows),
    )


def check_n_rows(n_found: int, n_claimed: int) -> None:
    """Raise if a file does not have as many rows as its metadata says."""
    if n_found != n_claimed:
        raise DataError(f"the file's metadata says {n_claimed} rows, but it has {n_found}; it is damaged")


def _allocate_features(n_rows: int, n_features: int) -> Features:
    """Allocate the features of as many rows as a table claims to have."""
    try:
        return np.empty((n_rows, n_features), dtype=np.float32)
    except (MemoryError, ValueError):
        size = f"{n_rows} rows of {n_features} features, {n_rows * n_features * 4 / 1e9:.0f} GB"
        raise DataError(f"{size} as a dense array, do not fit in memory") from None


def _fill_features(block: Features, batch: pa.RecordBatch, columns: ColumnRoles, first_row: int) -> None:
    for index, name in enumerate(columns.features or ()):
        with name_column_in_errors(name):
            column = batch.column(name)
            if pa.types.is_fixed_size_list(column.type):
                if column.null_count:
                    row = first_row + int(column.is_null().to_numpy(zero_copy_only=False).argmax())
                    raise DataError(f"the list in row {row} is null; give every row a list")
                values = _to_float32(column.flatten(), name, first_row, block.shape[1])
                block[:] = values.reshape(block.shape)
            else:
                block[:, index] = _to_float32(column, name, first_row)


def _to_float32(column: pa.Array, name: str, first_row: int, values_per_row: int = 1) -> Features:
    values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    with np.errstate(over="ignore"):
        narrow: Features = values.astype(np.float32)
    overflow = np.isinf(narrow) & np.isfinite(values)
    if overflow.any():
        row = first_row + int(overflow.argmax()) // values_per_row
        raise DataError(
            f"{values[overflow][0]} in row {row}, column {name!r} does not fit float32; rescale the column"
        )
    return narrow


def _read_relevance(column: pa.ChunkedArray, n_rows: int, name: str, first_row: int) -> Relevance:
    with name_column_in_errors(name):
        numbers = column.cast(pa.float64()) if is_numeric_type(column.type) else column
        return as_relevance(numbers.to_numpy(), n_rows, name=name, first_row=first_row)


def _group_rows(
    values: dict[str, pa.ChunkedArray], name: str | None, n_rows: int, first_row: int
) -> Grouping:
    if name is None:
        return group_by_query(None, n_rows=n_rows, first_row=first_row)
    with name_column_in_errors(name):
        column = values[name]
        if column.null_count:
            row = first_row + int(column.is_null().to_numpy().argmax())
            raise DataError(f"the query id in row {row}, column {name!r}, is missing; give every row one")
        column.validate(full=True)  # a file may hold text that is not UTF-8
        return group_by_query(column.to_numpy(), n_rows=n_rows, first_row=first_row)


def _read_document_ids(values: dict[str, pa.ChunkedArray], name: str | None, n_rows: int) -> Texts | None:
    if name is None:
        return None
    with name_column_in_errors(name):
        values[name].validate(full=True)
        return as_texts(values[name], n_rows, "document ids")


def _build_table(data: RankingDataset, start: int, stop: int, layout: Layout) -> pa.Table:
    rows = slice(start, stop)
    table = {"qid": pa.array(data.qid[rows], pa.large_string() if data.qid.dtype == object else pa.int64())}
    if data.document_texts is not None:
        table["docid"] = data.document_texts[rows]
    table["relevance"] = pa.array(data.relevance[rows])
    clashes = [name for name in data.feature_names if name in table]
    if layout == "columns" and clashes:
        raise DataError(f"a feature is named {clashes[0]!r} like another column; rename it")
    block = data.features[rows]
    if layout == "columns":
        for index, name in enumerate(data.feature_names):
            table[name] = pa.array(np.ascontiguousarray(block[:, index]))
        return pa.table(table)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(block.ravel()), data.n_features)
    metadata = {"names": "\n".join(data.feature_names)}
    if metadata["names"].count("\n") >= data.n_features:
        raise DataError(
            "the name of a feature has a line break, which a column of lists cannot keep; rename it"
        )
    fields = [pa.field(name, column.type) for name, column in table.items()]
    schema = pa.schema([*fields, pa.field("features", lists.type, metadata=metadata)])
    return pa.table([*table.values(), lists], schema=schema)
