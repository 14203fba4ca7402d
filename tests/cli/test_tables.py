"""Commands on tables with categories and dates."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commands_here import run_here


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"qid": np.repeat(np.arange(40), 5), "relevance": np.tile([0, 1, 2, 0, 1], 40)})
    frame["bm25"] = frame["relevance"] + rng.normal(size=200)
    frame["date"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(frame["qid"] % 20, unit="D")
    frame.to_parquet(tmp_path / "dated.parquet")
    brands = frame.drop(columns="date").assign(brand=rng.choice(["Acme", "[b]olt"], size=200))
    brands[brands["qid"] < 30].to_parquet(tmp_path / "train.parquet")
    brands[brands["qid"] >= 30].replace("Acme", "Zeta").to_parquet(tmp_path / "test.parquet")
    return tmp_path


def test_inspect_shows_categories_and_unseen_ones(folder: Path) -> None:
    done = run_here("inspect", "test.parquet", "--against", "train.parquet", cwd=folder)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.decode().split())
    assert "2 features (1 categorical)" in text
    assert "[b]olt" in text
    assert "test.parquet against the training data" in text
    assert "of test.parquet has values that train.parquet does not have, e.g. 'brand': 'Zeta', in" in text
    done = run_here("inspect", "test.parquet", "--against", "train.parquet", "--json", cwd=folder)
    values = json.loads(done.stdout)["test.parquet"]
    assert [finding["kind"] for finding in values["findings"]] == ["unseen-categories"]
    assert values["parts"]["test.parquet"]["categories"][0]["name"] == "brand"
    done = run_here("inspect", "test.parquet", "--against", "test.parquet", cwd=folder)
    assert done.stderr == b"directranker: --against test.parquet is the data itself; give other data\n"


def test_convert_writes_no_codes_as_text(folder: Path) -> None:
    done = run_here("convert", "train.parquet", "train.txt", cwd=folder)
    assert done.returncode == 1
    assert b"feature 'brand' is categorical, and LETOR text has numbers only" in done.stderr
    assert not (folder / "train.txt").exists()


def test_compare_by_time(folder: Path) -> None:
    options = (
        "--rankers",
        "RankSVM",
        "--metric",
        "map",
        "--inner-folds",
        "2",
        "--seeds",
        "1",
        "--workers",
        "1",
    )
    done = run_here("compare", "dated.parquet", "--split-by", "date", "--folds", "2", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.decode().split())
    assert "2 folds (split by date: training before validation before test)" in text
    page = (folder / "results" / "dated.parquet" / "report.html").read_text(encoding="utf-8")
    assert "split by date: training before validation before test" in page
    request = json.loads((folder / "results" / "dated.parquet" / "request.json").read_text())
    assert request["split_by"] == "date"
    done = run_here("compare", "dated.parquet", "--split-by", "day", *options, cwd=folder)
    assert b"no column 'day'; the columns are qid, relevance, bm25, date" in done.stderr


def test_tune_by_time(folder: Path) -> None:
    options = (
        "--ranker",
        "RankSVM",
        "--grid",
        "alpha=0.1/1",
        "--folds",
        "3",
        "--workers",
        "1",
        "--out",
        "svm",
    )
    done = run_here("tune", "dated.parquet", "--split-by", "date", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert b"svm: best parameters alpha=" in done.stdout
