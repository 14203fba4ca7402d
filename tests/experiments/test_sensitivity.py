"""The sensitivity studies: the procedure, going on where it stopped, claims, and the command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from directranker import CellStore, RankSVM, make_synthetic, ndcg
from directranker.experiments.claims import check_claims
from directranker.experiments.sensitivity import (
    PROCEDURE,
    Point,
    Setting,
    measure_setting,
    run_studies,
    study_ranker,
)

SMALL = Setting(n_classes=3, n_features=6, n_train=400, n_test=300)


def test_a_point_is_the_papers_procedure() -> None:
    values, _ = measure_setting(SMALL, RankSVM(), seed=3)
    made = make_synthetic(3, 6, n_train=400, n_test=300, random_state=3)
    scores = RankSVM(random_state=3).fit(made.train).predict(made.test.features)
    rng = np.random.default_rng((3, 20))
    for value in values:
        rows = rng.choice(300, rng.integers(50, 151), replace=False)
        assert value == pytest.approx(ndcg(made.test.relevance[rows], scores[rows], k=20))


def test_the_papers_ranker() -> None:
    ranker = study_ranker(PROCEDURE, SMALL)
    assert (ranker.hidden_layers, ranker.cost, ranker.pairs) == ((70, 3), "relevance_weighted", "adjacent")
    with pytest.raises(ValueError, match="did you mean 'RankSVM'"):
        study_ranker("RankSWM", SMALL)


def test_finished_data_sets_are_not_run_again(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []

    def run(values: list[float]) -> list[Point]:
        with CellStore(tmp_path / "cells.sqlite") as store:
            return run_studies(
                {"noise": values, "features": [6]},
                store,
                rankers=["RankSVM"],
                n_sets=2,
                setting=SMALL,
                workers=1,
                progress=lambda done, total: told.append((done, total)),
            )

    first = run([0.0])
    assert told == [(0, 2), (1, 2), (2, 2)]  # both studies share their data sets
    told.clear()
    second = run([0.0, 2.0])
    assert told == [(2, 4), (3, 4), (4, 4)]
    assert second[0] == first[0]
    noisy = second[1]
    assert noisy.mean < first[0].mean
    each = [measure_setting(SMALL, RankSVM(), seed=seed, query_size=(50, 150))[0].mean() for seed in (0, 1)]
    assert first[0].mean == pytest.approx(np.mean(each))
    assert first[0].error == pytest.approx(abs(each[0] - each[1]) / 2)


def point(study: str, value: float, mean: float) -> Point:
    return Point(study, value, "R", mean, 0.01, 5, 1.0)


@pytest.mark.parametrize(
    ("points", "held"),
    [
        ([point("classes", 2, 0.99), point("classes", 9, 0.9)], [True]),
        ([point("classes", 2, 0.91), point("classes", 9, 0.9)], [False]),  # within the errors
        ([point("size", 100, 0.9), point("size", 10, 0.8)], [True]),
        ([point("features", 5, 0.9), point("features", 9, 0.8)], [False]),
        ([point("noise", 0, 0.99), point("noise", 0.25, 0.985), point("noise", 0.75, 0.79)], [True, False]),
        ([point("noise", 0, 0.99), point("noise", 0.25, 0.97)], [False]),
        ([point("noise", 0.5, 0.9)], []),
    ],
)
def test_claims(points: list[Point], held: list[bool]) -> None:
    assert [claim.held for claim in check_claims(points)] == held


def test_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "directranker", "sensitivity", "--study", "features", "--values", "3,40"]
    options = ["--ranker", "RankSVM", "--train", "500", "--sets", "2", "--json"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=True, cwd=tmp_path)
    found = json.loads(done.stdout)
    assert [point["value"] for point in found["points"]] == [3, 40]
    assert found["claims"][0]["held"] is True
    folder = tmp_path / "results" / "sensitivity"
    kept = json.loads((folder / "sensitivity.json").read_text())
    assert (kept["points"], kept["claims"]) == (found["points"], found["claims"])
    assert kept["request"]["command"].startswith("directranker sensitivity --study features --values 3,40")
    assert "torch" in kept["environment"]["versions"]
    assert (folder / "sensitivity.svg").read_text().startswith("<?xml")
    assert (folder / "sensitivity.png").read_bytes().startswith(b"\x89PNG")
    wrong = subprocess.run([*command, "--study", "noise"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
