"""Rankers with per-query features: an order within each query, saved like any other."""

from __future__ import annotations

import copy
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from directranker import DirectRanker, InContext, RankingDataset, example_dataset, load_ranker
from directranker.explanation import explain_difference
from directranker.nn import compare_scores
from directranker.order import check_comparisons


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(25))


@pytest.fixture(scope="module")
def ranker(data: RankingDataset) -> DirectRanker:
    return DirectRanker(transform="in-context", max_epochs=2, random_state=0).fit(data)


def test_within_a_query_r_is_an_order(ranker: DirectRanker, data: RankingDataset) -> None:
    scores = ranker.predict(data).astype(np.float64)
    for start, stop in pairwise(data.offsets.tolist()):
        query_scores = scores[start:stop]
        r = compare_scores(query_scores[:, None], query_scores[None, :], ranker.head_activation).astype(
            np.float64
        )
        assert check_comparisons(r).is_order


def test_scores_depend_on_the_query(ranker: DirectRanker, data: RankingDataset) -> None:
    whole = ranker.predict(data)[:5]
    assert not np.allclose(ranker.predict(data.features[:5]), whole)
    first = slice(0, int(data.offsets[1]))
    np.testing.assert_allclose(ranker.predict(data.features[first])[:5], whole, rtol=1e-5, atol=1e-6)


def test_it_is_saved(ranker: DirectRanker, data: RankingDataset, tmp_path: Path) -> None:
    ranker.save(tmp_path / "model")
    assert np.array_equal(load_ranker(tmp_path / "model").predict(data), ranker.predict(data))


def test_scores_of_bins_equal_those_of_the_encoding(ranker: DirectRanker, data: RankingDataset) -> None:
    query = np.repeat(np.arange(data.n_queries), np.diff(data.offsets))
    encoded = ranker.transform_.transform(data.features, qid=query)
    with torch.no_grad():
        formed = ranker.net_.eval()(torch.from_numpy(encoded)).numpy()
    np.testing.assert_allclose(ranker.predict(data), formed, rtol=1e-4, atol=1e-5)


def test_training_on_bins_equals_training_on_the_encoding(data: RankingDataset) -> None:
    options: dict[str, Any] = {
        "max_epochs": 3,
        "dropout": 0.0,
        "teacher": None,
        "early_stopping": False,
        "hidden_layers": (8,),
        "random_state": 0,
    }
    as_bins = DirectRanker(transform="in-context", **options).fit(data)

    query = np.repeat(np.arange(data.n_queries), np.diff(data.offsets))
    encoded = InContext().fit(data.features, qid=query).transform(data.features, qid=query)
    formed = DirectRanker(transform="none", **options).fit(encoded, data.relevance, qid=query)
    np.testing.assert_allclose(
        formed.predict(encoded, qid=query), as_bins.predict(data), rtol=1e-3, atol=1e-4
    )


def test_documents_are_compared_in_one_query(ranker: DirectRanker, data: RankingDataset) -> None:
    first, second = data.features[:6], data.features[6:12]
    r = ranker.compare(first, second)
    np.testing.assert_array_equal(r, -ranker.compare(second, first))
    assert not ranker.compare(first, first).any()
    scores = ranker.predict(data.features[:12]).astype(np.float64)
    expected = compare_scores(scores[:6], scores[6:], ranker.head_activation)
    np.testing.assert_allclose(r, expected, rtol=1e-4, atol=1e-6)


def test_a_difference_is_explained_by_features(ranker: DirectRanker, data: RankingDataset) -> None:
    explanation = explain_difference(ranker, data.select([0]), better=0, worse=1)
    assert len(explanation.contributions) == data.n_features
    assert np.isclose(explanation.contributions.sum() + explanation.residual, explanation.difference)
    assert abs(explanation.residual) < 0.05 * abs(explanation.difference)


def test_inconsistent_bins_raise(ranker: DirectRanker) -> None:
    transform = copy.deepcopy(ranker.transform_)
    transform._check_fitted(transform.n_features_in_)
    transform.edge_offsets_ = transform.edge_offsets_[: transform.n_features_in_ + 1]
    with pytest.raises(ValueError, match="edge_offsets_ of InContext"):
        transform._check_fitted(transform.n_features_in_)
