"""Closed streams, data through pipes, and file names that are not UTF-8."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from directranker import RankSVM, example_dataset, write_letor

from commands_here import run_here


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, data, and the model's ranking of the data."""
    folder = tmp_path_factory.mktemp("hostile")
    data = example_dataset().select(range(20))
    write_letor(data, folder / "data.txt")
    RankSVM().fit(data).save(folder / "model")
    assert run_here("rank", "model", "data.txt", "--out", "mine.run", cwd=folder).returncode == 0
    return folder


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash, in which `directranker` is the command under test."""
    line = command.replace("directranker", f"{sys.executable} -m directranker", 1)
    return subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("directranker rank model data.txt >&-", 1, "standard output is closed; pass --out FILE"),
        ("directranker rank model - <&-", 1, "standard input is closed; give a file instead of -"),
        ("directranker rank model data.txt --out closed.run <&- >&- 2>&-", 0, ""),
        ("directranker info model >&-", 0, ""),
        ("directranker rank model none.txt 2>&-", 1, ""),
    ],
)
def test_closed_streams(folder: Path, command: str, code: int, message: str) -> None:
    done = shell(command, folder)
    assert (done.returncode, done.stderr.strip()) == (code, f"directranker: {message}" if message else "")


def test_output_with_closed_streams_is_complete(folder: Path) -> None:
    shell("directranker rank model data.txt --out closed.run <&- >&- 2>&-", folder)
    assert (folder / "closed.run").read_bytes() == (folder / "mine.run").read_bytes()


def test_pipes_as_data_labels_and_scores(folder: Path) -> None:
    done = shell("directranker rank model <(gzip -c data.txt)", folder)
    assert done.stdout == (folder / "mine.run").read_text()
    (folder / "labels.qrels").write_text("0 0 1 1\n0 0 2 0\n")
    plain = run_here("evaluate", "mine.run", "data.txt", "--json", cwd=folder).stdout.decode()
    assert shell("directranker evaluate <(cat mine.run) <(cat data.txt) --json", folder).stdout == plain
    done = shell("directranker evaluate mine.run <(cat data.txt) --beside mine.run", folder)
    assert "can be read only once; give a file to compare several rankers" in done.stderr


def test_qrels_through_a_pipe(folder: Path) -> None:
    query, _, document, *_ = (folder / "mine.run").read_text().split("\n", 1)[0].split()
    done = run_here(
        "evaluate", "mine.run", "-", "--json", cwd=folder, text=f"{query} 0 {document} 1\n".encode()
    )
    assert b'"map": 1.0' in done.stdout


def test_file_names_that_are_not_utf8(folder: Path) -> None:
    odd = Path(os.fsdecode(b"odd\xff"))
    (folder / f"{odd}.txt").write_bytes((folder / "data.txt").read_bytes())
    for command in (
        ("train", f"{odd}.txt", "--ranker", "RankSVM", "--out", odd),
        ("rank", odd, f"{odd}.txt", "--out", f"{odd}.run"),
        ("evaluate", f"{odd}.run", f"{odd}.txt", "--beside", "mine.run", "--out", f"{odd}-results"),
        ("report", f"{odd}-results"),
    ):
        done = run_here(*command, cwd=folder)
        assert (done.returncode, done.stderr) == (0, b""), command
    assert b"missing" not in run_here("info", odd, cwd=folder).stderr
    done = run_here("inspect", Path(os.fsdecode(b"none\xff.txt")), cwd=folder)
    assert (done.returncode, done.stderr) == (1, b"directranker: none\\udcff.txt does not exist\n")
