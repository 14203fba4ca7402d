"""Numbers in text, read by compiled code exactly as Python's `float` reads them.

Most numbers have at most 15 digits, and one exact division gives the right float64. Longer ones come out
within 2 ** -51 of the right value, and the few that this cannot decide are left to Python. A number ends
with a delimiter, and the text with a line end, which no loop steps over.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from directranker.compilation import compiled, inlined

__all__ = [
    "COLON",
    "EXACT",
    "HARD",
    "HASH",
    "MINUS",
    "NEWLINE",
    "NOT_A_NUMBER",
    "POINT",
    "RETURN",
    "ROUGH",
    "SPACE",
    "TAB",
    "UNREADABLE",
    "Position",
    "Text",
    "digits",
    "is_delimiter",
    "number",
    "word_at",
]

Text = NDArray[np.uint8]
Position = np.uint64  # a place in the text; unsigned, or numba would test each index for being negative

_1, _3, _5, _10 = Position(1), Position(3), Position(5), Position(10)
TAB, NEWLINE, RETURN, SPACE = 9, 10, 13, 32
HASH, _PLUS, MINUS, POINT, COLON = 35, 43, 45, 46, 58
_ZERO, _NINE = np.uint64(48), np.uint64(9)
_SURELY_EXACT_DIGITS = Position(15)  # 10 ** 15 < 2 ** 53
_MANTISSA_FULL = np.uint64(10**18)  # one more digit still fits 64 bits
_EXACT_MANTISSA = np.uint64(2**53)
_LOWEST, _HIGHEST = -80, 60  # decimal exponents beyond these are left to Python
_POWERS = np.array([float(f"1e{exponent}") for exponent in range(_HIGHEST + 1)])
_INVERSE_POWERS = np.array([float(f"1e-{exponent}") for exponent in range(-_LOWEST + 1)])
_WORD_NAN = np.frombuffer(b"nan", dtype=np.uint8)
_WORD_INF = np.frombuffer(b"inf", dtype=np.uint8)
_WORD_INITY = np.frombuffer(b"inity", dtype=np.uint8)

EXACT, ROUGH, HARD, NOT_A_NUMBER, INFINITE, UNREADABLE = 0, 1, 2, 3, 4, 5  # what is known of a number


@inlined
def is_delimiter(text: Text, at: Position) -> bool:
    """Whether a token ends here: at a blank, a comment or the end of the line."""
    c = text[at]
    return c in (SPACE, NEWLINE, TAB, HASH) or (c == RETURN and text[at + _1] == NEWLINE)


@compiled
def word_at(text: Text, at: Position, word: Text) -> bool:
    """Whether a word of small letters stands here in letters of any case."""
    for letter in word:
        if (text[at] | 32) != letter:
            return False  # a line end is no letter, so the loop ends there at the latest
        at += _1
    return True


@inlined
def digits(text: Text, at: Position, value: np.uint64) -> tuple[np.uint64, Position]:
    """Append the digits from here on to a value, which is right as long as they are at most 18."""
    while True:
        digit = np.uint64(text[at]) - _ZERO  # what lies below "0" wraps around to a large number
        if digit > _NINE:
            return value, at
        value = value * _10 + digit
        at += _1


@compiled
def _many_digits(text: Text, at: Position, value: np.uint64) -> tuple[np.uint64, Position, int, bool]:
    """Append any number of digits → (value, end, how many did not fit, whether one of these was not 0)."""
    dropped, rough = 0, False
    while True:
        digit = np.uint64(text[at]) - _ZERO
        if digit > _NINE:
            return value, at, dropped, rough
        if value < _MANTISSA_FULL:
            value = value * _10 + digit
        else:
            dropped += 1
            rough = rough or digit != 0
        at += _1


@compiled
def _exponent(text: Text, at: Position) -> tuple[int, Position, bool]:
    """The part behind an `e` → (exponent, end, whether it has digits)."""
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
def _special(text: Text, at: Position) -> tuple[float, Position, int]:
    if word_at(text, at, _WORD_NAN):
        return np.nan, at + _3, NOT_A_NUMBER
    if word_at(text, at, _WORD_INF):
        at += _3
        return np.inf, (at + _5 if word_at(text, at, _WORD_INITY) else at), INFINITE
    return 0.0, at, UNREADABLE


@compiled
def _scaled(mantissa: np.uint64, exponent: int, rough: bool) -> tuple[float, int]:
    """Mantissa · 10 ** exponent, and whether that is Python's float, or within 2 ** -51 of it, or neither."""
    value = float(mantissa)
    exact = mantissa <= _EXACT_MANTISSA and not rough
    if mantissa == 0:
        return 0.0, EXACT
    if exponent < _LOWEST or exponent > _HIGHEST:
        return 0.0, HARD
    if exponent >= 0:
        return value * _POWERS[exponent], EXACT if exact and exponent <= 22 else ROUGH
    if exact and exponent >= -22:  # both are exact in float64, so the division rounds once
        return value / _POWERS[-exponent], EXACT
    return value * _INVERSE_POWERS[-exponent], ROUGH


@compiled
def _any_number(text: Text, at: Position) -> tuple[float, Position, int]:
    """A number in any notation → (value, end, what is known of it)."""
    negative = text[at] == MINUS
    if negative or text[at] == _PLUS:
        at += _1
    start = at
    mantissa, at, dropped, rough = _many_digits(text, at, np.uint64(0))
    n_digits = int(at - start)
    exponent = dropped
    has_point = text[at] == POINT
    if has_point:
        start = at + _1
        mantissa, at, dropped, more = _many_digits(text, start, mantissa)
        rough = rough or more
        n_digits += int(at - start)
        exponent -= int(at - start) - dropped
    if n_digits == 0:
        value, at, kind = (0.0, at, UNREADABLE) if has_point else _special(text, at)
        return (-value if negative else value), at, kind
    if (text[at] | 32) == 101:  # e
        power, at, has_digits = _exponent(text, at + _1)
        if not has_digits:
            return 0.0, at, UNREADABLE
        exponent += power
    value, kind = _scaled(mantissa, exponent, rough)
    return (-value if negative else value), at, kind


@inlined
def number(text: Text, start: Position) -> tuple[float, Position, int]:
    """A number and the delimiter behind it → (value, end, what is known of it)."""
    negative = text[start] == MINUS
    first = start + _1 if negative else start
    mantissa, at = digits(text, first, np.uint64(0))
    n_digits = at - first
    value = float(np.int64(mantissa))
    if text[at] == POINT:
        first = at + _1
        mantissa, at = digits(text, first, mantissa)
        decimals = at - first
        n_digits += decimals
        value = float(np.int64(mantissa)) / _POWERS[min(decimals, _SURELY_EXACT_DIGITS)]
    if _1 <= n_digits <= _SURELY_EXACT_DIGITS and is_delimiter(text, at):
        return (-value if negative else value), at, EXACT
    value, at, kind = _any_number(text, start)
    return value, at, kind if is_delimiter(text, at) else UNREADABLE
