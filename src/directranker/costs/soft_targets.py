"""The cost of a teacher's beliefs: how far a ranker is from what another one thinks of each pair.

A teacher with scores t believes that i comes before j with p = 1 / (1 + e^(t_j − t_i)). A ranker with scores
s pays the cross-entropy −p log σ − (1 − p) log(1 − σ) with σ = 1 / (1 + e^(s_j − s_i)), whose slope is σ − p,
over all pairs of a query, those of equal labels too. A query's mean counts by the root of its number of
pairs, as in `Objective` with "root".

>>> cost, gradient = SoftTargets(np.array([1.0, 0.0]))(np.array([0.0, 0.0]), np.array([0, 2]))
>>> round(cost, 4), gradient.round(4)  # log 2, and ½ − 1 / (1 + 1/e)
(0.6931, array([-0.2311,  0.2311]))
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from directranker.arrays import IntArray
from directranker.compilation import (
    compiled,
    compiled_fastmath,
    get_n_threads,
    run_in_parallel,
    split_queries_evenly,
)
from directranker.costs.exponential_kernel import LARGEST_LOG, sum_of_logs
from directranker.costs.exponentials import FAR_APART, take_exponentials
from directranker.metrics.sorting import FloatArray

__all__ = ["SoftTargets"]

PAIRS_WORTH_A_THREAD = 100_000


@dataclass(frozen=True)
class SoftTargets:
    """What a teacher thinks of some documents: its scores, on the scale of log odds."""

    logits: FloatArray

    def of(self, rows: IntArray) -> SoftTargets:
        """Those of these documents."""
        return SoftTargets(self.logits[rows])

    def __call__(
        self,
        scores: NDArray[np.floating[Any]],
        offsets: IntArray,
        *,
        query_weight: FloatArray | None = None,
        document_weight: FloatArray | None = None,
    ) -> tuple[float, FloatArray]:
        """The cost and its gradient; a pair weighs its query's weight times those of both documents."""
        scale = _scale_of_queries(offsets, query_weight, document_weight)
        costs, gradient = np.zeros(len(scale)), np.zeros(len(scores))
        weights = np.empty(0) if document_weight is None else document_weight
        exact = scores.astype(np.float64)

        def work(first: int, last: int) -> None:
            follow_queries(exact, self.logits, weights, offsets, scale, first, last, costs, gradient)

        sizes = np.diff(offsets)
        pairs_before = np.concatenate([[0], np.cumsum(sizes * (sizes - 1) // 2)])
        parts = min(get_n_threads(), 1 + int(pairs_before[-1]) // PAIRS_WORTH_A_THREAD)
        run_in_parallel(work, split_queries_evenly(pairs_before, parts))
        return float(costs.sum()), gradient

    def tensor_cost(
        self,
        scores: torch.Tensor,
        offsets: IntArray,
        *,
        query_weight: FloatArray | None = None,
        document_weight: FloatArray | None = None,
    ) -> torch.Tensor:
        """The same as a differentiable tensor, for other devices."""
        scale = _scale_of_queries(offsets, query_weight, document_weight)
        total = scores.sum() * 0.0
        for query, (start, stop) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
            i, j = np.triu_indices(stop - start, 1)
            odds = torch.as_tensor(self.logits[start:stop]).to(scores)
            belief = torch.sigmoid(odds[i] - odds[j])
            own = scores[start:stop]
            pair = torch.nn.functional.binary_cross_entropy_with_logits(
                own[i] - own[j], belief, reduction="none"
            )
            if document_weight is not None:
                weight = document_weight[start:stop]
                pair = pair * torch.as_tensor(weight[i] * weight[j]).to(scores)
            total = total + float(scale[query]) * pair.sum()
        return total


def _scale_of_queries(
    offsets: IntArray, query_weight: FloatArray | None, document_weight: FloatArray | None
) -> FloatArray:
    """What a pair of each query weighs: 1/√P of its P pairs, divided by the sum of all √P."""
    sizes = np.diff(offsets).astype(np.float64)
    weight = np.ones(len(sizes)) if query_weight is None else query_weight
    pairs = sizes * (sizes - 1) / 2
    if document_weight is not None:
        pairs = _pair_weights(document_weight, offsets)
    roots = np.sqrt(pairs)
    total = float((weight * roots).sum())
    scale: FloatArray = np.divide(
        weight, roots * total, out=np.zeros(len(sizes)), where=(roots > 0) & (total > 0)
    )
    return scale


def _pair_weights(weight: FloatArray, offsets: IntArray) -> FloatArray:
    """Σ w_i w_j over the pairs of each query: half the squared sum less the sum of squares."""
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    sums = np.bincount(query, weight, len(offsets) - 1)
    squares = np.bincount(query, weight**2, len(offsets) - 1)
    return np.maximum((sums**2 - squares) / 2, 0.0)


@compiled_fastmath
def follow_one(
    own: FloatArray,
    others: FloatArray,
    score: float,
    inverse: float,
    odds: FloatArray,
    own_odds: float,
    pulls: FloatArray,
    factors: FloatArray,
) -> tuple[float, float]:
    """A document meets those after it: Σ (σ − p), and Σ (1 − p) (s_i − s_j); factors 1 + q are noted.

    With q = e^(s_j − s_i) a pair costs log(1 + q) + (1 − p) (s_i − s_j), and σ is 1 / (1 + q).
    """
    pull, cost = 0.0, 0.0
    for other in range(len(others)):
        whole = 1.0 + others[other] * inverse
        doubt = odds[other] / (own_odds + odds[other])
        slope = 1.0 / whole - 1.0 + doubt
        pulls[other] -= slope
        factors[other] *= whole
        pull += slope
        cost += doubt * (score - own[other])
    return pull, cost


@compiled
def follow_queries(
    scores: FloatArray,
    logits: FloatArray,
    weights: FloatArray,
    offsets: IntArray,
    scale: FloatArray,
    first: int,
    last: int,
    costs: FloatArray,
    gradient: FloatArray,
) -> None:
    """The queries `first:last`; documents weigh the same where there are no weights."""
    for query in range(first, last):
        start, stop = offsets[query], offsets[query + 1]
        n = stop - start
        if n < 2 or scale[query] == 0.0:
            continue
        own, beliefs, pulls = scores[start:stop], logits[start:stop], gradient[start:stop]
        taken, odds, factors = np.empty(n), np.empty(n), np.ones(n)
        spread = take_exponentials(own, 1.0, taken)
        # Written so that scores that are not finite take the other way.
        near = spread <= FAR_APART and take_exponentials(beliefs, 1.0, odds) <= FAR_APART
        if len(weights) or not near:
            cost = follow_exactly(own, beliefs, weights[start:stop], pulls)
        else:
            cost = 0.0
            rows_per_log = max(1, int(LARGEST_LOG / (spread + 0.7)))  # a factor is below 2 e^spread
            for at in range(n - 1):
                pull, part = follow_one(
                    own[at + 1 :], taken[at + 1 :], own[at], 1.0 / taken[at], odds[at + 1 :], odds[at],
                    pulls[at + 1 :], factors[at + 1 :],
                )  # fmt: skip
                pulls[at] += pull
                cost += part
                if at % rows_per_log == rows_per_log - 1:
                    cost += sum_of_logs(factors)
            cost += sum_of_logs(factors)
        costs[query] = scale[query] * cost
        for at in range(n):
            pulls[at] *= scale[query]


@compiled
def follow_exactly(own: FloatArray, beliefs: FloatArray, weights: FloatArray, pulls: FloatArray) -> float:
    """One query pair by pair, for any scores and weights."""
    cost = 0.0
    for i in range(len(own) - 1):
        for j in range(i + 1, len(own)):
            weight = weights[i] * weights[j] if len(weights) else 1.0
            apart = own[i] - own[j]
            belief = 0.5 + 0.5 * math.tanh((beliefs[i] - beliefs[j]) / 2.0)
            slope = weight * (0.5 + 0.5 * math.tanh(apart / 2.0) - belief)
            pulls[i] += slope
            pulls[j] -= slope
            cost += weight * (max(-apart, 0.0) + math.log1p(math.exp(-abs(apart))) + (1.0 - belief) * apart)
    return cost
