"""Columns by name in every command, stored with the model and used again by it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from directranker import RankingDataset, example_dataset, load_ranker, read_dataset
from directranker.cli.columns import ColumnOptions
from directranker.data.column_roles import ColumnRoles
from directranker.data.formats import ReadOptions

from commands_here import run_here

NAMED = ["--query", "search", "--document", "sku", "--relevance", "clicked"]
COLUMNS = [
    *NAMED,
    "--categorical",
    "seller",
    "--dates",
    "published",
    "--drop",
    "note,index",
    "--drop",
    "noise",
]


def make_shop() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 200
    frame = pd.DataFrame(
        {
            "search": np.repeat([f"s{number}" for number in range(20)], 10),
            "sku": [f"p{number}" for number in range(n)],
            "price": rng.normal(size=n).round(3),
            "brand": rng.choice(["Acme", "Beta", ""], n),
            "seller": rng.choice(["007", "7", "12"], n),
            "published": pd.date_range("2024-01-01", periods=n, freq="7h").astype(str),
            "note": "x",
            "index": range(n),
            "noise": rng.normal(size=n),
        }
    )
    return frame.assign(clicked=(frame.price + (frame.brand == "Acme") > 0.5).astype(int))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a shop's table in several formats, and a model."""
    folder = tmp_path_factory.mktemp("shop")
    frame = make_shop()
    frame.to_csv(folder / "shop.csv", index=False)
    unlabelled = frame.drop(columns=["clicked", "note", "noise"])
    unlabelled = unlabelled[unlabelled.columns[::-1]].assign(more="é")
    unlabelled.to_csv(folder / "new.csv", index=False)
    unlabelled.to_json(folder / "new.jsonl", orient="records", lines=True)
    unlabelled.to_parquet(folder / "new.parquet")
    train = run(folder, "train", "shop.csv", "--ranker", "RankSVM", "--out", "model", *COLUMNS)
    assert train.returncode == 0, train.stderr
    return folder


class Result(NamedTuple):
    """The exit code and the output of a command, as text."""

    returncode: int
    stdout: str
    stderr: str


def run(folder: Path, *arguments: str, text: bytes = b"") -> Result:
    done = run_here(*arguments, cwd=folder, text=text)
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def read_ranking(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_the_model_stores_the_columns(shop: Path) -> None:
    ranker = load_ranker(shop / "model")
    roles = ColumnRoles(**ranker.columns_)
    assert (roles.query, roles.document, roles.relevance) == ("search", "sku", "clicked")
    assert roles.features == ("price", "brand", "seller", "published")
    assert list(ranker.categories_["seller"]) == ["007", "12", "7"]


@pytest.mark.parametrize("name", ["shop.csv", "new.csv", "new.jsonl", "new.parquet"])
def test_rank_finds_the_stored_columns_in_any_table(shop: Path, name: str) -> None:
    ranked = run(shop, "rank", "model", name, "--format", "jsonl")
    assert ranked.returncode == 0, ranked.stderr
    roles = load_ranker(shop / "model").columns_
    data = RankingDataset.from_frame(make_shop(), **roles)
    assert data.document_ids is not None
    scores = dict(zip(data.document_ids, load_ranker(shop / "model").predict(data), strict=True))
    rows = read_ranking(ranked.stdout)
    assert len(rows) == 200
    for row in rows:
        assert row["score"] == pytest.approx(scores[row["docid"]])


@pytest.mark.parametrize("options", [[], ["--data-format", "csv"]])
def test_rank_reads_a_table_from_standard_input(shop: Path, options: list[str]) -> None:
    piped = run(shop, "rank", "model", "-", *options, text=(shop / "new.csv").read_bytes())
    assert piped.stdout == run(shop, "rank", "model", "new.csv").stdout
    assert piped.stdout.count("\n") == 200


def test_missing_columns_are_all_named(shop: Path) -> None:
    pd.read_csv(shop / "new.csv").drop(columns=["brand", "published"]).to_csv(shop / "less.csv", index=False)
    for command in (
        ["rank", "model", "less.csv"],
        ["export", "model", "--to", "c", "--rows", "less.csv", "--out", "c"],
    ):
        done = run(shop, *command)
        assert done.returncode == 1
        assert done.stderr.startswith(
            "directranker: less.csv: no columns 'brand', 'published'; the columns are"
        )


def test_all_unusable_columns_are_named(shop: Path) -> None:
    frame = make_shop().assign(added=pd.Timestamp("2024-01-01"), gone=pd.Timedelta("1h"))
    frame.to_parquet(shop / "odd.parquet")
    done = run(shop, "inspect", "odd.parquet", *NAMED)
    assert done.returncode == 1
    assert "column 'added' holds timestamp" in done.stderr
    assert "--dates added" in done.stderr
    assert "column 'gone' holds duration" in done.stderr
    assert "--drop gone" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_other_commands_take_columns(shop: Path) -> None:
    for command in (
        ["inspect", "shop.csv", *COLUMNS],
        ["convert", "shop.csv", "saved", *COLUMNS],
        ["convert", "saved", "again.jsonl.gz"],
        ["rank", "model", "shop.csv", "--out", "shop.run"],
        ["evaluate", "shop.run", "shop.csv", *NAMED],
        ["explain", "model", "new.csv", "--query", "s1", "--better", "1", "--worse", "2"],
        ["neighbours", "model", "shop.csv", "--query", "s1"],
        [
            "tune",
            "shop.csv",
            *COLUMNS,
            "--ranker",
            "RankSVM",
            "--grid",
            "alpha=1/5",
            "--folds",
            "2",
            "--out",
            "tuned",
        ],
    ):
        done = run(shop, *command)
        assert done.returncode == 0, done.stderr
    saved = RankingDataset.load(shop / "saved")
    assert saved.equals(RankingDataset.from_frame(make_shop(), **load_ranker(shop / "model").columns_))


def test_compare_takes_columns(shop: Path) -> None:
    options = ["--rankers", "RankSVM", "--metric", "map", "--seeds", "1", "--inner-folds", "validation"]
    done = run(shop, "compare", "shop.csv", *COLUMNS, *options, "--out", "results", "--json")
    assert done.returncode == 0, done.stderr
    without = run(shop, "compare", "shop.csv", *options, "--out", "results")
    assert without.returncode == 1
    assert "no columns 'relevance', 'qid'" in without.stderr


def test_options_of_columns() -> None:
    options = ColumnOptions(
        query="", features=["a,b", "c"], dates=["d:e,f"], compare_vectors=["v,w"], keep_vectors=True
    )
    roles = options.make_roles()
    assert roles.query is None
    assert roles.features == ("a", "b", "c")
    assert roles.reference_dates == {"d": "e", "f": None}
    assert roles.compare_vectors == (("v", "w"),)
    assert roles.keep_vectors
    with pytest.raises(ValueError, match="--compare-vectors v: give two columns"):
        ColumnOptions(compare_vectors=["v"]).make_roles()


def test_missing_values_in_letor_text_are_read(tmp_path: Path) -> None:
    lines = [f"{row % 2} qid:{row // 4} 1:{row % 3} 2:{'nan' if row % 5 == 0 else row}" for row in range(40)]
    (tmp_path / "data.txt").write_text("\n".join(lines) + "\n")
    assert run(tmp_path, "train", "data.txt", "--ranker", "RankSVM", "--out", "model").returncode == 0
    assert run(tmp_path, "rank", "model", "data.txt").returncode == 0
    (tmp_path / "inf.txt").write_text("0 qid:1 1:inf 2:1\n1 qid:1 1:1 2:1\n")
    done = run(tmp_path, "rank", "model", "inf.txt")
    assert (done.returncode, "inf in row 0, column" in done.stderr) == (1, True)


def test_columns_are_for_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:0.25\n")
    example_dataset().select(range(3)).save(tmp_path / "saved")
    for data, what in (("data.txt", "LETOR text"), ("saved", "a saved data set")):
        with pytest.raises(ValueError, match=f"{what} has no columns to choose"):
            read_dataset(data, options=ReadOptions(columns=ColumnRoles(drop=("feature_1",))))
