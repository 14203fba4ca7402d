"""Stars from 1 to 5 are all relevant by the paper's convention: commands report a constant metric."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from directranker import example_dataset, write_letor

from commands_here import run_here

CONSTANT = "every order of the documents is equally good under ndcg@10:paper; labels are from 1 to"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stars")
    data = example_dataset().select(range(30))
    write_letor(replace(data, relevance=data.relevance + 1), folder / "stars.txt")
    np.savetxt(folder / "scores.txt", data.features[:, 0])
    np.savetxt(folder / "others.txt", data.features[:, 1])
    return folder


def test_tune_raises_before_training(folder: Path) -> None:
    arguments = ("tune", "stars.txt", "--ranker", "RankSVM", "--grid", "alpha=1/10", "--out", "tuned")
    done = run_here(*arguments, cwd=folder)
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"directranker: ndcg@10 cannot select a candidate: {CONSTANT}")
    assert not (folder / "tuned.jobs.sqlite").exists()
    assert run_here(*arguments, "--metric", "ndcg@10:graded", cwd=folder).returncode == 0


def test_compare_names_the_threshold(folder: Path) -> None:
    arguments = (
        "compare",
        "stars.txt",
        "--rankers",
        "RankSVM,AdaRank",
        "--seeds",
        "1",
        "--inner-folds",
        "validation",
    )
    done = run_here(*arguments, cwd=folder)
    assert done.returncode == 1
    assert "all labels of train are 1 or more, so all documents are relevant" in done.stderr.decode()
    kept = run_here(*arguments, "--threshold", "none", cwd=folder)
    assert kept.returncode == 1
    assert CONSTANT in kept.stderr.decode()
    assert run_here(*arguments, "--threshold", "3", cwd=folder).returncode == 0


def test_evaluate_warns_once(folder: Path) -> None:
    done = run_here("evaluate", "scores.txt", "stars.txt", "--json", cwd=folder)
    assert json.loads(done.stdout) == {"paper": {"ndcg@10": 1.0, "map": 1.0}}
    first, second = done.stderr.decode().splitlines()
    assert first.startswith(f"directranker: {CONSTANT}")
    assert "under map:paper" in second
    both = ("evaluate", "scores.txt", "stars.txt", "--beside", "others.txt", "--metric", "ndcg@10")
    assert run_here(*both, cwd=folder).stderr.decode().count(CONSTANT) == 1
    assert run_here(*both, "--threshold", "4", cwd=folder).stderr == b""
    assert run_here("evaluate", "scores.txt", "stars.txt", "--convention", "all", cwd=folder).stderr == b""


def test_recall_is_constant_unless_it_has_a_cutoff(folder: Path) -> None:
    metrics = ("--metric", "recall", "--metric", "hit@1", "--threshold", "3")
    done = run_here("evaluate", "scores.txt", "stars.txt", *metrics, "--json", cwd=folder)
    assert done.returncode == 0
    (values,) = json.loads(done.stdout).values()
    assert values["recall"] == 1
    assert 0 < values["hit@1"] < 1
    (warning,) = done.stderr.decode().splitlines()
    assert "under recall:paper(threshold=3" in warning
    assert "; use a cutoff, such as 'recall@1:paper(threshold=3" in warning


def test_recall_of_a_run_that_lacks_documents_is_not_constant(tmp_path: Path) -> None:
    (tmp_path / "a.qrels").write_text("1 0 a 1\n1 0 b 1\n1 0 c 0\n")
    (tmp_path / "a.run").write_text("1 Q0 a 1 2 t\n1 Q0 c 2 1 t\n")
    done = run_here("evaluate", "a.run", "a.qrels", "--metric", "recall", "--json", cwd=tmp_path)
    assert json.loads(done.stdout) == {"paper": {"recall": 0.5}}
    assert "equally good" not in done.stderr.decode()
