"""External rankers: `evaluate` compares their scores, and `report` shows them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from directranker import RankingDataset, evaluate_per_query, example_dataset, randomisation_test, write_letor
from directranker.data.trec import write_qrels, write_run
from directranker.experiments.results import read_results
from directranker.report import build_report
from directranker.report.figures import write_figures

from commands_here import run_here as run


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(30))


@pytest.fixture(scope="module")
def scores(data: RankingDataset) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {name: data.relevance + width * rng.normal(size=data.n_documents) for name, width in NOISE.items()}


NOISE = {"lightgbm": 0.5, "xgboost": 1.0, "ranklib": 3.0}


@pytest.fixture(scope="module")
def folder(
    tmp_path_factory: pytest.TempPathFactory, data: RankingDataset, scores: dict[str, np.ndarray]
) -> Path:
    folder = tmp_path_factory.mktemp("external")
    write_letor(data, folder / "test.txt")
    write_qrels(data, folder / "qrels.txt")
    for name in ("lightgbm", "xgboost"):
        np.savetxt(folder / f"{name}.txt", scores[name])
        write_run(data, scores[name], folder / f"{name}.run")
    positions = np.arange(data.n_documents) - np.repeat(data.offsets[:-1], np.diff(data.offsets))
    rows = zip(data.qid, positions, scores["ranklib"], strict=True)
    (folder / "ranklib.txt").write_text("".join(f"{q}\t{position}\t{score}\n" for q, position, score in rows))
    return folder


def test_evaluate_compares_scores_of_three_programs(
    folder: Path, data: RankingDataset, scores: dict[str, np.ndarray]
) -> None:
    others = ("--beside", "xgboost.txt", "--beside", "ranklib.txt")
    done = run(
        "evaluate", "lightgbm.txt", "test.txt", *others, "--threshold", "2", "--out", "made", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    shown = done.stdout.decode()  # not on a terminal, so nothing is bold
    assert "* is the best" in shown
    assert shown.count(" *") == 2  # the best by each metric
    comparison = read_results(folder / "made")
    expected = {
        name: evaluate_per_query(
            data.relevance, one, offsets=data.offsets, metrics=["ndcg@10", "map"], convention="paper",
            threshold=2,
        )
        for name, one in scores.items()
    }  # fmt: skip
    for result in comparison.rankers:
        for measured in result.measured:
            assert measured.mean == pytest.approx(np.nanmean(expected[result.ranker][measured.metric]))
    best, worst = (expected[name]["map"] for name in ("lightgbm", "ranklib"))
    test = comparison.test("map", "lightgbm", "ranklib")
    assert test is not None
    assert test.p_value == pytest.approx(randomisation_test(best, worst), abs=0.01)
    assert comparison.best("ndcg@10") == comparison.rankers[0]


def test_report_shows_them_without_times(folder: Path, tmp_path: Path) -> None:
    made = str(tmp_path / "made")
    done = run("evaluate", "lightgbm.txt", "test.txt", "--beside", "xgboost.txt", "--out", made, cwd=folder)
    assert done.returncode == 0, done.stderr
    page = build_report(made)
    assert "lightgbm" in page
    assert "Two rankers, query by query" in page
    assert "training, s<" not in page
    assert 'data-chart="time"' not in page
    assert write_figures(made, tmp_path / "figures") == []


def test_runs_and_qrels_give_the_values_of_the_data(folder: Path) -> None:
    by_data = run("evaluate", "lightgbm.txt", "test.txt", "--beside", "xgboost.txt", "--json", cwd=folder)
    by_qrels = run("evaluate", "lightgbm.run", "qrels.txt", "--beside", "xgboost.run", "--json", cwd=folder)
    assert by_data.returncode == by_qrels.returncode == 0
    first, second = (json.loads(done.stdout) for done in (by_data, by_qrels))
    assert first.keys() == second.keys() == {"lightgbm", "xgboost"}
    for name, values in first.items():
        assert second[name] == pytest.approx(values)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--beside", "lightgbm.txt"), b"is given twice"),
        (("--beside", "xgboost.txt", "--convention", "all"), b"one convention"),
        (("--beside", "test.txt"), b"is not a score"),
        (("--beside", "nowhere.txt"), b"nowhere.txt"),
    ],
)
def test_errors_are_reported(folder: Path, options: tuple[str, ...], message: bytes) -> None:
    done = run("evaluate", "lightgbm.txt", "test.txt", *options, cwd=folder)
    assert done.returncode == 1
    assert message in done.stderr
    assert b"Traceback" not in done.stderr
