"""Standard streams that are closed when the command starts (`<&-`, `>&-`, `2>&-`)."""

from __future__ import annotations

import io
import os
import sys
from typing import BinaryIO

__all__ = ["prepare_streams", "standard_input", "standard_output"]

_closed: set[str] = set()


def prepare_streams() -> None:
    """Open the null device in place of each closed stream, before another file gets its number.

    Messages to a closed stream are lost, as whoever closed it wished. Data is not: `standard_input` and
    `standard_output` raise. What an open one cannot encode, such as an odd name of a file, is escaped.
    """
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        _closed.add(name)
        null = os.open(os.devnull, os.O_RDWR)
        if null != number:
            os.dup2(null, number)
            os.close(null)
        stream = os.fdopen(number, "r" if name == "stdin" else "w", encoding="utf-8", closefd=False)
        setattr(sys, name, stream)


def standard_input() -> BinaryIO:
    """The bytes of standard input, to read data from."""
    if "stdin" in _closed:
        raise ValueError("standard input is closed; give a file instead of -")
    return sys.stdin.buffer


def standard_output() -> BinaryIO:
    """The bytes of standard output, to write data to."""
    if "stdout" in _closed:
        raise ValueError("standard output is closed; give --out a file")
    return sys.stdout.buffer
