"""List costs against their definitions, autograd and finite differences."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from directranker.costs import LIST_COSTS, Objective, torch_objective

from literal_costs import literal_list_cost, reduce_costs


@st.composite
def batches(draw: st.DrawFn) -> dict[str, Any]:
    sizes = draw(st.lists(st.integers(0, 6), max_size=4))
    n = sum(sizes)
    weight = st.sampled_from([0.0, 0.5, 1.0, 2.0])
    scores = st.sampled_from([-1.0, 0.0, 0.5]) | st.floats(-5, 5, width=32)
    labels = st.sampled_from([-1.0, 0.0, 1.0, 2.5, 4.0])
    return {
        "scores": np.array(draw(st.lists(scores, min_size=n, max_size=n)), dtype=np.float64),
        "relevance": np.array(draw(st.lists(labels, min_size=n, max_size=n)), dtype=np.float64),
        "offsets": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "query_weight": draw(st.none() | st.lists(weight, min_size=len(sizes), max_size=len(sizes))),
        "document_weight": draw(st.none() | st.lists(weight, min_size=n, max_size=n)),
    }


def reference_cost(batch: dict[str, Any], cost: str, reduction: str) -> float:
    sums, counts = [], []
    weights = batch["query_weight"] or [1.0] * (len(batch["offsets"]) - 1)
    for start, stop in pairwise(batch["offsets"].tolist()):
        labels = batch["relevance"][start:stop].tolist()
        document_weight = batch["document_weight"] and batch["document_weight"][start:stop]
        sums.append(
            literal_list_cost(batch["scores"][start:stop].tolist(), labels, cost, document_weight or None)
        )
        counts.append(float(len(set(labels)) > 1 and (cost != "softmax" or max(labels) > 0)))
    return reduce_costs(sums, counts, weights, reduction)


@pytest.mark.parametrize("cost", LIST_COSTS)
@settings(max_examples=100)
@given(batch=batches(), reduction=st.sampled_from(["queries", "sum"]))
def test_kernels_match_the_definition_and_autograd(cost: str, batch: dict[str, Any], reduction: str) -> None:
    objective = Objective(cost, reduction=reduction)
    result = objective(**batch)
    assert result.cost == pytest.approx(reference_cost(batch, cost, reduction), rel=1e-9, abs=1e-12)
    leaf = torch.tensor(batch.pop("scores"), requires_grad=True)
    by_torch = torch_objective(objective, leaf, **batch)
    (gradient,) = torch.autograd.grad(by_torch, leaf)
    assert result.cost == pytest.approx(by_torch.item(), rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(result.gradient, gradient.numpy(), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("cost", LIST_COSTS)
def test_gradients_match_finite_differences_of_the_definition(cost: str) -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=8), np.array([0.0, 3.0, 1.0, 1.0, 0.0, 2.0, 3.0, 0.5])
    step, differences = 1e-5, np.empty(8)
    for row in range(8):
        up, down = scores.copy(), scores.copy()
        up[row] += step
        down[row] -= step
        change = literal_list_cost(up.tolist(), labels.tolist(), cost) - literal_list_cost(
            down.tolist(), labels.tolist(), cost
        )
        differences[row] = change / (2 * step)
    np.testing.assert_allclose(Objective(cost)(scores, labels).gradient, differences, rtol=1e-7, atol=1e-9)


def test_listmle_is_the_likelihood_of_the_order_by_labels() -> None:
    scores, labels = np.array([0.3, -0.5, 1.2]), [2, 0, 1]
    e = np.exp(scores)
    likelihood = e[0] / e.sum() * e[2] / (e[2] + e[1])
    assert Objective("listmle")(scores, labels).cost == pytest.approx(-np.log(likelihood), rel=1e-14)


@pytest.mark.parametrize("cost", LIST_COSTS)
@pytest.mark.parametrize("scores", [[1e4, -1e4, 0.0, 5.0], [-1e4, 1e4, 500.0, -3.0]])
def test_large_scores_and_labels_stay_finite(cost: str, scores: list[float]) -> None:
    objective = Objective(cost)
    labels = [2000.0, 1.0, 0.0, 1999.0]
    result = objective(np.array(scores), labels)
    assert np.isfinite(result.cost)
    leaf = torch.tensor(scores, dtype=torch.float64, requires_grad=True)
    by_torch = torch_objective(objective, leaf, labels)
    (gradient,) = torch.autograd.grad(by_torch, leaf)
    assert result.cost == pytest.approx(by_torch.item(), rel=1e-12)
    np.testing.assert_allclose(result.gradient, gradient.numpy(), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("cost", LIST_COSTS)
def test_gradients_permute_with_the_documents_and_sum_to_zero(cost: str) -> None:
    rng = np.random.default_rng(4)
    scores, labels, order = rng.normal(size=20), rng.integers(0, 4, 20), rng.permutation(20)
    before, after = Objective(cost)(scores, labels), Objective(cost)(scores[order], labels[order])
    np.testing.assert_allclose(after.gradient, before.gradient[order], rtol=1e-10, atol=1e-14)
    assert before.gradient.sum() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("option", [{"pairs": "adjacent"}, {"pair_weight": "delta_ndcg"}, {"max_pairs": 5}])
def test_pair_options_raise(option: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"does not apply to the list cost 'listnet'; leave it out"):
        Objective("listnet", **option)


def test_mean_over_pairs_raises() -> None:
    with pytest.raises(ValueError, match="'softmax' has no pairs; use 'queries' or 'sum'"):
        Objective("softmax", reduction="pairs")
