"""Train, rank, info, explain and export as a user runs them."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import warnings
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from directranker import (
    DirectRanker,
    Ensemble,
    LambdaMART,
    RankingDataset,
    RankSVM,
    TrainingWarning,
    example_dataset,
    grid_search,
    read_letor,
    write_letor,
    write_parquet,
)
from directranker.cli.compare import compare
from directranker.cli.convert import convert
from directranker.cli.evaluate import evaluate
from directranker.cli.explain import explain
from directranker.cli.export import export
from directranker.cli.info import info
from directranker.cli.inspect import inspect
from directranker.cli.neighbours import neighbours
from directranker.cli.rank import rank
from directranker.cli.train import train
from directranker.cli.tune import tune
from directranker.metrics import evaluate as evaluate_scores
from directranker.persistence import load_ranker

from commands_here import run_here as run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the examples of --help name, and a trained model."""
    folder = tmp_path_factory.mktemp("models")
    data = example_dataset()
    write_letor(data.select(range(40)), folder / "train.txt")
    write_letor(data.select(range(40, 60)), folder / "test.txt")
    write_parquet(data.select(range(40, 60)), folder / "test.parquet")
    read_letor(folder / "test.txt").save(folder / "saved")
    quick = ("--set", "hidden_layers=8", "--set", "max_epochs=2")
    done = run("train", "train.txt", *quick, "--out", "model", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert b"model: DirectRanker, learnt from" in done.stdout
    return folder


def test_training_is_the_library_s_own(folder: Path) -> None:
    ranker = load_ranker(folder / "model")
    again = DirectRanker(hidden_layers=(8,), max_epochs=2, random_state=0)
    again.fit(read_letor(folder / "train.txt"))
    test = read_letor(folder / "test.txt")
    np.testing.assert_array_equal(ranker.predict(test), again.predict(test))


def test_ranks_in_every_format(folder: Path) -> None:
    test = read_letor(folder / "test.txt")
    expected = load_ranker(folder / "model").predict(test)
    assert run("rank", "model", "test.txt", "--out", "scores.txt", cwd=folder).returncode == 0
    np.testing.assert_array_equal(np.loadtxt(folder / "scores.txt", dtype=np.float32), expected)
    done = run("rank", "model", "-", "--top", "3", cwd=folder, text=(folder / "test.txt").read_bytes())
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.decode().splitlines()]
    assert len(lines) == 60
    for query, (start, stop) in zip(test.query_ids, pairwise(test.offsets), strict=True):
        best = np.sort(expected[start:stop])[::-1][:3]
        own = [line for line in lines if line[0] == str(query)]
        assert [line[3] for line in own] == ["1", "2", "3"]
        np.testing.assert_array_equal(np.array([line[4] for line in own], dtype=np.float32), best)
        for line in own:
            assert expected[int(line[2]) - 1] == np.float32(line[4])  # called by their row
    for source in ("test.parquet", "saved"):
        same = run("rank", "model", source, "--top", "3", cwd=folder)
        assert same.stdout == done.stdout, same.stderr
    assert run("rank", "model", "saved", "--out", "all.parquet", cwd=folder).returncode == 0
    assert pq.read_table(folder / "all.parquet").num_rows == test.n_documents
    rows = run("rank", "model", "saved", "--format", "jsonl", "--top", "1", cwd=folder).stdout.splitlines()
    assert [list(json.loads(row)) for row in rows] == [["qid", "docid", "rank", "score"]] * 20


def test_scores_of_rows_that_came_mixed_are_those_of_their_documents(folder: Path) -> None:
    test = read_letor(folder / "test.txt")
    mixed_rows = np.random.default_rng(0).permutation(test.n_documents)
    X, y, qid = test.features[mixed_rows], test.relevance[mixed_rows], test.qid[mixed_rows]
    mixed = RankingDataset.from_arrays(X, y, qid=qid)
    mixed.save(folder / "mixed")
    expected = load_ranker(folder / "model").predict(X)
    lines = [line.split() for line in run("rank", "model", "mixed", cwd=folder).stdout.decode().splitlines()]
    assert len(lines) == test.n_documents
    for query, _, document, _, score, _ in lines:
        row = int(document) - 1  # of the source
        assert (query, np.float32(score)) == (str(qid[row]), expected[row])
    (folder / "mixed.txt").write_text("".join(f"{score!s}\n" for score in expected))
    done = run("evaluate", "mixed.txt", "mixed", "--convention", "paper", "--json", cwd=folder)
    whole = evaluate_scores(y, expected, qid=qid, metrics="ndcg@10", convention="paper")
    assert json.loads(done.stdout)["paper"]["ndcg@10"] == pytest.approx(whole["ndcg@10"]), done.stderr
    refused = run("rank", "model", "mixed", "--format", "scores", cwd=folder)
    assert b"in the order of the source cannot be written" in refused.stderr
    test.select(range(10, 20)).save(folder / "part")
    scores = run("rank", "model", "part", "--format", "scores", cwd=folder).stdout.split()
    np.testing.assert_array_equal(
        np.array(scores, np.float32), load_ranker(folder / "model").predict(test.select(range(10, 20)))
    )


def test_features_that_no_document_has_are_told(folder: Path) -> None:
    lines = (folder / "test.txt").read_text().splitlines()
    (folder / "few.txt").write_text("\n".join(" ".join(line.split()[:5]) for line in lines))
    told = b"directranker: features 4 to 20 of the ranker are 0 in all documents; is this the data"
    assert run("rank", "model", "few.txt", cwd=folder).stderr.startswith(told)
    assert run("rank", "model", "test.txt", cwd=folder).stderr == b""


def test_info(folder: Path) -> None:
    facts = json.loads(run("info", "model", "--json", cwd=folder).stdout)
    assert (facts["ranker"], facts["features"], facts["n_epochs"]) == ("DirectRanker", 20, 2)
    assert facts["parameters"] == {"hidden_layers": 8, "max_epochs": 2}
    assert "torch" in facts["versions"]
    assert b"PiecewiseLinear" in run("info", "model", cwd=folder).stdout


def test_explain_sums_to_the_difference(folder: Path) -> None:
    query = str(read_letor(folder / "test.txt").query_ids[0])
    arguments = ("explain", "model", "test.txt", "--query", query, "--better", "1", "--worse", "2")
    done = run(*arguments, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    scores = load_ranker(folder / "model").predict(read_letor(folder / "test.txt"))[:2]
    assert found["difference"] == pytest.approx(float(scores[0]) - float(scores[1]))
    assert sum(found["contributions"].values()) + found["residual"] == pytest.approx(found["difference"])
    assert b"integrated gradients" in run(*arguments, cwd=folder).stdout


def test_export(folder: Path) -> None:
    done = run("export", "model", "--to", "c", "--rows", "test.txt", "--out", "served", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert b"same order" in done.stdout
    names = {path.name for path in (folder / "served").iterdir()}
    assert names == {"parity.json", "served.c", "served.h"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "train.txt", "--ranker", "Net", "--out", "new"], "ranker 'Net' is unknown; "),
        (["train", "train.txt", "--set", "depth=3", "--out", "new"], "parameter 'depth' is unknown; "),
        (["train", "train.txt", "--set", "depth", "--out", "new"], "--set depth: give a name and a value"),
        (["train", "train.txt", "--out", "model"], "model exists; choose another name or pass --overwrite"),
        (
            ["tune", "train.txt", "--grid", "alpha", "--out", "new"],
            "--grid alpha: give values, such as alpha=0.1/1",
        ),
        (["tune", "train.txt", "--grid", "alpha=1", "--out", "new"], "parameter 'alpha' is unknown; "),
        (
            ["tune", "train.txt", "--grid", "dropout=0/x", "--out", "new"],
            "--grid dropout=x: dropout is a",
        ),
        (
            ["tune", "train.txt", "--grid", "dropout=0", "--halving", "--trials", "3", "--out", "new"],
            "--halving and --trials are two ways to search; choose one",
        ),
        (
            ["train", "train.txt", "--set", "dropout=no", "--out", "new"],
            "--set dropout=no: dropout is a number",
        ),
        (
            ["train", "train.txt", "--set", "early_stopping=no", "--out", "new"],
            "--set early_stopping=no: give true or false",
        ),
        (["rank", "none", "test.txt"], "none does not exist; give the folder of a saved model"),
        (["rank", ".", "test.txt"], ". is not a saved model: it has no header.json"),
        (
            ["rank", "model", "test.txt", "--out", "/dev/full", "--format", "scores"],
            "No space left on device",
        ),
        (["rank", "model", "-", "--out", "new"], "new: unknown extension"),
        (["rank", "model", "-"], "standard input: contains no documents"),
        (["evaluate", "-", "-"], "scores and data cannot both come from standard input"),
        (["rank", "model", "none.txt"], "none.txt does not exist"),
        (["rank", "model", "test.txt", "--out", "a.csv"], "a.csv: unknown extension '.csv'"),
        (["rank", "model", "test.txt", "--format", "scores", "--top", "3"], "scores stand for all documents"),
        (
            ["explain", "model", "test.txt", "--query", "x", "--better", "1", "--worse", "2"],
            "there is no query 'x'",
        ),
        (
            ["export", "model", "--to", "elasticsearch", "--rows", "test.txt", "--out", "new"],
            "the Elasticsearch plug",
        ),
    ],
)
def test_mistakes_are_one_line(folder: Path, arguments: list[str], message: str) -> None:
    done = run(*arguments, cwd=folder)
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"directranker: {message}")
    assert done.stderr.count(b"\n") == 1
    assert not (folder / "new").exists()


def test_tuning_finds_what_the_library_finds_and_goes_on(folder: Path) -> None:
    (folder / "grid.toml").write_text("[RankSVM]\nalpha = [0.001, 100]\n")
    start = ("tune", "train.txt", "--ranker", "RankSVM", "--folds", "3", "--workers", "1", "--out", "svm")
    done = run(*start, "--grid", "alpha=0.001/100", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    train_part = read_letor(folder / "train.txt")
    found = grid_search(RankSVM(), {"alpha": [0.001, 100]}, train_part, folds=3, workers=1)
    assert told["best"] == found.best_parameters()
    means = {row["parameters"]["alpha"]: row["mean"] for row in told["candidates"]}
    assert list(means.values()) == sorted(found.cv_results_["mean_test_ndcg@10"], reverse=True)
    scores = load_ranker(folder / "svm").predict(train_part)
    np.testing.assert_array_equal(scores, found.best_ranker().predict(train_part))
    assert n_cells(folder / "svm.jobs.sqlite") == 6
    again = run(*start, "--grid", "grid.toml", "--overwrite", cwd=folder)
    assert again.returncode == 0, again.stderr
    assert f"the best, alpha={told['best']['alpha']},".encode() in again.stdout
    assert n_cells(folder / "svm.jobs.sqlite") == 6  # none was measured anew


@pytest.mark.parametrize(
    ("way", "method", "n_candidates"), [(["--halving"], "halving", None), (["--trials", "2"], "optuna", 2)]
)
def test_tune_searches_as_asked(
    folder: Path, tmp_path: Path, way: list[str], method: str, n_candidates: int | None
) -> None:
    grid = {"alpha": [0.001, 1, 100]}
    start = ("tune", folder / "train.txt", "--ranker", "RankSVM", "--folds", "3", "--workers", "1")
    done = run(*start, "--grid", "alpha=0.001/1/100", *way, "--out", "svm", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    train_part = read_letor(folder / "train.txt")
    found = grid_search(
        RankSVM(),
        grid,
        train_part,
        folds=3,
        workers=1,
        method=method,  # type: ignore[arg-type]
        n_candidates=n_candidates,
        random_state=0,
    )
    assert told["best"] == found.best_parameters()
    assert len(told["candidates"]) == (n_candidates or 3)
    assert load_ranker(tmp_path / "svm").alpha == told["best"]["alpha"]


def n_cells(store: Path) -> int:
    with closing(sqlite3.connect(store)) as connection:
        return int(connection.execute("SELECT count(*) FROM job_results").fetchone()[0])


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
    """As it reads the file of the same text."""
    test = read_letor(folder / "test.txt")
    np.savetxt(folder / "scores.run-order.txt", load_ranker(folder / "model").predict(test))
    words = [str(test.query_ids[0]) if word == "QUERY" else word for word in arguments]
    done = run(*words, cwd=folder, text=(folder / "test.txt").read_bytes())
    assert done.returncode == 0, done.stderr
    for path in folder.glob("piped*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    same = run(*["test.txt" if word == "-" else word for word in words], cwd=folder)
    assert done.stdout.replace(b"\n-: ", b"\ntest.txt: ") == same.stdout
    for path in folder.glob("piped*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_scores_from_standard_input(folder: Path) -> None:
    for form in ("trec", "scores"):
        ranked = run("rank", "model", "test.txt", "--format", form, cwd=folder)
        (folder / "given.run").write_bytes(ranked.stdout)
        piped = run("evaluate", "-", "test.txt", "--json", cwd=folder, text=ranked.stdout)
        assert piped.returncode == 0, piped.stderr
        assert piped.stdout == run("evaluate", "given.run", "test.txt", "--json", cwd=folder).stdout


def test_text_that_does_not_mention_the_last_feature(folder: Path) -> None:
    """It is 0 there, in every command that has a ranker to ask how many there are."""
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


def test_an_interrupted_tune_says_how_it_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("directranker.model_selection.grid_search", interrupted)
    done = run("tune", "train.txt", "--grid", "dropout=0", "--out", "cut", cwd=folder)
    assert done.returncode == 130
    assert b"kept in cut.jobs.sqlite, and the same command goes on" in done.stderr


def test_a_document_that_a_run_cannot_hold_is_told_with_its_query(folder: Path) -> None:
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


def test_examples_of_help_work_as_pasted(tmp_path: Path) -> None:
    """One after another, in a folder that was empty."""
    # Not demo and sensitivity, which take minutes; they have tests of their own.
    commands = (inspect, convert, train, tune, rank, evaluate, info, explain, export, neighbours, compare)
    for command in commands:
        example = re.search("Example: `directranker (.*)`", command.__doc__ or "")
        assert example, command.__name__
        assert len(example[0].replace("`", "")) <= 78, "a narrow terminal would break it in two"
        done = run(*example[1].split(), cwd=tmp_path)
        assert done.returncode == 0, (example[1], done.stderr)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"model", "tuned", "mine.run", "served", "train.parquet", "results"} <= names
    assert (tmp_path / "results" / "example" / "report.html").is_file()


def test_a_file_called_example_is_that_file(folder: Path, tmp_path: Path) -> None:
    read_letor(folder / "test.txt").save(tmp_path / "example")
    done = run("rank", folder / "model", "example", "--format", "scores", cwd=tmp_path)
    assert len(done.stdout.splitlines()) == read_letor(folder / "test.txt").n_documents
    assert run("convert", "example", "copy.txt", cwd=tmp_path).stdout.startswith(b"copy.txt: ")
    assert read_letor(tmp_path / "copy.txt").n_queries == 20


def test_a_place_that_is_not_there_is_told_before_training(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RankSVM, "fit", lambda *_, **__: pytest.fail("trained in vain"))
    done = run("train", "train.txt", "--ranker", "RankSVM", "--out", "nowhere/model", cwd=folder)
    assert done.returncode == 1
    assert done.stderr == b"directranker: the folder nowhere does not exist; create it first\n"


@pytest.mark.filterwarnings("default::directranker.TrainingWarning")
def test_warnings_are_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: RankSVM, *_: object, **__: object) -> RankSVM:
        warnings.warn("training was interrupted", TrainingWarning, stacklevel=2)
        return self

    monkeypatch.setattr(RankSVM, "fit", interrupted)
    monkeypatch.setattr(RankSVM, "save", lambda *_, **__: (folder / "warned").mkdir())
    done = run("train", "train.txt", "--ranker", "RankSVM", "--out", "warned", cwd=folder)
    assert done.stderr == b"directranker: training was interrupted\n"


def test_a_pipe_is_written_to_and_not_replaced(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
        done = run("rank", "model", "test.txt", "--format", "scores", "--out", tmp_path / "pipe", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "pipe").is_fifo()
        assert reader.stdout is not None
        n_lines = len(reader.stdout.readlines())
    assert n_lines == read_letor(folder / "test.txt").n_documents


def test_info_tells_the_members_of_an_ensemble(folder: Path) -> None:
    vary = {"transform": ["in-context", "standard"]}
    nets = DirectRanker(hidden_layers=(4,), max_epochs=1, teacher=None)
    Ensemble(nets, 2, vary=vary, random_state=0).fit(read_letor(folder / "train.txt")).save(folder / "both")
    told = json.loads(run("info", "both", "--json", cwd=folder).stdout)
    assert told["rankers"] == ["DirectRanker of InContext", "DirectRanker of Standard"]
    Ensemble(LambdaMART(n_estimators=2), 1).fit(read_letor(folder / "train.txt")).save(folder / "trees")
    assert json.loads(run("info", "trees", "--json", cwd=folder).stdout)["rankers"] == ["LambdaMART"]


def test_a_first_look_says_what_the_claims_are_of(tmp_path: Path) -> None:
    options = ("--study", "features", "--values", "3,40", "--ranker", "RankSVM", "--train", "500")
    done = run("sensitivity", *options, "--sets", "2", "--workers", "1", cwd=tmp_path)
    lines = done.stdout.decode().splitlines()
    assert any(line.startswith("held") and line.endswith("at 40)") for line in lines)
    assert "The paper claims it of 100,000 training documents; here were 500." in lines


def test_a_report_tells_the_command_that_trained_a_ranker(folder: Path) -> None:
    assert run("report", "model", "--out", "model.html", cwd=folder).returncode == 0
    page = (folder / "model.html").read_text()
    assert "<code>directranker train train.txt --set hidden_layers=8" in page
    assert "<dt>seed</dt><dd>0</dd>" in page
    assert "<dt>ranker</dt><dd>DirectRanker</dd>" in page
