"""The cost of a teacher's beliefs: the kernel against a literal loop, torch and finite differences."""

from __future__ import annotations

import math
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from directranker.costs.soft_targets import SoftTargets

Array = NDArray[np.float64]


def literal(
    scores: Array, logits: Array, offsets: Any, query_weight: Array | None, document_weight: Array | None
) -> float:
    """The sum over queries of √P times the mean of the pairs' costs, divided by the sum of all √P."""
    above = below = 0.0
    for query, (start, stop) in enumerate(pairwise(offsets.tolist())):
        costs, weights = 0.0, 0.0
        for i, j in combinations(range(start, stop), 2):
            belief = 1 / (1 + math.exp(logits[j] - logits[i]))
            own = 1 / (1 + math.exp(scores[j] - scores[i]))
            weight = 1.0 if document_weight is None else document_weight[i] * document_weight[j]
            costs -= weight * (belief * math.log(own) + (1 - belief) * math.log1p(-own))
            weights += weight
        if weights:
            of_query = 1.0 if query_weight is None else query_weight[query]
            above += of_query * math.sqrt(weights) * costs / weights
            below += of_query * math.sqrt(weights)
    return above / below if below else 0.0


def assert_is_torchs(
    cost: float,
    gradient: Array,
    beliefs: SoftTargets,
    scores: Array,
    offsets: Any,
    query_weight: Array | None = None,
    document_weight: Array | None = None,
) -> None:
    leaf = torch.tensor(scores, requires_grad=True)
    by_torch = beliefs.compute_tensor_cost(leaf, offsets, query_weight=query_weight, document_weight=document_weight)
    (slopes,) = torch.autograd.grad(by_torch, leaf)
    assert cost == pytest.approx(by_torch.item(), rel=1e-9)
    np.testing.assert_allclose(gradient, slopes.numpy(), rtol=1e-7, atol=1e-12)


def case(seed: int, spread: float) -> tuple[Array, Array, Any, Array, Array]:
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 12, size=5))])
    n = int(offsets[-1])
    scores, logits = rng.normal(size=(2, n)) * spread
    return scores, logits, offsets, rng.uniform(0.5, 2, size=5), rng.uniform(0.5, 2, size=n)


@pytest.mark.parametrize("weighted", ["not at all", "queries", "documents", "both"])
@pytest.mark.parametrize("seed", range(6))
def test_the_kernel_is_the_literal_loop_and_torch(seed: int, weighted: str) -> None:
    scores, logits, offsets, of_query, of_document = case(seed, 2.0)
    query_weight = of_query if weighted in ("queries", "both") else None
    document_weight = of_document if weighted in ("documents", "both") else None
    beliefs = SoftTargets(logits)
    cost, gradient = beliefs(scores, offsets, query_weight=query_weight, document_weight=document_weight)
    assert cost == pytest.approx(literal(scores, logits, offsets, query_weight, document_weight), rel=1e-9)
    assert_is_torchs(cost, gradient, beliefs, scores, offsets, query_weight, document_weight)


def test_the_gradient_is_the_slope_of_the_cost() -> None:
    scores, logits, offsets, *_ = case(3, 1.0)
    beliefs = SoftTargets(logits)
    _, gradient = beliefs(scores, offsets)
    for row, step in enumerate(1e-5 * np.eye(len(scores))):
        slope = (beliefs(scores + step, offsets)[0] - beliefs(scores - step, offsets)[0]) / 2e-5
        assert gradient[row] == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize("spread", [30.0, 200.0, 1e4])  # beyond e^300 pairs are compared one by one
def test_scores_far_apart_are_exact(spread: float) -> None:
    scores, logits, offsets, *_ = case(1, spread)
    cost, gradient = SoftTargets(logits)(scores, offsets)
    assert_is_torchs(cost, gradient, SoftTargets(logits), scores, offsets)


def test_a_long_list_is_the_same_on_several_threads() -> None:
    rng = np.random.default_rng(0)
    scores, logits = rng.normal(size=(2, 1500))
    offsets = np.array([0, 700, 1500])
    cost, gradient = SoftTargets(logits)(scores, offsets)
    assert_is_torchs(cost, gradient, SoftTargets(logits), scores, offsets)


def test_a_ranker_that_thinks_as_its_teacher_is_not_pulled() -> None:
    logits = np.random.default_rng(0).normal(size=9)
    _, gradient = SoftTargets(logits)(logits + 5.0, np.array([0, 4, 9]))
    np.testing.assert_allclose(gradient, 0.0, atol=1e-15)


def test_scores_that_are_not_finite_make_the_cost_nan() -> None:
    cost, _ = SoftTargets(np.zeros(2))(np.array([np.nan, 0.0]), np.array([0, 2]))
    assert math.isnan(cost)
