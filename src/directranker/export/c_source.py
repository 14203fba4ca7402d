"""Pieces of C text: arrays of numbers that read back bit for bit."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["array", "number", "signature_name"]

PER_LINE = 12


def number(value: float, *, single: bool = False) -> str:
    """A number as C reads it.

    >>> number(0.1), number(np.float32(0.1), single=True), number(float("inf")), number(2)
    ('0.10000000000000001', '0.100000001f', 'HUGE_VAL', '2.0')
    """
    if np.isinf(value):
        return "HUGE_VAL" if value > 0 else "-HUGE_VAL"
    text = f"{float(value):.9g}" if single else f"{float(value):.17g}"
    if not set(text) & set(".e"):
        text += ".0"
    return text + "f" if single else text


def array(kind: str, name: str, values: ArrayLike) -> str:
    """The definition of a constant array; one without entries gets a 0, for C has no empty ones.

    >>> print(array("int", "places", [1, 2]))
    static const int places[2] = {
        1, 2
    };
    """
    flat = np.asarray(values).ravel()
    if not len(flat):
        flat = np.zeros(1)
    if kind in ("float", "double"):
        words = [number(value, single=kind == "float") for value in flat]
    else:
        words = [str(int(value)) for value in flat]
    lines = [", ".join(words[at : at + PER_LINE]) for at in range(0, len(words), PER_LINE)]
    body = ",\n    ".join(lines)
    return f"static const {kind} {name}[{len(flat)}] = {{\n    {body}\n}};"


def signature_name(name: str) -> str:
    """A name that C takes.

    >>> signature_name("my-model 2")
    'my_model_2'
    """
    letters = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name)
    return letters if letters[:1].isalpha() else f"model_{letters}"
