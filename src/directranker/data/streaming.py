r"""A data set piece by piece, each of whole queries, in memory that does not grow with the data.

The documents of a query must stand together, as they do in every common file; a query that comes back later
is an error.

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
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from directranker.data.dataset import RankingDataset, concatenate
from directranker.data.files import Progress, no_progress
from directranker.data.formats import ReadOptions, format_of, read_dataset
from directranker.data.letor import opened_letor, parse_letor
from directranker.data.letor.problems import MAX_LINE_BYTES, NO_DOCUMENTS, TOO_LONG
from directranker.data.tabular import Columns, check_n_rows, check_types, dataset_from_frame, opened_parquet
from directranker.errors import DataError, LetorError

__all__ = ["stream_dataset", "stream_letor", "stream_parquet"]

BLOCK_BYTES = 8 << 20
BLOCK_ROWS = 8192


def stream_dataset(
    path: str | Path,
    *,
    options: ReadOptions | None = None,
    n_features: int | None = None,
    progress: Progress = no_progress,
) -> Iterator[RankingDataset]:
    """Pieces of a data set in any format, in the order of the input.

    `n_features` is for text, whose lines may not mention the last ones.
    """
    options = options or ReadOptions()
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    kind = format_of(path)
    if kind == "folder":
        yield from _stream_saved(read_dataset(path), progress)
    elif kind == "parquet":
        yield from stream_parquet(path, columns=options.columns, progress=progress)
    else:
        size = path.stat().st_size
        with opened_letor(path) as (text, raw):
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
    """Pieces of LETOR text that is read once, from the beginning, as from standard input."""
    try:
        yield from _whole_queries(
            _letor_blocks(text, name, options or ReadOptions(), n_features, block_bytes)
        )
    except LetorError:
        raise
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def stream_parquet(
    path: str | Path, *, columns: Columns | None = None, progress: Progress = no_progress
) -> Iterator[RankingDataset]:
    """Pieces of a Parquet file; one without labels has label 0 everywhere."""
    columns = columns or Columns()
    with opened_parquet(path) as file:
        yield from _whole_queries(_parquet_blocks(file, columns, progress))


def _letor_blocks(
    text: BinaryIO, name: str, options: ReadOptions, n_features: int | None, block_bytes: int
) -> Iterator[RankingDataset]:
    rest, n_lines = b"", 0
    while block := text.read(block_bytes):
        whole, newline, rest_of_block = block.rpartition(b"\n")
        if not newline:
            rest += block
            if len(rest) > MAX_LINE_BYTES:
                raise LetorError(TOO_LONG, path=name, line=n_lines + 1)
            continue
        yield from _parsed(rest + whole + newline, name, n_lines, options, n_features)
        n_lines += rest.count(b"\n") + whole.count(b"\n") + 1
        rest = rest_of_block
    yield from _parsed(rest, name, n_lines, options, n_features)


def _parsed(
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
        if error.problem == NO_DOCUMENTS:  # a block of comments
            return
        if error.line is None:
            raise
        raise LetorError(error.problem, path=error.path, line=error.line + first_line) from None


def _parquet_blocks(file: Any, columns: Columns, progress: Progress) -> Iterator[RankingDataset]:
    done, total = 0, file.metadata.num_rows
    check_types(file.schema_arrow, columns.resolve(file.schema_arrow, need_labels=False))
    for batch in _batches(file):
        table = pa.Table.from_batches([batch])
        if columns.relevance not in table.column_names:
            table = table.append_column(columns.relevance, pa.array(np.zeros(len(table))))
        yield dataset_from_frame(table, columns, first_row=done)
        done += len(table)
        progress(done, total)
    check_n_rows(done, total)


def _batches(file: Any) -> Iterator[Any]:
    """Batches of one row group after another: asked for all, Arrow holds several groups at once."""
    for group in range(file.metadata.num_row_groups):
        yield from file.iter_batches(batch_size=BLOCK_ROWS, row_groups=[group], use_threads=False)


def _whole_queries(blocks: Iterator[RankingDataset]) -> Iterator[RankingDataset]:
    """Blocks cut anew, so that no query is in two of them."""
    held: RankingDataset | None = None
    seen: set[Any] = set()
    for block in blocks:
        _check_grouped(block)
        joined = block if held is None else concatenate([held, block], shared_queries="merge")
        _check_grouped(joined)
        held = _queries(joined, joined.n_queries - 1, joined.n_queries)
        if joined.n_queries > 1:
            yield _unseen(_queries(joined, 0, joined.n_queries - 1), seen)
    if held is None:
        raise DataError(NO_DOCUMENTS)
    yield _unseen(held, seen)


def _queries(data: RankingDataset, first: int, stop: int) -> RankingDataset:
    return replace(data.select(np.arange(first, stop)), original_rows=None)


def _unseen(piece: RankingDataset, seen: set[Any]) -> RankingDataset:
    ids = piece.query_ids.tolist()
    if not seen.isdisjoint(ids):
        raise _not_grouped()
    seen.update(ids)
    return piece


def _check_grouped(data: RankingDataset) -> None:
    if data.original_rows is not None and (np.diff(data.original_rows) != 1).any():
        raise _not_grouped()


def _not_grouped() -> DataError:
    return DataError(
        "the documents of a query do not stand together, so they cannot be read piece by piece; "
        "`directranker convert` brings them together"
    )


def _stream_saved(data: RankingDataset, progress: Progress) -> Iterator[RankingDataset]:
    """Pieces of a memory-mapped data set; pages that were read are given back."""
    start = 0
    while start < data.n_queries:
        wanted = int(np.searchsorted(data.offsets, data.offsets[start] + BLOCK_ROWS, side="right")) - 1
        stop = max(start + 1, wanted)
        piece = data.select(np.arange(start, stop))
        if data.original_rows is None:
            piece = replace(piece, original_rows=None)
        yield replace(piece, features=np.array(piece.features))
        _give_back(data.features)
        progress(int(data.offsets[stop]), data.n_documents)
        start = stop


def _give_back(features: Any) -> None:
    base = features
    while base is not None and not isinstance(base, mmap.mmap):
        base = getattr(base, "base", None)
    if base is not None and hasattr(base, "madvise"):
        base.madvise(mmap.MADV_DONTNEED)
