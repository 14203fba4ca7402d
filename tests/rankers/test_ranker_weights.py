"""Weights of documents and queries, and evaluation sets, for all rankers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from quick_rankers import QUICK, RANKERS, as_arrays
from sklearn.base import clone

from directranker import RankingDataset, example_dataset
from directranker.metrics import Metric
from directranker.rankers import DirectRanker, Ranker, RankSVM
from directranker.rankers.validation import split_off_validation
from directranker.training.data import TrainingData


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(60))


def test_weights_count(data: RankingDataset) -> None:
    ranker = DirectRanker(random_state=0, max_epochs=3, early_stopping=False, hidden_layers=(8,))
    some = data.query_ids < np.median(data.query_ids)
    weighted = clone(ranker).fit(data, sample_weight=some.astype(float)).predict(data)
    per_row = np.repeat(some.astype(float), np.diff(data.offsets))
    np.testing.assert_allclose(
        clone(ranker).fit(data, sample_weight=per_row).predict(data), weighted, rtol=1e-3, atol=1e-4
    )
    assert not np.allclose(clone(ranker).fit(data).predict(data), weighted)


def test_weights_of_a_data_set_are_in_its_own_order(data: RankingDataset) -> None:
    X, y, qid = as_arrays(data)
    shuffled = np.random.default_rng(0).permutation(len(X))
    mixed = RankingDataset.from_arrays(X[shuffled], y[shuffled], qid=qid[shuffled])
    for part in (mixed, mixed.split(0.5, random_state=0)[1]):
        weight = 1 + (part.features[:, 0] > np.median(part.features[:, 0])) * 9.0
        fitted = RankSVM(tol=1e-8).fit(part, sample_weight=weight)
        from_arrays = RankSVM(tol=1e-8).fit(part.features, part.relevance, qid=part.qid, sample_weight=weight)
        np.testing.assert_allclose(fitted.coef_, from_arrays.coef_, rtol=1e-5, atol=1e-7)
        assert not np.allclose(fitted.coef_, RankSVM(tol=1e-8).fit(part).coef_, rtol=1e-2)


@pytest.mark.parametrize("name", ["DirectRanker", "LambdaMART", "AdaRank", "CoordinateAscent", "ESRank"])
@pytest.mark.parametrize("per", ["query", "row"])
def test_weights_count_in_early_stopping(data: RankingDataset, name: str, per: str) -> None:
    weight = np.random.default_rng(0).uniform(0, 2, data.n_queries) * (np.arange(data.n_queries) % 2)
    per_row = np.repeat(weight, np.diff(data.offsets)) * np.resize([0.5, 1.5], data.n_documents)
    given = weight if per == "query" else per_row
    ranker = clone(RANKERS[name]).set_params(metric="ndcg@10:paper").fit(data, sample_weight=given)
    weights: dict[str, Any] = {"query_weight": given} if per == "query" else {"document_weight": given}
    whole = TrainingData(data.features, None, data.relevance, data.offsets, **weights)
    _, held_out = split_off_validation(whole, 0.2, 0, Metric.parse("ndcg@10:paper"))
    assert held_out is not None
    best = max(record.metric for record in ranker.history_)
    measured = ranker.score(
        held_out.features,
        held_out.relevance,
        qid=held_out.query_of_row,
        sample_weight=held_out.weight_of_queries,
    )
    assert measured == pytest.approx(best, abs=1e-6)


def stopping_parameter(ranker: Ranker) -> str | None:
    """Return the name of the parameter `early_stopping`, or of that of an inner ranker."""
    named = (name for name in ranker.get_params() if name.rpartition("__")[2] == "early_stopping")
    return next(named, None)


STOPPING = {
    **{name: ranker for name, ranker in RANKERS.items() if stopping_parameter(ranker) is not None},
    # The teacher and the cross-validated encoding have early stopping of their own.
    "DirectRanker with a teacher": DirectRanker(**{**QUICK, "max_epochs": 2}, teacher="trees"),
}


@pytest.mark.parametrize("name", STOPPING)
def test_without_early_stopping_an_eval_set_is_only_recorded(name: str, data: RankingDataset) -> None:
    train, other = data.select(range(40)), data.select(range(40, 60))
    # Reversed labels: a ranker that used them would stop at once, or select another encoding.
    reversed_labels = (other.features, other.relevance.max() - other.relevance, other.qid)
    ranker = clone(STOPPING[name])
    ranker.set_params(**{str(stopping_parameter(ranker)): False})
    alone = clone(ranker).fit(train)
    watched = clone(ranker).fit(train, eval_set=reversed_labels)
    np.testing.assert_array_equal(watched.predict(other), alone.predict(other))
    members = (getattr(fitted, "rankers_", [fitted]) for fitted in (alone, watched))
    for one, two in zip(*members, strict=True):
        assert {record.metric for record in one.history_} == {None}
        assert len(two.history_) == len(one.history_)
        assert all(np.isfinite(record.metric) for record in two.history_)
        kept = [name for name in ("best_epoch_", "best_round_") if hasattr(one, name)]
        assert [getattr(one, name) for name in kept] == [getattr(two, name) for name in kept]
