"""Validation of widths and shapes.

>>> validate_counts("hidden_layers", (64, 32), wanted="the layer widths")
(64, 32)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from numbers import Integral
from typing import TypeGuard, cast

__all__ = ["validate_count", "validate_counts"]


def validate_count(name: str, value: object, *, wanted: str) -> int:
    """Return a whole number of at least 1, or raise; `wanted` completes the message "pass …".

    >>> validate_count("n_features", 0, wanted="a whole number of at least 1")
    Traceback (most recent call last):
    ValueError: n_features is 0; pass a whole number of at least 1
    """
    if not _is_count(value):
        raise ValueError(f"{name} is {value!r}; pass {wanted}")
    return int(value)


def validate_counts(name: str, values: object, *, wanted: str) -> tuple[int, ...]:
    """Return whole numbers of at least 1, or raise; `wanted` completes the message "pass …".

    >>> validate_counts("input_shape", [1, 0], wanted="the shape of a document")
    Traceback (most recent call last):
    ValueError: input_shape is [1, 0]; pass the shape of a document
    """
    # Bytes are no numbers, sets and mappings have no order.
    is_sequence = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping | Set)
    counts = list(cast(Iterable[object], values)) if is_sequence else []
    if not is_sequence or not all(map(_is_count, counts)):
        raise ValueError(f"{name} is {values!r}; pass {wanted}")
    return tuple(int(count) for count in counts if _is_count(count))


def _is_count(value: object) -> TypeGuard[int]:
    # True is an Integral in Python, but never meant as a width.
    return not isinstance(value, bool) and isinstance(value, Integral) and int(value) >= 1
