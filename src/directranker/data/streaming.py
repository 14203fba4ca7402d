r"""Stream a data set in pieces of complete queries, in memory that does not grow with the data.

The documents of a query must be contiguous, as they are in every common file; a query that reappears later
raises an error.

>>> import io
>>> text = io.BytesIO(b"0 qid:1 1:5\n1 qid:1 1:6\n0 qid:2 1:7\n")
>>> [piece.query_ids.tolist() for piece in stream_letor(text, block_bytes=16)]
[[1], [2]]
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa

from directranker.arrays import Features
from directranker.data.column_roles import ColumnRoles, resolve_feature_columns
from directranker.data.concatenation import concatenate
from directranker.data.dataset import RankingDataset
from directranker.data.files import Progress, ignore_progress
from directranker.data.formats import ReadOptions, detect_format, read_dataset
from directranker.data.letor import open_letor, parse_letor
from directranker.data.letor.problems import MAX_LINE_BYTES, NO_DOCUMENTS, TOO_LONG
from directranker.data.tabular import check_n_rows, dataset_from_frame, open_parquet
from directranker.errors import DataError, LetorError

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile
__all__ = ["stream_dataset", "stream_letor", "stream_parquet"]

BLOCK_BYTES = 8 << 20
BLOCK_ROWS = 8192
NOT_CONTIGUOUS = (
    "the documents of a query are not contiguous, so they cannot be read piece by piece; "
    "group them with `directranker convert`"
)


def stream_dataset(
    path: str | Path,
    *,
    options: ReadOptions | None = None,
    n_features: int | None = None,
    progress: Progress = ignore_progress,
) -> Iterator[RankingDataset]:
    """Yield pieces of a data set in any format, in the order of the input.

    `n_features` is for sparse text, whose lines may not mention the last ones.
    """
    options = options or ReadOptions()
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    file_format = detect_format(path)
    if file_format == "folder":
        yield from _stream_saved(read_dataset(path), progress)
    elif file_format == "parquet":
        yield from stream_parquet(path, columns=options.columns, progress=progress)
    else:
        size = path.stat().st_size
        with open_letor(path) as (text, raw):
            for piece in stream_letor(text, name=str(path), options=options, n_features=n_features):
                yield piece
                progress(raw.tell(), size)


def stream_letor(
    text: BinaryIO,
    *,
    name: str = "<text>",
    options: ReadOptions | None = None,
    n_features: int | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> Iterator[RankingDataset]:
    """Yield pieces of LETOR text from a stream that need not be seekable, such as standard input."""
    try:
        yield from _regroup_queries(
            _read_letor_blocks(text, name, options or ReadOptions(), n_features, block_bytes)
        )
    except LetorError:
        raise
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def stream_parquet(
    path: str | Path, *, columns: ColumnRoles | None = None, progress: Progress = ignore_progress
) -> Iterator[RankingDataset]:
    """Yield pieces of a Parquet file; without a label column all labels are 0."""
    columns = columns or ColumnRoles()
    with open_parquet(path) as file:
        yield from _regroup_queries(_read_parquet_blocks(file, columns, progress))


def _read_letor_blocks(
    text: BinaryIO, name: str, options: ReadOptions, n_features: int | None, block_bytes: int
) -> Iterator[RankingDataset]:
    rest, n_lines = b"", 0
    while block := text.read(block_bytes):
        complete, newline, rest_of_block = block.rpartition(b"\n")
        if not newline:
            rest += block
            if len(rest) > MAX_LINE_BYTES:
                raise LetorError(TOO_LONG, path=name, line=n_lines + 1)
            continue
        yield from _parse_lines(rest + complete + newline, name, n_lines, options, n_features)
        n_lines += rest.count(b"\n") + complete.count(b"\n") + 1
        rest = rest_of_block
    yield from _parse_lines(rest, name, n_lines, options, n_features)


def _parse_lines(
    text: bytes, name: str, first_line: int, options: ReadOptions, n_features: int | None
) -> Iterator[RankingDataset]:
    if not text.strip():
        return
    try:
        yield parse_letor(
            text,
            name=name,
            missing=options.missing,
            allow_non_finite=options.allow_non_finite,
            zero_based=options.zero_based,
            n_features=n_features,
        )
    except LetorError as error:
        if error.problem == NO_DOCUMENTS:  # a block of comments only
            return
        if error.line is None:
            raise
        raise LetorError(error.problem, path=error.path, line=error.line + first_line) from None


def _read_parquet_blocks(
    file: ParquetFile, columns: ColumnRoles, progress: Progress
) -> Iterator[RankingDataset]:
    done, total = 0, file.metadata.num_rows
    resolve_feature_columns(file.schema_arrow, columns.resolve(file.schema_arrow, need_labels=False))
    for batch in _iterate_batches(file):
        table = pa.Table.from_batches([batch])
        if columns.relevance not in table.column_names:
            table = table.append_column(columns.relevance, pa.array(np.zeros(len(table))))
        yield dataset_from_frame(table, columns, first_row=done)
        done += len(table)
        progress(done, total)
    check_n_rows(done, total)


def _iterate_batches(file: ParquetFile) -> Iterator[pa.RecordBatch]:
    """Yield batches row group by row group; a single call for all would hold several groups in memory."""
    for group in range(file.metadata.num_row_groups):
        yield from file.iter_batches(batch_size=BLOCK_ROWS, row_groups=[group], use_threads=False)


def _regroup_queries(blocks: Iterator[RankingDataset]) -> Iterator[RankingDataset]:
    """Move the cuts between blocks so that no query is in two of them."""
    last_query: RankingDataset | None = None  # which may continue in the next block
    seen: set[object] = set()
    for block in blocks:
        _check_contiguous(block)
        joined = block if last_query is None else concatenate([last_query, block], shared_queries="merge")
        _check_contiguous(joined)
        last_query = _select_range(joined, joined.n_queries - 1, joined.n_queries)
        if joined.n_queries > 1:
            yield _check_new(_select_range(joined, 0, joined.n_queries - 1), seen)
    if last_query is None:
        raise DataError(NO_DOCUMENTS)
    yield _check_new(last_query, seen)


def _select_range(data: RankingDataset, first: int, stop: int) -> RankingDataset:
    return replace(data.select(np.arange(first, stop)), original_rows=None)


def _check_new(piece: RankingDataset, seen: set[object]) -> RankingDataset:
    """Return the piece; raise if one of its queries was seen before."""
    ids = piece.query_ids.tolist()
    if not seen.isdisjoint(ids):
        raise DataError(NOT_CONTIGUOUS)
    seen.update(ids)
    return piece


def _check_contiguous(data: RankingDataset) -> None:
    if data.original_rows is not None and (np.diff(data.original_rows) != 1).any():
        raise DataError(NOT_CONTIGUOUS)


def _stream_saved(data: RankingDataset, progress: Progress) -> Iterator[RankingDataset]:
    """Yield pieces of a memory-mapped data set; release the pages of each piece after it is used."""
    start = 0
    while start < data.n_queries:
        last_fitting = int(np.searchsorted(data.offsets, data.offsets[start] + BLOCK_ROWS, side="right")) - 1
        stop = max(start + 1, last_fitting)
        piece = data.select(np.arange(start, stop))
        if data.original_rows is None:
            piece = replace(piece, original_rows=None)
        yield replace(piece, features=np.array(piece.features))
        _release_pages(data.features)
        progress(int(data.offsets[stop]), data.n_documents)
        start = stop


def _release_pages(features: Features) -> None:
    base: Any = features
    while base is not None and not isinstance(base, mmap.mmap):
        base = getattr(base, "base", None)
    if base is not None and hasattr(base, "madvise"):
        base.madvise(mmap.MADV_DONTNEED)
