"""Standard streams that are closed when the command starts (`<&-`, `>&-`, `2>&-`)."""

from __future__ import annotations

import io
import os
import sys
from typing import BinaryIO

__all__ = ["prepare_streams", "require_stdin", "require_stdout"]

_closed: set[str] = set()


def prepare_streams() -> None:
    """Open the null device in place of each closed stream, before another file gets its descriptor.

    Messages to a closed stream are dropped. Data is not: `require_stdin` and `require_stdout` raise. Standard
    output escapes characters that it cannot encode, such as those of an odd file name.
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


def require_stdin() -> BinaryIO:
    """Return standard input as bytes, to read data from; raise if it is closed."""
    if "stdin" in _closed:
        raise ValueError("standard input is closed; give a file instead of -")
    return sys.stdin.buffer


def require_stdout() -> BinaryIO:
    """Return standard output as bytes, to write data to; raise if it is closed."""
    if "stdout" in _closed:
        raise ValueError("standard output is closed; pass --out FILE")
    return sys.stdout.buffer
