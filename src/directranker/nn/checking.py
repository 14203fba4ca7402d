"""Widths and shapes from users, checked in one place.

>>> counts("hidden_layers", (64, 32), wanted="the widths in turn")
(64, 32)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from numbers import Integral
from typing import Any

__all__ = ["count", "counts"]


def count(name: str, value: Any, *, wanted: str) -> int:
    """A whole number of at least 1; `wanted` says in the error what to give instead.

    >>> count("n_features", 0, wanted="a whole number of at least 1")
    Traceback (most recent call last):
    ValueError: n_features is 0; give a whole number of at least 1
    """
    if not _is_count(value):
        raise ValueError(f"{name} is {value!r}; give {wanted}")
    return int(value)


def counts(name: str, values: Any, *, wanted: str) -> tuple[int, ...]:
    """Whole numbers of at least 1, any number of them.

    >>> counts("input_shape", [1, 0], wanted="the shape of a document")
    Traceback (most recent call last):
    ValueError: input_shape is [1, 0]; give the shape of a document
    """
    # The numbers of bytes and of sets stand for nothing, or in no order.
    is_row = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping | Set)
    if not is_row or not all(map(_is_count, values)):
        raise ValueError(f"{name} is {values!r}; give {wanted}")
    return tuple(map(int, values))


def _is_count(value: Any) -> bool:
    # True counts as 1 in Python, but who writes it means something else.
    return not isinstance(value, bool) and isinstance(value, Integral) and int(value) >= 1
