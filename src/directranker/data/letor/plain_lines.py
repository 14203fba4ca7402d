"""The fast way through features in plain notation: ` 12:0.5`, one blank before each, few digits.

It works on words of eight bytes and hardly branches on what they hold: the places where tokens end are found
for a block of text at once, and the digits of a number are turned into their value together. Whatever is not
plain it leaves to the reading letter by letter, which goes on from there, so both accept the same text.

Words are loaded from within the text only: a token's last word ends where the token does, and a line that
begins in the first eight bytes of the text is not read here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from directranker.arrays import Features
from directranker.compilation import compiled, inlined
from directranker.data.letor.numbers import COLON, MINUS, NEWLINE, POINT, SPACE, Position, Text

__all__ = ["Plain", "make_plain", "mark_line", "plain_features"]

Words = NDArray[np.uint64]
Codegen = Callable[[Any, Any, Any, Any], Any]

_BLOCK: Final = Position(1 << 15)  # bytes whose marks are found at once; a longer line is not plain
_GROUP: Final = Position(64)
_UNROLLED: Final = 8
# Columns beyond, and all of them on machines whose words begin with the highest byte, are read by letters.
_PLAIN_COLUMNS: Final = 4096 if sys.byteorder == "little" else 0

_0, _1, _2, _6, _7, _15 = (Position(n) for n in (0, 1, 2, 6, 7, 15))
_8, _10, _16, _32, _48, _56 = (Position(n) for n in (8, 10, 16, 32, 48, 56))
_ZERO = np.uint64(48)  # the digit
_LAST_BYTES = np.array([0] + [2**64 - 2 ** (64 - 8 * n) for n in range(1, 9)] + [0] * 7, dtype=np.uint64)
_ZEROS = np.uint64(0x3030303030303030)
_ABOVE_NINE = np.uint64(0x7676767676767676)  # lifts whatever is above 9 to the highest bit
_HIGH_BITS = np.uint64(0x8080808080808080)
_PAIRS = np.uint64(0x000000FF000000FF)
_MILLION_AND_HUNDRED = np.uint64(100 + (1_000_000 << 32))
_TEN_THOUSAND_AND_ONE = np.uint64(1 + (10_000 << 32))
_POWERS = np.array([10.0**decimals for decimals in range(8)])


def _address(context: Any, builder: Any, signature: Any, arguments: Any, kind: Any) -> Any:
    text, at = arguments
    data = context.make_array(signature.args[0])(context, builder, text).data
    return builder.bitcast(builder.gep(data, [at]), kind.as_pointer())


@intrinsic  # type: ignore[untyped-decorator]
def _word(_typing: Any, text: Any, at: Any) -> tuple[Any, Codegen]:
    """The eight bytes from here on, the first one lowest."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_address(context, builder, signature, arguments, ir.IntType(64)), align=1)

    return types.uint64(text, at), generate


@intrinsic  # type: ignore[untyped-decorator]
def _marks(_typing: Any, text: Any, at: Any) -> tuple[Any, Codegen]:
    """Bit i: whether the byte i from here on is a blank, a control character, or one of `.:#`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.VectorType(ir.IntType(8), int(_GROUP))
        letters = builder.load(_address(context, builder, signature, arguments, kind), align=1)
        marked = builder.icmp_unsigned("<=", letters, ir.Constant(kind, [SPACE] * int(_GROUP)))
        for letter in b".:#":
            same = builder.icmp_unsigned("==", letters, ir.Constant(kind, [letter] * int(_GROUP)))
            marked = builder.or_(marked, same)
        return builder.bitcast(marked, ir.IntType(64))

    return types.uint64(text, at), generate


@intrinsic  # type: ignore[untyped-decorator]
def _lowest_bit(_typing: Any, word: Any) -> tuple[Any, Codegen]:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(word), generate


@intrinsic  # type: ignore[untyped-decorator]
def _n_bits(_typing: Any, word: Any) -> tuple[Any, Codegen]:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(word), generate


class Plain(NamedTuple):
    """What the fast way works with."""

    marks: Words
    """Where the marks of a block of text stand."""
    marked: Words
    """One number: the end of the last whole line of that block."""
    keys: Words
    """Of each column, the word that ends with ` INDEX:`."""
    counted: Words
    """Which bytes of the key count."""


@compiled
def make_plain(first_index: int, width: int) -> Plain:
    """Make room for marks, and the keys of the columns."""
    n_columns = min(width, _PLAIN_COLUMNS)
    keys, counted = np.empty(n_columns, dtype=np.uint64), np.empty(n_columns, dtype=np.uint64)
    for column in range(n_columns):
        index = np.uint64(first_index + column)
        key, shift = np.uint64(COLON) << _56, _48
        while True:
            key |= (_ZERO + index % _10) << shift
            shift -= _8
            index //= _10
            if index == _0:
                break
        keys[column] = key | (np.uint64(SPACE) << shift)
        counted[column] = _LAST_BYTES[_8 - shift // _8]
    marks = np.empty(int(_BLOCK) + _UNROLLED, dtype=np.uint64)
    return Plain(marks, np.zeros(1, dtype=np.uint64), keys, counted)


@compiled
def mark_line(text: Text, start: Position, stop: Position, plain: Plain, mark: Position) -> Position:
    """Mark the block from this line on unless the line is marked already → the first mark to look at."""
    if start < plain.marked[0]:
        return mark
    marks = plain.marks
    end = min(start + _BLOCK, np.uint64(len(text)))
    n = _0
    at = start
    while at + _GROUP <= end:
        group = _marks(text, at)
        n_after = n + _n_bits(group)
        while n < n_after:  # eight at a time; those too many are written over
            for i in range(_UNROLLED):
                marks[n + np.uint64(i)] = at + _lowest_bit(group)
                group &= group - _1
            n += _8
        n = n_after
        at += _GROUP
    plain.marked[0] = start
    while n > _0:
        n -= _1
        if text[marks[n]] == NEWLINE and marks[n] < stop:
            plain.marked[0] = marks[n] + _1
            break
    return _0


@inlined
def _is_all_digits(word: np.uint64) -> bool:
    """Whether no byte is above 9."""
    return bool(((word | (word + _ABOVE_NINE)) & _HIGH_BITS) == _0)


@inlined
def _value_of_digits(word: np.uint64) -> np.uint64:
    """The number whose eight digits the bytes are, the first one lowest."""
    word = word * _10 + (word >> _8)
    return ((word & _PAIRS) * _MILLION_AND_HUNDRED + ((word >> _16) & _PAIRS) * _TEN_THOUSAND_AND_ONE) >> _32


@compiled
def plain_features(
    text: Text,
    at: Position,
    plain: Plain,
    mark: Position,
    values: Features,
    first_column: int,
    first_index: int,
    missing: float,
) -> tuple[Position, Position, int]:
    """Read plain features from the delimiter `at` on, as far as they go, into the columns from here on.

    `mark` is at the delimiter or before → (the delimiter behind the last feature, its mark, the first column
    not yet filled). No loop steps over the line's end, which is a mark but neither colon nor point.
    """
    marks, keys, counted = plain.marks, plain.keys, plain.counted
    column, n_columns = np.uint64(first_column), np.uint64(len(keys))
    if column >= n_columns or at >= plain.marked[0] or at < _8:
        return at, mark, first_column
    while marks[mark] < at:
        mark += _1
    while text[at] == SPACE and column < n_columns:
        colon, point = marks[mark + _1], marks[mark + _2]
        if (_word(text, colon - _7) & counted[column]) != keys[column]:
            n_digits = colon - at - _1
            if text[colon] != COLON or n_digits - _1 > _7:
                break
            digits = (_word(text, colon - _8) ^ _ZEROS) & _LAST_BYTES[n_digits]
            new_column = _value_of_digits(digits) - np.uint64(first_index)
            if not _is_all_digits(digits) or new_column < column or new_column >= n_columns:
                break
            while column < new_column:
                values[column] = missing
                column += _1
        is_point = np.uint64(text[point] == POINT)
        end = marks[mark + _2 + is_point]
        is_negative = np.uint64(text[colon + _1] == MINUS)
        n_decimals = (end - point - _1) * is_point
        n_whole = point - colon - _1 - is_negative
        n_digits = n_whole + n_decimals
        # The digits before the point, moved behind by one, and those behind it.
        behind = _LAST_BYTES[n_decimals & _15]
        digits = (_word(text, point - _8 + n_decimals) & ~behind) | (_word(text, end - _8) & behind)
        digits = (digits ^ _ZEROS) & _LAST_BYTES[n_digits & _15]
        is_number = n_whole - _1 <= _7 and n_decimals - is_point <= _6 and n_digits <= _8
        if not is_number or not _is_all_digits(digits) or (text[end] != SPACE and text[end] != NEWLINE):
            break
        value = float(np.int64(_value_of_digits(digits))) / _POWERS[n_decimals]
        values[column] = -value if is_negative else value
        column += _1
        mark += _2 + is_point
        at = end
    return at, mark, int(np.int64(column))
