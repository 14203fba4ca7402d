"""Run commands in this process, which has already imported what they need; that saves seconds for each."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from directranker import example_dataset, read_letor, write_letor, write_parquet
from directranker.cli import main

__all__ = ["CompletedCommand", "run_here", "train_model"]


class CompletedCommand(NamedTuple):
    """The exit code and the output of a command."""

    returncode: int
    stdout: bytes
    stderr: bytes


def run_here(*arguments: str | Path, cwd: Path, text: bytes = b"") -> CompletedCommand:
    """Run a command on a terminal of 100 columns, with `text` as standard input."""
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
    return CompletedCommand(int(ended.value.code or 0), out.buffer.getvalue(), err.buffer.getvalue())


def train_model(folder: Path) -> Path:
    """Fill a folder with train.txt, test.txt, test.parquet, the same test data in `saved`, and a `model`."""
    data = example_dataset()
    write_letor(data.select(range(40)), folder / "train.txt")
    write_letor(data.select(range(40, 60)), folder / "test.txt")
    write_parquet(data.select(range(40, 60)), folder / "test.parquet")
    read_letor(folder / "test.txt").save(folder / "saved")
    quick = ("--set", "hidden_layers=8", "--set", "max_epochs=2")
    done = run_here("train", "train.txt", *quick, "--out", "model", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert b"model: DirectRanker, trained on" in done.stdout
    return folder
