"""The help pages: fast, with an example for each command, and examples that run as pasted."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from directranker import RankSVM, example_dataset, read_letor
from directranker.cli import app

from commands_here import run_here

# `demo` and `sensitivity` take minutes, `compile` a minute; `report` shows a folder that the reader has.
NOT_RUN = ("demo", "sensitivity", "compile", "report")


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    script = """
import sys
from directranker.cli import main
sys.argv = ["directranker", "--help"]
try:
    main()
except SystemExit as end:
    assert not end.code
heavy = {"torch", "numba", "sklearn", "numpy", "pyarrow"} & set(sys.modules)
assert not heavy, heavy
"""
    seconds = []  # of processor time: wall time would include other processes
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        assert done.returncode == 0, done.stderr
    assert "inspect" in done.stdout
    assert min(seconds) < 0.5


@pytest.mark.parametrize(
    "command",
    [
        "demo",
        "compile",
        "inspect",
        "convert",
        "train",
        "tune",
        "rank",
        "evaluate",
        "compare",
        "sensitivity",
        "neighbours",
        "report",
        "info",
        "explain",
        "export",
    ],
)
def test_every_command_has_help_with_an_example(tmp_path: Path, command: str) -> None:
    done = run_here(command, "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert f"directranker {command}" in done.stdout.decode().split("Example:")[1]


def test_help_examples_run(tmp_path: Path) -> None:
    """Run them in the order of the help page, in an empty folder: later ones use earlier output."""
    group: Any = typer.main.get_command(app)
    commands = [name for name in group.list_commands(None) if name not in NOT_RUN]
    for name in commands:
        example = re.search("Example: `directranker (.*)`", group.commands[name].help or "")
        assert example, name
        assert len(example[0].replace("`", "")) <= 78, "would wrap on a terminal of 80 columns"
        done = run_here(*example[1].split(), cwd=tmp_path)
        assert done.returncode == 0, (example[1], done.stderr)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"model", "svm", "mine.run", "served", "train.parquet", "results"} <= names
    assert (tmp_path / "results" / "example" / "report.html").is_file()


def test_existing_file_named_example_is_used(tmp_path: Path) -> None:
    data = example_dataset().select(range(20))
    data.save(tmp_path / "example")
    RankSVM().fit(data).save(tmp_path / "model")
    done = run_here("rank", "model", "example", "--format", "scores", cwd=tmp_path)
    assert len(done.stdout.splitlines()) == data.n_documents
    assert run_here("convert", "example", "copy.txt", cwd=tmp_path).stdout.startswith(b"copy.txt: ")
    assert read_letor(tmp_path / "copy.txt").n_queries == 20
