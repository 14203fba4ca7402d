"""Compiled pair costs against a reference double loop, autograd and finite differences."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from directranker.arrays import FloatArray
from directranker.costs import ACTIVATIONS, PAIR_COSTS, Objective, torch_objective
from directranker.costs.execution import select_kernel
from directranker.costs.pair_costs import TORCH_PAIR_COSTS
from directranker.costs.pair_kernel import compare_pairs
from directranker.pairs import group_by_label

from literal_costs import COSTS, TAUS, literal_cost

COMBINATIONS = [
    (cost, activation)
    for cost in COSTS
    for activation in TAUS
    if cost != "cross_entropy" or activation not in ("identity", "arcsinh")
]
WEIGHTS = [None, "label_difference", "delta_ndcg", "delta_ndcg@2", "delta_map"]
SCORES = st.sampled_from([-1.5, 0.0, 0.25, 1.0]) | st.floats(-4, 4, width=32)
LABELS = st.sampled_from([0.0, 1.0, 2.0, 2.5, 4.0])


@st.composite
def batches(draw: st.DrawFn) -> dict[str, Any]:
    """Draw queries of zero to six documents each, with or without weights."""
    sizes = draw(st.lists(st.integers(0, 6), max_size=4))
    n = sum(sizes)
    weight = st.sampled_from([0.0, 0.5, 1.0, 2.0])
    return {
        "scores": np.array(draw(st.lists(SCORES, min_size=n, max_size=n)), dtype=np.float64),
        "relevance": np.array(draw(st.lists(LABELS, min_size=n, max_size=n)), dtype=np.float64),
        "offsets": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "query_weight": draw(st.none() | st.lists(weight, min_size=len(sizes), max_size=len(sizes))),
        "document_weight": draw(st.none() | st.lists(weight, min_size=n, max_size=n)),
    }


def reference_cost(batch: dict[str, Any], objective: Objective, scores: FloatArray | None = None) -> float:
    return literal_cost(
        (batch["scores"] if scores is None else scores).tolist(),
        batch["relevance"].tolist(),
        batch["offsets"].tolist(),
        cost=str(objective.cost),
        activation=str(objective.head_activation),
        pairs=objective.pairs,
        weight=objective.pair_weight,  # type: ignore[arg-type]
        reduction=objective.reduction,
        threshold=objective.threshold,
        query_weight=batch["query_weight"],
        document_weight=batch["document_weight"],
    )


def autograd(batch: dict[str, Any], objective: Objective) -> tuple[float, FloatArray]:
    leaf = torch.tensor(batch["scores"], requires_grad=True)
    cost = torch_objective(objective, leaf, **{name: batch[name] for name in batch if name != "scores"})
    cost.backward()  # type: ignore[no-untyped-call]
    assert leaf.grad is not None
    return cost.item(), leaf.grad.numpy()


@pytest.mark.parametrize(("cost", "activation"), COMBINATIONS)
@settings(max_examples=14)
@given(
    batch=batches(),
    pairs=st.sampled_from(["all", "adjacent"]),
    weight=st.sampled_from(WEIGHTS),
    reduction=st.sampled_from(["queries", "root", "pairs", "sum"]),
    threshold=st.sampled_from([1.0, 2.0]),
)
def test_kernels_match_the_double_loop_and_autograd(
    cost: str,
    activation: str,
    batch: dict[str, Any],
    pairs: str,
    weight: str | None,
    reduction: str,
    threshold: float,
) -> None:
    objective = Objective(
        cost,
        head_activation=activation,
        pairs=pairs,
        pair_weight=weight,
        reduction=reduction,
        threshold=threshold,
    )
    result = objective(**batch)
    assert result.cost == pytest.approx(reference_cost(batch, objective), rel=1e-9, abs=1e-11)
    by_torch, gradient = autograd(batch, objective)
    assert result.cost == pytest.approx(by_torch, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(result.gradient, gradient, rtol=1e-9, atol=1e-12)


def make_distinct_scores(seed: int = 0) -> dict[str, Any]:
    """Return three queries without ties or scores at a kink, so that small steps change no rank."""
    rng = np.random.default_rng(seed)
    return {
        "scores": rng.permutation(12) * 0.17 - 0.9,
        "relevance": rng.choice([0.0, 1.0, 2.0, 3.5], size=12),
        "offsets": np.array([0, 5, 6, 12]),
        "query_weight": [1.0, 2.0, 0.5],
        "document_weight": rng.uniform(0.5, 2, 12).tolist(),
    }


@pytest.mark.parametrize(
    ("cost", "activation", "weight"),
    [(*combination, None) for combination in COMBINATIONS]
    + [("cross_entropy", "half_tanh", weight) for weight in WEIGHTS[1:]]
    + [("squared_difference", "identity", "label_difference")],
)
@pytest.mark.parametrize("pairs", ["all", "adjacent"])
def test_gradients_match_finite_differences_of_the_double_loop(
    cost: str, activation: str, pairs: str, weight: str | None
) -> None:
    batch = make_distinct_scores()
    if weight is None:
        batch["document_weight"] = None  # so that the fast kernels run
    objective = Objective(cost, head_activation=activation, pairs=pairs, pair_weight=weight)
    step, differences = 1e-5, np.empty(12)
    for row in range(12):
        up, down = batch["scores"].copy(), batch["scores"].copy()
        up[row] += step
        down[row] -= step
        differences[row] = (reference_cost(batch, objective, up) - reference_cost(batch, objective, down)) / (
            2 * step
        )
    np.testing.assert_allclose(objective(**batch).gradient, differences, rtol=1e-6, atol=1e-8)


def test_the_fastest_valid_kernel_is_selected() -> None:
    def kernel(cost: str, activation: str, weight: str | None = None, weighted: bool = False) -> str:
        objective = Objective(cost, head_activation=activation, pair_weight=weight)
        return select_kernel(objective, weighted=weighted).__name__

    for cost in ("squared", "squared_difference", "relevance_weighted"):
        assert kernel(cost, "identity") == "compare_by_moments"
        assert kernel(cost, "identity", "label_difference", weighted=True) == "compare_by_moments"
        assert kernel(cost, "identity", "delta_map") == "compare_pairs"
        assert kernel(cost, "tanh") == kernel(cost, "half_tanh") == "compare_by_probabilities"
        assert kernel(cost, "tanh", "label_difference") == "compare_by_probabilities"
        assert kernel(cost, "tanh", weighted=True) == kernel(cost, "tanh", "delta_map") == "compare_pairs"
        assert kernel(cost, "softsign") == "compare_pairs"
    assert (
        kernel("cross_entropy", "tanh") == kernel("cross_entropy", "half_tanh") == "compare_by_exponentials"
    )
    assert kernel("cross_entropy", "half_tanh", "delta_ndcg") == "compare_pairs"
    assert kernel("cross_entropy", "half_tanh", weighted=True) == "compare_pairs"
    assert kernel("cross_entropy", "softsign") == "compare_pairs"
    for cost in ("hinge", "squared_hinge"):
        assert kernel(cost, "identity") == kernel(cost, "identity", weighted=True) == "compare_by_margins"
        assert kernel(cost, "identity", "label_difference") == kernel(cost, "tanh") == "compare_pairs"


@pytest.mark.parametrize("weight", [None, "label_difference"])
@pytest.mark.parametrize("pairs", ["all", "adjacent"])
@pytest.mark.parametrize("cost", ["squared", "squared_difference", "relevance_weighted"])
@pytest.mark.parametrize("labels", ["few", "many"])
def test_closed_forms_match_the_pair_loop_on_long_queries(
    cost: str, pairs: str, weight: str | None, labels: str
) -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 5, 400).astype(float) if labels == "few" else rng.uniform(0, 2000, 400)
    scores = 1e4 + rng.normal(0, 3, 400)  # a common shift must not lose precision
    offsets = [0, 150, 400]
    options: dict[str, Any] = {"head_activation": "identity", "pairs": pairs, "pair_weight": weight}
    closed = Objective(cost, **options)(scores, y, offsets)
    looped = Objective(TORCH_PAIR_COSTS[cost], **options)(scores, y, offsets)
    assert closed.cost == pytest.approx(looped.cost, rel=1e-9)
    largest = abs(looped.gradient).max()
    np.testing.assert_allclose(closed.gradient, looped.gradient, rtol=1e-8, atol=1e-10 * largest)


def make_long_queries(labels: str, spread: float, weighted: bool) -> dict[str, Any]:
    """Return queries with few and many pairs per document; rounded scores tie, or are at the kink."""
    rng = np.random.default_rng(4)
    y = {"two": rng.integers(0, 2, 450), "few": rng.integers(0, 5, 450), "many": rng.normal(0, 1, 450)}[
        labels
    ]
    return {
        "scores": 1e4 + np.round(rng.normal(0, spread, 450), 1 if spread < 10 else 9),
        "relevance": y.astype(float),
        "offsets": np.array([0, 20, 20, 430, 450]),
        "query_weight": [1.0, 1.0, 2.0, 0.5],
        "document_weight": rng.choice([0.0, 0.5, 2.0], 450).tolist() if weighted else None,
    }


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("pairs", ["all", "adjacent"])
@pytest.mark.parametrize("cost", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("labels", ["two", "few", "many"])
@pytest.mark.parametrize("spread", [0.0, 0.6, 1000.0])
def test_margins_by_sorting_match_the_double_loop_on_long_queries(
    cost: str, pairs: str, labels: str, spread: float, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    objective = Objective(cost, head_activation="identity", pairs=pairs, reduction="sum")
    batch = make_long_queries(labels, spread, weighted)
    result = objective(**batch)
    assert result.cost == pytest.approx(reference_cost(batch, objective), rel=1e-12)
    monkeypatch.setattr("directranker.costs.execution.compare_by_margins", compare_pairs)
    looped = objective(**batch)
    largest = abs(looped.gradient).max()
    np.testing.assert_allclose(result.gradient, looped.gradient, rtol=1e-12, atol=1e-13 * largest)


@pytest.mark.parametrize("cost", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("labels", ["two", "few", "many"])
def test_margins_by_sorting_match_finite_differences(cost: str, labels: str) -> None:
    objective = Objective(cost, head_activation="identity")
    batch = make_long_queries(labels, 0.6, weighted=True)
    batch["scores"] = np.random.default_rng(5).permutation(450) * 1.0013e-2  # no pair is at the kink
    gradient, step = objective(**batch).gradient, 1e-6
    for row in range(20, 430, 29):
        change = np.zeros(450)
        change[row] = step
        up, down = (objective(**{**batch, "scores": batch["scores"] + sign * change}) for sign in (1, -1))
        assert gradient[row] == pytest.approx((up.cost - down.cost) / (2 * step), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("labels", ["few", "many"])
def test_margins_of_one_long_query_take_n_log_n_time(labels: str) -> None:
    rng = np.random.default_rng(6)
    objective = Objective("squared_hinge", head_activation="identity")

    def measure_seconds(n: int) -> float:
        y = rng.integers(0, 5, n) if labels == "few" else rng.normal(size=n)
        scores, classes, seconds = rng.normal(size=n), group_by_label(y), []
        for _ in range(3):
            start = time.perf_counter()
            objective(scores, classes)
            seconds.append(time.perf_counter() - start)
        return min(seconds)

    # 8 times the documents, 64 times the pairs; both are too long for the L1 cache
    assert measure_seconds(640_000) < 30 * measure_seconds(80_000)


@pytest.mark.parametrize("weight", [None, "label_difference"])
@pytest.mark.parametrize("pairs", ["all", "adjacent"])
@pytest.mark.parametrize("cost", ["squared", "squared_difference", "relevance_weighted"])
@pytest.mark.parametrize("spread", [1.0, 40.0, 299.0, 301.0])
def test_squared_costs_by_probabilities_match_autograd_at_any_spread(
    cost: str, pairs: str, weight: str | None, spread: float
) -> None:
    rng = np.random.default_rng(2)
    batch: dict[str, Any] = {
        "scores": rng.uniform(0, spread, 300),
        "relevance": rng.integers(0, 5, 300),
        "offsets": [0, 100, 300],
    }
    for activation in ("half_tanh", "tanh"):
        objective = Objective(cost, head_activation=activation, pairs=pairs, pair_weight=weight)
        result = objective(**batch)
        by_torch, gradient = autograd(batch, objective)
        assert result.cost == pytest.approx(by_torch, rel=1e-12)
        np.testing.assert_allclose(result.gradient, gradient, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("activation", ["tanh", "half_tanh", "softsign", "arctan"])
@pytest.mark.parametrize("scores", [[1e4, -1e4, 0.0], [-1e4, 1e4, 500.0], [1e300, -1e300, 0.0]])
@pytest.mark.parametrize("cost", PAIR_COSTS)
def test_large_scores_stay_finite_with_bounded_activations(
    cost: str, activation: str, scores: list[float]
) -> None:
    for weight in (None, "delta_ndcg"):
        result = Objective(cost, head_activation=activation, pair_weight=weight)(np.array(scores), [2, 1, 0])
        assert np.isfinite(result.cost)
        assert np.isfinite(result.gradient).all()


@pytest.mark.parametrize("activation", ["tanh", "half_tanh", "softsign", "arctan", "erf"])
def test_the_cross_entropy_is_exact_at_any_difference(activation: str) -> None:
    o = np.array([-1e4, -300, -40, -25.1, -24.9, -7, -1, -1e-9, 0, 1e-9, 0.5, 3, 7, 40, 1e4])
    scores, offsets = np.stack([o, np.zeros_like(o)], axis=1).ravel(), 2 * np.arange(len(o) + 1)
    batch: dict[str, Any] = {"scores": scores, "relevance": np.tile([1, 0], len(o)), "offsets": offsets}
    for objective in (
        Objective(head_activation=activation, reduction="sum"),
        Objective(head_activation=activation, reduction="sum", pair_weight="label_difference"),
    ):
        cost, gradient = autograd(batch, objective)
        assert objective(**batch).cost == pytest.approx(cost, rel=1e-12)
        rtol = (
            1e-7 if activation == "erf" else 1e-9
        )  # torch's derivative of log_ndtr loses precision far from 0
        np.testing.assert_allclose(objective(**batch).gradient, gradient, rtol=rtol, atol=1e-15)


def test_cross_entropy_of_large_wrong_differences_is_linear() -> None:
    scores = np.array([0.0, 1e4])
    result = Objective()(scores, [1, 0])
    assert result.cost == 1e4
    assert result.gradient.tolist() == [-1, 1]
    assert Objective(head_activation="tanh")(scores, [1, 0]).cost == 2e4
    assert Objective()(-scores, [1, 0]).cost == 0


@pytest.mark.parametrize("spread", [1.0, 40.0, 299.0, 301.0, 690.0, 800.0])
def test_the_exponential_kernel_is_exact_at_any_spread(spread: float) -> None:
    rng = np.random.default_rng(2)
    batch: dict[str, Any] = {
        "scores": rng.uniform(0, spread, 300),
        "relevance": rng.integers(0, 5, 300),
        "offsets": [0, 100, 300],
    }
    result = Objective()(**batch)
    cost, gradient = autograd(batch, Objective())
    assert result.cost == pytest.approx(cost, rel=1e-12)
    np.testing.assert_allclose(result.gradient, gradient, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("weight", ["delta_ndcg", "delta_ndcg@1", "delta_ndcg@3"])
def test_large_labels_do_not_overflow_delta_ndcg(weight: str) -> None:
    scores, labels = np.array([0.3, 0.1, 0.2, 0.0]), np.array([1998.0, 2000.0, 0.0, 1999.5])
    objective = Objective(pair_weight=weight)
    result = objective(scores, labels)
    expected = literal_cost(scores.tolist(), labels.tolist(), [0, 4], cost="cross_entropy", weight=weight)
    assert 0 < result.cost == pytest.approx(expected, rel=1e-12)


@settings(max_examples=50)
@given(
    st.permutations(range(9)),
    st.sampled_from([None, "delta_ndcg@3", "delta_map"]),
    st.sampled_from(["all", "adjacent"]),
    st.sampled_from([("cross_entropy", "half_tanh"), ("squared", "identity"), ("hinge", "softsign")]),
)
def test_gradients_permute_with_the_documents(
    order: list[int], weight: str | None, pairs: str, cost: tuple[str, str]
) -> None:
    scores = np.array([0.3, -0.2, 1.1, 0.7, -0.9, 0.0, 0.4, 2.0, -1.4])
    labels = np.array([1.0, 0.0, 2.0, 2.0, 0.0, 4.0, 1.0, 0.0, 1.0])
    objective = Objective(cost[0], head_activation=cost[1], pairs=pairs, pair_weight=weight)
    before, after = objective(scores, labels), objective(scores[order], labels[order])
    assert after.cost == pytest.approx(before.cost, rel=1e-12)
    np.testing.assert_allclose(after.gradient, before.gradient[order], rtol=1e-10, atol=1e-13)


def test_float32_gradient_is_the_rounded_float64_gradient() -> None:
    rng = np.random.default_rng(3)
    scores, labels = rng.normal(size=50).astype(np.float32), rng.integers(0, 3, 50)
    for objective in (Objective(), Objective("hinge"), Objective("squared", head_activation="identity")):
        narrow, wide = objective(scores, labels), objective(scores.astype(np.float64), labels)
        assert narrow.gradient.dtype == np.float32
        assert wide.gradient.dtype == np.float64
        assert narrow.cost == wide.cost
        np.testing.assert_array_equal(narrow.gradient, wide.gradient.astype(np.float32))


def test_named_activations_are_odd_and_keep_the_sign() -> None:
    o = torch.linspace(-5, 5, 101, dtype=torch.float64)
    for tau in ACTIVATIONS.values():
        torch.testing.assert_close(tau(o), -tau(-o))
        assert torch.equal(torch.sign(tau(o)), torch.sign(o))
