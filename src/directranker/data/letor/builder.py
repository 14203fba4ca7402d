"""Build a data set from blocks of LETOR text in one growing array.

Memory is bounded by the array and the blocks in flight. The array's size is estimated from the first lines
and corrected while reading. It grows and widens in place; the operating system moves pages without a copy.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from mmap import mmap
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from directranker.arrays import IntArray
from directranker.compilation import get_n_threads, run_in_parallel
from directranker.data.dataset import RankingDataset
from directranker.data.grouping import QueryIds, group_runs
from directranker.data.letor import kernels
from directranker.data.letor.blocks import BlockReader, BlockSchedule, TextBlock
from directranker.data.letor.kernels import ParseResult, Problem
from directranker.data.letor.numbers import Position, Text
from directranker.data.letor.problems import NO_DOCUMENTS, describe_problem
from directranker.data.texts import Texts, concatenate_texts, texts_from_buffers
from directranker.errors import DataError, LetorError

__all__ = ["LetorBuilder", "LetorOptions"]

BLOCK_BYTES = 1 << 22  # of text per thread
MAX_GROWTH = 8  # times the rows read so far of a compressed text
PROBE_BYTES = 1 << 16  # read first, to estimate the number of features and the bytes per row
_CANONICAL_INT = re.compile(rb"0|-?[1-9][0-9]{0,17}")


@dataclass(frozen=True)
class LetorOptions:
    """Options of parsing; see `read_letor`."""

    missing: float = 0.0
    allow_non_finite: bool = False
    first_index: int = 1
    n_features: int | None = None
    max_features: int = 100_000
    comments: bool = True


@dataclass(frozen=True)
class _ParsedBlock:
    """The result of parsing a block into rows of `width` columns."""

    width: int
    result: ParseResult
    notes: IntArray


class LetorBuilder:
    """Reads texts one after another and builds one data set from all of them."""

    def __init__(self, options: LetorOptions) -> None:
        self._options = options
        self._features = np.empty((0, options.n_features or 0), dtype=np.float32)
        self._relevance = np.empty(0, dtype=np.float64)
        self._n_rows = 0
        self._n_rows_read = 0  # rows of all blocks read so far, parsed or not
        self._query_tokens: list[bytes | None] = []  # the id of each run of rows of one query
        self._query_starts: list[int] = []
        self._comments: list[tuple[int, Texts]] = []  # (end row, comments up to it)
        self._name = ""
        self._line = 0
        self._is_compressed = False

    def read(
        self,
        file: BinaryIO,
        *,
        name: str,
        fraction: Callable[[], float] = lambda: 1.0,
        report: Callable[[], None] = lambda: None,
        is_compressed: bool = False,
    ) -> None:
        """Read a text to its end; `fraction()` is the fraction of all texts that was read so far."""
        self._name, self._line, self._is_compressed = name, 0, is_compressed
        self._n_rows_read = rows_before = self._n_rows
        reader, schedule = BlockReader(file), BlockSchedule()

        def read_blocks(size: int, max_blocks: int | None = None) -> None:
            block = TextBlock(size)
            try:
                for _ in repeat(None) if max_blocks is None else repeat(None, max_blocks):
                    if not self._read_block(reader, block, schedule, fraction, report):
                        break
            except BaseException:
                schedule.stop()
                raise

        read_blocks(PROBE_BYTES, max_blocks=1)
        if not reader.at_end:
            try:
                run_in_parallel(lambda *_: read_blocks(BLOCK_BYTES), range(get_n_threads() + 1))
            finally:
                schedule.stop()  # an interrupt reaches only this thread
        if self._n_rows == rows_before:
            raise LetorError(NO_DOCUMENTS, path=name)

    def build(self) -> RankingDataset:
        """Build the data set, which takes over the builder's arrays."""
        if self._features.shape[1] == 0:
            raise LetorError("no line has a feature", path=self._name)
        self._resize(self._n_rows, self._features.shape[1])
        ids = _convert_query_ids(self._query_tokens, self._name)
        starts = np.array(self._query_starts, dtype=np.int64)
        grouping = group_runs(ids, starts, self._n_rows)
        comments = self._join_comments()
        if grouping.order is not None:  # in place: a copy might not fit in memory
            kernels.permute_rows(self._features, grouping.order)
            self._relevance = self._relevance[grouping.order]
            comments = None if comments is None else comments.take(pa.array(grouping.order))
        first = self._options.first_index
        return RankingDataset(
            features=self._features,
            relevance=self._relevance,
            offsets=grouping.offsets,
            query_ids=grouping.query_ids,
            feature_names=tuple(f"feature_{first + i}" for i in range(self._features.shape[1])),
            document_texts=_extract_document_ids(comments),
            comment_texts=comments,
            original_rows=grouping.order,
        )

    def _read_block(
        self,
        reader: BlockReader,
        block: TextBlock,
        schedule: BlockSchedule,
        fraction: Callable[[], float],
        report: Callable[[], None],
    ) -> bool:
        """Read, parse and commit the next block; return False if there is none."""
        with schedule.reading() as number:
            if number is None or not reader.fill(block):
                return False
            first_row = self._n_rows_read
            n_lines, n_rows = kernels.count_lines(block.text, Position(block.stop))
            self._n_rows_read += n_rows
            schedule.change_shared_memory(
                lambda: len(self._features) < first_row + n_rows, lambda: self._grow(fraction())
            )
        with schedule.parsing():
            parsed = self._parse(block, first_row, n_rows)
        with schedule.committing(number) as is_running:
            if not is_running:
                return False
            if isinstance(block.error, LetorError):
                raise LetorError(block.error.problem, path=self._name, line=self._line + 1)
            if block.error is not None:
                raise block.error
            width = max(parsed.result[3], self._features.shape[1])
            if width > parsed.width:
                schedule.change_shared_memory(
                    lambda: self._features.shape[1] < width, lambda: self._widen(width)
                )
                parsed = self._parse(block, first_row, n_rows)
            self._commit(parsed, block)
            self._line += n_lines
            report()
        return True

    def _parse(self, block: TextBlock, first_row: int, n_rows: int) -> _ParsedBlock:
        """Parse a block into the rows from `first_row` on."""
        options = self._options
        capacity = 3 * n_rows + 64
        while True:
            notes = np.empty((capacity, 5), dtype=np.int64)
            features = self._features
            result = kernels.parse_block(
                block.text,
                Position(0),
                Position(block.stop),
                features,
                self._relevance,
                notes,
                first_row,
                options.first_index,
                options.n_features or options.max_features,
                options.missing,
                options.allow_non_finite,
            )
            if result[4] <= capacity:
                return _ParsedBlock(features.shape[1], result, notes[: result[4]])
            capacity = result[4]

    def _commit(self, parsed: _ParsedBlock, block: TextBlock) -> None:
        """Add a parsed block, whose rows follow those committed before."""
        buffer = block.buffer
        problem, position, n_rows, _, _ = parsed.result
        is_comment = parsed.notes[:, 0] == kernels.COMMENT
        for note in parsed.notes[~is_comment].tolist():  # in the order of the text, to raise the first error
            self._apply_note(note, buffer)
        if problem != Problem.NONE:
            max_features = self._options.n_features or self._options.max_features
            message = describe_problem(problem, buffer, int(position), max_features=max_features)
            raise self._make_error(message, buffer, int(position))
        if self._options.comments:
            self._add_comments(parsed.notes[is_comment], block.text)
        self._n_rows += n_rows

    def _apply_note(self, note: list[int], buffer: mmap) -> None:
        kind, row, column, start, end = note
        token = buffer[start:end]
        if kind == kernels.QUERY:
            self._add_query(token if column else None, row, buffer, start)
        elif kind == kernels.UNDECIDED_LABEL:
            self._relevance[row] = float(token)
            if not np.isfinite(self._relevance[row]):
                raise self._make_error(describe_problem(Problem.LABEL, buffer, start), buffer, start)
        else:
            with np.errstate(over="ignore"):
                self._features[row, column] = np.float32(float(token))
            if not self._options.allow_non_finite and not np.isfinite(self._features[row, column]):
                raise self._make_error(describe_problem(Problem.NON_FINITE, buffer, start), buffer, start)

    def _add_query(self, token: bytes | None, row: int, buffer: mmap, position: int) -> None:
        previous = self._query_tokens[-1] if self._query_tokens else b""  # no token is empty
        if self._query_tokens and (token is None) != (previous is None):
            difference = "no qid, unlike" if token is None else "a qid, unlike"
            message = f"{difference} the lines before; give a qid on every line or on none"
            raise self._make_error(message, buffer, position)
        if token != previous:
            self._query_tokens.append(token)
            self._query_starts.append(row)

    def _add_comments(self, notes: IntArray, text: Text) -> None:
        if not len(notes):
            return
        rows = notes[:, 1]
        done = self._comments[-1][0] if self._comments else 0
        lengths = np.zeros(rows[-1] + 1 - done, dtype=np.int64)
        lengths[rows - done] = notes[:, 4] - notes[:, 3]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        letters = np.empty(offsets[-1], dtype=np.uint8)
        kernels.copy_texts(text, notes, offsets[rows - done], letters)
        try:
            texts = texts_from_buffers(offsets, letters, "comments")
        except DataError:
            raise LetorError(
                "a comment is not UTF-8 text; read with comments=False", path=self._name
            ) from None
        self._comments.append((int(rows[-1]) + 1, texts))

    def _join_comments(self) -> Texts | None:
        if not self._comments:
            return None
        rest = self._n_rows - self._comments[-1][0]
        columns = [texts for _, texts in self._comments]
        return concatenate_texts([*columns, None], [*map(len, columns), rest])

    def _grow(self, fraction: float) -> None:
        """Resize to the number of rows that the fraction read so far predicts."""
        n_rows = self._n_rows_read
        estimate = int(1.02 * n_rows / max(fraction, 1e-9)) if fraction < 1 else n_rows
        if self._is_compressed:  # a beginning that compresses well predicts far too many rows
            estimate = min(estimate, MAX_GROWTH * n_rows)
        self._resize(max(n_rows, estimate), self._features.shape[1])

    def _widen(self, width: int) -> None:
        old_width = self._features.shape[1]
        self._resize(len(self._features), width)
        kernels.widen_rows(self._features.reshape(-1), self._n_rows, old_width, width, self._options.missing)

    def _resize(self, n_rows: int, width: int) -> None:
        try:
            if self._features.size == 0:
                self._features = np.empty((n_rows, width), dtype=np.float32)
            else:
                self._features.resize((n_rows, width), refcheck=False)
            self._relevance.resize(n_rows, refcheck=False)
        except MemoryError:
            size = f"{n_rows} rows of {width} features, {n_rows * width * 4 / 1e9:.0f} GB"
            raise LetorError(f"{size} as a dense array, do not fit in memory", path=self._name) from None

    def _make_error(self, problem: str, buffer: mmap, position: int) -> LetorError:
        return LetorError(problem, path=self._name, line=self._line + buffer[:position].count(b"\n") + 1)


def _convert_query_ids(tokens: list[bytes | None], name: str) -> QueryIds:
    """Convert ids to ints if all are canonical ints, else to strings; without ids, one query 0."""
    if tokens[0] is None:
        return np.zeros(1, dtype=np.int64)
    ids = [token or b"" for token in tokens]
    if all(map(_CANONICAL_INT.fullmatch, ids)):
        return np.array([int(token) for token in ids], dtype=np.int64)
    try:
        return np.array([token.decode() for token in ids], dtype=object)
    except UnicodeDecodeError as error:
        raise LetorError(f"query id {error.object!r} is not UTF-8 text", path=name) from None


def _extract_document_ids(comments: Texts | None) -> Texts | None:
    if comments is None:
        return None
    ids = pc.extract_regex(comments, r"(?i)\bdocid\s*=\s*(?P<id>\S+)").field("id")
    return None if ids.null_count == len(ids) else ids.fill_null("")
