"""The compiled part of reading LETOR text: bytes in, numbers and notes out.

A line is `label [qid:ID] (index:value)* [#comment]`. The kernel never reads outside its buffer: every
piece of text it gets ends with a line end, and no loop below steps over a line end that it has not
recognised as one. Numbers it cannot round exactly by itself, ids and comments are noted by their place in
the text, for the caller to read.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import Features, IntArray, Relevance
from directranker.compilation import compiled, inlined
from directranker.data.letor.numbers import (
    COLON,
    EXACT,
    HARD,
    HASH,
    NEWLINE,
    NOT_A_NUMBER,
    RETURN,
    ROUGH,
    SPACE,
    TAB,
    UNREADABLE,
    Position,
    Text,
    digits,
    is_delimiter,
    number,
    word_at,
)
from directranker.data.letor.plain_lines import Plain, make_plain, mark_line, plain_features

__all__ = [
    "COMMENT",
    "HARD_LABEL",
    "HARD_VALUE",
    "QUERY",
    "ParseResult",
    "Problem",
    "count_lines",
    "gather",
    "parse_piece",
    "permute_rows",
    "widen_rows",
]


# What a note says: (kind, row, column, start of the text, end of the text), in the order of the text.
QUERY: Final = 0  # a row with another query id than the row before; the column tells whether it has one
COMMENT: Final = 1
HARD_VALUE: Final = 2  # a value to be read by Python's float
HARD_LABEL: Final = 3


class Problem(IntEnum):
    """Why a line cannot be read."""

    NONE = 0
    LABEL = 1
    QUERY = 2
    QUERY_PLACE = 3
    FEATURE = 4
    VALUE = 5
    INDEX_ORDER = 6
    INDEX_ZERO = 7
    INDEX_LARGE = 8
    NON_FINITE = 9


# (problem, where, rows, columns needed, number of notes)
ParseResult = tuple[Problem, Position, int, int, int]

_COUNTED_AT_ONCE = 192  # bytes; a counter of one byte holds at most 255
_1, _3, _4, _10 = Position(1), Position(3), Position(4), Position(10)
_BELOW, _ABOVE = 1 - 2.0**-50, 1 + 2.0**-50
_WORD_QID = np.frombuffer(b"qid", dtype=np.uint8)


@compiled
def _token_end(text: Text, at: Position) -> Position:
    while not is_delimiter(text, at):
        at += _1
    return at


@compiled
def _line_end(text: Text, at: Position) -> Position:
    while text[at] != NEWLINE:
        at += _1
    return at


@compiled
def _before_returns(text: Text, end: Position) -> Position:
    while text[end - _1] == RETURN:  # at the latest the # that begins the comment is none
        end -= _1
    return end


@inlined
def _after_blanks(text: Text, at: Position) -> Position:
    while text[at] == SPACE or text[at] == TAB:
        at += _1
    return at


@compiled
def _is_query(text: Text, at: Position) -> bool:
    return word_at(text, at, _WORD_QID) and text[at + _3] == COLON


@compiled
def _same_token(text: Text, start: Position, end: Position, other: Position, other_end: Position) -> bool:
    if end - start != other_end - other:
        return False
    while start < end:
        if text[start] != text[other]:
            return False
        start += _1
        other += _1
    return True


@compiled
def _note(notes: IntArray, n: int, kind: int, row: int, column: int, start: Position, end: Position) -> int:
    """Write note number n unless the notes are full, which the caller sees by their number."""
    if n < len(notes):
        notes[n, 0] = kind
        notes[n, 1] = row
        notes[n, 2] = column
        notes[n, 3] = start
        notes[n, 4] = end
    return n + 1


@compiled
def _feature_problem(
    text: Text, token: Position, end: Position, index: np.uint64, column: int, first_index: int
) -> Problem:
    """What is wrong with the feature at `token` whose index ends before `end`."""
    if end == token or text[end] != COLON:
        return Problem.QUERY_PLACE if _is_query(text, token) else Problem.FEATURE
    if end - token <= _10 and np.int64(index) < first_index:
        return Problem.INDEX_ZERO
    return (
        Problem.INDEX_ORDER
        if end - token <= _10 and np.int64(index) - first_index < column
        else Problem.INDEX_LARGE
    )


@compiled
def _parse_features(
    text: Text,
    at: Position,
    features: Features,
    row: int,
    first_index: int,
    max_columns: int,
    missing: float,
    allow_non_finite: bool,
    notes: IntArray,
    n_notes: int,
    plain: Plain,
    mark: Position,
) -> tuple[Problem, Position, Position, int, int, Position]:
    """Read `index:value …` → (problem, its token, end, columns seen, number of notes, mark)."""
    values = features[row]
    width = len(values)
    column = 0  # the first one not yet filled
    while True:
        at, mark, column = plain_features(text, at, plain, mark, values, column, first_index, missing)
        token = _after_blanks(text, at)
        index, at = digits(text, token, np.uint64(0))
        new_column = int(index) - first_index
        is_index = text[at] == COLON and at != token and at - token <= _10  # or it may have overflowed
        if not is_index or new_column < column or new_column >= max_columns:
            break
        start = at + _1
        value, at, kind = number(text, start)
        if kind != EXACT:  # an exact one has few digits, so it is finite as float32 too
            problem, kind = _value_problem(value, kind, allow_non_finite)
            if problem != Problem.NONE:
                return problem, token, at, column, n_notes, mark
            if kind == HARD and new_column < width:
                n_notes = _note(notes, n_notes, HARD_VALUE, row, new_column, start, at)
        if new_column < width:
            for gap in range(column, new_column):
                values[gap] = missing
            values[np.uint64(new_column)] = value
        column = new_column + 1
    if at != token or not is_delimiter(text, token):
        problem = _feature_problem(text, token, at, index, column, first_index)
        return problem, token, at, column, n_notes, mark
    for gap in range(column, width):
        values[gap] = missing
    return Problem.NONE, token, token, column, n_notes, mark


@compiled
def _value_problem(value: float, kind: int, allow_non_finite: bool) -> tuple[Problem, int]:
    """What is wrong with a value that is not exact, and whether it must be read by Python."""
    if kind == UNREADABLE:
        return Problem.VALUE, kind
    if kind == ROUGH and np.float32(value * _BELOW) != np.float32(value * _ABOVE):
        return Problem.NONE, HARD
    if kind != HARD and not allow_non_finite and not np.isfinite(np.float32(value)):
        return Problem.NON_FINITE, kind
    return Problem.NONE, kind


@compiled
def parse_piece(
    text: Text,
    start: Position,
    stop: Position,
    features: Features,
    relevance: Relevance,
    notes: IntArray,
    first_row: int,
    first_index: int,
    max_columns: int,
    missing: float,
    allow_non_finite: bool,
) -> ParseResult:
    """Read the lines of `text[start:stop]`, which ends with a line end, into rows from `first_row` on.

    A column beyond the width of `features` and a note beyond the length of `notes` are only counted; the
    caller makes room and calls again.
    """
    row, needed, n_notes = first_row, 0, 0
    has_query, query, query_end = False, start, start  # the query id of the row before, and where it stands
    plain, mark = make_plain(first_index, features.shape[1]), Position(0)
    at = start
    while at < stop:
        mark = mark_line(text, at, stop, plain, mark)
        token = _after_blanks(text, at)
        if is_delimiter(text, token):  # nothing on this line, or nothing but a comment
            at = _line_end(text, token) + _1
            continue
        label, at, kind = number(text, token)
        if kind >= NOT_A_NUMBER:
            return Problem.LABEL, token, row - first_row, needed, n_notes
        if kind != EXACT:
            n_notes = _note(notes, n_notes, HARD_LABEL, row, -1, token, at)
        relevance[row] = label

        token = _after_blanks(text, at)
        had_query, has_query = has_query, _is_query(text, token)
        if has_query:
            at = _token_end(text, token + _4)
            if at == token + _4:
                return Problem.QUERY, token, row - first_row, needed, n_notes
            token += _4
        is_same = has_query == had_query and (not has_query or _same_token(text, token, at, query, query_end))
        if row == first_row or not is_same:
            query, query_end = (token, at) if has_query else (token, token)
            n_notes = _note(notes, n_notes, QUERY, row, int(has_query), query, query_end)

        problem, token, at, column, n_notes, mark = _parse_features(
            text,
            at,
            features,
            row,
            first_index,
            max_columns,
            missing,
            allow_non_finite,
            notes,
            n_notes,
            plain,
            mark,
        )
        if problem != Problem.NONE:
            return problem, token, row - first_row, needed, n_notes
        needed = max(needed, column)
        end = _line_end(text, at)
        if text[at] == HASH:
            n_notes = _note(notes, n_notes, COMMENT, row, -1, at + _1, _before_returns(text, end))
        at = end + _1
        row += 1
    return Problem.NONE, stop, row - first_row, needed, n_notes


@compiled
def count_lines(text: Text, stop: Position) -> tuple[int, int]:
    """Count the lines of `text[:stop]`, and those among them that `parse_piece` makes a row of."""
    if stop <= 0:
        return 0, 0
    n_lines, n_rows = 1, int(_is_document(text[0]))
    n_indented = int(_is_indent(text[0]))
    # Each byte and the next one: two views, for vector instructions.
    these, next_ones = text[:stop], text[_1:stop]
    n_blocks = len(next_ones) // _COUNTED_AT_ONCE
    for block in range(n_blocks):
        first = block * _COUNTED_AT_ONCE
        ends, starts = these[first : first + _COUNTED_AT_ONCE], next_ones[first : first + _COUNTED_AT_ONCE]
        # Counters of one byte: vector instructions then count 32 bytes at a time.
        lines, rows, indented = np.uint8(0), np.uint8(0), np.uint8(0)
        for i in range(_COUNTED_AT_ONCE):
            is_end = np.uint8(ends[i] == NEWLINE)
            lines = np.uint8(lines + is_end)
            rows = np.uint8(rows + np.uint8(is_end & _is_document(starts[i])))
            indented = np.uint8(indented + np.uint8(is_end & _is_indent(starts[i])))
        n_lines, n_rows, n_indented = n_lines + int(lines), n_rows + int(rows), n_indented + int(indented)
    for i in range(n_blocks * _COUNTED_AT_ONCE, len(next_ones)):
        if these[i] == NEWLINE:
            n_lines += 1
            n_rows += int(_is_document(next_ones[i]))
            n_indented += int(_is_indent(next_ones[i]))
    return n_lines, n_rows + (_count_indented(text, stop) if n_indented else 0)


@inlined
def _is_document(start: np.uint8) -> np.uint8:
    """Whether a line that starts with this byte is a document's, as 0 or 1."""
    return np.uint8(np.uint8(start > SPACE) & np.uint8(start != HASH))


@inlined
def _is_indent(start: np.uint8) -> np.uint8:
    return np.uint8(np.uint8(start <= SPACE) & np.uint8(start != NEWLINE))


@compiled
def _count_indented(text: Text, stop: Position) -> int:
    """Count the rows whose lines begin with a blank, of which most texts have none."""
    n, at = 0, Position(0)
    while at < stop:
        if text[at] <= SPACE:
            at = _after_blanks(text, at)
            n += not is_delimiter(text, at)
        at = _line_end(text, at) + _1
    return n


@compiled
def widen_rows(flat: Features, n_rows: int, width: int, new_width: int, missing: float) -> None:
    """Spread rows of `width` to `new_width` within one buffer, the last row first."""
    for row in range(n_rows - 1, -1, -1):
        for column in range(new_width - 1, -1, -1):
            to = row * new_width + column
            flat[to] = flat[row * width + column] if column < width else missing


@compiled
def permute_rows(rows: NDArray[Any], order: IntArray) -> None:
    """Make row i what row `order[i]` was, within the array; `rows` has two dimensions."""
    done = np.zeros(len(order), dtype=np.bool_)
    for first in range(len(order)):
        if done[first]:
            continue
        held = rows[first].copy()
        to = first
        while order[to] != first:
            rows[to] = rows[order[to]]
            done[to] = True
            to = order[to]
        rows[to] = held
        done[to] = True


@compiled
def gather(text: Text, notes: IntArray, offsets: IntArray, letters: Text) -> None:
    """Copy the noted texts one after another; `offsets` holds where each begins."""
    for i in range(len(notes)):
        start = notes[i, 3]
        for k in range(notes[i, 4] - start):
            letters[offsets[i] + k] = text[start + k]
