"""Laws of the measures for any query, and the compiled measures against the reference implementation."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from directranker.metrics import Convention, Metric, convention, evaluate, ndcg

from literal_measures import literal

MEASURES = ["ndcg", "dcg", "average_precision", "precision", "recall", "hit_rate", "reciprocal_rank", "err"]
LABELS = st.sampled_from([0.0, 1.0, 2.0, 3.0, 4.0])
FRACTIONS = st.floats(-3, 4, width=16)


@st.composite
def conventions(draw: st.DrawFn) -> Convention:
    table = {0.0: 0.0, 1.0: 0.5, 2.0: 0.5, 3.0: 6.0, 4.0: 100.0}
    rules: dict[str, Any] = {
        "gain": draw(st.sampled_from(["exponential", "linear", "binary", table])),
        "discount": draw(st.sampled_from(["log2", "letor4"])),
        "threshold": draw(st.sampled_from([0.5, 1, 2])),
        "ties": draw(st.sampled_from(["average", "input", "worst"])),
        "short_lists": draw(st.sampled_from(["own_length", "zero"])),
        "precision_over": draw(st.sampled_from(["k", "list"])),
        "average_precision_over": draw(st.sampled_from(["relevant", "reachable"])),
        "max_grade": draw(st.sampled_from([4, 5.5])),
    }
    return convention("graded", **rules)


@st.composite
def queries(draw: st.DrawFn, labels: st.SearchStrategy[float] = LABELS) -> tuple[list[float], list[float]]:
    rows = draw(st.lists(st.tuples(labels, st.sampled_from([-1.0, 0.0, -0.0, 2.5])), min_size=1, max_size=7))
    return [label for label, _ in rows], [score for _, score in rows]


@pytest.mark.parametrize("measure", MEASURES)
@settings(max_examples=150, deadline=None)
@given(data=queries(), rules=conventions(), k=st.none() | st.integers(1, 9))
def test_kernels_match_the_mean_over_all_orders(
    measure: str, data: tuple[list[float], list[float]], rules: Convention, k: int | None
) -> None:
    labels, scores = data
    (actual,) = Metric(measure, k, rules).per_query(labels, scores)
    expected = literal(labels, scores, measure, rules, k)
    assert actual == pytest.approx(expected, rel=1e-12, abs=1e-13, nan_ok=True)


@pytest.mark.parametrize("measure", MEASURES)
@settings(max_examples=50, deadline=None)
@given(data=queries(FRACTIONS), gain=st.sampled_from(["exponential", "linear", "binary"]))
def test_kernels_match_on_fractional_and_negative_labels(
    measure: str, data: tuple[list[float], list[float]], gain: Any
) -> None:
    rules = convention("graded", gain=gain, max_grade=4)
    (actual,) = Metric(measure, 3, rules).per_query(*data)
    expected = literal(*data, measure, rules, 3)
    assert actual == pytest.approx(expected, rel=1e-9, abs=1e-13, nan_ok=True)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(LABELS, st.integers(-5, 5)), min_size=1, max_size=60), st.randoms())
def test_only_the_order_of_scores_matters(rows: list[tuple[float, int]], random: Any) -> None:
    labels, scores = np.array(rows, dtype=float).T
    metrics = ["ndcg@10", "map", "p@3", "recall@3", "hit@2", "mrr", "err@5", "dcg"]
    before = evaluate(labels, scores, metrics=metrics, no_relevant=0)
    assert evaluate(labels, np.exp(scores / 2) - 7, metrics=metrics, no_relevant=0) == before
    shuffled = random.sample(range(len(rows)), len(rows))
    after = evaluate(labels[shuffled], scores[shuffled], metrics=metrics, no_relevant=0)
    assert after == pytest.approx(before, rel=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 40), st.integers(-3, 3)), min_size=1, max_size=60))
def test_measures_are_between_zero_and_one(rows: list[tuple[float, int]]) -> None:
    labels, scores = np.array(rows).T
    for ties in ("average", "input", "worst"):
        metrics = ["ndcg@10", "ndcg", "map", "p@3", "recall@3", "hit@2", "mrr", "err@5"]
        for value in evaluate(labels, scores, metrics=metrics, ties=ties, no_relevant=0).values():
            assert 0 <= value <= 1


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 40), min_size=1, max_size=60))
def test_ranking_by_label_is_perfect(labels: list[float]) -> None:
    assert ndcg(labels, labels, no_relevant=1) == pytest.approx(1, abs=1e-15)
    assert ndcg(labels, labels, no_relevant=1, ties="worst") == 1


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(LABELS, st.integers(0, 3)), min_size=1, max_size=60))
def test_worst_case_is_never_above_the_mean(rows: list[tuple[float, int]]) -> None:
    labels, scores = np.array(rows, dtype=float).T
    metrics = ["ndcg@10", "map", "p@3", "recall@3", "hit@2", "mrr", "err@5"]
    mean = evaluate(labels, scores, metrics=metrics, no_relevant=0)
    worst = evaluate(labels, scores, metrics=metrics, no_relevant=0, ties="worst")
    assert all(worst[name] <= mean[name] + 1e-12 for name in metrics)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(LABELS, st.integers(0, 3)), min_size=1, max_size=60),
    st.integers(1, 70),
    st.sampled_from(["average", "input", "worst"]),
)
def test_precision_recall_and_hit_rate_count_the_same_hits(
    rows: list[tuple[float, int]], k: int, ties: Any
) -> None:
    labels, scores = np.array(rows, dtype=float).T
    names = [f"p@{k}", f"recall@{k}", f"hit@{k}", f"recall@{k + 1}", f"hit@{k + 1}"]
    values = evaluate(labels, scores, metrics=names, no_relevant=0, ties=ties)
    precision, recall, hit, next_recall, next_hit = values.values()
    n_relevant = int((labels >= 1).sum())
    assert recall * n_relevant == pytest.approx(precision * k, rel=1e-12)
    assert recall - 1e-12 <= hit <= min(1, precision * k) + 1e-12  # a hit is at least one relevant document
    if k == 1:
        assert hit == pytest.approx(precision, abs=1e-12)
    assert recall <= next_recall + 1e-12
    assert hit <= next_hit + 1e-12
    if k >= len(labels):
        assert recall == hit == (n_relevant > 0)


@settings(max_examples=50, deadline=None)
@given(n=st.integers(1, 2000), data=st.data())
def test_hit_rate_of_a_long_tie_is_hypergeometric(n: int, data: st.DataObject) -> None:
    n_relevant, k = data.draw(st.integers(1, n)), data.draw(st.integers(1, n))
    value = Metric("hit_rate", k)(np.arange(n) < n_relevant, np.zeros(n))
    expected = 1 - Fraction(comb(n - n_relevant, k), comb(n, k))
    assert value == pytest.approx(float(expected), rel=1e-12, abs=1e-13)


def test_tied_err_of_long_queries_matches_sampled_orders() -> None:
    rng = np.random.default_rng(3)
    labels = rng.choice(5, size=3000, p=[0.9, 0.05, 0.03, 0.01, 0.01])
    metric = Metric("err", None, convention("graded", max_grade=4))
    orders = [rng.permutation(3000) for _ in range(2000)]
    sampled = metric(
        np.concatenate([labels[order] for order in orders]),
        np.tile(-np.arange(3000.0), 2000),
        offsets=np.arange(2001) * 3000,
    )
    assert metric(labels, np.zeros(3000)) == pytest.approx(sampled, rel=0.05)
