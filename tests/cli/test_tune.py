"""`directranker tune` as a user runs it: the same result as the library, and resumable."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from directranker import RankSVM, grid_search, read_letor
from directranker.persistence import load_ranker

from commands_here import run_here as run
from commands_here import train_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data in all formats and a trained model."""
    return train_model(tmp_path_factory.mktemp("models"))


def test_tune_finds_what_the_library_finds_and_resumes(folder: Path) -> None:
    (folder / "grid.toml").write_text("[RankSVM]\nalpha = [0.001, 100]\n")
    start = ("tune", "train.txt", "--ranker", "RankSVM", "--folds", "3", "--workers", "1", "--out", "svm")
    done = run(*start, "--grid", "alpha=0.001/100", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    reported = json.loads(done.stdout)
    train_data = read_letor(folder / "train.txt")
    found = grid_search(RankSVM(), {"alpha": [0.001, 100]}, train_data, folds=3, workers=1)
    assert reported["best"] == found.best_parameters()
    means = {row["parameters"]["alpha"]: row["mean"] for row in reported["candidates"]}
    assert list(means.values()) == sorted(found.cv_results_["mean_test_ndcg@10"], reverse=True)
    scores = load_ranker(folder / "svm").predict(train_data)
    np.testing.assert_array_equal(scores, found.best_ranker().predict(train_data))
    assert count_jobs(folder / "svm.jobs.sqlite") == 6
    again = run(*start, "--grid", "grid.toml", "--overwrite", cwd=folder)
    assert again.returncode == 0, again.stderr
    assert f"best parameters alpha={reported['best']['alpha']},".encode() in again.stdout
    assert count_jobs(folder / "svm.jobs.sqlite") == 6  # none was run again


@pytest.mark.parametrize(
    ("way", "method", "n_candidates"), [(["--halving"], "halving", None), (["--trials", "2"], "optuna", 2)]
)
def test_tune_uses_the_requested_method(
    folder: Path, tmp_path: Path, way: list[str], method: str, n_candidates: int | None
) -> None:
    grid = {"alpha": [0.001, 1, 100]}
    start = ("tune", folder / "train.txt", "--ranker", "RankSVM", "--folds", "3", "--workers", "1")
    done = run(*start, "--grid", "alpha=0.001/1/100", *way, "--out", "svm", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    reported = json.loads(done.stdout)
    train_data = read_letor(folder / "train.txt")
    found = grid_search(
        RankSVM(),
        grid,
        train_data,
        folds=3,
        workers=1,
        method=method,  # type: ignore[arg-type]
        n_candidates=n_candidates,
        random_state=0,
    )
    assert reported["best"] == found.best_parameters()
    assert len(reported["candidates"]) == (n_candidates or 3)
    assert load_ranker(tmp_path / "svm").alpha == reported["best"]["alpha"]


def count_jobs(store: Path) -> int:
    with closing(sqlite3.connect(store)) as connection:
        return int(connection.execute("SELECT count(*) FROM job_results").fetchone()[0])


def test_interrupted_tune_reports_how_to_resume(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("directranker.model_selection.grid_search", interrupted)
    done = run("tune", "train.txt", "--grid", "dropout=0", "--out", "cut", cwd=folder)
    assert done.returncode == 130
    assert b"finished jobs are kept in cut.jobs.sqlite; run the same command to resume" in done.stderr
