"""`train`, `rank`, `info`, `explain`, `export`, `sensitivity` and `report` as a user runs them."""

from __future__ import annotations

import json
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from directranker import (
    DirectRanker,
    Ensemble,
    LambdaMART,
    RankingDataset,
    RankSVM,
    TrainingWarning,
    read_letor,
)
from directranker.metrics import evaluate as evaluate_scores
from directranker.persistence import load_ranker

from commands_here import run_here as run
from commands_here import train_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data in all formats and a trained model."""
    return train_model(tmp_path_factory.mktemp("models"))


def test_train_gives_the_ranker_of_the_library(folder: Path) -> None:
    ranker = load_ranker(folder / "model")
    again = DirectRanker(hidden_layers=(8,), max_epochs=2, random_state=0)
    again.fit(read_letor(folder / "train.txt"))
    test = read_letor(folder / "test.txt")
    np.testing.assert_array_equal(ranker.predict(test), again.predict(test))


def test_rank_writes_every_format(folder: Path) -> None:
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
            assert expected[int(line[2]) - 1] == np.float32(line[4])  # named by their row
    for source in ("test.parquet", "saved"):
        same = run("rank", "model", source, "--top", "3", cwd=folder)
        assert same.stdout == done.stdout, same.stderr
    assert run("rank", "model", "saved", "--out", "all.parquet", cwd=folder).returncode == 0
    assert pq.read_table(folder / "all.parquet").num_rows == test.n_documents
    rows = run("rank", "model", "saved", "--format", "jsonl", "--top", "1", cwd=folder).stdout.splitlines()
    assert [list(json.loads(row)) for row in rows] == [["qid", "docid", "rank", "score"]] * 20


def test_scores_follow_their_documents_when_rows_are_shuffled(folder: Path) -> None:
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
    rejected = run("rank", "model", "mixed", "--format", "scores", cwd=folder)
    assert b"in the order of the source cannot be written" in rejected.stderr
    test.select(range(10, 20)).save(folder / "part")
    scores = run("rank", "model", "part", "--format", "scores", cwd=folder).stdout.split()
    np.testing.assert_array_equal(
        np.array(scores, np.float32), load_ranker(folder / "model").predict(test.select(range(10, 20)))
    )


def test_features_that_are_0_in_all_documents_are_reported(folder: Path) -> None:
    lines = (folder / "test.txt").read_text().splitlines()
    (folder / "few.txt").write_text("\n".join(" ".join(line.split()[:5]) for line in lines))
    reported = b"directranker: features 4 to 20 of the model are 0 in all documents; check that the data"
    assert run("rank", "model", "few.txt", cwd=folder).stderr.startswith(reported)
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


def test_export_of_categories(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"qid": np.arange(600) // 6, "price": rng.normal(size=600)})
    frame["brand"] = rng.choice(np.array(["Acme", "Zeta", None]), size=600)
    frame["relevance"] = (frame["brand"] == "Acme") * 1.0
    data = RankingDataset.from_frame(frame)
    LambdaMART(n_estimators=5, random_state=0).fit(data).save(tmp_path / "model")
    other = frame.iloc[rng.permutation(600)][["brand", "relevance", "price", "qid"]].assign(more=1.0)
    other.to_parquet(tmp_path / "rows.parquet")
    export = ["export", "model", "--rows", "rows.parquet", "--to"]
    done = run(*export, "onnx", "--out", "served", cwd=tmp_path)
    assert b"verified by onnxruntime on 600 documents, 100 queries" in done.stdout, done.stderr
    done = run(*export, "solr", "--out", "solr", cwd=tmp_path)
    assert b"feature 'brand' is categorical, and Solr scores numbers only" in done.stderr


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
        (["train", "train.txt", "--set", "depth", "--out", "new"], "--set depth: write NAME=VALUE, such as"),
        (["train", "train.txt", "--out", "model"], "model exists; choose another name or pass --overwrite"),
        (
            ["tune", "train.txt", "--grid", "alpha", "--out", "new"],
            "--grid alpha: give values, such as alpha=0.1/1",
        ),
        (["tune", "train.txt", "--grid", "alpha=1", "--out", "new"], "parameter 'alpha' is unknown; "),
        (
            ["tune", "train.txt", "--grid", "dropout=0/x", "--out", "new"],
            "--grid dropout=x: dropout must be a",
        ),
        (
            ["tune", "train.txt", "--grid", "dropout=0", "--halving", "--trials", "3", "--out", "new"],
            "--halving and --trials exclude each other; choose one",
        ),
        (
            ["train", "train.txt", "--set", "dropout=no", "--out", "new"],
            "--set dropout=no: dropout must be a number",
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
        (
            ["rank", "model", "test.txt", "--format", "scores", "--top", "3"],
            "scores are written for all documents",
        ),
        (
            ["explain", "model", "test.txt", "--query", "x", "--better", "1", "--worse", "2"],
            "query 'x' does not exist; the first queries are",
        ),
        (
            ["export", "model", "--to", "elasticsearch", "--rows", "test.txt", "--out", "new"],
            "the Elasticsearch plug",
        ),
    ],
)
def test_errors_are_one_line(folder: Path, arguments: list[str], message: str) -> None:
    done = run(*arguments, cwd=folder)
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"directranker: {message}")
    assert done.stderr.count(b"\n") == 1
    assert not (folder / "new").exists()


def test_missing_output_folder_is_reported_before_training(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RankSVM, "fit", lambda *_, **__: pytest.fail("trained before the check"))
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


def test_info_lists_the_members_of_an_ensemble(folder: Path) -> None:
    vary = {"transform": ["in-context", "standard"]}
    nets = DirectRanker(hidden_layers=(4,), max_epochs=1, teacher=None)
    Ensemble(nets, 2, vary=vary, random_state=0).fit(read_letor(folder / "train.txt")).save(folder / "both")
    reported = json.loads(run("info", "both", "--json", cwd=folder).stdout)
    assert reported["rankers"] == ["DirectRanker with InContext", "DirectRanker with Standard"]
    Ensemble(LambdaMART(n_estimators=2), 1).fit(read_letor(folder / "train.txt")).save(folder / "trees")
    assert json.loads(run("info", "trees", "--json", cwd=folder).stdout)["rankers"] == ["LambdaMART"]


def test_small_study_reports_the_size_that_the_claims_are_for(tmp_path: Path) -> None:
    options = ("--study", "features", "--values", "3,40", "--ranker", "RankSVM", "--train", "500")
    done = run("sensitivity", *options, "--sets", "2", "--workers", "1", cwd=tmp_path)
    lines = done.stdout.decode().splitlines()
    assert any(line.startswith("held") and line.endswith("at 40)") for line in lines)
    assert "The paper's claims are for 100,000 training documents; this run used 500." in lines


def test_report_shows_the_command_that_trained_the_ranker(folder: Path) -> None:
    assert run("report", "model", "--out", "model.html", cwd=folder).returncode == 0
    page = (folder / "model.html").read_text()
    assert "<code>directranker train train.txt --set hidden_layers=8" in page
    assert "<dt>seed</dt><dd>0</dd>" in page
    assert "<dt>ranker</dt><dd>DirectRanker</dd>" in page
