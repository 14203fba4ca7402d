"""When a finished comparison answers a request, and when it does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from directranker.experiments.folder import VERSIONED_PACKAGES, Request, load_finished_comparison
from directranker.experiments.results import write_results
from directranker.model_selection import fingerprints

from made_up_comparison import made_up_comparison


def test_the_versions_are_those_that_keys_of_cells_hold() -> None:
    assert VERSIONED_PACKAGES == fingerprints.VERSIONED_PACKAGES


@pytest.fixture
def request_of_folds(tmp_path: Path) -> Request:
    for name in ("data/Fold1/train.txt", "data/Fold1/test.txt", "data/notes.txt", "grid.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return Request(str(tmp_path / "data"), grid=str(tmp_path / "grid.toml"))


def test_the_digest_changes_with_words_data_and_grid(request_of_folds: Request, tmp_path: Path) -> None:
    seen = [request_of_folds.digest()]
    assert request_of_folds.digest() == seen[0]
    seen.append(replace(request_of_folds, seeds=2).digest())
    seen.append(replace(request_of_folds, metrics=("map",)).digest())
    seen.append(replace(request_of_folds, rankers="RankSVM").digest())
    for name in ("data/Fold1/train.txt", "grid.toml"):
        (tmp_path / name).write_text("other")
        seen.append(request_of_folds.digest())
    (tmp_path / "data/Fold1/vali.txt").touch()
    seen.append(request_of_folds.digest())
    assert len(set(seen)) == len(seen)
    (tmp_path / "data/notes.txt").write_text("beside folds anything may change, even results")
    assert request_of_folds.digest() == seen[-1]


def test_only_a_whole_answer_to_the_same_request_counts(tmp_path: Path) -> None:
    assert load_finished_comparison(tmp_path, "d1") is None
    write_results(made_up_comparison(), tmp_path)
    assert load_finished_comparison(tmp_path, "d1") == replace(made_up_comparison(), per_query=())
    assert load_finished_comparison(tmp_path, "d2") is None
    (tmp_path / "results.json").write_text("{")
    assert load_finished_comparison(tmp_path, "d1") is None
