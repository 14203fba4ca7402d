"""Commands run in this process, which has imported all that they need: seconds are spared for each."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from directranker.cli import main

__all__ = ["Done", "run_here"]


class Done(NamedTuple):
    """How a command ended."""

    returncode: int
    stdout: bytes
    stderr: bytes


def run_here(*arguments: str | Path, cwd: Path, text: bytes = b"") -> Done:
    """Run a command, whose tables are 100 columns wide, with this text as its input."""
    out, given = (io.TextIOWrapper(io.BytesIO(content)) for content in (b"", text))
    err = io.TextIOWrapper(io.BytesIO(), errors="backslashreplace")  # as Python opens it
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(cwd)
        patch.setenv("COLUMNS", "100")
        patch.setattr(sys, "argv", ["directranker", *map(str, arguments)])
        patch.setattr(sys, "stdin", given)
        with pytest.raises(SystemExit) as ended:
            main()
    for stream in (out, err):
        stream.flush()
    return Done(int(ended.value.code or 0), out.buffer.getvalue(), err.buffer.getvalue())
