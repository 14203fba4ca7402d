"""Tables ⇄ data sets: pandas, polars and pyarrow.

All conversions use Arrow. In files the columns are `qid`, `docid` if there are document ids, `relevance`, and
the features, either one column each or all in one column of fixed-size lists.

>>> import pyarrow as pa
>>> table = pa.table({"query": ["a", "b"], "grade": [1, 0], "bm25": [2.5, 0.5]})
>>> dataset_from_frame(table, ColumnRoles(relevance="grade", query="query"))
RankingDataset(2 documents, 2 queries, 1 feature)
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from directranker.arrays import Features, Relevance
from directranker.data.categories import decode
from directranker.data.checking import as_relevance
from directranker.data.column_roles import (
    KEPT,
    ColumnRoles,
    format_in_one_line,
    is_numeric_type,
    name_column_in_errors,
    resolve_feature_columns,
)
from directranker.data.dataset import RankingDataset
from directranker.data.feature_table import FeatureTable
from directranker.data.grouping import Grouping, group_by_query
from directranker.data.table_stream import TableStream, stream_table
from directranker.data.texts import Texts, as_texts
from directranker.errors import DataError

__all__ = [
    "FrameKind",
    "Layout",
    "build_dataset",
    "build_table",
    "check_n_rows",
    "dataset_from_frame",
    "frame_from_dataset",
    "read_features",
]

FrameKind = Literal["pandas", "polars", "pyarrow"]
Layout = Literal["columns", "list"]


def dataset_from_frame(
    frame: object, columns: ColumnRoles, *, first_row: int = 0, need_labels: bool = True
) -> RankingDataset:
    """Convert anything that Arrow can read as a table; errors count its rows from `first_row` on."""
    stream = stream_table(_to_arrow_table(frame))
    return build_dataset(stream, columns, first_row=first_row, need_labels=need_labels)


def read_features(frame: object, columns: ColumnRoles) -> tuple[Features, tuple[str, ...], dict[str, Texts]]:
    """Return the features of a frame in the order of its rows, their names, and the categories.

    Labels are not read, and queries only for ages within them.
    """
    rows = _to_arrow_table(frame)
    stream = stream_table(rows).with_fixed_lists(columns)
    table = FeatureTable.allocate(resolve_feature_columns(stream.schema, columns), rows.num_rows)
    table.fill_all(list(stream.batches))
    query = columns.query if columns.query in rows.column_names else None
    values = {} if query is None else {query: rows.column(query)}
    table.measure_ages(_group_rows(values, query, rows.num_rows, 0))
    return table.features, table.feature_names, table.encode_categories()


def frame_from_dataset(data: RankingDataset, kind: FrameKind) -> Any:
    """Convert to a pandas, polars or pyarrow table."""
    if kind not in ("pandas", "polars", "pyarrow"):
        raise ValueError(f"frame kind {kind!r}; use 'pandas', 'polars' or 'pyarrow'")
    table = build_table(data, 0, data.n_documents, "columns")
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        return _to_polars(table)
    return table


def _to_polars(table: pa.Table) -> Any:
    import polars  # noqa: PLC0415 - slow to import

    return polars.from_arrow(table)


def _to_arrow_table(frame: Any) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    if not hasattr(frame, "__arrow_c_stream__"):
        raise TypeError(f"{type(frame).__name__} is not a table; give a pandas, polars or pyarrow table")
    if hasattr(frame, "iloc"):  # pandas; its index is not data
        if not frame.columns.is_unique:
            name = frame.columns[frame.columns.duplicated()][0]
            raise DataError(f"there are several columns {name!r}; rename all but one")
        try:
            return pa.Table.from_pandas(frame, preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise DataError(_describe_mixed_types(frame) or format_in_one_line(error)) from None
    return pa.table(frame)


def _describe_mixed_types(frame: Any) -> str | None:
    """Describe the first value of a pandas frame that has another type than those before it."""
    for name in frame.columns:
        if frame[name].dtype != object:
            continue
        values, known = frame[name].to_numpy(), frame[name].notna().to_numpy()
        rows = np.flatnonzero(known).tolist()
        kinds = {row: _name_kind(values[row]) for row in rows}
        row = next((row for row in rows if kinds[row] != kinds[rows[0]]), None)
        if row is not None:
            return (
                f"column {name!r} holds {values[row]!r} in row {row}, a {kinds[row]}, but {kinds[rows[0]]} "
                "before; give the column one type"
            )
    return None


def _name_kind(value: object) -> str:
    """Name the type of a value; Arrow converts whole numbers and fractions to one type."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return "number" if is_number else type(value).__name__


def build_dataset(
    stream: TableStream, columns: ColumnRoles, *, first_row: int = 0, need_labels: bool = True
) -> RankingDataset:
    """Read a data set from batches; without labels, unless they are needed, all are 0."""
    columns = columns.resolve(stream.schema, need_labels=need_labels)
    stream = stream.with_fixed_lists(columns)
    schema, batches, n_rows = stream.schema, stream.batches, stream.n_rows
    if n_rows is None:
        batches = list(batches)
        n_rows = sum(batch.num_rows for batch in batches)
    table = FeatureTable.allocate(resolve_feature_columns(schema, columns), n_rows)
    # Only the other columns are collected as Arrow arrays until the end.
    special = (columns.relevance, columns.query, columns.document, *columns.keep)
    collected: dict[str, list[pa.Array]] = {name: [] for name in special if name and name in schema.names}
    row = 0
    if isinstance(batches, list):
        table.fill_all(batches, first_row)
    for batch in batches:
        if row + batch.num_rows <= n_rows and not isinstance(batches, list):
            table.fill(row, batch, first_row)
        row += batch.num_rows
        for name, chunks in collected.items():
            chunks.append(batch.column(name))
    check_n_rows(row, n_rows)
    values = {name: pa.chunked_array(chunks, schema.field(name).type) for name, chunks in collected.items()}
    labels = values.get(columns.relevance)
    grouping = _group_rows(values, columns.query, n_rows, first_row)
    table.measure_ages(grouping)
    categories = table.encode_categories(first_row)
    return RankingDataset.from_grouping(
        grouping,
        features=table.features,
        relevance=np.zeros(n_rows)
        if labels is None
        else _read_relevance(labels, n_rows, columns.relevance, first_row),
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


def build_table(data: RankingDataset, start: int, stop: int, layout: Layout = "columns") -> pa.Table:
    """Return the rows of a data set from `start` to `stop` as a table."""
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
