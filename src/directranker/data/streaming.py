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
from typing import Any, BinaryIO

import numpy as np

from directranker.arrays import Features
from directranker.data.column_roles import ColumnRoles, resolve_feature_columns
from directranker.data.concatenation import concatenate
from directranker.data.dataset import RankingDataset
from directranker.data.files import Progress
from directranker.data.letor import parse_letor
from directranker.data.letor.problems import MAX_LINE_BYTES, NO_DOCUMENTS, TOO_LONG
from directranker.data.read_options import ReadOptions
from directranker.data.table_stream import TableStream, regroup_queries
from directranker.data.tabular import dataset_from_frame
from directranker.errors import DataError, LetorError

__all__ = ["stream_letor", "stream_pieces", "stream_saved"]

BLOCK_BYTES = 8 << 20
BLOCK_ROWS = 8192
NOT_CONTIGUOUS = (
    "the documents of a query are not contiguous, so they cannot be read piece by piece; "
    "group them with `directranker convert`"
)


def stream_letor(
    text: BinaryIO,
    *,
    name: str = "<text>",
    options: ReadOptions | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> Iterator[RankingDataset]:
    """Yield pieces of LETOR text from a stream that need not be seekable, such as standard input."""
    try:
        yield from _regroup_queries(_read_letor_blocks(text, name, options or ReadOptions(), block_bytes))
    except LetorError:
        raise
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def stream_pieces(stream: TableStream, columns: ColumnRoles) -> Iterator[RankingDataset]:
    """Yield pieces of a table; without a label column all labels are 0."""
    columns = columns.resolve(stream.schema, need_labels=False)
    stream = stream.with_fixed_lists(columns)
    resolve_feature_columns(stream.schema, columns)  # an error in a type is found before any value is read
    seen: set[object] = set()
    first_row = 0
    for table in regroup_queries(stream, columns.query):
        piece = dataset_from_frame(table, columns, first_row=first_row, need_labels=False)
        _check_contiguous(piece)
        yield _check_new(piece, seen)
        first_row += table.num_rows
    if not first_row:
        raise DataError(NO_DOCUMENTS)


def _read_letor_blocks(
    text: BinaryIO, name: str, options: ReadOptions, block_bytes: int
) -> Iterator[RankingDataset]:
    rest, n_lines = b"", 0
    while block := text.read(block_bytes):
        complete, newline, rest_of_block = block.rpartition(b"\n")
        if not newline:
            rest += block
            if len(rest) > MAX_LINE_BYTES:
                raise LetorError(TOO_LONG, path=name, line=n_lines + 1)
            continue
        yield from _parse_lines(rest + complete + newline, name, n_lines, options)
        n_lines += rest.count(b"\n") + complete.count(b"\n") + 1
        rest = rest_of_block
    yield from _parse_lines(rest, name, n_lines, options)


def _parse_lines(text: bytes, name: str, first_line: int, options: ReadOptions) -> Iterator[RankingDataset]:
    if not text.strip():
        return
    try:
        yield parse_letor(text, name=name, **options.letor)
    except LetorError as error:
        if error.problem == NO_DOCUMENTS:  # a block of comments only
            return
        if error.line is None:
            raise
        raise LetorError(error.problem, path=error.path, line=error.line + first_line) from None


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


def stream_saved(data: RankingDataset, progress: Progress) -> Iterator[RankingDataset]:
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
