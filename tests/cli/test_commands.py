"""The command line as a user runs it: in its own process, or in this one where that makes no difference."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from directranker import RankingDataset, evaluate, example_dataset, read_letor, write_letor

import commands_here


def run(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command on a terminal of 100 columns."""
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "directranker", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=cwd)


class CompletedCommand(NamedTuple):
    """The exit code and the output of a command, as text."""

    returncode: int
    stdout: str
    stderr: str


def run_here(*arguments: str | Path, cwd: Path | None = None) -> CompletedCommand:
    """Run a command in this process."""
    done = commands_here.run_here(*arguments, cwd=cwd or Path.cwd())
    return CompletedCommand(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def letor(tmp_path: Path) -> Path:
    write_letor(example_dataset().select(range(20)), tmp_path / "data.txt")
    return tmp_path / "data.txt"


COMPILE_THEN_COMPARE = """
import gc, sys
from directranker.cli import main
from directranker.compilation import _Kernel

def run(*arguments):
    sys.argv = ["directranker", *arguments]
    try:
        main()
    except SystemExit as end:
        assert not end.code

def compiled():
    kernels = [kernel for kernel in gc.get_objects() if isinstance(kernel, _Kernel) and kernel._machine_code]
    return {(kernel.__name__, str(one)) for kernel in kernels for one in kernel._machine_code.signatures}

run("compile")
before = compiled()
assert before
quick = ("--folds", "3", "--inner-folds", "validation", "--seeds", "1", "--workers", "1")
run("compare", "data", "--rankers", "DirectRanker,LambdaDirectRanker,AdaRank", "--out", "out", *quick)
print(sorted(name for name, _ in compiled() - before))
"""


def test_compile_leaves_nothing_to_compile(tmp_path: Path) -> None:
    example_dataset().select(range(30)).save(tmp_path / "data")
    # In its own process: the cache on disk may hold kernels that other tests have compiled.
    done = subprocess.run(
        [sys.executable, "-c", COMPILE_THEN_COMPARE],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("All kernels are compiled")
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "command",
    [
        ("train", "data.txt", "--ranker", "LambdaMort", "--out", "new"),
        ("tune", "data.txt", "--ranker", "LambdaMort", "--grid", "alpha=1", "--out", "new"),
        ("compare", "data.txt", "--rankers", "RankSVM,LambdaMort", "--out", "new"),
        ("sensitivity", "--ranker", "LambdaMort", "--out", "new"),
    ],
    ids=lambda command: command[0],
)
def test_misspelt_ranker_is_reported_before_slow_imports(tmp_path: Path, command: tuple[str, ...]) -> None:
    script = f"""
import sys
from directranker.cli import main
sys.argv = ["directranker", *{command!r}]
try:
    main()
except SystemExit as end:
    assert end.code == 1
heavy = {{"torch", "sklearn", "numba", "lightgbm", "scipy", "pyarrow"}} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "ranker 'LambdaMort' is unknown; did you mean 'LambdaMART'?" in done.stderr
    assert not list(tmp_path.iterdir())


def test_version() -> None:
    assert run("--version").stdout.startswith("directranker 0.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["inspect", "none.txt"], "directranker: none.txt does not exist"),
        (["convert", "none.txt", "a.parquet"], "directranker: none.txt does not exist"),
        (["convert", "broken.txt", "a.xlsx"], "directranker: a.xlsx: unknown extension .xlsx"),
        (
            ["inspect", "broken.txt"],
            "directranker: broken.txt:2: feature index 1 after 2; indices must increase",
        ),
        (["inspect", "empty.txt"], "directranker: empty.txt: contains no documents"),
        (["inspect", "."], "directranker: . is a folder but not a saved data set"),
        (["evaluate", "broken.txt", "good.txt"], "directranker: broken.txt:1: '0 qid:1 1:1' is not a score"),
        (["evaluate", "scores.txt", "good.txt"], "directranker: scores.txt has 1 scores for 2 documents"),
        (
            ["evaluate", "two.txt", "good.txt", "--metric", "ndgc"],
            "directranker: measure 'ndgc' is unknown; did",
        ),
        (
            ["evaluate", "two.txt", "good.txt", "--convention", "papre"],
            "directranker: convention 'papre' is unkn",
        ),
        (
            ["convert", "good.txt", "two.txt"],
            "directranker: two.txt exists; choose another name or pass --overw",
        ),
        (["convert", "good.txt", "none/a.parquet"], "directranker: the folder none does not exist"),
    ],
)
def test_errors_are_one_line_and_exit_with_1(tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "broken.txt").write_text("0 qid:1 1:1\n0 qid:1 2:1 1:1\n")
    (tmp_path / "good.txt").write_text("0 qid:1 1:1\n1 qid:1 1:2\n")
    (tmp_path / "scores.txt").write_text("1\n")
    (tmp_path / "two.txt").write_text("1\n2\n")
    (tmp_path / "empty.txt").touch()
    before = sorted(path.name for path in tmp_path.iterdir())
    done = run_here(*arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "arguments", [["inspect"], ["fly"], ["inspect", "a", "--json=3"], ["convert", "a"], []]
)
def test_wrong_usage_exits_with_2(arguments: list[str]) -> None:
    done = run_here(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["--debug", "inspect", "none"], ["inspect", "none", "--debug"]])
def test_debug_shows_the_traceback(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 1
    assert "Traceback" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path: Path) -> None:
    path = tmp_path / "secret.txt"
    path.write_text("0 qid:1 1:1\n")
    path.chmod(0)
    done = run_here("inspect", path)
    assert (done.returncode, done.stderr) == (1, f"directranker: {path}: Permission denied\n")


def test_inspect_prints_text_and_json(letor: Path) -> None:
    done = run_here("inspect", letor.name, cwd=letor.parent)
    assert done.returncode == 0, done.stderr
    data = read_letor(letor)
    assert f"data.txt: {data.n_documents} documents, 20 queries, 20 features" in done.stdout
    values = json.loads(run_here("inspect", letor, "--json").stdout)[str(letor)]
    assert values["n_documents"] == data.n_documents
    assert sum(values["label_counts"].values()) == data.n_documents


def test_inspect_finds_queries_shared_by_the_splits_of_a_fold(tmp_path: Path) -> None:
    data = example_dataset()
    fold = tmp_path / "Fold1"
    fold.mkdir()
    for split, queries in {"train": range(30), "vali": range(30, 40), "test": range(38, 50)}.items():
        write_letor(data.select(queries), fold / f"{split}.txt")
    for path in (fold, tmp_path):
        done = run_here("inspect", path)
        assert done.returncode == 0, done.stderr
        assert "2 of 10 queries (20 %) of validation are also in test" in done.stdout
    (fold / "vali.txt").unlink()
    assert "vali.txt is missing" in run_here("inspect", fold).stderr


def test_inspect_reads_non_finite_values(tmp_path: Path) -> None:
    (tmp_path / "odd.txt").write_text("0 qid:1 1:nan 2:1\n1 qid:1 1:inf 2:2\n")
    done = run_here("inspect", tmp_path / "odd.txt")
    assert done.returncode == 0, done.stderr
    assert "NaN" in done.stdout
    assert "infinite" in done.stdout


def test_convert_round_trips_through_all_formats(letor: Path, tmp_path: Path) -> None:
    chain = [letor, *(tmp_path / name for name in ("a.parquet", "b", "c.txt.gz", "d.pq", "e.svm"))]
    for source, target in pairwise(chain):
        done = run("convert", source, target, *(["--layout", "list"] if target.suffix == ".pq" else []))
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"{target}: ")
    assert read_letor(chain[-1]).equals(read_letor(letor))
    assert chain[-1].read_bytes() == letor.read_bytes()
    assert RankingDataset.load(tmp_path / "b", verify=True).n_queries == 20


def test_evaluate_reads_scores_in_the_order_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("0 qid:2 1:1\n1 qid:1 1:1\n2 qid:2 1:1\n0 qid:1 1:1\n")
    (tmp_path / "scores.txt").write_text("0.1\n0.2\n0.3\n0.4\n")
    done = run_here(
        "evaluate", tmp_path / "scores.txt", tmp_path / "data.txt", "--convention", "all", "--json"
    )
    figures = json.loads(done.stdout)
    assert figures["paper"]["map"] == pytest.approx((1 + 1 / 2) / 2)
    for name, values in figures.items():
        expected = evaluate([0, 1, 2, 0], np.arange(4), qid=[2, 1, 2, 1], convention=name)
        assert values == pytest.approx(expected)
    table = run_here("evaluate", tmp_path / "scores.txt", tmp_path / "data.txt").stdout
    assert "paper" in table
    assert "0.7500" in table


def test_evaluate_continues_if_one_convention_fails(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("5 qid:1 1:1\n0.5 qid:1 1:1\n")
    (tmp_path / "none.txt").write_text("0 qid:1 1:1\n0 qid:1 1:1\n")
    (tmp_path / "scores.txt").write_text("1\n2\n")
    figures = json.loads(
        run_here(
            "evaluate", tmp_path / "scores.txt", tmp_path / "data.txt", "--convention", "all", "--json"
        ).stdout
    )
    assert "has no gain in the table" in figures["letor4"]["error"]
    assert figures["paper"]["map"] == 0.5
    table = run_here("evaluate", tmp_path / "scores.txt", tmp_path / "data.txt", "--convention", "all")
    assert table.returncode == 0
    alone = run_here("evaluate", tmp_path / "scores.txt", tmp_path / "data.txt", "--convention", "letor4")
    assert alone.returncode == 1
    nothing = run_here("evaluate", tmp_path / "scores.txt", tmp_path / "none.txt", "--json")
    assert json.loads(nothing.stdout)["paper"] == {"ndcg@10": None, "map": None}


def test_closed_reader_gives_no_traceback(letor: Path) -> None:
    command = f"{sys.executable} -m directranker inspect {letor} --json | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


def test_interrupt_leaves_no_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    RankingDataset.from_arrays(rng.normal(size=(400_000, 40)), np.zeros(400_000)).save(tmp_path / "data")
    command = [
        sys.executable,
        "-m",
        "directranker",
        "convert",
        str(tmp_path / "data"),
        str(tmp_path / "out.txt"),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not any(path.name.endswith(".partial") for path in tmp_path.iterdir()):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode in (1, 130)
    assert "Traceback" not in errors
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
