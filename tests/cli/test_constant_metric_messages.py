"""Stars from 1 to 5, all relevant by the paper's convention: commands say so instead of measuring 1."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from directranker import example_dataset, write_letor

from commands_here import run_here

BLIND = "every order of the documents is equally good under ndcg@10:paper; labels are from 1 to"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("stars")
    data = example_dataset().select(range(30))
    write_letor(replace(data, relevance=data.relevance + 1), place / "stars.txt")
    np.savetxt(place / "scores.txt", data.features[:, 0])
    np.savetxt(place / "others.txt", data.features[:, 1])
    return place


def test_tune_refuses_before_it_trains(place: Path) -> None:
    asked = ("tune", "stars.txt", "--ranker", "RankSVM", "--grid", "alpha=1/10", "--out", "tuned")
    done = run_here(*asked, cwd=place)
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"directranker: ndcg@10 cannot select a candidate: {BLIND}")
    assert not (place / "tuned.jobs.sqlite").exists()
    assert run_here(*asked, "--metric", "ndcg@10:graded", cwd=place).returncode == 0


def test_compare_names_the_threshold(place: Path) -> None:
    asked = (
        "compare",
        "stars.txt",
        "--rankers",
        "RankSVM,AdaRank",
        "--seeds",
        "1",
        "--inner-folds",
        "validation",
    )
    done = run_here(*asked, cwd=place)
    assert done.returncode == 1
    assert "all labels of train are 1 or more, so all documents are relevant" in done.stderr.decode()
    kept = run_here(*asked, "--threshold", "none", cwd=place)
    assert kept.returncode == 1
    assert BLIND in kept.stderr.decode()
    assert run_here(*asked, "--threshold", "3", cwd=place).returncode == 0


def test_evaluate_says_so_once(place: Path) -> None:
    done = run_here("evaluate", "scores.txt", "stars.txt", "--json", cwd=place)
    assert json.loads(done.stdout) == {"paper": {"ndcg@10": 1.0, "map": 1.0}}
    first, second = done.stderr.decode().splitlines()
    assert first.startswith(f"directranker: {BLIND}")
    assert "under map:paper" in second
    both = ("evaluate", "scores.txt", "stars.txt", "--beside", "others.txt", "--metric", "ndcg@10")
    assert run_here(*both, cwd=place).stderr.decode().count(BLIND) == 1
    assert run_here(*both, "--threshold", "4", cwd=place).stderr == b""
    assert run_here("evaluate", "scores.txt", "stars.txt", "--convention", "all", cwd=place).stderr == b""
