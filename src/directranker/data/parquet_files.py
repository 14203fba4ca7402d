"""Parquet files, one or several, as one data set.

The columns are `qid`, `docid` if there are document ids, `relevance`, and the features, either one column
each or all in one column of fixed-size lists.

>>> import tempfile
>>> data = RankingDataset.from_arrays([[1.0], [2.0]], [0, 1], qid=[7, 7])
>>> with tempfile.TemporaryDirectory() as folder:
...     write_parquet(data, f"{folder}/data.parquet")
...     read_parquet(f"{folder}/data.parquet").equals(data)
True
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from directranker.data.column_roles import ColumnRoles
from directranker.data.dataset import RankingDataset
from directranker.data.file_format import TableFormat
from directranker.data.files import Progress, ignore_progress, write_atomically
from directranker.data.read_options import ReadOptions, WriteOptions
from directranker.data.sources import DataSource, name_source_in_errors
from directranker.data.table_stream import BLOCK_ROWS, TableStream
from directranker.data.tabular import Layout, build_table, check_n_rows

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

__all__ = ["ParquetFormat", "read_parquet", "stream_parquet", "write_parquet"]

STREAM_ROWS = 8192


class ParquetFormat(TableFormat):
    """Parquet files."""

    name = "parquet"
    extensions = (".parquet", ".pq")

    @contextmanager
    def open(
        self, source: DataSource, options: ReadOptions, progress: Progress, *, whole: bool
    ) -> Iterator[TableStream]:
        """Open a file; memory beyond the batch does not grow with it."""
        import pyarrow.parquet as pq  # noqa: PLC0415 - slow to import

        with (
            name_source_in_errors(source, "Parquet"),
            source.open_seekable() as opened,
            pq.ParquetFile(opened) as file,
        ):
            n_rows = file.metadata.num_rows
            schema = _select_used(file.schema_arrow, options, need_labels=options.need_labels and whole)
            batches = (
                file.iter_batches(batch_size=BLOCK_ROWS, columns=schema.names)
                if whole
                else _iterate_batches(file, schema.names)
            )
            yield TableStream(schema, _count_rows(batches, n_rows, progress), n_rows)

    def write(self, data: RankingDataset, path: Path, options: WriteOptions, progress: Progress) -> None:
        """Write a file."""
        write_parquet(data, path, layout=options.layout, progress=progress)


def _select_used(schema: pa.Schema, options: ReadOptions, *, need_labels: bool) -> pa.Schema:
    """Return the columns that are read; others, such as long texts, would only take time."""
    used = set(options.columns.resolve(schema, need_labels=need_labels).used)
    return pa.schema([field for field in schema if field.name in used], schema.metadata)


def _iterate_batches(file: ParquetFile, names: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield batches row group by row group; a single call for all would hold several groups in memory."""
    for group in range(file.metadata.num_row_groups):
        yield from file.iter_batches(
            batch_size=STREAM_ROWS, row_groups=[group], columns=names, use_threads=False
        )


def _count_rows(
    batches: Iterator[pa.RecordBatch], n_rows: int, progress: Progress
) -> Iterator[pa.RecordBatch]:
    done = 0
    for batch in batches:
        yield batch
        done += batch.num_rows
        progress(done, n_rows)
    check_n_rows(done, n_rows)


def read_parquet(
    path: str | Path, *, columns: ColumnRoles | None = None, progress: Progress = ignore_progress
) -> RankingDataset:
    """Read a Parquet file in blocks; memory beyond the array itself does not grow with the file."""
    options = ReadOptions(columns=columns or ColumnRoles())
    return ParquetFormat().read(DataSource.of(Path(path)), options, progress)


def stream_parquet(
    path: str | Path, *, columns: ColumnRoles | None = None, progress: Progress = ignore_progress
) -> Iterator[RankingDataset]:
    """Yield pieces of a Parquet file; without a label column all labels are 0."""
    options = ReadOptions(columns=columns or ColumnRoles())
    yield from ParquetFormat().stream(DataSource.of(Path(path)), options, progress)


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
    schema = build_table(data, 0, 0, layout).schema
    with (
        write_atomically(path) as temporary,
        temporary.open("wb") as file,
        pq.ParquetWriter(file, schema) as writer,
    ):
        for start in range(0, data.n_documents, BLOCK_ROWS * 4):
            stop = min(start + BLOCK_ROWS * 4, data.n_documents)
            writer.write_table(build_table(data, start, stop, layout))
            progress(stop, data.n_documents)
