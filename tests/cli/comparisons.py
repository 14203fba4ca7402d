"""A small comparison as a user runs it, in its own process."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

from directranker import example_dataset
from directranker.experiments.folder import read_status

__all__ = [
    "OPTIONS",
    "RANKERS",
    "command",
    "count_jobs",
    "environment",
    "finish_comparison",
    "read_table",
    "run",
    "start",
]

GRID = """
[RankSVM]
alpha = [0.01, 0.1]

[LambdaMART]
n_estimators = [20]
num_leaves = [3, 7]

[AdaRank]
max_iter = [30]
"""
RANKERS = "RankSVM,LambdaMART,AdaRank"
OPTIONS = ("--rankers", RANKERS, "--grid", "grid.toml", "--inner-folds", "2", "--folds", "3", "--seeds", "1")


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "directranker", *arguments]


def environment() -> dict[str, str]:
    return os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, check=False, env=environment(), cwd=cwd
    )


def start(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        cwd=cwd,
        start_new_session=True,
    )


def finish_comparison(folder: Path) -> Path:
    """Fill a folder with a small data set, a grid and a finished comparison in `whole`, and return it."""
    example_dataset().select(range(60)).save(folder / "data")
    (folder / "grid.toml").write_text(GRID)
    done = run("compare", "data", *OPTIONS, "--out", "whole", "--workers", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    (folder / "whole.txt").write_text(done.stdout)
    return folder


def count_jobs(folder: Path) -> int:
    """Count the finished jobs; 0 before the comparison has started."""
    return (
        sum(count.done for count in read_status(folder).values()) if (folder / "planned.json").exists() else 0
    )


def read_table(folder: Path) -> list[list[str]]:
    """Read the table without the times, which differ between runs."""
    with (folder / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    return [[value for name, value in row.items() if "second" not in name] for row in rows]
