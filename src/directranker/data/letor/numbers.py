"""Compiled parsing of numbers, with the same results as Python's `float`.

Most numbers have at most 15 digits, and one exact division gives the right float64. Longer ones are
approximated within 2 ** -51, and the few that this does not decide are left to Python. A number ends with a
delimiter and the text with a newline, which no loop steps over.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from directranker.compilation import compiled, inlined

__all__ = [
    "APPROXIMATE",
    "COLON",
    "EXACT",
    "HASH",
    "MINUS",
    "NEWLINE",
    "NOT_A_NUMBER",
    "POINT",
    "RETURN",
    "SPACE",
    "TAB",
    "UNDECIDED",
    "UNREADABLE",
    "Position",
    "Text",
    "is_delimiter",
    "matches_word",
    "parse_digits",
    "parse_number",
]

Text = NDArray[np.uint8]
Position = np.uint64  # an index into the text; unsigned, or numba would test each index for being negative

_1, _3, _5, _10 = Position(1), Position(3), Position(5), Position(10)
TAB, NEWLINE, RETURN, SPACE = 9, 10, 13, 32
HASH, _PLUS, MINUS, POINT, COLON = 35, 43, 45, 46, 58
_ZERO, _NINE = np.uint64(48), np.uint64(9)
_MAX_EXACT_DIGITS = Position(15)  # 10 ** 15 < 2 ** 53
_MANTISSA_FULL = np.uint64(10**18)  # one more digit still fits 64 bits
_EXACT_MANTISSA = np.uint64(2**53)
_MIN_EXPONENT, _MAX_EXPONENT = -80, 60  # decimal exponents beyond these are left to Python
_POWERS = np.array([float(f"1e{exponent}") for exponent in range(_MAX_EXPONENT + 1)])
_INVERSE_POWERS = np.array([float(f"1e-{exponent}") for exponent in range(-_MIN_EXPONENT + 1)])
_WORD_NAN = np.frombuffer(b"nan", dtype=np.uint8)
_WORD_INF = np.frombuffer(b"inf", dtype=np.uint8)
_WORD_INITY = np.frombuffer(b"inity", dtype=np.uint8)

# The status of a parsed number.
EXACT, APPROXIMATE, UNDECIDED, NOT_A_NUMBER, INFINITE, UNREADABLE = 0, 1, 2, 3, 4, 5


@inlined
def is_delimiter(text: Text, at: Position) -> bool:
    """Whether a token ends here: at whitespace, a comment or the end of the line."""
    c = text[at]
    return c in (SPACE, NEWLINE, TAB, HASH) or (c == RETURN and text[at + _1] == NEWLINE)


@compiled
def matches_word(text: Text, at: Position, word: Text) -> bool:
    """Whether the text continues with a lower-case word, ignoring case."""
    for letter in word:
        if (text[at] | 32) != letter:
            return False  # a newline is not a letter, so the loop ends there at the latest
        at += _1
    return True


@inlined
def parse_digits(text: Text, at: Position, value: np.uint64) -> tuple[np.uint64, Position]:
    """Append the digits from here on to a value, which is exact up to 18 digits → (value, end)."""
    while True:
        digit = np.uint64(text[at]) - _ZERO  # characters below "0" wrap around to a large number
        if digit > _NINE:
            return value, at
        value = value * _10 + digit
        at += _1


@compiled
def _parse_long_digits(text: Text, at: Position, value: np.uint64) -> tuple[np.uint64, Position, int, bool]:
    """Append any number of digits → (value, end, number of dropped digits, whether one of them is not 0)."""
    dropped, is_inexact = 0, False
    while True:
        digit = np.uint64(text[at]) - _ZERO
        if digit > _NINE:
            return value, at, dropped, is_inexact
        if value < _MANTISSA_FULL:
            value = value * _10 + digit
        else:
            dropped += 1
            is_inexact = is_inexact or digit != 0
        at += _1


@compiled
def _parse_exponent(text: Text, at: Position) -> tuple[int, Position, bool]:
    """Parse the exponent after an `e` → (exponent, end, whether it has digits)."""
    negative = text[at] == MINUS
    if negative or text[at] == _PLUS:
        at += _1
    start = at
    exponent = 0
    while np.uint64(text[at]) - _ZERO <= _NINE:
        if exponent < 100_000:
            exponent = exponent * 10 + int(text[at]) - 48
        at += _1
    return (-exponent if negative else exponent), at, bool(at > start)


@compiled
def _parse_special(text: Text, at: Position) -> tuple[float, Position, int]:
    if matches_word(text, at, _WORD_NAN):
        return np.nan, at + _3, NOT_A_NUMBER
    if matches_word(text, at, _WORD_INF):
        at += _3
        return np.inf, (at + _5 if matches_word(text, at, _WORD_INITY) else at), INFINITE
    return 0.0, at, UNREADABLE


@compiled
def _scale(mantissa: np.uint64, exponent: int, is_inexact: bool) -> tuple[float, int]:
    """Compute mantissa · 10 ** exponent and its status: exact, within 2 ** -51, or undecided."""
    value = float(mantissa)
    is_exact = mantissa <= _EXACT_MANTISSA and not is_inexact
    if mantissa == 0:
        return 0.0, EXACT
    if exponent < _MIN_EXPONENT or exponent > _MAX_EXPONENT:
        return 0.0, UNDECIDED
    if exponent >= 0:
        return value * _POWERS[exponent], EXACT if is_exact and exponent <= 22 else APPROXIMATE
    if is_exact and exponent >= -22:  # both are exact in float64, so the division rounds once
        return value / _POWERS[-exponent], EXACT
    return value * _INVERSE_POWERS[-exponent], APPROXIMATE


@compiled
def _parse_any_number(text: Text, at: Position) -> tuple[float, Position, int]:
    """Parse a number in any notation → (value, end, status)."""
    negative = text[at] == MINUS
    if negative or text[at] == _PLUS:
        at += _1
    start = at
    mantissa, at, dropped, is_inexact = _parse_long_digits(text, at, np.uint64(0))
    n_digits = int(at - start)
    exponent = dropped
    has_point = text[at] == POINT
    if has_point:
        start = at + _1
        mantissa, at, dropped, more = _parse_long_digits(text, start, mantissa)
        is_inexact = is_inexact or more
        n_digits += int(at - start)
        exponent -= int(at - start) - dropped
    if n_digits == 0:
        value, at, status = (0.0, at, UNREADABLE) if has_point else _parse_special(text, at)
        return (-value if negative else value), at, status
    if (text[at] | 32) == 101:  # e
        power, at, has_digits = _parse_exponent(text, at + _1)
        if not has_digits:
            return 0.0, at, UNREADABLE
        exponent += power
    value, status = _scale(mantissa, exponent, is_inexact)
    return (-value if negative else value), at, status


@inlined
def parse_number(text: Text, start: Position) -> tuple[float, Position, int]:
    """Parse a number that a delimiter follows → (value, end, status)."""
    negative = text[start] == MINUS
    first = start + _1 if negative else start
    mantissa, at = parse_digits(text, first, np.uint64(0))
    n_digits = at - first
    value = float(np.int64(mantissa))
    if text[at] == POINT:
        first = at + _1
        mantissa, at = parse_digits(text, first, mantissa)
        decimals = at - first
        n_digits += decimals
        value = float(np.int64(mantissa)) / _POWERS[min(decimals, _MAX_EXACT_DIGITS)]
    if _1 <= n_digits <= _MAX_EXACT_DIGITS and is_delimiter(text, at):
        return (-value if negative else value), at, EXACT
    value, at, status = _parse_any_number(text, start)
    return value, at, status if is_delimiter(text, at) else UNREADABLE
