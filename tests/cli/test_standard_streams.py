"""Commands that read from standard input or a pipe, or write to one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from directranker import read_letor
from directranker.persistence import load_ranker

from commands_here import run_here as run
from commands_here import train_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data in all formats and a trained model."""
    return train_model(tmp_path_factory.mktemp("models"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "-", "--ranker", "RankSVM", "--out", "piped"],
        ["tune", "-", "--ranker", "RankSVM", "--grid", "alpha=1", "--folds", "2", "--out", "piped"],
        ["convert", "-", "piped.parquet"],
        ["inspect", "-"],
        ["evaluate", "scores.run-order.txt", "-"],
        ["explain", "model", "-", "--query", "QUERY", "--better", "1", "--worse", "2"],
        ["export", "model", "--to", "c", "--rows", "-", "--out", "piped"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_every_command_reads_standard_input(folder: Path, arguments: list[str]) -> None:
    """The output is that of the same text in a file."""
    test = read_letor(folder / "test.txt")
    np.savetxt(folder / "scores.run-order.txt", load_ranker(folder / "model").predict(test))
    query = str(test.query_ids[0])
    piped = [query if argument == "QUERY" else argument for argument in arguments]
    done = run(*piped, cwd=folder, text=(folder / "test.txt").read_bytes())
    assert done.returncode == 0, done.stderr
    remove_outputs(folder)
    same = run(*["test.txt" if argument == "-" else argument for argument in piped], cwd=folder)
    assert done.stdout.replace(b"\n-: ", b"\ntest.txt: ") == same.stdout
    remove_outputs(folder)


def remove_outputs(folder: Path) -> None:
    for path in folder.glob("piped*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_scores_from_standard_input(folder: Path) -> None:
    for form in ("trec", "scores"):
        ranked = run("rank", "model", "test.txt", "--format", form, cwd=folder)
        (folder / "given.run").write_bytes(ranked.stdout)
        piped = run("evaluate", "-", "test.txt", "--json", cwd=folder, text=ranked.stdout)
        assert piped.returncode == 0, piped.stderr
        assert piped.stdout == run("evaluate", "given.run", "test.txt", "--json", cwd=folder).stdout


def test_text_without_the_last_feature(folder: Path) -> None:
    """The feature is 0, because the model knows the number of features."""
    lines = (folder / "test.txt").read_text().splitlines()
    last = load_ranker(folder / "model").n_features_in_
    full = "".join(re.sub(rf" {last}:\S+", f" {last}:0", line) + "\n" for line in lines).encode()
    sparse = full.replace(f" {last}:0".encode(), b"")
    query = lines[0].split()[1].removeprefix("qid:")
    commands = (
        ["explain", "model", "-", "--query", query, "--better", "1", "--worse", "2"],
        ["neighbours", "model", "-", "--query", query],
        ["export", "model", "--to", "c", "--rows", "-", "--out", "sparse", "--overwrite"],
    )
    for arguments in commands:
        done = run(*arguments, cwd=folder, text=sparse)
        assert done.returncode == 0, (arguments, done.stderr)
        assert done.stdout == run(*arguments, cwd=folder, text=full).stdout


def test_invalid_document_id_of_a_run_is_reported_with_its_query(folder: Path) -> None:
    text = b"0 qid:7 1:1 #docid = a\n0 qid:8 1:1 #docid = "  # as cut off
    done = run("rank", "model", "-", cwd=folder, text=text)
    assert b"query 8: the docid '' is empty or has a space, which a TREC run cannot hold; fix" in done.stderr
    assert run("rank", "model", "-", "--format", "jsonl", cwd=folder, text=text).returncode == 0


def test_a_pipe_between_processes(folder: Path) -> None:
    command = [sys.executable, "-m", "directranker", "rank", "model", "-", "--format", "scores"]
    with (folder / "test.txt").open("rb") as text:
        done = subprocess.run(command, stdin=text, capture_output=True, check=True, cwd=folder)
    expected = load_ranker(folder / "model").predict(read_letor(folder / "test.txt"))
    np.testing.assert_array_equal(np.array(done.stdout.split(), dtype=np.float32), expected)


def test_a_pipe_is_written_to_and_not_replaced(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
        done = run("rank", "model", "test.txt", "--format", "scores", "--out", tmp_path / "pipe", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "pipe").is_fifo()
        assert reader.stdout is not None
        n_lines = len(reader.stdout.readlines())
    assert n_lines == read_letor(folder / "test.txt").n_documents
