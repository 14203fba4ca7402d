"""Sampled pairs: cost and gradient are unbiased, and the same for any number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import pytest
import torch

from directranker.costs import Objective, torch_objective

rng = np.random.default_rng(5)
SCORES, LABELS = rng.normal(size=30), rng.integers(0, 4, 30)
OFFSETS = np.array([0, 3, 18, 30])


@pytest.fixture
def restore_threads() -> Iterator[None]:
    before = numba.get_num_threads()
    yield
    numba.set_num_threads(before)


@pytest.mark.parametrize("pairs", ["all", "adjacent"])
@pytest.mark.parametrize(
    ("reduction", "weight"),
    [("queries", None), ("root", None), ("pairs", None), ("sum", None), ("queries", "delta_ndcg")],
)
def test_cost_and_gradient_are_unbiased(pairs: str, reduction: str, weight: str | None) -> None:
    options: dict[str, Any] = {"pairs": pairs, "reduction": reduction, "pair_weight": weight}
    exact = Objective(**options)(SCORES, LABELS, OFFSETS)
    capped = Objective(max_pairs=7, **options)
    runs = [capped(SCORES, LABELS, OFFSETS, seed=seed) for seed in range(1000)]
    values = np.array([[run.cost, *run.gradient] for run in runs])
    error = values.std(axis=0, ddof=1) / np.sqrt(len(runs))
    deviation = abs(values.mean(axis=0) - [exact.cost, *exact.gradient])
    # The largest of 31 deviations is within four standard errors in 998 of 1000 runs.
    assert (deviation <= 4 * error + 1e-12).all()
    assert error[0] > 0


def test_cost_with_weights_is_unbiased() -> None:
    weights: dict[str, Any] = {"document_weight": rng.uniform(0, 2, 30), "query_weight": [1.0, 0.5, 2.0]}
    exact = Objective("hinge")(SCORES, LABELS, OFFSETS, **weights)
    capped = Objective("hinge", max_pairs=7)
    costs = [capped(SCORES, LABELS, OFFSETS, seed=seed, **weights).cost for seed in range(2000)]
    assert abs(np.mean(costs) - exact.cost) < 4 * np.std(costs, ddof=1) / np.sqrt(2000)


def test_only_queries_with_more_pairs_are_sampled() -> None:
    result = Objective(max_pairs=7)(SCORES, LABELS, OFFSETS, seed=0)
    n_first = Objective()(SCORES[:3], LABELS[:3]).n_pairs
    assert result.n_pairs == n_first + 7 + 7
    uncapped = Objective(max_pairs=10_000)(SCORES, LABELS, OFFSETS)
    assert uncapped.cost == Objective()(SCORES, LABELS, OFFSETS).cost


def test_the_seed_determines_the_sample() -> None:
    capped = Objective(max_pairs=7)
    costs = [capped(SCORES, LABELS, OFFSETS, seed=seed).cost for seed in (1, 1, 2, -1)]
    assert costs[0] == costs[1]
    assert len(set(costs)) == 3
    assert capped(SCORES, LABELS, OFFSETS).cost != capped(SCORES, LABELS, OFFSETS).cost


@pytest.mark.parametrize("pairs", ["all", "adjacent"])
def test_torch_samples_the_same_pairs(pairs: str) -> None:
    objective = Objective("squared", head_activation="identity", pairs=pairs, max_pairs=7)
    result = objective(SCORES, LABELS, OFFSETS, seed=3)
    leaf = torch.tensor(SCORES, requires_grad=True)
    cost = torch_objective(objective, leaf, LABELS, OFFSETS, seed=3)
    (gradient,) = torch.autograd.grad(cost, leaf)
    assert result.cost == pytest.approx(cost.item(), rel=1e-12)
    np.testing.assert_allclose(result.gradient, gradient.numpy(), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(
    "objective",
    [
        Objective(),
        Objective(max_pairs=2000),
        Objective("squared", head_activation="identity"),
        Objective("hinge", pair_weight="delta_ndcg@10", pairs="adjacent"),
        Objective("listmle"),
    ],
    ids=str,
)
@pytest.mark.usefixtures("restore_threads")
def test_the_number_of_threads_changes_nothing(objective: Objective) -> None:
    sizes = rng.integers(0, 400, 300)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    labels, scores = rng.integers(0, 5, offsets[-1]), rng.normal(size=offsets[-1])
    results = []
    for n in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(n)
        results.append(objective(scores, labels, offsets, seed=9))
    assert results[0].cost == results[1].cost
    np.testing.assert_array_equal(results[0].gradient, results[1].gradient)
