"""Fast parsing of features in plain notation: ` 12:0.5`, one blank before each, few digits.

The parser works on words of eight bytes, almost without branches: it finds the delimiters of a block of text
at once, and converts all digits of a number together. It stops at the first token that is not plain, and the
byte-wise parser resumes there, so both accept the same text.

Words are loaded from within the text only: a token's last word ends where the token ends, and a line that
begins in the first eight bytes of the text is left to the byte-wise parser.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from directranker.arrays import Features
from directranker.compilation import compiled, inlined
from directranker.data.letor.numbers import COLON, MINUS, NEWLINE, POINT, SPACE, Position, Text

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.typing import Context as TypingContext
    from numba.core.typing.templates import Signature

__all__ = ["Workspace", "make_workspace", "mark_delimiters", "parse_plain_features"]

Words = NDArray[np.uint64]
Values = Sequence[ir.Value]
Codegen = Callable[["BaseContext", ir.IRBuilder, "Signature", Values], ir.Value]

_BLOCK: Final = Position(1 << 15)  # bytes whose delimiters are marked at once; a longer line is not plain
_GROUP: Final = Position(64)
_UNROLLED: Final = 8
# The byte-wise parser reads all further columns, and all columns on big-endian machines.
_MAX_PLAIN_COLUMNS: Final = 4096 if sys.byteorder == "little" else 0

_0, _1, _2, _6, _7, _15 = (Position(n) for n in (0, 1, 2, 6, 7, 15))
_8, _10, _16, _32, _48, _56 = (Position(n) for n in (8, 10, 16, 32, 48, 56))
_ZERO = np.uint64(48)  # the character 0
_LAST_BYTES = np.array([0] + [2**64 - 2 ** (64 - 8 * n) for n in range(1, 9)] + [0] * 7, dtype=np.uint64)
_ZEROS = np.uint64(0x3030303030303030)
_ABOVE_NINE = np.uint64(0x7676767676767676)  # added to a byte above 9, sets its highest bit
_HIGH_BITS = np.uint64(0x8080808080808080)
_PAIRS = np.uint64(0x000000FF000000FF)
_MILLION_AND_HUNDRED = np.uint64(100 + (1_000_000 << 32))
_TEN_THOUSAND_AND_ONE = np.uint64(1 + (10_000 << 32))
_POWERS = np.array([10.0**decimals for decimals in range(8)])


def _make_pointer(
    context: BaseContext,
    builder: ir.IRBuilder,
    signature: Signature,
    arguments: Values,
    element_type: ir.Type,
) -> ir.Value:
    text, at = arguments
    data = context.make_array(signature.args[0])(context, builder, text).data
    return builder.bitcast(builder.gep(data, [at]), element_type.as_pointer())


@intrinsic  # type: ignore[untyped-decorator]
def _load_word(_typing: TypingContext, text: types.Type, at: types.Type) -> tuple[Signature, Codegen]:
    """Load the eight bytes from here on as an integer, the first one lowest."""

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: Values
    ) -> ir.Value:
        return builder.load(_make_pointer(context, builder, signature, arguments, ir.IntType(64)), align=1)

    return types.uint64(text, at), generate


@intrinsic  # type: ignore[untyped-decorator]
def _find_delimiters(_typing: TypingContext, text: types.Type, at: types.Type) -> tuple[Signature, Codegen]:
    """Set bit i if byte i from here on is a blank, a control character, or one of `.:#`."""

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: Values
    ) -> ir.Value:
        vector = ir.VectorType(ir.IntType(8), int(_GROUP))
        characters = builder.load(_make_pointer(context, builder, signature, arguments, vector), align=1)
        is_delimiter = builder.icmp_unsigned("<=", characters, ir.Constant(vector, [SPACE] * int(_GROUP)))
        for character in b".:#":
            constant = ir.Constant(vector, [character] * int(_GROUP))
            is_delimiter = builder.or_(is_delimiter, builder.icmp_unsigned("==", characters, constant))
        return builder.bitcast(is_delimiter, ir.IntType(64))

    return types.uint64(text, at), generate


@intrinsic  # type: ignore[untyped-decorator]
def _find_lowest_bit(_typing: TypingContext, word: types.Type) -> tuple[Signature, Codegen]:
    def generate(
        _context: BaseContext, builder: ir.IRBuilder, _signature: Signature, arguments: Values
    ) -> ir.Value:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(word), generate


@intrinsic  # type: ignore[untyped-decorator]
def _count_bits(_typing: TypingContext, word: types.Type) -> tuple[Signature, Codegen]:
    def generate(
        _context: BaseContext, builder: ir.IRBuilder, _signature: Signature, arguments: Values
    ) -> ir.Value:
        return builder.ctpop(arguments[0])

    return types.uint64(word), generate


class Workspace(NamedTuple):
    """The buffers of the plain parser."""

    marks: Words
    """The positions of the delimiters of a block of text."""
    marked_end: Words
    """One number: the end of the last complete line of that block."""
    keys: Words
    """For each column, the word that ends with ` INDEX:`."""
    key_masks: Words
    """For each column, the bytes of the key to compare."""


@compiled
def make_workspace(first_index: int, width: int) -> Workspace:
    """Allocate the buffer for marks, and compute the keys of the columns."""
    n_columns = min(width, _MAX_PLAIN_COLUMNS)
    keys, key_masks = np.empty(n_columns, dtype=np.uint64), np.empty(n_columns, dtype=np.uint64)
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
        key_masks[column] = _LAST_BYTES[_8 - shift // _8]
    marks = np.empty(int(_BLOCK) + _UNROLLED, dtype=np.uint64)
    return Workspace(marks, np.zeros(1, dtype=np.uint64), keys, key_masks)


@compiled
def mark_delimiters(
    text: Text, start: Position, stop: Position, workspace: Workspace, mark: Position
) -> Position:
    """Mark the delimiters of the block from this line on, unless the line is marked already.

    Return the index of the first mark to use.
    """
    if start < workspace.marked_end[0]:
        return mark
    marks = workspace.marks
    end = min(start + _BLOCK, np.uint64(len(text)))
    n = _0
    at = start
    while at + _GROUP <= end:
        group = _find_delimiters(text, at)
        n_after = n + _count_bits(group)
        while n < n_after:  # eight at a time; surplus ones are overwritten
            for i in range(_UNROLLED):
                marks[n + np.uint64(i)] = at + _find_lowest_bit(group)
                group &= group - _1
            n += _8
        n = n_after
        at += _GROUP
    workspace.marked_end[0] = start
    while n > _0:
        n -= _1
        if text[marks[n]] == NEWLINE and marks[n] < stop:
            workspace.marked_end[0] = marks[n] + _1
            break
    return _0


@inlined
def _is_all_digits(word: np.uint64) -> bool:
    """Whether no byte is above 9."""
    return bool(((word | (word + _ABOVE_NINE)) & _HIGH_BITS) == _0)


@inlined
def _convert_digits(word: np.uint64) -> np.uint64:
    """Return the number whose eight digits are the bytes, the first one lowest."""
    word = word * _10 + (word >> _8)
    return ((word & _PAIRS) * _MILLION_AND_HUNDRED + ((word >> _16) & _PAIRS) * _TEN_THOUSAND_AND_ONE) >> _32


@compiled
def parse_plain_features(
    text: Text,
    at: Position,
    workspace: Workspace,
    mark: Position,
    values: Features,
    first_column: int,
    first_index: int,
    missing: float,
) -> tuple[Position, Position, int]:
    """Parse plain features from the delimiter `at` on into the columns from `first_column` on.

    `mark` is at the delimiter or before. Return the delimiter after the last plain feature, its mark, and the
    first column not yet filled. No loop steps over the newline, which is a mark but neither colon nor point.
    """
    marks, keys, key_masks = workspace.marks, workspace.keys, workspace.key_masks
    column, n_columns = np.uint64(first_column), np.uint64(len(keys))
    if column >= n_columns or at >= workspace.marked_end[0] or at < _8:
        return at, mark, first_column
    while marks[mark] < at:
        mark += _1
    while text[at] == SPACE and column < n_columns:
        colon, point = marks[mark + _1], marks[mark + _2]
        if (_load_word(text, colon - _7) & key_masks[column]) != keys[column]:
            n_digits = colon - at - _1
            if text[colon] != COLON or n_digits - _1 > _7:
                break
            digits = (_load_word(text, colon - _8) ^ _ZEROS) & _LAST_BYTES[n_digits]
            new_column = _convert_digits(digits) - np.uint64(first_index)
            if not _is_all_digits(digits) or new_column < column or new_column >= n_columns:
                break
            while column < new_column:
                values[column] = missing
                column += _1
        is_point = np.uint64(text[point] == POINT)
        end = marks[mark + _2 + is_point]
        is_negative = np.uint64(text[colon + _1] == MINUS)
        n_decimals = (end - point - _1) * is_point
        n_integer = point - colon - _1 - is_negative
        n_digits = n_integer + n_decimals
        # Close the gap of the point: the digits before it, moved by one byte, and the digits after it.
        decimals = _LAST_BYTES[n_decimals & _15]
        integer_word, decimal_word = _load_word(text, point - _8 + n_decimals), _load_word(text, end - _8)
        digits = (integer_word & ~decimals) | (decimal_word & decimals)
        digits = (digits ^ _ZEROS) & _LAST_BYTES[n_digits & _15]
        is_number = n_integer - _1 <= _7 and n_decimals - is_point <= _6 and n_digits <= _8
        if not is_number or not _is_all_digits(digits) or (text[end] != SPACE and text[end] != NEWLINE):
            break
        value = float(np.int64(_convert_digits(digits))) / _POWERS[n_decimals]
        values[column] = -value if is_negative else value
        column += _1
        mark += _2 + is_point
        at = end
    return at, mark, int(np.int64(column))
