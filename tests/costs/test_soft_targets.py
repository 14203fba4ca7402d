"""The distillation cost: the kernel against a reference loop, torch and finite differences."""

from __future__ import annotations

import math
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
import torch

from directranker.arrays import FloatArray
from directranker.costs.soft_targets import SoftTargets


def literal_cost(
    scores: FloatArray,
    logits: FloatArray,
    offsets: Any,
    query_weight: FloatArray | None,
    document_weight: FloatArray | None,
) -> float:
    """Return the sum over queries of √P times the mean cost of its pairs, divided by the sum of all √P."""
    numerator = denominator = 0.0
    for query, (start, stop) in enumerate(pairwise(offsets.tolist())):
        costs, weights = 0.0, 0.0
        for i, j in combinations(range(start, stop), 2):
            target = 1 / (1 + math.exp(logits[j] - logits[i]))
            probability = 1 / (1 + math.exp(scores[j] - scores[i]))
            weight = 1.0 if document_weight is None else document_weight[i] * document_weight[j]
            costs -= weight * (target * math.log(probability) + (1 - target) * math.log1p(-probability))
            weights += weight
        if weights:
            importance = math.sqrt(weights) * (1.0 if query_weight is None else query_weight[query])
            numerator += importance * costs / weights
            denominator += importance
    return numerator / denominator if denominator else 0.0


def assert_matches_torch(
    cost: float,
    gradient: FloatArray,
    targets: SoftTargets,
    scores: FloatArray,
    offsets: Any,
    query_weight: FloatArray | None = None,
    document_weight: FloatArray | None = None,
) -> None:
    leaf = torch.tensor(scores, requires_grad=True)
    by_torch = targets.compute_tensor_cost(
        leaf, offsets, query_weight=query_weight, document_weight=document_weight
    )
    (slopes,) = torch.autograd.grad(by_torch, leaf)
    assert cost == pytest.approx(by_torch.item(), rel=1e-9)
    np.testing.assert_allclose(gradient, slopes.numpy(), rtol=1e-7, atol=1e-12)


def make_case(seed: int, spread: float) -> tuple[FloatArray, FloatArray, Any, FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 12, size=5))])
    n = int(offsets[-1])
    scores, logits = rng.normal(size=(2, n)) * spread
    return scores, logits, offsets, rng.uniform(0.5, 2, size=5), rng.uniform(0.5, 2, size=n)


@pytest.mark.parametrize("weighted", ["none", "queries", "documents", "both"])
@pytest.mark.parametrize("seed", range(6))
def test_the_kernel_matches_the_reference_loop_and_torch(seed: int, weighted: str) -> None:
    scores, logits, offsets, query_weights, document_weights = make_case(seed, 2.0)
    query_weight = query_weights if weighted in ("queries", "both") else None
    document_weight = document_weights if weighted in ("documents", "both") else None
    targets = SoftTargets(logits)
    cost, gradient = targets(scores, offsets, query_weight=query_weight, document_weight=document_weight)
    assert cost == pytest.approx(
        literal_cost(scores, logits, offsets, query_weight, document_weight), rel=1e-9
    )
    assert_matches_torch(cost, gradient, targets, scores, offsets, query_weight, document_weight)


def test_the_gradient_matches_finite_differences() -> None:
    scores, logits, offsets, *_ = make_case(3, 1.0)
    targets = SoftTargets(logits)
    _, gradient = targets(scores, offsets)
    for row, step in enumerate(1e-5 * np.eye(len(scores))):
        slope = (targets(scores + step, offsets)[0] - targets(scores - step, offsets)[0]) / 2e-5
        assert gradient[row] == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize("spread", [30.0, 200.0, 1e4])  # above 300 pairs are compared one by one
def test_scores_far_apart_are_exact(spread: float) -> None:
    scores, logits, offsets, *_ = make_case(1, spread)
    cost, gradient = SoftTargets(logits)(scores, offsets)
    assert_matches_torch(cost, gradient, SoftTargets(logits), scores, offsets)


def test_long_queries_on_several_threads_match_torch() -> None:
    rng = np.random.default_rng(0)
    scores, logits = rng.normal(size=(2, 1500))
    offsets = np.array([0, 700, 1500])
    cost, gradient = SoftTargets(logits)(scores, offsets)
    assert_matches_torch(cost, gradient, SoftTargets(logits), scores, offsets)


def test_the_gradient_is_zero_where_ranker_and_teacher_agree() -> None:
    logits = np.random.default_rng(0).normal(size=9)
    _, gradient = SoftTargets(logits)(logits + 5.0, np.array([0, 4, 9]))
    np.testing.assert_allclose(gradient, 0.0, atol=1e-15)


def test_non_finite_scores_make_the_cost_nan() -> None:
    cost, _ = SoftTargets(np.zeros(2))(np.array([np.nan, 0.0]), np.array([0, 2]))
    assert math.isnan(cost)
