"""Explanations sum to the difference, are exact where g is linear, and ignore equal features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from directranker import RankingDataset, example_dataset
from directranker.explanation import explain_difference, explain_differences
from directranker.rankers import DirectRanker, Ensemble, LambdaMART, Ranker, RankSVM

QUICK: dict[str, Any] = {"max_epochs": 2, "random_state": 0, "hidden_layers": (8,)}


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(40))


@pytest.mark.parametrize(
    ("ranker", "residual"),
    [
        (DirectRanker(**QUICK), 1e-2),
        (DirectRanker(**QUICK, transform="query-z-score", activation="tanh"), 1e-4),
        (DirectRanker(**QUICK, transform="quantile-normal", activation="gelu"), 1e-4),
        (RankSVM(), 1e-5),
        (LambdaMART(n_estimators=20, min_child_samples=5, random_state=0), 1e-5),
        (Ensemble(DirectRanker(**QUICK, activation="tanh"), 2, random_state=0), 1e-4),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Ranker) else "",
)
def test_contributions_sum_to_the_difference(ranker: Ranker, residual: float, data: RankingDataset) -> None:
    ranker.fit(data)
    query = data.select([3])
    scores = ranker.predict(query.features, qid=np.zeros(query.n_documents, dtype=int))
    best, worst = int(scores.argmax()), int(scores.argmin())
    found = explain_difference(ranker, query, better=best, worse=worst)
    assert found.difference == pytest.approx(float(scores[best]) - float(scores[worst]))
    assert found.contributions.sum() + found.residual == pytest.approx(found.difference, rel=1e-12)
    assert abs(found.residual) < residual * abs(found.difference)
    back = explain_difference(ranker, query, better=worst, worse=best)
    np.testing.assert_allclose(back.contributions, -found.contributions, rtol=1e-6, atol=1e-9)


def test_linear_net_is_explained_exactly(data: RankingDataset) -> None:
    ranker = DirectRanker(max_epochs=2, random_state=0, hidden_layers=(), transform="standard").fit(data)
    query = data.select([0])
    found = explain_difference(ranker, query, better=0, worse=1)
    encoded = ranker.transform_.transform(query.features[:2])
    literal = ranker.net_.head.weight.detach().numpy() * (encoded[0] - encoded[1])
    np.testing.assert_allclose(found.contributions, literal, rtol=1e-4, atol=1e-6)


def test_equal_feature_contributes_nothing(data: RankingDataset) -> None:
    ranker = DirectRanker(**QUICK).fit(data)
    features = data.select([0]).features.copy()
    features[1] = features[0]
    features[1, 5] += 3
    pair = RankingDataset.from_arrays(features, np.zeros(len(features)))
    found = explain_difference(ranker, pair, better=0, worse=1)
    assert np.flatnonzero(found.contributions).tolist() == [5]


def test_several_pairs_equal_single_explanations(data: RankingDataset) -> None:
    ranker = DirectRanker(**QUICK).fit(data)
    query = data.select([2])
    pairs = [(0, 1), (5, 3), (4, 0)]
    for found, (better, worse) in zip(explain_differences(ranker, query, pairs), pairs, strict=True):
        alone = explain_difference(ranker, query, better=better, worse=worse)
        np.testing.assert_allclose(found.contributions, alone.contributions, rtol=1e-9, atol=1e-12)
        assert (found.scores, found.method) == (alone.scores, alone.method)


class Steps(torch.nn.Module):
    """A step function: its gradient is 0 wherever it is defined."""

    out_features = 1

    def forward(self, documents: torch.Tensor) -> torch.Tensor:
        """Score by the sign of the sum."""
        return documents.sum(dim=1, keepdim=True).sign() + 0 * documents[:, :1]


def test_jump_is_the_residual(data: RankingDataset) -> None:
    ranker = DirectRanker(feature_net=Steps(), transform="standard", max_epochs=1, random_state=0).fit(data)
    sums = ranker.transform_.transform(data.features).sum(axis=1)
    better, worse = int(sums.argmax()), int(sums.argmin())
    pair = RankingDataset.from_arrays(data.features[[better, worse]], [1, 0])
    found = explain_difference(ranker, pair, better=0, worse=1)
    assert abs(found.difference) > 0.01
    assert not found.contributions.any()
    assert found.residual == found.difference


def test_invalid_rows_raise(data: RankingDataset) -> None:
    ranker = RankSVM().fit(data)
    with pytest.raises(ValueError, match="has 2 queries"):
        explain_difference(ranker, data.select([0, 1]), better=0, worse=1)
    with pytest.raises(ValueError, match="worse is row 999"):
        explain_difference(ranker, data.select([0]), better=0, worse=999)
