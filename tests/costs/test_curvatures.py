"""Lambdas: the compiled kernel against a reference loop and against finite differences of the cost."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from directranker.arrays import FloatArray
from directranker.costs.curvatures import EvenLambdas, SwapLambdas
from directranker.pairs import parse_pair_weight

from literal_costs import literal_pairs, swap_weights


def literal_lambdas(
    scores: FloatArray, labels: FloatArray, offsets: list[int], weight: str
) -> tuple[FloatArray, FloatArray]:
    gradient, curvature = np.zeros((2, len(scores)))
    for start, stop in pairwise(offsets):
        s, y = scores[start:stop].tolist(), labels[start:stop].tolist()
        swaps = swap_weights(s, y, weight, 1.0) if literal_pairs(y, "all") else {}
        for (i, j), w in swaps.items():
            rho = 0.5 - 0.5 * math.tanh((s[i] - s[j]) / 2)
            gradient[start + i] -= w * rho
            gradient[start + j] += w * rho
            curvature[start + i] += w * rho * (1 - rho)
            curvature[start + j] += w * rho * (1 - rho)
    return gradient, curvature


def make_case(seed: int, spread: float) -> tuple[FloatArray, FloatArray, list[int]]:
    rng = np.random.default_rng(seed)
    offsets = [0, *np.cumsum(rng.integers(0, 9, size=6)).tolist()]
    labels = rng.integers(0, 3, size=offsets[-1]).astype(np.float64)
    return rng.normal(size=offsets[-1]) * spread, labels, offsets


@pytest.mark.parametrize("weight", ["delta_map", "delta_ndcg", "delta_ndcg@3"])
@pytest.mark.parametrize("spread", [1.0, 250.0])  # above 300 the kernel computes exponentials pair by pair
@pytest.mark.parametrize("seed", range(8))
def test_swap_lambdas_match_the_reference_loop(weight: str, spread: float, seed: int) -> None:
    scores, labels, offsets = make_case(seed, spread)
    ours = SwapLambdas(parse_pair_weight(weight), labels, offsets, threshold=1.0)(scores)
    for actual, expected in zip(ours, literal_lambdas(scores, labels, offsets, weight), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)


def test_lambdas_are_derivatives_of_the_cost() -> None:
    scores, labels, offsets = make_case(0, 1.0)
    weights = {
        (start + i, start + j): w
        for start, stop in pairwise(offsets)
        if literal_pairs(labels[start:stop].tolist(), "all")
        for (i, j), w in swap_weights(
            scores[start:stop].tolist(), labels[start:stop].tolist(), "delta_map", 1.0
        ).items()
    }

    def cost(scores: FloatArray) -> float:
        return sum(w * math.log1p(math.exp(scores[j] - scores[i])) for (i, j), w in weights.items())

    lambdas = SwapLambdas(parse_pair_weight("delta_map"), labels, offsets, threshold=1.0)
    gradient, curvature = lambdas(scores)
    for row, step in enumerate(1e-4 * np.eye(len(scores))):
        up, down = cost(scores + step), cost(scores - step)
        assert gradient[row] == pytest.approx((up - down) / 2e-4, abs=1e-6)
        assert curvature[row] == pytest.approx((up - 2 * cost(scores) + down) / 1e-8, abs=1e-5)


@pytest.mark.parametrize("spread", [1.0, 250.0])
@pytest.mark.parametrize("seed", range(4))
def test_even_lambdas_match_the_reference_loop(spread: float, seed: int) -> None:
    scores, labels, offsets = make_case(seed, spread)
    gradient, curvature = np.zeros((2, len(scores)))
    roots = [
        math.sqrt(len(literal_pairs(labels[start:stop].tolist(), "all"))) for start, stop in pairwise(offsets)
    ]
    for (start, stop), root in zip(pairwise(offsets), roots, strict=True):
        for i, j in literal_pairs(labels[start:stop].tolist(), "all"):
            weight = len(scores) / sum(roots) / root
            rho = 0.5 - 0.5 * math.tanh((scores[start + i] - scores[start + j]) / 2)
            for row, sign in ((start + i, -1), (start + j, 1)):
                gradient[row] += sign * weight * rho
                curvature[row] += weight * rho * (1 - rho)
    for actual, expected in zip(EvenLambdas(labels, offsets)(scores), (gradient, curvature), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)
