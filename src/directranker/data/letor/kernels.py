"""Compiled parsing of LETOR text into features, labels and notes.

A line is `label [qid:ID] (index:value)* [#comment]`. The kernel never reads outside its buffer: every block
of text ends with a newline, and no loop steps over a newline that it has not recognised. Query ids, comments
and numbers that it cannot round exactly are noted by their position in the text, for the caller to read.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import Features, IntArray, Relevance
from directranker.compilation import compiled, inlined
from directranker.data.letor.numbers import (
    APPROXIMATE,
    COLON,
    EXACT,
    HASH,
    NEWLINE,
    NOT_A_NUMBER,
    RETURN,
    SPACE,
    TAB,
    UNDECIDED,
    UNREADABLE,
    Position,
    Text,
    is_delimiter,
    matches_word,
    parse_digits,
    parse_number,
)
from directranker.data.letor.plain_lines import (
    Workspace,
    make_workspace,
    mark_delimiters,
    parse_plain_features,
)

__all__ = [
    "COMMENT",
    "QUERY",
    "UNDECIDED_LABEL",
    "UNDECIDED_VALUE",
    "ParseResult",
    "Problem",
    "copy_texts",
    "count_lines",
    "parse_block",
    "permute_rows",
    "widen_rows",
]


# A note is (kind, row, column, start of the text, end of the text); notes are in the order of the text.
QUERY: Final = 0  # a row with another query id than the row before; column 1 if it has an id, else 0
COMMENT: Final = 1
UNDECIDED_VALUE: Final = 2  # a value for Python's float to read
UNDECIDED_LABEL: Final = 3


class Problem(IntEnum):
    """Why a line cannot be read."""

    NONE = 0
    LABEL = 1
    QUERY = 2
    QUERY_POSITION = 3
    FEATURE = 4
    VALUE = 5
    INDEX_ORDER = 6
    INDEX_ZERO = 7
    INDEX_LARGE = 8
    NON_FINITE = 9


# (problem, its position, number of rows, columns needed, number of notes)
ParseResult = tuple[Problem, Position, int, int, int]

_BYTES_PER_COUNT = 192  # counted in one byte, which holds at most 255
_1, _3, _4, _10 = Position(1), Position(3), Position(4), Position(10)
_BELOW, _ABOVE = 1 - 2.0**-50, 1 + 2.0**-50
_WORD_QID = np.frombuffer(b"qid", dtype=np.uint8)


@compiled
def _find_token_end(text: Text, at: Position) -> Position:
    while not is_delimiter(text, at):
        at += _1
    return at


@compiled
def _find_line_end(text: Text, at: Position) -> Position:
    while text[at] != NEWLINE:
        at += _1
    return at


@compiled
def _strip_returns(text: Text, end: Position) -> Position:
    while text[end - _1] == RETURN:  # ends at the # of the comment at the latest
        end -= _1
    return end


@inlined
def _skip_blanks(text: Text, at: Position) -> Position:
    while text[at] == SPACE or text[at] == TAB:
        at += _1
    return at


@compiled
def _is_query(text: Text, at: Position) -> bool:
    return matches_word(text, at, _WORD_QID) and text[at + _3] == COLON


@compiled
def _are_tokens_equal(
    text: Text, start: Position, end: Position, other: Position, other_end: Position
) -> bool:
    if end - start != other_end - other:
        return False
    while start < end:
        if text[start] != text[other]:
            return False
        start += _1
        other += _1
    return True


@compiled
def _add_note(
    notes: IntArray, n: int, kind: int, row: int, column: int, start: Position, end: Position
) -> int:
    """Write note number n unless the array is full, and return n + 1, which shows a full array."""
    if n < len(notes):
        notes[n, 0] = kind
        notes[n, 1] = row
        notes[n, 2] = column
        notes[n, 3] = start
        notes[n, 4] = end
    return n + 1


@compiled
def _classify_feature_problem(
    text: Text, token: Position, end: Position, index: np.uint64, column: int, first_index: int
) -> Problem:
    """Return the problem of the feature at `token` whose index ends before `end`."""
    if end == token or text[end] != COLON:
        return Problem.QUERY_POSITION if _is_query(text, token) else Problem.FEATURE
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
    workspace: Workspace,
    mark: Position,
) -> tuple[Problem, Position, Position, int, int, Position]:
    """Parse `index:value …` → (problem, its token, end, columns seen, number of notes, mark)."""
    values = features[row]
    width = len(values)
    column = 0  # the first one not yet filled
    while True:
        at, mark, column = parse_plain_features(
            text, at, workspace, mark, values, column, first_index, missing
        )
        token = _skip_blanks(text, at)
        index, at = parse_digits(text, token, np.uint64(0))
        new_column = int(index) - first_index
        is_index = text[at] == COLON and at != token and at - token <= _10  # more digits may overflow
        if not is_index or new_column < column or new_column >= max_columns:
            break
        start = at + _1
        value, at, status = parse_number(text, start)
        if status != EXACT:  # an exact one has few digits, so it is also finite as float32
            problem, status = _check_value(value, status, allow_non_finite)
            if problem != Problem.NONE:
                return problem, token, at, column, n_notes, mark
            if status == UNDECIDED and new_column < width:
                n_notes = _add_note(notes, n_notes, UNDECIDED_VALUE, row, new_column, start, at)
        if new_column < width:
            for gap in range(column, new_column):
                values[gap] = missing
            values[np.uint64(new_column)] = value
        column = new_column + 1
    if at != token or not is_delimiter(text, token):
        problem = _classify_feature_problem(text, token, at, index, column, first_index)
        return problem, token, at, column, n_notes, mark
    for gap in range(column, width):
        values[gap] = missing
    return Problem.NONE, token, token, column, n_notes, mark


@compiled
def _check_value(value: float, status: int, allow_non_finite: bool) -> tuple[Problem, int]:
    """Return the problem of a value that is not exact, and its status as a float32."""
    if status == UNREADABLE:
        return Problem.VALUE, status
    if status == APPROXIMATE and np.float32(value * _BELOW) != np.float32(value * _ABOVE):
        return Problem.NONE, UNDECIDED
    if status != UNDECIDED and not allow_non_finite and not np.isfinite(np.float32(value)):
        return Problem.NON_FINITE, status
    return Problem.NONE, status


@compiled
def parse_block(
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
    """Parse the lines of `text[start:stop]`, which ends with a newline, into rows from `first_row` on.

    A column beyond the width of `features` and a note beyond the length of `notes` are only counted; the
    caller allocates larger arrays and calls again.
    """
    row, needed, n_notes = first_row, 0, 0
    has_query, query, query_end = False, start, start  # the query id of the previous row and its position
    workspace, mark = make_workspace(first_index, features.shape[1]), Position(0)
    at = start
    while at < stop:
        mark = mark_delimiters(text, at, stop, workspace, mark)
        token = _skip_blanks(text, at)
        if is_delimiter(text, token):  # a blank line or only a comment
            at = _find_line_end(text, token) + _1
            continue
        label, at, status = parse_number(text, token)
        if status >= NOT_A_NUMBER:
            return Problem.LABEL, token, row - first_row, needed, n_notes
        if status != EXACT:
            n_notes = _add_note(notes, n_notes, UNDECIDED_LABEL, row, -1, token, at)
        relevance[row] = label

        token = _skip_blanks(text, at)
        had_query, has_query = has_query, _is_query(text, token)
        if has_query:
            at = _find_token_end(text, token + _4)
            if at == token + _4:
                return Problem.QUERY, token, row - first_row, needed, n_notes
            token += _4
        is_same = has_query == had_query and (
            not has_query or _are_tokens_equal(text, token, at, query, query_end)
        )
        if row == first_row or not is_same:
            query, query_end = (token, at) if has_query else (token, token)
            n_notes = _add_note(notes, n_notes, QUERY, row, int(has_query), query, query_end)

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
            workspace,
            mark,
        )
        if problem != Problem.NONE:
            return problem, token, row - first_row, needed, n_notes
        needed = max(needed, column)
        end = _find_line_end(text, at)
        if text[at] == HASH:
            n_notes = _add_note(notes, n_notes, COMMENT, row, -1, at + _1, _strip_returns(text, end))
        at = end + _1
        row += 1
    return Problem.NONE, stop, row - first_row, needed, n_notes


@compiled
def count_lines(text: Text, stop: Position) -> tuple[int, int]:
    """Count the lines of `text[:stop]`, and those among them that `parse_block` turns into a row."""
    if stop <= 0:
        return 0, 0
    n_lines, n_rows = 1, int(_is_document(text[0]))
    n_indented = int(_is_indent(text[0]))
    # Two views, of each byte and of the next one, let the compiler vectorise the loop.
    these, next_ones = text[:stop], text[_1:stop]
    n_blocks = len(next_ones) // _BYTES_PER_COUNT
    for block in range(n_blocks):
        first = block * _BYTES_PER_COUNT
        ends, starts = these[first : first + _BYTES_PER_COUNT], next_ones[first : first + _BYTES_PER_COUNT]
        # With counters of one byte, vector instructions count 32 bytes at a time.
        lines, rows, indented = np.uint8(0), np.uint8(0), np.uint8(0)
        for i in range(_BYTES_PER_COUNT):
            is_end = np.uint8(ends[i] == NEWLINE)
            lines = np.uint8(lines + is_end)
            rows = np.uint8(rows + np.uint8(is_end & _is_document(starts[i])))
            indented = np.uint8(indented + np.uint8(is_end & _is_indent(starts[i])))
        n_lines, n_rows, n_indented = n_lines + int(lines), n_rows + int(rows), n_indented + int(indented)
    for i in range(n_blocks * _BYTES_PER_COUNT, len(next_ones)):
        if these[i] == NEWLINE:
            n_lines += 1
            n_rows += int(_is_document(next_ones[i]))
            n_indented += int(_is_indent(next_ones[i]))
    return n_lines, n_rows + (_count_indented(text, stop) if n_indented else 0)


@inlined
def _is_document(start: np.uint8) -> np.uint8:
    """Whether a line that starts with this byte is a document, as 0 or 1."""
    return np.uint8(np.uint8(start > SPACE) & np.uint8(start != HASH))


@inlined
def _is_indent(start: np.uint8) -> np.uint8:
    return np.uint8(np.uint8(start <= SPACE) & np.uint8(start != NEWLINE))


@compiled
def _count_indented(text: Text, stop: Position) -> int:
    """Count the rows whose lines begin with a blank; most texts have none."""
    n, at = 0, Position(0)
    while at < stop:
        if text[at] <= SPACE:
            at = _skip_blanks(text, at)
            n += not is_delimiter(text, at)
        at = _find_line_end(text, at) + _1
    return n


@compiled
def widen_rows(flat: Features, n_rows: int, width: int, new_width: int, missing: float) -> None:
    """Widen rows from `width` to `new_width` within one buffer, the last row first."""
    for row in range(n_rows - 1, -1, -1):
        for column in range(new_width - 1, -1, -1):
            to = row * new_width + column
            flat[to] = flat[row * width + column] if column < width else missing


@compiled
def permute_rows(rows: NDArray[np.generic], order: IntArray) -> None:
    """Permute the rows of a two-dimensional array in place: row i becomes the old row `order[i]`."""
    done = np.zeros(len(order), dtype=np.bool_)
    for first in range(len(order)):
        if done[first]:
            continue
        saved = rows[first].copy()
        to = first
        while order[to] != first:
            rows[to] = rows[order[to]]
            done[to] = True
            to = order[to]
        rows[to] = saved
        done[to] = True


@compiled
def copy_texts(text: Text, notes: IntArray, offsets: IntArray, letters: Text) -> None:
    """Copy the texts of notes into `letters`, text i to position `offsets[i]`."""
    for i in range(len(notes)):
        start = notes[i, 3]
        for k in range(notes[i, 4] - start):
            letters[offsets[i] + k] = text[start + k]
