"""One metric of many score vectors: the values of the metric itself and of its reference definition."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from directranker.metrics import CONVENTIONS, Metric
from directranker.metrics.repeated import RepeatedMetric
from directranker.metrics.repeated_kernels import sum_leader_gains, update_leaders

from literal_measures import literal

METRICS = ("ndcg@3", "ndcg", "ndcg@40", "dcg@2", "map", "map@3", "p@2", "recall@3", "hit@2", "mrr", "err@4")


def make_queries(n_queries: int, longest: int, seed: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, longest + 1, n_queries))]).astype(np.int64)
    relevance = rng.integers(0, 4, offsets[-1]) * (rng.random(offsets[-1]) < 0.4)
    return relevance.astype(np.float64), offsets, rng


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("text", METRICS)
def test_all_methods_match_the_metric(text: str, convention: str) -> None:
    metric = Metric.parse(text, convention=convention)
    relevance, offsets, rng = make_queries(60, 45, seed=1)
    scores, column = rng.normal(size=(2, len(relevance))).round(1)  # with ties
    column = column.astype(np.float32)
    repeated = RepeatedMetric(metric, relevance, offsets)

    def evaluate(scores: Any) -> Any:
        return metric.per_query(relevance, scores, offsets=offsets)

    close: dict[str, Any] = {"rtol": 0, "atol": 1e-12}
    np.testing.assert_allclose(repeated.per_query(scores), evaluate(scores), **close)
    steps = np.array([0.3, -7.0, 0.0])
    expected = [evaluate(scores + step * column) for step in steps]
    np.testing.assert_allclose(repeated.evaluate_steps(scores, column, steps), expected, **close)
    table = np.column_stack([column, scores.astype(np.float32)])
    queries = slice(10, 50)
    columns = np.ascontiguousarray(table[offsets[10] : offsets[50]].T)
    for sign in (1.0, -1.0):
        expected = [evaluate(sign * each)[queries] for each in table.T.astype(np.float64)]
        np.testing.assert_allclose(repeated.evaluate_columns(columns, queries, sign), expected, **close)


@pytest.mark.parametrize("convention", ["paper", "graded", "letor4", "ranklib"])
def test_values_match_the_definition(convention: str) -> None:
    rules = CONVENTIONS[convention]
    relevance, offsets, rng = make_queries(80, 5, seed=2)
    scores = rng.integers(0, 3, len(relevance)).astype(np.float64)
    values = RepeatedMetric(Metric("ndcg", 3, rules), relevance, offsets).per_query(scores)
    for query, value in enumerate(values):
        rows = slice(offsets[query], offsets[query + 1])
        expected = np.nan
        if rows.start < rows.stop:
            expected = literal(relevance[rows].tolist(), scores[rows].tolist(), "ndcg", rules, 3)
        if np.isnan(expected) and rules.no_relevant != "skip":
            expected = float(rules.no_relevant)
        assert value == pytest.approx(expected, abs=1e-12, nan_ok=True)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=30),
    st.integers(1, 12),
    st.randoms(use_true_random=False),
)
def test_leaders_match_the_sum_over_tie_groups(
    documents: list[tuple[int, int]], k: int, random: Random
) -> None:
    scores, worth = np.array(documents, dtype=np.float64).T.copy()
    leaders = np.array(random.sample(range(len(scores)), min(k, len(scores))))
    discount, top = 1 / np.arange(1.0, 31.0), np.empty(30)
    is_leader = np.zeros(30, dtype=bool)
    update_leaders(scores, leaders, top, is_leader)
    assert not is_leader.any()
    assert len(set(leaders)) == len(leaders)
    np.testing.assert_array_equal(scores[leaders], np.sort(scores)[::-1][: len(leaders)])
    np.testing.assert_array_equal(scores[leaders], top[: len(leaders)])
    expected = 0.0
    for score in set(scores):
        before, tied = int((scores > score).sum()), scores == score
        ranks = discount[before : min(k, before + int(tied.sum()))]
        expected += worth[tied].mean() * ranks.sum()
    assert sum_leader_gains(worth, scores, leaders, top, discount) == pytest.approx(expected)


def test_large_data_on_several_threads() -> None:
    relevance, offsets, rng = make_queries(1500, 60, seed=3)
    assert len(relevance) > 40_000
    metric, scores = Metric("ndcg", 10), rng.normal(size=len(relevance))
    values = RepeatedMetric(metric, relevance, offsets).per_query(scores)
    np.testing.assert_allclose(values, metric.per_query(relevance, scores, offsets=offsets), atol=1e-12)
