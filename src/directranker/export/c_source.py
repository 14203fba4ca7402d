"""Numbers and arrays as C text that reads back bit for bit."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["format_array", "format_number", "to_identifier"]

PER_LINE = 12


def format_number(value: float, *, single: bool = False) -> str:
    """Format a number as a C literal.

    >>> format_number(0.1), format_number(np.float32(0.1), single=True)
    ('0.10000000000000001', '0.100000001f')
    >>> format_number(float("inf")), format_number(2)
    ('HUGE_VAL', '2.0')
    """
    if np.isinf(value):
        return "HUGE_VAL" if value > 0 else "-HUGE_VAL"
    text = f"{float(value):.9g}" if single else f"{float(value):.17g}"
    if not set(text) & set(".e"):
        text += ".0"
    return text + "f" if single else text


def format_array(kind: str, name: str, values: ArrayLike) -> str:
    """Format the definition of a constant array; an empty one gets a 0, because C has no empty arrays.

    >>> print(format_array("int", "offsets", [1, 2]))
    static const int offsets[2] = {
        1, 2
    };
    """
    flat = np.asarray(values).ravel()
    if not len(flat):
        flat = np.zeros(1)
    if kind in ("float", "double"):
        numbers = [format_number(value, single=kind == "float") for value in flat]
    else:
        numbers = [str(int(value)) for value in flat]
    lines = [", ".join(numbers[start : start + PER_LINE]) for start in range(0, len(numbers), PER_LINE)]
    body = ",\n    ".join(lines)
    return f"static const {kind} {name}[{len(flat)}] = {{\n    {body}\n}};"


def to_identifier(name: str) -> str:
    """Turn a name into a C identifier.

    >>> to_identifier("my-model 2")
    'my_model_2'
    """
    letters = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name)
    return letters if letters[:1].isalpha() else f"model_{letters}"
