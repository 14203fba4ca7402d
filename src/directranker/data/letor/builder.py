"""LETOR text in blocks → one growing array, so that memory stays at the array and the blocks in flight.

The array's size is estimated from the first lines and corrected on the way. It grows and widens within its
own allocation, which the operating system moves without a copy.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from mmap import mmap
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from directranker.arrays import IntArray
from directranker.compilation import in_parallel, n_threads
from directranker.data.dataset import RankingDataset
from directranker.data.grouping import QueryIds, group_runs
from directranker.data.letor import kernels
from directranker.data.letor.blocks import BlockReader, TextBlock, Turns
from directranker.data.letor.kernels import ParseResult, Problem
from directranker.data.letor.numbers import Position
from directranker.data.letor.problems import NO_DOCUMENTS, describe_problem
from directranker.data.texts import Texts, join_texts, texts_from_buffers
from directranker.errors import DataError, LetorError

__all__ = ["LetorBuilder", "LetorOptions"]

BLOCK_BYTES = 1 << 22  # of text per thread
MAX_GROWTH = 8  # times the rows read so far of a compressed text
PROBE_BYTES = 1 << 16  # read first, to learn the number of features and the bytes per row
_CANONICAL_INT = re.compile(rb"0|-?[1-9][0-9]{0,17}")


@dataclass(frozen=True)
class LetorOptions:
    """How to read LETOR text; see `read_letor`."""

    missing: float = 0.0
    allow_non_finite: bool = False
    first_index: int = 1
    n_features: int | None = None
    max_features: int = 100_000
    comments: bool = True


@dataclass(frozen=True)
class _Piece:
    """What was found in a block whose rows were `width` columns wide."""

    width: int
    result: ParseResult
    notes: IntArray


class LetorBuilder:
    """Reads texts one after another and makes a data set of them all."""

    def __init__(self, options: LetorOptions) -> None:
        self._options = options
        self._features = np.empty((0, options.n_features or 0), dtype=np.float32)
        self._relevance = np.empty(0, dtype=np.float64)
        self._n_rows = 0
        self._n_begun = 0  # rows of all blocks that were read so far, parsed or not
        self._query_tokens: list[bytes | None] = []  # of each run of rows with one query id
        self._query_starts: list[int] = []
        self._comments: list[tuple[int, Texts]] = []  # (row behind the last one, comments up to it)
        self._name = ""
        self._line = 0
        self._compressed = False

    def read(
        self,
        file: BinaryIO,
        *,
        name: str,
        fraction: Callable[[], float] = lambda: 1.0,
        report: Callable[[], None] = lambda: None,
        compressed: bool = False,
    ) -> None:
        """Read a text to its end; `fraction` tells how much of all texts has been read so far."""
        self._name, self._line, self._compressed = name, 0, compressed
        self._n_begun = rows_before = self._n_rows
        reader, turns = BlockReader(file), Turns()

        def read_blocks(size: int, most: int | None = None) -> None:
            block = TextBlock(size)
            try:
                for _ in repeat(None) if most is None else repeat(None, most):
                    if not self._read_block(reader, block, turns, fraction, report):
                        break
            except BaseException:
                turns.end()
                raise

        read_blocks(PROBE_BYTES, most=1)
        if not reader.at_end:
            try:
                in_parallel(lambda *_: read_blocks(BLOCK_BYTES), range(n_threads() + 1))
            finally:
                turns.end()  # an interrupt reaches this thread only
        if self._n_rows == rows_before:
            raise LetorError(NO_DOCUMENTS, path=name)

    def dataset(self) -> RankingDataset:
        """Make the data set; the builder's arrays become the data set's own."""
        if self._features.shape[1] == 0:
            raise LetorError("no line has a feature", path=self._name)
        self._resize(self._n_rows, self._features.shape[1])
        ids = _query_ids(self._query_tokens, self._name)
        starts = np.array(self._query_starts, dtype=np.int64)
        grouping = group_runs(ids, starts, self._n_rows)
        comments = self._all_comments()
        if grouping.order is not None:  # within the array: a copy could be too large for the memory
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
            document_texts=_document_ids(comments),
            comment_texts=comments,
            original_rows=grouping.order,
        )

    def _read_block(
        self,
        reader: BlockReader,
        block: TextBlock,
        turns: Turns,
        fraction: Callable[[], float],
        report: Callable[[], None],
    ) -> bool:
        """Read, parse and take the next block; False where there is none."""
        with turns.reading() as number:
            if number is None or not reader.fill(block):
                return False
            first_row = self._n_begun
            n_lines, n_rows = kernels.count_lines(block.text, Position(block.stop))
            self._n_begun += n_rows
            turns.alone(lambda: len(self._features) < first_row + n_rows, lambda: self._make_room(fraction()))
        with turns.working():
            piece = self._parse(block, first_row, n_rows)
        with turns.taking(number) as is_needed:
            if not is_needed:
                return False
            if isinstance(block.fault, LetorError):
                raise LetorError(block.fault.problem, path=self._name, line=self._line + 1)
            if block.fault is not None:
                raise block.fault
            width = max(piece.result[3], self._features.shape[1])
            if width > piece.width:
                turns.alone(lambda: self._features.shape[1] < width, lambda: self._widen(width))
                piece = self._parse(block, first_row, n_rows)
            self._take(piece, block)
            self._line += n_lines
            report()
        return True

    def _parse(self, block: TextBlock, first_row: int, n_rows: int) -> _Piece:
        """Parse a block into the rows from `first_row` on."""
        options = self._options
        capacity = 3 * n_rows + 64
        while True:
            notes = np.empty((capacity, 5), dtype=np.int64)
            features = self._features
            result = kernels.parse_piece(
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
                return _Piece(features.shape[1], result, notes[: result[4]])
            capacity = result[4]

    def _take(self, piece: _Piece, block: TextBlock) -> None:
        """Take what a piece holds, which stands in the rows behind those that were taken before."""
        buffer = block.buffer
        problem, where, n_rows, _, _ = piece.result
        is_comment = piece.notes[:, 0] == kernels.COMMENT
        for note in piece.notes[~is_comment].tolist():  # in the order of the text: the first fault is told
            self._take_note(note, buffer)
        if problem != Problem.NONE:
            most = self._options.n_features or self._options.max_features
            words = describe_problem(problem, buffer, int(where), most_features=most)
            raise self._error(words, buffer, int(where))
        if self._options.comments:
            self._take_comments(piece.notes[is_comment], block.text)
        self._n_rows += n_rows

    def _take_note(self, note: list[int], buffer: mmap) -> None:
        kind, row, column, start, end = note
        token = buffer[start:end]
        if kind == kernels.QUERY:
            self._take_query(token if column else None, row, buffer, start)
        elif kind == kernels.HARD_LABEL:
            self._relevance[row] = float(token)
            if not np.isfinite(self._relevance[row]):
                raise self._error(describe_problem(Problem.LABEL, buffer, start), buffer, start)
        else:
            with np.errstate(over="ignore"):
                self._features[row, column] = np.float32(float(token))
            if not self._options.allow_non_finite and not np.isfinite(self._features[row, column]):
                raise self._error(describe_problem(Problem.NON_FINITE, buffer, start), buffer, start)

    def _take_query(self, token: bytes | None, row: int, buffer: mmap, where: int) -> None:
        previous = self._query_tokens[-1] if self._query_tokens else b""  # which no token is
        if self._query_tokens and (token is None) != (previous is None):
            found = "no qid, unlike" if token is None else "a qid, unlike"
            raise self._error(f"{found} the lines before; give every line one or none", buffer, where)
        if token != previous:
            self._query_tokens.append(token)
            self._query_starts.append(row)

    def _take_comments(self, notes: IntArray, text: Any) -> None:
        if not len(notes):
            return
        rows = notes[:, 1]
        done = self._comments[-1][0] if self._comments else 0
        lengths = np.zeros(rows[-1] + 1 - done, dtype=np.int64)
        lengths[rows - done] = notes[:, 4] - notes[:, 3]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        letters = np.empty(offsets[-1], dtype=np.uint8)
        kernels.gather(text, notes, offsets[rows - done], letters)
        try:
            texts = texts_from_buffers(offsets, letters, "comments")
        except DataError:
            raise LetorError(
                "a comment is not UTF-8 text; read with comments=False", path=self._name
            ) from None
        self._comments.append((int(rows[-1]) + 1, texts))

    def _all_comments(self) -> Texts | None:
        if not self._comments:
            return None
        rest = self._n_rows - self._comments[-1][0]
        columns = [texts for _, texts in self._comments]
        return join_texts([*columns, None], [*map(len, columns), rest])

    def _make_room(self, fraction: float) -> None:
        n_rows = self._n_begun
        estimate = int(1.02 * n_rows / max(fraction, 1e-9)) if fraction < 1 else n_rows
        if self._compressed:  # its beginning may promise far more rows than there are
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
            raise LetorError(f"{size} as a dense array, do not fit the memory", path=self._name) from None

    def _error(self, problem: str, buffer: mmap, where: int) -> LetorError:
        return LetorError(problem, path=self._name, line=self._line + buffer[:where].count(b"\n") + 1)


def _query_ids(tokens: list[bytes | None], name: str) -> QueryIds:
    """Make ids ints where all of them are written as ints, else strings; 0 where there are none."""
    if tokens[0] is None:
        return np.zeros(1, dtype=np.int64)
    written = [token or b"" for token in tokens]
    if all(map(_CANONICAL_INT.fullmatch, written)):
        return np.array([int(token) for token in written], dtype=np.int64)
    try:
        return np.array([token.decode() for token in written], dtype=object)
    except UnicodeDecodeError as error:
        raise LetorError(f"query id {error.object!r} is not UTF-8 text", path=name) from None


def _document_ids(comments: Texts | None) -> Texts | None:
    if comments is None:
        return None
    found = pc.extract_regex(comments, r"(?i)\bdocid\s*=\s*(?P<id>\S+)").field("id")
    return None if found.null_count == len(found) else found.fill_null("")
