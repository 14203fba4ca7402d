"""Neighbours in a sorted list: exact r, true classes and peaks; in the library and the command."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from directranker import (
    DirectRanker,
    Ensemble,
    GaussianClasses,
    RankingDataset,
    RankSVM,
    example_dataset,
    read_letor,
    write_letor,
)
from directranker.experiments.neighbours import compare_neighbours

from commands_here import run_here

QUICK: dict[str, Any] = {"max_epochs": 3, "random_state": 0, "hidden_layers": (8,)}


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(30))


@pytest.fixture(scope="module")
def ranker(data: RankingDataset) -> DirectRanker:
    return DirectRanker(**QUICK).fit(data)


def test_steps_equal_r_of_consecutive_documents(data: RankingDataset, ranker: DirectRanker) -> None:
    query = str(data.query_ids[4])
    found = compare_neighbours(ranker, data, query=query)
    one = data.select([4])
    for n, (first, second) in enumerate(pairwise(found.rows)):
        r = ranker.compare(one.features[[first]], one.features[[second]])[0]
        assert found.steps[n] == pytest.approx(r, abs=1e-6)
        assert found.changes[n] == (one.relevance[first] != one.relevance[second])
    assert (found.steps >= 0).all()
    assert found.query == query
    np.testing.assert_array_equal(found.classes, one.relevance[found.rows])


def test_peaks_are_where_classes_change() -> None:
    """Reproduce the paper's figure on synthetic data with well separated classes."""
    classes = GaussianClasses(np.outer([0, 40, 80, 120], np.ones(5)), np.full((4, 5), 5.0))
    made = classes.sample(600, random_state=0).data
    options = {"max_epochs": 40, "transform": "standard", "learning_rate": 0.02, "early_stopping": False}
    found = compare_neighbours(DirectRanker(**QUICK | options, dropout=0.0).fit(made), made)
    assert found.boundaries.n_classes == 4
    np.testing.assert_array_equal(found.peaks, found.changes)
    different, same = found.mean_steps()
    assert different > 10 * same


def test_steps_of_an_ensemble_are_differences_of_its_scores(data: RankingDataset) -> None:
    found = compare_neighbours(Ensemble(DirectRanker(**QUICK), 2, random_state=0).fit(data), data)
    np.testing.assert_allclose(found.steps, -np.diff(found.scores), atol=1e-6)


def test_unknown_queries_raise(data: RankingDataset, ranker: DirectRanker) -> None:
    with pytest.raises(ValueError, match=r"no query is called 'x'; the first of 30 are"):
        compare_neighbours(ranker, data, query="x")


def test_the_command_prints_the_librarys_result(
    data: RankingDataset, ranker: DirectRanker, tmp_path: Path
) -> None:
    ranker.save(tmp_path / "model")
    write_letor(data, tmp_path / "data.txt")
    query = str(data.query_ids[2])
    expected = compare_neighbours(ranker, data, query=query)

    def run(*more: str) -> str:
        done = run_here("neighbours", "model", "data.txt", "--query", query, *more, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    printed = json.loads(run("--json", "--threshold", "2"))
    assert printed["r"] == pytest.approx(expected.steps.tolist(), abs=1e-6)
    assert printed["classes"] == (expected.classes >= 2).tolist()
    lines = run("--out", "lists", "--figure", "one.svg").splitlines()
    (kept,) = json.loads((tmp_path / "lists" / "neighbours.json").read_text())["lists"]
    assert kept["r"] == pytest.approx(expected.steps.tolist(), abs=1e-6)
    for figure in ("one.svg", "lists/neighbours.svg", "lists/neighbours.png"):
        assert (tmp_path / figure).stat().st_size > 1000
    assert f"query {query}: {len(expected.rows)} documents" in lines[0]
    expected_lines = [
        "figure:  one.svg",
        "queries: 1 in lists; run `directranker report lists` for a page",
    ]
    assert lines[-2:] == expected_lines
    assert [
        line.split()[-1] == "*" for line in lines[2 : 1 + len(expected.rows)]
    ] == expected.changes.tolist()


def test_queries_too_short_for_the_classes_are_left_out(tmp_path: Path) -> None:
    rows = "0 qid:a 1:1\n1 qid:a 1:2\n2 qid:a 1:4\n1 qid:b 1:3\n0 qid:c 1:5\n1 qid:c 1:8\n1 qid:c 1:9\n"
    (tmp_path / "data.txt").write_text(rows)
    RankSVM().fit(read_letor(tmp_path / "data.txt")).save(tmp_path / "model")
    command = ["neighbours", "model", "data.txt"]
    done = run_here(*command, "--classes", "2", "--out", "lists", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == b"directranker: skipped 1 of 3 queries with fewer than 2 distinct scores\n"
    kept = json.loads((tmp_path / "lists" / "neighbours.json").read_text())["lists"]
    assert [one["query"] for one in kept] == ["a", "c"]
    wrong = run_here(*command, "--classes", "2", "--query", "b", cwd=tmp_path)
    assert wrong.returncode == 1
    assert wrong.stderr.startswith(b"directranker: query b: n_classes is 2; give a whole number from 1 to 1")
    single = run_here(*command, "--query", "b", cwd=tmp_path)
    assert single.returncode == 0
    assert single.stdout.startswith(b"query b: 1 document, best first")
