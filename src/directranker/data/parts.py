"""Several files as one data set: a folder of parts, or a pattern such as `parts/*.parquet`.

Parts are read in the order of their names. Each has the columns of the first one, in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from directranker.data.categories import is_category_type
from directranker.data.column_roles import is_numeric_type
from directranker.data.file_format import TableFormat, TableReader
from directranker.data.files import Progress, ignore_progress
from directranker.data.read_options import ReadOptions
from directranker.data.sources import DataSource
from directranker.data.table_stream import TableStream
from directranker.errors import DataError

__all__ = ["Parts"]


@dataclass(frozen=True)
class Parts(TableReader):
    """Files of one format that are read as one table."""

    parts: Sequence[Path]
    part_format: TableFormat

    @contextmanager
    def open(
        self, source: DataSource, options: ReadOptions, progress: Progress, *, whole: bool
    ) -> Iterator[TableStream]:
        """Open all parts for their columns, and then one after another for their rows."""
        try:
            schemas, n_rows = {}, 0
            known_texts = options
            for part in self.parts:
                with self._open_part(part, known_texts, whole=False) as stream:
                    schemas[part], n_rows = stream.schema, n_rows + (stream.n_rows or 0)
                known_texts = replace(known_texts, texts=(*known_texts.texts, *_find_texts(stream.schema)))
            schema = _join_schemas(schemas)
            batches = self._iterate(schema, known_texts, progress, whole=whole)
            yield TableStream(schema, batches, n_rows or None)
        except DataError as error:
            is_named = any(str(error).startswith(str(part)) for part in self.parts)
            raise DataError(str(error) if is_named else f"{source.name}: {error}") from None

    def _open_part(
        self, part: Path, options: ReadOptions, *, whole: bool
    ) -> AbstractContextManager[TableStream]:
        return self.part_format.open(DataSource.of(part), options, ignore_progress, whole=whole)

    def _iterate(
        self, schema: pa.Schema, options: ReadOptions, progress: Progress, *, whole: bool
    ) -> Iterator[pa.RecordBatch]:
        for number, part in enumerate(self.parts):
            with self._open_part(part, options, whole=whole) as stream:
                for batch in stream.batches:
                    table = pa.Table.from_batches([batch]).select(schema.names).cast(schema)
                    yield from table.to_batches()
            progress(number + 1, len(self.parts))


def _find_texts(schema: pa.Schema) -> tuple[str, ...]:
    """Return the categories, which later parts of text must not read as numbers."""
    return tuple(field.name for field in schema if pa.types.is_dictionary(field.type))


def _join_schemas(schemas: Mapping[Path, pa.Schema]) -> pa.Schema:
    """Return the columns of the first part, with types that hold the values of all parts."""
    first_part, first = next(iter(schemas.items()))
    for part, schema in schemas.items():
        if missing := [name for name in first.names if name not in schema.names]:
            raise DataError(
                f"{part}: no column {', '.join(map(repr, missing))}, which {first_part} has; give all parts "
                "the same columns"
            )
    fields = []
    for field in first:
        types = {part: schema.field(field.name).type for part, schema in schemas.items()}
        joined = _join_types(set(types.values()))
        if joined is None:
            part = next(part for part, dtype in types.items() if dtype != field.type)
            raise DataError(
                f"{part}: column {field.name!r} holds {types[part]}, but {field.type} in {first_part}; give "
                "it one type in all parts"
            )
        fields.append(field.with_type(joined))
    return pa.schema(fields, first.metadata)


def _join_types(types: set[pa.DataType]) -> pa.DataType | None:
    if len(types) == 1:
        return next(iter(types))
    if all(map(is_numeric_type, types)):
        return pa.float64()
    values = {dtype.value_type if pa.types.is_dictionary(dtype) else dtype for dtype in types}
    if all(is_category_type(dtype) or pa.types.is_null(dtype) for dtype in values):
        return pa.large_string()
    return None
