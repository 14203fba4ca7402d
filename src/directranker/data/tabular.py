"""Tables ⇄ data sets: pandas, polars and pyarrow in memory, Parquet on disk.

All conversions use Arrow. On disk the columns are `qid`, `docid` if there are document ids, `relevance`, and
the features, either one column each or all in one column of fixed-size lists.

>>> import pyarrow as pa
>>> table = pa.table({"query": ["a", "b"], "grade": [1, 0], "bm25": [2.5, 0.5]})
>>> dataset_from_frame(table, ColumnRoles(relevance="grade", query="query"))
RankingDataset(2 documents, 2 queries, 1 feature)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from directranker.arrays import Features, Relevance
from directranker.data.categories import decode, encode_values
from directranker.data.checking import as_relevance
from directranker.data.column_roles import (
    KEPT,
    ColumnRoles,
    FeatureColumn,
    format_in_one_line,
    is_numeric_type,
    name_column_in_errors,
    resolve_feature_columns,
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
    "read_features",
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


def read_features(frame: object, columns: ColumnRoles) -> tuple[Features, tuple[str, ...], dict[str, Texts]]:
    """Return the features of a frame without labels and queries, their names, and the categories."""
    table = _to_arrow_table(frame)
    filled = FeatureTable.allocate(resolve_feature_columns(table.schema, columns), table.num_rows)
    row = 0
    for batch in table.to_batches(max_chunksize=BLOCK_ROWS):
        filled.fill(row, batch)
        row += batch.num_rows
    categories = filled.encode_categories()
    return filled.features, filled.feature_names, categories


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
            raise DataError(_describe_mixed_types(frame) or format_in_one_line(error)) from None
    return pa.table(frame)


def _describe_mixed_types(frame: Any) -> str | None:
    """Describe the first value of a pandas frame that has another type than those before it."""
    for name in frame.columns:
        values = frame[name].dropna()
        kinds = [type(value) for value in values] if values.dtype == object else []
        row = next((row for row, kind in enumerate(kinds) if kind is not kinds[0]), None)
        if row is not None:
            position = int(frame.index.get_indexer_for(values.index[row : row + 1])[0])
            return (
                f"column {name!r} holds {values.iloc[row]!r} in row {position}, a {kinds[row].__name__}, but "
                f"{kinds[0].__name__} before; give the column one type"
            )
    return None


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
    table = FeatureTable.allocate(resolve_feature_columns(schema, columns), n_rows)
    # Only the other columns are collected as Arrow arrays until the end.
    collected: dict[str, list[pa.Array]] = {
        name: [] for name in (columns.relevance, columns.query, columns.document, *columns.keep) if name
    }
    row = 0
    for batch in batches:
        if row + batch.num_rows <= n_rows:
            table.fill(row, batch, first_row)
        row += batch.num_rows
        for name, chunks in collected.items():
            chunks.append(batch.column(name))
    check_n_rows(row, n_rows)
    values = {name: pa.chunked_array(chunks, schema.field(name).type) for name, chunks in collected.items()}
    categories = table.encode_categories(first_row)
    return RankingDataset.from_grouping(
        _group_rows(values, columns.query, n_rows, first_row),
        features=table.features,
        relevance=_read_relevance(values[columns.relevance], n_rows, columns.relevance, first_row),
        feature_names=table.feature_names,
        document_texts=_read_document_ids(values, columns.document, n_rows),
        categories=categories,
        columns=columns,
        kept={name: values[name] for name in columns.keep},
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


@dataclass(frozen=True)
class FeatureTable:
    """The features of a table, filled batch by batch; categories are encoded at the end."""

    columns: tuple[FeatureColumn, ...]
    features: Features
    chunks: dict[str, list[pa.Array]]
    """The values of categorical columns."""

    @classmethod
    def allocate(cls, columns: tuple[FeatureColumn, ...], n_rows: int) -> FeatureTable:
        """Allocate the features of these columns."""
        n_features = sum(len(column.feature_names) for column in columns)
        chunks: dict[str, list[pa.Array]] = {
            column.name: [] for column in columns if column.kind == "category"
        }
        return cls(columns, _allocate_features(n_rows, n_features), chunks)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of all features."""
        return tuple(name for column in self.columns for name in column.feature_names)

    def fill(self, row: int, batch: pa.RecordBatch, first_row: int = 0) -> None:
        """Fill the rows from `row` on with those of a batch; errors count them from `first_row` on."""
        block, index = self.features[row : row + batch.num_rows], 0
        for column in self.columns:
            stop = index + len(column.feature_names)
            with name_column_in_errors(column.name):
                values = batch.column(column.name)
                if column.kind == "category":
                    is_encoded = pa.types.is_dictionary(values.type)
                    self.chunks[column.name].append(values if is_encoded else values.dictionary_encode())
                elif column.kind == "vector":
                    block[:, index:stop] = _read_vectors(values, column, first_row + row)
                else:
                    block[:, index] = _to_float32(values, column.name, first_row + row)
            index = stop

    def encode_categories(self, first_row: int = 0) -> dict[str, Texts]:
        """Fill in the codes of categories, and return the vocabularies."""
        vocabularies = {}
        for index, name in enumerate(self.feature_names):
            if name in self.chunks:
                with name_column_in_errors(name):
                    column = pa.chunked_array(self.chunks[name] or [pa.nulls(0)])
                    codes, vocabularies[name] = encode_values(column, name, first_row=first_row)
                self.features[:, index] = codes
        return vocabularies


def _read_vectors(values: pa.Array, column: FeatureColumn, first_row: int) -> Features:
    if values.null_count:
        row = first_row + int(values.is_null().to_numpy(zero_copy_only=False).argmax())
        raise DataError(f"the list in row {row} is null; give every row a list")
    n_dimensions = len(column.feature_names)
    flat = _to_float32(values.flatten(), column.name, first_row, n_dimensions)
    return flat.reshape(len(values), n_dimensions)


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
    clashes = [name for name in data.kept if name in (*table, "features")]
    clashes += [name for name in data.feature_names if layout == "columns" and name in table]
    if clashes:
        raise DataError(f"a column is named {clashes[0]!r} like another one; rename it")
    table |= {name: values[rows] for name, values in data.kept.items()}
    if layout == "list" and data.categories:
        raise DataError("a column of lists cannot keep categories; use layout='columns'")
    block = data.features[rows]
    metadata: dict[str, dict[str, str | bytes]] = {name: {"directranker": KEPT} for name in data.kept}
    if layout == "list":
        table["features"] = pa.FixedSizeListArray.from_arrays(pa.array(block.ravel()), data.n_features)
        metadata["features"] = {"names": _join_names(data.feature_names)}
    else:
        for index, name in enumerate(data.feature_names):
            values = np.ascontiguousarray(block[:, index])
            is_category = name in data.categories
            table[name] = decode(values, data.categories[name]) if is_category else pa.array(values)
    fields = [pa.field(name, values.type, metadata=metadata.get(name)) for name, values in table.items()]
    return pa.table(list(table.values()), schema=pa.schema(fields))


def _join_names(names: Sequence[str]) -> str:
    joined = "\n".join(names)
    if joined.count("\n") >= len(names):
        raise DataError(
            "the name of a feature has a line break, which a column of lists cannot keep; rename it"
        )
    return joined
