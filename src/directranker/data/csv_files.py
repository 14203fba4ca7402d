r"""CSV and TSV files, with a header of column names.

A quoted value may contain separators and line breaks. An empty value is missing; so are `NA`, `NaN`, `null`
and their like among numbers. The column without a name that pandas writes for its index is not read.

>>> from directranker.data.files import ignore_progress
>>> source = DataSource("table.csv", file=io.BytesIO(b"qid,relevance,bm25\n1,0,0.5\n1,1,\n"))
>>> CSV.read(source, ReadOptions(), ignore_progress).features.tolist()
[[0.5], [nan]]
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from directranker.data.column_roles import ColumnRoles, format_in_one_line
from directranker.data.dataset import RankingDataset
from directranker.data.file_format import TableFormat
from directranker.data.files import ForwardOnlyFile, Progress
from directranker.data.read_options import ReadOptions, WriteOptions
from directranker.data.sources import COMPRESSIONS, DataSource, name_source_in_errors
from directranker.data.table_stream import TableStream
from directranker.data.tabular import build_table
from directranker.data.text_tables import (
    SAMPLE_BYTES,
    TEXT,
    as_plain,
    describe_misfit,
    open_compressed,
    settle_type,
    write_rows,
)
from directranker.errors import DataError

if TYPE_CHECKING:
    from pyarrow.csv import ConvertOptions, ParseOptions

__all__ = ["CSV", "TSV", "CsvFormat"]

BLOCK_BYTES = 1 << 20
WHOLE_NUMBER = r"^(0|-?[1-9][0-9]{0,17})$"  # an id with leading zeros is text
MISFIT = re.compile(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to .*?: invalid value (.*)")
UNEVEN = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")
HEADER_ROWS = 2  # Arrow counts rows from 1, and the header as one


@dataclass(frozen=True)
class Layout:
    """The columns of a file, by its first rows."""

    names: list[str]
    types: dict[str, pa.DataType]
    """The types of the columns that are read."""
    query: str | None
    block_bytes: int

    @property
    def schema(self) -> pa.Schema:
        """The columns that are read."""
        return pa.schema(list(self.types.items()))


@dataclass(frozen=True)
class CsvFormat(TableFormat):
    """Text with one row per line, and one separator between values."""

    name: str
    extensions: tuple[str, ...]
    delimiter: str
    compressions = tuple(COMPRESSIONS)

    @contextmanager
    def open(
        self, source: DataSource, options: ReadOptions, progress: Progress, *, whole: bool
    ) -> Iterator[TableStream]:
        """Open a file; with `whole` all cores parse it."""
        with name_source_in_errors(source, self.name.upper()), source.open() as (plain, raw):
            text = ForwardOnlyFile(plain, SAMPLE_BYTES)
            need_labels = options.need_labels and whole
            layout = self._find_layout(text.start, options, need_labels=need_labels)
            if whole and source.is_repeatable:
                yield self._read_whole(source, layout, progress)
                return
            file = io.BufferedReader(text, layout.block_bytes)
            batches = _check_query_ids(self._read_batches(file, layout), layout.query)
            yield TableStream(layout.schema, _report(batches, raw, source.size, progress))

    def write(
        self,
        data: RankingDataset,
        path: Path,
        options: WriteOptions,  # noqa: ARG002 - of other formats
        progress: Progress,
    ) -> None:
        """Write a file; missing values are empty."""
        import pyarrow.csv as pc  # noqa: PLC0415 - slow to import

        schema = as_plain(build_table(data, 0, 0)).schema
        options_of_writer = pc.WriteOptions(delimiter=self.delimiter)
        with (
            open_compressed(path) as file,
            pc.CSVWriter(file, schema, write_options=options_of_writer) as writer,
        ):
            write_rows(data, progress, writer.write_table)

    def _find_layout(self, sample: bytes, options: ReadOptions, *, need_labels: bool) -> Layout:
        """Infer the types of the columns from the beginning of the text."""
        if not sample.strip():
            raise DataError("the file is empty; give a header of column names, and a row per document")
        roles = options.columns
        texts = [roles.query, roles.document, *roles.categorical, *options.texts]
        forced = {name: pa.string() for name in texts if name is not None}
        try:
            first = self._read_sample(sample, forced)
        except pa.ArrowInvalid as error:
            raise DataError(_describe_error(format_in_one_line(error), Layout([], {}, None, 0))) from None
        names = first.schema.names
        named = pa.schema([field for field in first.schema if field.name])
        resolved = roles.resolve(named, need_labels=need_labels)
        types = {name: _settle_type(name, first, resolved, forced) for name in resolved.used if name in names}
        first_line = sample.find(b"\n")
        return Layout(names, types, resolved.query, max(BLOCK_BYTES, 4 * max(first_line, 0)))

    def _read_sample(self, sample: bytes, types: dict[str, pa.DataType]) -> pa.Table:
        import pyarrow.csv as pc  # noqa: PLC0415 - slow to import

        is_all = len(sample) < SAMPLE_BYTES
        reader = pc.open_csv(
            io.BytesIO(sample),
            # The last rows of a longer text may be incomplete, so only the first half is read.
            read_options=pc.ReadOptions(
                use_threads=False, block_size=len(sample) + 1 if is_all else len(sample) // 2
            ),
            parse_options=self._parse_options(),
            convert_options=pc.ConvertOptions(column_types=types),
        )
        first = next(iter(reader), None)
        return pa.Table.from_batches([] if first is None else [first], reader.schema)

    def _read_whole(self, source: DataSource, layout: Layout, progress: Progress) -> TableStream:
        import pyarrow.csv as pc  # noqa: PLC0415 - slow to import

        try:
            with source.open_plain() as file:
                table = pc.read_csv(
                    file,
                    read_options=pc.ReadOptions(block_size=layout.block_bytes),
                    # Faster; a line break in a value at the end of a block raises.
                    parse_options=self._parse_options(newlines_in_values=False),
                    convert_options=_convert_options(layout),
                )
        except pa.ArrowInvalid:
            with source.open() as (plain, _):  # raises with the row, which several threads do not know
                table = pa.Table.from_batches(self._read_batches(plain, layout), layout.schema)
        progress(source.size, source.size)
        return TableStream(table.schema, _check_query_ids(table.to_batches(), layout.query))

    def _read_batches(self, file: Any, layout: Layout) -> Iterator[pa.RecordBatch]:
        import pyarrow.csv as pc  # noqa: PLC0415 - slow to import

        try:
            yield from pc.open_csv(
                file,
                read_options=pc.ReadOptions(use_threads=False, block_size=layout.block_bytes),
                parse_options=self._parse_options(),
                convert_options=_convert_options(layout),
            )
        except pa.ArrowInvalid as error:
            raise DataError(_describe_error(format_in_one_line(error), layout)) from None

    def _parse_options(self, *, newlines_in_values: bool = True) -> ParseOptions:
        import pyarrow.csv as pc  # noqa: PLC0415 - slow to import

        return pc.ParseOptions(delimiter=self.delimiter, newlines_in_values=newlines_in_values)


CSV = CsvFormat("csv", (".csv",), ",")
TSV = CsvFormat("tsv", (".tsv", ".tab"), "\t")


def _settle_type(
    name: str, first: pa.Table, columns: ColumnRoles, forced: dict[str, pa.DataType]
) -> pa.DataType:
    import pyarrow.compute as pc  # noqa: PLC0415 - slow to import

    inferred = first.schema.field(name).type
    if pa.types.is_binary(inferred):
        raise DataError(f"column {name!r} holds text that is not UTF-8; convert the file to UTF-8")
    if name == columns.query:
        values = first.column(name)
        values = values.filter(pc.not_equal(values, ""))
        is_number = pc.all(pc.match_substring_regex(values, WHOLE_NUMBER)).as_py()
        return pa.int64() if is_number else pa.string()
    if name == columns.document:
        return pa.string()
    if name in forced:
        return TEXT
    settled = settle_type(name, inferred, columns)
    is_date = name in columns.reference_dates or name in columns.reference_dates.values()
    return TEXT if pa.types.is_string(settled) and not is_date else settled


def _convert_options(layout: Layout) -> ConvertOptions:
    import pyarrow.csv as pc  # noqa: PLC0415 - slow to import

    return pc.ConvertOptions(column_types=layout.types, include_columns=list(layout.types))


def _check_query_ids(batches: Iterable[pa.RecordBatch], query: str | None) -> Iterator[pa.RecordBatch]:
    """Raise where a query id is empty, which Arrow reads as text of no letters."""
    import pyarrow.compute as pc  # noqa: PLC0415 - slow to import

    row = 0
    for batch in batches:
        if query is not None and pa.types.is_string(batch.schema.field(query).type):
            empty = pc.index(batch.column(query), "").as_py()
            if empty >= 0:
                raise DataError(
                    f"the query id in row {row + empty}, column {query!r}, is missing; give every row one"
                )
        yield batch
        row += batch.num_rows


def _report(
    batches: Iterator[pa.RecordBatch], raw: ForwardOnlyFile, size: int, progress: Progress
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch
        if size:
            progress(raw.tell(), size)


def _describe_error(message: str, layout: Layout) -> str:
    """Name the row and the column of an error of Arrow."""
    found = MISFIT.search(message)
    if found and layout.names:
        name, value = layout.names[int(found[1])], found[3]
        row = None if found[2] is None else int(found[2]) - HEADER_ROWS
        if name == layout.query:
            return (
                f"row {row}, column {name!r} holds {value}, but the first query ids are whole numbers; use "
                "one type"
            )
        return describe_misfit(name, row, value, layout.types[name])
    if found := UNEVEN.search(message):
        place = "a row" if found[1] is None else f"row {int(found[1]) - HEADER_ROWS}"
        return (
            f"{place} has {found[3]} values, but the header has {found[2]}; quote values that contain a "
            "separator"
        )
    return message
