r"""JSON lines: one object per document, with the names of the columns as its keys.

A key that an object lacks is missing, as is null. Keys that none of the first objects has raise, unless the
features are named.

>>> text = b'{"qid": 1, "relevance": 0, "bm25": 0.5}\n{"qid": 1, "relevance": 1}\n'
>>> from directranker.data.files import ignore_progress
>>> source = DataSource("table.jsonl", file=io.BytesIO(text))
>>> JsonLinesFormat().read(source, ReadOptions(), ignore_progress).features.tolist()
[[0.5], [nan]]
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from directranker.data.column_roles import ColumnRoles, format_in_one_line
from directranker.data.dataset import RankingDataset
from directranker.data.file_format import TableFormat
from directranker.data.files import ForwardOnlyFile, Progress
from directranker.data.read_options import ReadOptions, WriteOptions
from directranker.data.sources import COMPRESSIONS, DataSource, name_source_in_errors
from directranker.data.table_stream import TableStream
from directranker.data.text_tables import (
    SAMPLE_BYTES,
    describe_misfit,
    open_compressed,
    settle_type,
    write_rows,
)
from directranker.errors import DataError

__all__ = ["JsonLinesFormat"]

BLOCK_BYTES = 4 << 20
MISFIT = re.compile(r"Column\(/(.*?)(?:/\[\])?\) changed from \w+ to (\w+) in row (\d+)")
IN_ROW = re.compile(r"JSON parse error: (.*?)\.? in row (\d+)")


class JsonLinesFormat(TableFormat):
    """Text with a JSON object per line."""

    name = "jsonl"
    extensions = (".jsonl", ".ndjson")
    compressions = tuple(COMPRESSIONS)

    @contextmanager
    def open(
        self, source: DataSource, options: ReadOptions, progress: Progress, *, whole: bool
    ) -> Iterator[TableStream]:
        """Open a file, which is parsed block by block."""
        with name_source_in_errors(source, "JSON lines"), source.open() as (plain, raw):
            text = ForwardOnlyFile(plain, SAMPLE_BYTES)
            inferred = _parse(_cut_lines(text.start, is_all=len(text.start) < SAMPLE_BYTES), 0, None).schema
            roles = options.columns.resolve(inferred, need_labels=options.need_labels and whole)
            schema = _settle_schema(inferred, roles, options)
            file = io.BufferedReader(text, BLOCK_BYTES)
            parsing = _make_options(schema, ignore=options.columns.features is not None)
            yield TableStream(schema, _read_batches(file, schema, parsing, (raw, source.size, progress)))

    def write(
        self,
        data: RankingDataset,
        path: Path,
        options: WriteOptions,  # noqa: ARG002 - of other formats
        progress: Progress,
    ) -> None:
        """Write an object per document; missing values are null."""
        with open_compressed(path) as file:
            write_rows(data, progress, lambda table: file.write(_format_lines(table)))


def _format_lines(table: pa.Table) -> bytes:
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist())
    return "".join(lines).encode()


def _cut_lines(sample: bytes, *, is_all: bool) -> bytes:
    """Return the complete lines of the beginning of a text."""
    lines = sample if is_all else sample[: sample.rfind(b"\n") + 1]
    if not lines.strip():
        problem = "the file is empty" if is_all else f"its first line has more than {SAMPLE_BYTES >> 20} MB"
        raise DataError(f"{problem}; give one object per line")
    return lines


def _settle_schema(inferred: pa.Schema, roles: ColumnRoles, options: ReadOptions) -> pa.Schema:
    named = options.columns.features is not None
    names = [name for name in inferred.names if not named or name in roles.used]
    fields = []
    for name in names:
        dtype = settle_type(name, inferred.field(name).type, roles)
        is_text = pa.types.is_dictionary(dtype) or name in options.texts
        fields.append(pa.field(name, pa.string() if is_text else dtype))
    return pa.schema(fields)


def _make_options(schema: pa.Schema, *, ignore: bool) -> Any:
    import pyarrow.json as pj  # noqa: PLC0415 - slow to import

    unexpected = "ignore" if ignore else "error"
    return pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected)


def _read_batches(
    file: BinaryIO,
    schema: pa.Schema,
    parsing: Any,
    report: tuple[ForwardOnlyFile, int, Progress],
) -> Iterator[pa.RecordBatch]:
    raw, size, progress = report
    n_rows, rest = 0, b""
    while block := file.read(BLOCK_BYTES):
        complete, newline, rest_of_block = block.rpartition(b"\n")
        if not newline:
            rest += block
            continue
        table = _parse(rest + complete + newline, n_rows, parsing)
        yield from table.select(schema.names).cast(schema).to_batches() if len(table) else ()
        n_rows, rest = n_rows + len(table), rest_of_block
        if size:
            progress(raw.tell(), size)
    if rest.strip():
        yield from _parse(rest, n_rows, parsing).select(schema.names).cast(schema).to_batches()


def _parse(text: bytes, first_row: int, parsing: Any) -> pa.Table:
    import pyarrow.json as pj  # noqa: PLC0415 - slow to import

    if not text.strip():
        return pa.table({})
    reading = pj.ReadOptions(block_size=len(text) + 1)  # one block, so that rows are counted from its start
    try:
        return pj.read_json(io.BytesIO(text), read_options=reading, parse_options=parsing)
    except pa.ArrowInvalid as error:
        schema = None if parsing is None else parsing.explicit_schema
        raise DataError(_describe_error(format_in_one_line(error), text, first_row, schema)) from None


def _describe_error(message: str, text: bytes, first_row: int, schema: pa.Schema | None) -> str:
    """Name the row and the column of an error of Arrow."""
    if found := MISFIT.search(message):
        name, kind, row = found[1], found[2], first_row + int(found[3])
        expected = pa.null() if schema is None or name not in schema.names else schema.field(name).type
        return describe_misfit(name, row, f"a {kind}", expected)
    if "unexpected field" in message and schema is not None:
        row, key = _find_unexpected(text, set(schema.names))
        return (
            f"row {first_row + row} has the key {key!r}, which the first rows do not have; name the features "
            f"(`--features`), or leave it out with drop=[{key!r}] (`--drop {key}`)"
        )
    if found := IN_ROW.search(message):
        return f"row {first_row + int(found[2])} is not a JSON object: {found[1]}"
    return message


def _find_unexpected(text: bytes, known: set[str]) -> tuple[int, str]:
    lines = [line for line in text.splitlines() if line.strip()]
    found = ((row, key) for row, line in enumerate(lines) for key in json.loads(line) if key not in known)
    return next(found)
