"""When a finished comparison is reused for a request, and when it is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from example_comparison import make_comparison

from directranker.experiments.folder import VERSIONED_PACKAGES, Request, load_finished_comparison
from directranker.experiments.results import write_results
from directranker.model_selection import fingerprints


def test_the_packages_are_those_of_job_keys() -> None:
    assert VERSIONED_PACKAGES == fingerprints.VERSIONED_PACKAGES


@pytest.fixture
def request_with_folds(tmp_path: Path) -> Request:
    for name in ("data/Fold1/train.txt", "data/Fold1/test.txt", "data/notes.txt", "grid.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return Request(str(tmp_path / "data"), grid=str(tmp_path / "grid.toml"))


def test_the_digest_changes_with_options_data_and_grid(request_with_folds: Request, tmp_path: Path) -> None:
    digests = [request_with_folds.digest()]
    assert request_with_folds.digest() == digests[0]
    digests.append(replace(request_with_folds, seeds=2).digest())
    digests.append(replace(request_with_folds, metrics=("map",)).digest())
    digests.append(replace(request_with_folds, rankers="RankSVM").digest())
    digests.append(replace(request_with_folds, split_by="date").digest())
    for name in ("data/Fold1/train.txt", "grid.toml"):
        (tmp_path / name).write_text("other")
        digests.append(request_with_folds.digest())
    (tmp_path / "data/Fold1/vali.txt").touch()
    digests.append(request_with_folds.digest())
    assert len(set(digests)) == len(digests)
    (tmp_path / "data/notes.txt").write_text("files beside the folds do not count")
    assert request_with_folds.digest() == digests[-1]


def test_only_complete_results_of_the_same_request_are_reused(tmp_path: Path) -> None:
    assert load_finished_comparison(tmp_path, "d1") is None
    write_results(make_comparison(), tmp_path)
    assert load_finished_comparison(tmp_path, "d1") == replace(make_comparison(), per_query=())
    assert load_finished_comparison(tmp_path, "d2") is None
    (tmp_path / "results.json").write_text("{")
    assert load_finished_comparison(tmp_path, "d1") is None
