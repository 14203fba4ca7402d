"""Tables ⇄ data sets: pandas, polars and pyarrow in memory, Parquet on disk.

Everything goes through Arrow. On disk the columns are `qid`, `docid` where there are document ids,
`relevance`, and the features, each a column of its own or all in one column of fixed-size lists.

>>> import pyarrow as pa
>>> table = pa.table({"query": ["a", "b"], "grade": [1, 0], "bm25": [2.5, 0.5]})
>>> dataset_from_frame(table, Columns(relevance="grade", query="query"))
RankingDataset(2 documents, 2 queries, 1 feature)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from directranker.data.checking import Features, as_relevance
from directranker.data.dataset import RankingDataset
from directranker.data.files import Progress, no_progress, write_atomically
from directranker.data.grouping import group_by_query
from directranker.data.texts import as_texts
from directranker.errors import DataError

__all__ = [
    "Columns",
    "FrameKind",
    "Layout",
    "dataset_from_frame",
    "frame_from_dataset",
    "read_parquet",
    "write_parquet",
]

FrameKind = Literal["pandas", "polars", "pyarrow"]
Layout = Literal["columns", "list"]
BLOCK_ROWS = 16_384  # rows converted at a time; bounds the memory beside the array itself


@dataclass(frozen=True)
class Columns:
    """Which column holds what; features are all the others unless named."""

    relevance: str = "relevance"
    query: str | None = "qid"
    document: str | None = "docid"
    features: Sequence[str] | None = None

    def resolve(self, schema: pa.Schema, *, need_labels: bool = True) -> Columns:
        """Check that the columns are there and name the features."""
        self._check_names()
        known = set(schema.names)
        document = None if self.document == "docid" and "docid" not in known else self.document
        special = [name for name in (self.relevance, self.query, document) if name is not None]
        features = self.features
        if features is None:
            left_out = {*special, *_index_columns(schema)}
            features = [name for name in schema.names if name not in left_out]
        for name in [*special, *features]:
            if name not in known and (need_labels or name != self.relevance):
                names = ", ".join(schema.names)
                raise DataError(f"no column {name!r}; the columns are {names}{self._hint(name)}")
        if not features:
            raise DataError("no feature columns are left beside relevance, query and document")
        return Columns(self.relevance, self.query, document, features)

    def _check_names(self) -> None:
        for role in ("relevance", "query", "document"):
            name = getattr(self, role)
            if not (isinstance(name, str) or (name is None and role != "relevance")):
                raise TypeError(f"{role} is a {type(name).__name__}; give the name of one column")
        if isinstance(self.features, str):
            raise TypeError(f"features is {self.features!r}; give a list of names of columns")

    def _hint(self, name: str) -> str:
        if name == self.relevance:
            return "; name the one of the labels (`directranker convert --relevance`)"
        if name == self.query:
            return (
                "; name the one of the queries (`directranker convert --query`), or pass query=None if all "
                "rows are one list"
            )
        return ""


def _index_columns(schema: pa.Schema) -> set[str]:
    """Columns that pandas wrote for its index, such as the numbers of rows that were sorted or chosen."""
    try:
        written = (schema.pandas_metadata or {}).get("index_columns", [])
    except ValueError:  # nothing that pandas wrote
        return set()
    return {name for name in written if isinstance(name, str)}


def dataset_from_frame(frame: Any, columns: Columns, *, first_row: int = 0) -> RankingDataset:
    """Convert anything that Arrow can read as a table; errors count its rows from `first_row` on."""
    table = _arrow_table(frame)
    batches = table.to_batches(max_chunksize=BLOCK_ROWS)
    return _dataset(table.schema, table.num_rows, batches, columns, first_row)


def _parquet() -> Any:
    """Arrow's module for Parquet, which a cold start with other data would feel."""
    import pyarrow.parquet  # noqa: PLC0415

    return pyarrow.parquet


def read_parquet(
    path: str | Path, *, columns: Columns | None = None, progress: Progress = no_progress
) -> RankingDataset:
    """Read a Parquet file in blocks: beside the array itself, memory does not grow with the file."""
    try:
        with _parquet().ParquetFile(path) as file:
            n_rows = file.metadata.num_rows
            batches = _reported(file.iter_batches(batch_size=BLOCK_ROWS), n_rows, progress)
            return _dataset(file.schema_arrow, n_rows, batches, columns or Columns())
    except pa.ArrowInvalid as error:
        raise DataError(f"{path}: not a readable Parquet file: {error}") from None
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def write_parquet(
    data: RankingDataset,
    path: str | Path,
    *,
    layout: Layout = "columns",
    progress: Progress = no_progress,
) -> None:
    """Write a Parquet file; `layout="list"` puts all features into one column `features`."""
    if layout not in ("columns", "list"):
        raise ValueError(f"layout is {layout!r}; use 'columns' or 'list'")
    schema = _table(data, 0, 0, layout).schema
    with write_atomically(path) as temporary, _parquet().ParquetWriter(temporary, schema) as writer:
        for start in range(0, data.n_documents, BLOCK_ROWS * 4):
            stop = min(start + BLOCK_ROWS * 4, data.n_documents)
            writer.write_table(_table(data, start, stop, layout))
            progress(stop, data.n_documents)


def frame_from_dataset(data: RankingDataset, kind: FrameKind) -> Any:
    """Convert to a pandas, polars or pyarrow table."""
    if kind not in ("pandas", "polars", "pyarrow"):
        raise ValueError(f"frame kind {kind!r}; use 'pandas', 'polars' or 'pyarrow'")
    table = _table(data, 0, data.n_documents, "columns")
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        import polars  # noqa: PLC0415 - an optional package

        return polars.from_arrow(table)
    return table


def _arrow_table(frame: Any) -> Any:
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


def _reported(batches: Iterable[Any], n_rows: int, progress: Progress) -> Iterable[Any]:
    done = 0
    for batch in batches:
        yield batch
        done += batch.num_rows
        progress(done, n_rows)


def _dataset(
    schema: Any, n_rows: int, batches: Iterable[Any], columns: Columns, first_row: int = 0
) -> RankingDataset:
    columns = columns.resolve(schema)
    names = _feature_names(schema, columns)
    features = np.empty((n_rows, len(names)), dtype=np.float32)
    # Only what is not a feature is kept in Arrow's own form until the end.
    kept: dict[str, list[Any]] = {n: [] for n in (columns.relevance, columns.query, columns.document) if n}
    row = 0
    for batch in batches:
        _fill(features[row : row + batch.num_rows], batch, columns, first_row + row)
        row += batch.num_rows
        for name, parts in kept.items():
            parts.append(batch.column(name))
    whole = {name: pa.chunked_array(parts, schema.field(name).type) for name, parts in kept.items()}
    return RankingDataset.from_grouping(
        group_by_query(
            _query_ids(whole.get(columns.query or ""), columns.query, first_row),
            n_rows=n_rows,
            first_row=first_row,
        ),
        features=features,
        relevance=_relevance(whole[columns.relevance], n_rows, columns.relevance, first_row),
        feature_names=names,
        document_texts=as_texts(whole.get(columns.document or ""), n_rows, "document ids"),
    )


def _feature_names(schema: Any, columns: Columns) -> tuple[str, ...]:
    features = list(columns.features or ())
    for name in features:
        kind = schema.field(name).type
        if pa.types.is_fixed_size_list(kind) and len(features) == 1 and _is_number(kind.value_type):
            stored = schema.field(name).metadata or {}
            default = "\n".join(f"feature_{number}" for number in range(1, kind.list_size + 1))
            return tuple(stored.get(b"names", default.encode()).decode().split("\n"))
        if not _is_number(kind):
            raise DataError(
                f"column {name!r} holds {kind}, not numbers; encode it, leave it out, "
                "or name it as relevance, query or document"
            )
    return tuple(features)


def _is_number(kind: Any) -> bool:
    is_plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    return bool(is_plain or pa.types.is_decimal(kind) or pa.types.is_null(kind))


def _fill(block: Features, batch: Any, columns: Columns, first_row: int) -> None:
    for number, name in enumerate(columns.features or ()):
        column = batch.column(name)
        if pa.types.is_fixed_size_list(column.type):
            if column.null_count:
                row = first_row + int(column.is_null().to_numpy(zero_copy_only=False).argmax())
                raise DataError(f"column {name!r} has a null instead of a list in row {row}")
            block[:] = _floats(column.flatten(), name, first_row, block.shape[1]).reshape(block.shape)
        else:
            block[:, number] = _floats(column, name, first_row)


def _floats(column: Any, name: str, first_row: int, values_per_row: int = 1) -> Features:
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


def _relevance(column: Any, n_rows: int, name: str, first_row: int) -> Any:
    numbers = column.cast(pa.float64()) if _is_number(column.type) else column
    return as_relevance(numbers.to_numpy(), n_rows, name=name, first_row=first_row)


def _query_ids(column: Any | None, name: str | None, first_row: int) -> Any:
    if column is None:
        return None
    if pa.types.is_nested(column.type):
        raise DataError(f"column {name!r} holds {column.type}, not query ids; give one int or string per row")
    if column.null_count:
        row = first_row + int(column.is_null().to_numpy().argmax())
        raise DataError(f"the query id in row {row}, column {name!r}, is missing; give every row one")
    return column.to_numpy()


def _table(data: RankingDataset, start: int, stop: int, layout: Layout) -> Any:
    rows = slice(start, stop)
    table = {"qid": pa.array(data.qid[rows], pa.large_string() if data.qid.dtype == object else pa.int64())}
    if data.document_texts is not None:
        table["docid"] = data.document_texts[rows]
    table["relevance"] = pa.array(data.relevance[rows])
    clash = [name for name in data.feature_names if name in table]
    if layout == "columns" and clash:
        raise DataError(f"a feature is named {clash[0]!r} like another column; rename it")
    block = data.features[rows]
    if layout == "columns":
        for number, name in enumerate(data.feature_names):
            table[name] = pa.array(np.ascontiguousarray(block[:, number]))
        return pa.table(table)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(block.ravel()), data.n_features)
    names = {"names": "\n".join(data.feature_names)}
    fields = [pa.field(name, column.type) for name, column in table.items()]
    schema = pa.schema([*fields, pa.field("features", lists.type, metadata=names)])
    return pa.table([*table.values(), lists], schema=schema)
