"""Tables ⇄ data sets: pandas, polars and pyarrow in memory, Parquet on disk.

Everything goes through Arrow. On disk the columns are `qid`, `docid` where there are document ids,
`relevance`, and the features, each a column of its own or all in one column of fixed-size lists.

>>> import pyarrow as pa
>>> table = pa.table({"query": ["a", "b"], "grade": [1, 0], "bm25": [2.5, 0.5]})
>>> dataset_from_frame(table, Columns(relevance="grade", query="query"))
RankingDataset(2 documents, 2 queries, 1 feature)
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from directranker.arrays import Features
from directranker.data.checking import as_relevance
from directranker.data.dataset import RankingDataset
from directranker.data.files import Progress, no_progress, seekable, write_atomically
from directranker.data.grouping import Grouping, group_by_query
from directranker.data.texts import Texts, as_texts
from directranker.errors import DataError

__all__ = [
    "Columns",
    "FrameKind",
    "Layout",
    "check_n_rows",
    "check_types",
    "dataset_from_frame",
    "frame_from_dataset",
    "opened_parquet",
    "read_parquet",
    "write_parquet",
]

FrameKind = Literal["pandas", "polars", "pyarrow"]
Layout = Literal["columns", "list"]
BLOCK_ROWS = 16_384  # rows converted at a time; bounds the memory beside the array itself
MAX_LIST = 1_000_000  # features in a list; a file may claim any number


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
        counts = Counter(schema.names)
        for name in [*special, *features]:
            if counts[name] > 1:
                raise DataError(f"there are {counts[name]} columns {name!r}; rename all but one")
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
        written = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    except (ValueError, RecursionError):  # nothing that pandas wrote
        return set()
    names = written.get("index_columns") if isinstance(written, dict) else None
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()


def dataset_from_frame(frame: Any, columns: Columns, *, first_row: int = 0) -> RankingDataset:
    """Convert anything that Arrow can read as a table; errors count its rows from `first_row` on."""
    table = _arrow_table(frame)
    batches = table.to_batches(max_chunksize=BLOCK_ROWS)
    return _dataset(table.schema, table.num_rows, batches, columns, first_row)


def _parquet() -> Any:
    """Arrow's module for Parquet, which a cold start with other data would feel."""
    import pyarrow.parquet  # noqa: PLC0415

    return pyarrow.parquet


@contextmanager
def opened_parquet(path: str | Path) -> Iterator[Any]:
    """Open a Parquet file; any fault of its content raises a `DataError` that names the file."""
    try:
        with seekable(Path(path)) as source, _parquet().ParquetFile(source) as file:
            yield file
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    except (pa.ArrowException, UnicodeDecodeError, MemoryError) as error:
        raise DataError(f"{path}: not a readable Parquet file: {_one_line(error)}") from None
    except OSError as error:
        if error.errno is not None:  # of the file system; Arrow's own errors have none
            raise
        raise DataError(f"{path}: not a readable Parquet file: {_one_line(error)}") from None


def read_parquet(
    path: str | Path, *, columns: Columns | None = None, progress: Progress = no_progress
) -> RankingDataset:
    """Read a Parquet file in blocks: beside the array itself, memory does not grow with the file."""
    with opened_parquet(path) as file:
        n_rows = file.metadata.num_rows
        batches = _reported(file.iter_batches(batch_size=BLOCK_ROWS), n_rows, progress)
        return _dataset(file.schema_arrow, n_rows, batches, columns or Columns())


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
    with (
        write_atomically(path) as temporary,
        temporary.open("wb") as file,
        _parquet().ParquetWriter(file, schema) as writer,
    ):
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
    names = check_types(schema, columns)
    features = _empty_features(n_rows, len(names))
    # Only what is not a feature is kept in Arrow's own form until the end.
    kept: dict[str, list[Any]] = {n: [] for n in (columns.relevance, columns.query, columns.document) if n}
    row = 0
    for batch in batches:
        if row + batch.num_rows <= n_rows:
            _fill(features[row : row + batch.num_rows], batch, columns, first_row + row)
        row += batch.num_rows
        for name, parts in kept.items():
            parts.append(batch.column(name))
    check_n_rows(row, n_rows)
    whole = {name: pa.chunked_array(parts, schema.field(name).type) for name, parts in kept.items()}
    return RankingDataset.from_grouping(
        _grouping(whole, columns.query, n_rows, first_row),
        features=features,
        relevance=_relevance(whole[columns.relevance], n_rows, columns.relevance, first_row),
        feature_names=names,
        document_texts=_document_texts(whole, columns.document, n_rows),
    )


def check_n_rows(n_found: int, n_claimed: int) -> None:
    """Check that a file holds as many rows as it says."""
    if n_found != n_claimed:
        raise DataError(f"the file says that it has {n_claimed} rows, but holds {n_found}; it is damaged")


def _empty_features(n_rows: int, n_features: int) -> Features:
    """Memory for the features of as many rows as a table claims to have."""
    try:
        return np.empty((n_rows, n_features), dtype=np.float32)
    except (MemoryError, ValueError):
        size = f"{n_rows} rows of {n_features} features, {n_rows * n_features * 4 / 1e9:.0f} GB"
        raise DataError(f"{size} as a dense array, do not fit the memory") from None


@contextmanager
def _naming(column: str) -> Iterator[None]:
    """Name the column whose values cannot be converted."""
    try:
        yield
    except (DataError, pa.ArrowException, UnicodeDecodeError) as error:
        named = f"column {column!r}"
        text = _one_line(error)
        raise DataError(text if named in text else f"{named}: {text}") from None


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _feature_names(schema: Any, columns: Columns) -> tuple[str, ...]:
    features = list(columns.features or ())
    for name in features:
        kind = schema.field(name).type
        if pa.types.is_fixed_size_list(kind) and len(features) == 1 and _is_number(kind.value_type):
            with _naming(name):
                return _names_in_list(kind.list_size, (schema.field(name).metadata or {}).get(b"names"))
        if not _is_number(kind):
            raise DataError(
                f"column {name!r} holds {kind}, not numbers; encode it, leave it out, "
                "or name it as relevance, query or document"
            )
    return tuple(features)


def _names_in_list(size: int, stored: bytes | None) -> tuple[str, ...]:
    """The names of the features in a column of lists: those written beside it, or numbers."""
    if not 0 < size <= MAX_LIST:
        raise DataError(f"holds lists of {size} numbers; give 1 to {MAX_LIST:,} features")
    if stored is None:
        return tuple(f"feature_{number}" for number in range(1, size + 1))
    names = tuple(stored.decode().split("\n"))
    if len(names) != size or len(set(names)) != size:
        raise DataError(f"its metadata has {len(set(names))} different names for {size} features")
    return names


def _is_number(kind: Any) -> bool:
    is_plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    return bool(is_plain or pa.types.is_decimal(kind) or pa.types.is_null(kind))


def _is_label(kind: Any) -> bool:
    """Numbers, or strings that may be numbers."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return _is_number(kind) or _is_text(kind)


def _is_id(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)
    return bool(_is_text(kind) or is_number)


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def check_types(schema: Any, columns: Columns) -> tuple[str, ...]:
    """The names of the features, once no column has a type that its use does not allow; nothing is read."""
    for name, is_fine, problem in (
        (columns.relevance, _is_label, "relevance holds {}, not numbers; map the grades to numbers first"),
        (columns.query, _is_id, "query ids are {}; use ints or strings"),
        (columns.document, _is_flat, "document ids are {}; use strings or ints"),
    ):
        if name in schema.names and not is_fine(schema.field(name).type):
            raise DataError(f"column {name!r}: {problem.format(schema.field(name).type)}")
    return _feature_names(schema, columns)


def _is_flat(kind: Any) -> bool:
    return not pa.types.is_nested(kind)


def _fill(block: Features, batch: Any, columns: Columns, first_row: int) -> None:
    for number, name in enumerate(columns.features or ()):
        with _naming(name):
            column = batch.column(name)
            if pa.types.is_fixed_size_list(column.type):
                if column.null_count:
                    row = first_row + int(column.is_null().to_numpy(zero_copy_only=False).argmax())
                    raise DataError(f"there is a null instead of a list in row {row}; give every row one")
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
    with _naming(name):
        numbers = column.cast(pa.float64()) if _is_number(column.type) else column
        return as_relevance(numbers.to_numpy(), n_rows, name=name, first_row=first_row)


def _grouping(whole: dict[str, Any], name: str | None, n_rows: int, first_row: int) -> Grouping:
    if name is None:
        return group_by_query(None, n_rows=n_rows, first_row=first_row)
    with _naming(name):
        column = whole[name]
        if column.null_count:
            row = first_row + int(column.is_null().to_numpy().argmax())
            raise DataError(f"the query id in row {row}, column {name!r}, is missing; give every row one")
        column.validate(full=True)  # a file may hold text that is not UTF-8
        return group_by_query(column.to_numpy(), n_rows=n_rows, first_row=first_row)


def _document_texts(whole: dict[str, Any], name: str | None, n_rows: int) -> Texts | None:
    if name is None:
        return None
    with _naming(name):
        whole[name].validate(full=True)
        return as_texts(whole[name], n_rows, "document ids")


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
    if names["names"].count("\n") >= data.n_features:
        raise DataError(
            "the name of a feature has a line break, which a column of lists cannot keep; rename it"
        )
    fields = [pa.field(name, column.type) for name, column in table.items()]
    schema = pa.schema([*fields, pa.field("features", lists.type, metadata=names)])
    return pa.table([*table.values(), lists], schema=schema)
