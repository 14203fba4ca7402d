"""Ensembles: members that differ as requested, and the mean of their scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from directranker import (
    DirectRanker,
    Ensemble,
    RankingDataset,
    RankSVM,
    StorageError,
    example_dataset,
    load_ranker,
)
from directranker.order import check_order
from directranker.rankers import ensemble as ensemble_module
from directranker.rankers.ensemble import within_query_deviation

QUICK: dict[str, Any] = {
    "max_epochs": 1,
    "hidden_layers": (4,),
    "teacher": None,
    "transform": "piecewise-linear",
}


def linear_net(n_columns: int) -> torch.nn.Module:
    return torch.nn.Linear(n_columns, 2)


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset()


def transforms_of(ensemble: Ensemble) -> list[Any]:
    return [member.get_params()["transform"] for member in ensemble.rankers_]


def test_members_alternate_with_and_without_per_query_features(data: RankingDataset) -> None:
    ensemble = Ensemble(DirectRanker(**QUICK), 3, random_state=0).fit(data)
    assert transforms_of(ensemble) == ["in-context", "piecewise-linear", "in-context"]
    query = np.repeat(np.arange(data.n_queries), np.diff(data.offsets))
    scores = [member.predict(data).astype(np.float64) for member in ensemble.rankers_]
    of_queries = [np.split(one, data.offsets[1:-1]) for one in scores]
    widths = [np.sqrt(np.mean(np.concatenate([s - s.mean() for s in one]) ** 2)) for one in of_queries]
    mean = np.mean([one / width for one, width in zip(scores, widths, strict=True)], axis=0)
    np.testing.assert_allclose(ensemble.predict(data), mean, rtol=1e-5, atol=1e-6)
    assert within_query_deviation(scores[0], query) == pytest.approx(widths[0])


@pytest.mark.parametrize(
    ("ranker", "vary"),
    [
        (DirectRanker(**QUICK), None),
        (DirectRanker(**{**QUICK, "transform": "standard"}), "auto"),
        (DirectRanker(**QUICK, feature_net=linear_net), "auto"),
    ],
)
def test_seeds_only(ranker: DirectRanker, vary: Any, data: RankingDataset) -> None:
    ensemble = Ensemble(ranker, 2, vary=vary, random_state=0).fit(data)
    assert transforms_of(ensemble) == [ranker.get_params()["transform"]] * 2
    first, second = (member.predict(data) for member in ensemble.rankers_)
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(
    ("length", "n_queries", "first"),
    [
        (100, 30, "in-context"),
        (100, 29, "piecewise-linear"),
        (10, 299, "piecewise-linear"),
        (10, 300, "in-context"),
        (3000, 1, "piecewise-linear"),  # one query
    ],
)
def test_small_data_has_no_per_query_features(length: int, n_queries: int, first: str) -> None:
    rng = np.random.default_rng(0)
    n = length * n_queries
    X, y = rng.normal(size=(n, 2)), rng.integers(3, size=n)
    ensemble = Ensemble(DirectRanker(**QUICK), 2, random_state=0)
    ensemble.fit(X, y, qid=np.repeat(np.arange(n_queries), length))
    assert transforms_of(ensemble) == [first, "piecewise-linear"]


def test_values_are_taken_in_turn_and_saved(data: RankingDataset, tmp_path: Path) -> None:
    vary: dict[str, list[Any]] = {"alpha": [0.1, 10.0], "transform": ["standard"]}
    ensemble = Ensemble(RankSVM(), 3, vary=vary, random_state=0).fit(data)
    assert [member.alpha for member in ensemble.rankers_] == [0.1, 10.0, 0.1]
    ensemble.save(tmp_path / "model")
    again = load_ranker(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(data), ensemble.predict(data))
    assert again.get_params()["vary"] == vary


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ("all", "vary is 'all'; give 'auto', None or values by parameter"),
        ({"alpha": 3.0}, "vary has 3.0 for alpha; give a list of values"),
        ({"alpha": []}, r"vary has \[\] for alpha"),
    ],
)
def test_an_invalid_vary_raises(vary: Any, message: str, data: RankingDataset) -> None:
    with pytest.raises(TypeError, match=message):
        Ensemble(RankSVM(), 2, vary=vary).fit(data)


def test_an_unknown_parameter_raises(data: RankingDataset) -> None:
    with pytest.raises(ValueError, match="Invalid parameter 'width'"):
        Ensemble(RankSVM(), 2, vary={"width": [1]}).fit(data)


def test_without_per_query_features_comparisons_are_an_order(data: RankingDataset) -> None:
    ensemble = Ensemble(DirectRanker(**QUICK), 3, vary=None, random_state=0).fit(data)
    scores = ensemble.predict(data)
    alone = [ensemble.predict(data.features[row : row + 1])[0] for row in range(5)]
    np.testing.assert_array_equal(alone, scores[:5])
    r = ensemble.compare(data.features[:40], data.features[40:80])
    np.testing.assert_allclose(r, scores[:40].astype(np.float64) - scores[40:80], atol=1e-5)
    assert check_order(ensemble.compare, data.features[:30], batched=True).is_order


def test_a_member_with_constant_scores_has_factor_0(data: RankingDataset) -> None:
    X, qid = np.repeat([[1.0, 1.0], [2.0, 2.0]], 20, axis=0), np.repeat([0, 1], 20)  # constant in each query
    ensemble = Ensemble(RankSVM(), 2, random_state=0).fit(X, np.arange(40) % 2, qid=qid)
    assert ensemble.factors_.tolist() == [0, 0]
    assert not ensemble.predict(np.ones((3, 2))).any()


def test_large_data_is_scaled_by_a_sample(monkeypatch: pytest.MonkeyPatch, data: RankingDataset) -> None:
    whole = Ensemble(RankSVM(), 1, random_state=0).fit(data)
    monkeypatch.setattr(ensemble_module, "MAX_SCALED_DOCUMENTS", 1000)
    sampled = Ensemble(RankSVM(), 1, random_state=0).fit(data)
    assert sampled.factors_ != whole.factors_
    np.testing.assert_allclose(sampled.factors_, whole.factors_, rtol=0.2)


def test_an_ensemble_without_factors_raises(data: RankingDataset, tmp_path: Path) -> None:
    ensemble = Ensemble(RankSVM(), 2, random_state=0).fit(data)
    del ensemble.factors_
    ensemble.save(tmp_path / "model")
    with pytest.raises(StorageError, match="factors_ of Ensemble is not an array"):
        load_ranker(tmp_path / "model")


def test_comparisons_are_odd(data: RankingDataset) -> None:
    ensemble = Ensemble(DirectRanker(**QUICK), 2, random_state=0).fit(data)
    first, second = data.features[:7], data.features[7:14]
    np.testing.assert_array_equal(ensemble.compare(first, second), -ensemble.compare(second, first))
    assert not ensemble.compare(first, first).any()
