"""The distillation cost: the cross-entropy between a teacher's pair probabilities and a ranker's.

A teacher with scores t ranks i before j with the probability p = 1 / (1 + e^(t_j − t_i)), the soft target. A
ranker with scores s has the cost −p log σ − (1 − p) log(1 − σ) with σ = 1 / (1 + e^(s_j − s_i)), whose
derivative is σ − p, over all pairs of a query, including those of equal labels. A query's mean counts by the
root of its number of pairs, as in `Objective` with "root".

>>> cost, gradient = SoftTargets(np.array([1.0, 0.0]))(np.array([0.0, 0.0]), np.array([0, 2]))
>>> round(cost, 4), gradient.round(4)  # log 2, and ½ − 1 / (1 + 1/e)
(0.6931, array([-0.2311,  0.2311]))
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from directranker.arrays import Float32Array, FloatArray, IntArray, query_of_rows
from directranker.compilation import (
    compiled,
    compiled_fastmath,
    get_n_threads,
    run_in_parallel,
    split_queries_evenly,
)
from directranker.costs.exponential_kernel import compute_rows_per_log, sum_logs_and_reset
from directranker.costs.exponentials import MAX_SPREAD, compute_exponentials

__all__ = ["SoftTargets"]

MIN_PAIRS_PER_THREAD = 100_000


@dataclass(frozen=True)
class SoftTargets:
    """A teacher's scores of some documents, on the scale of log odds."""

    logits: FloatArray

    def take(self, rows: IntArray) -> SoftTargets:
        """Return the soft targets of these rows."""
        return SoftTargets(self.logits[rows])

    def __call__(
        self,
        scores: FloatArray | Float32Array,
        offsets: IntArray,
        *,
        query_weight: FloatArray | None = None,
        document_weight: FloatArray | None = None,
    ) -> tuple[float, FloatArray]:
        """Return cost and gradient; a pair's weight is its query's weight times those of both documents."""
        scale = _compute_query_scales(offsets, query_weight, document_weight)
        costs, gradient = np.zeros(len(scale)), np.zeros(len(scores))
        weights = np.empty(0) if document_weight is None else document_weight
        wide_scores = scores.astype(np.float64)

        def compare(first: int, last: int) -> None:
            compare_queries(wide_scores, self.logits, weights, offsets, scale, first, last, costs, gradient)

        sizes = np.diff(offsets)
        pairs_before = np.concatenate([[0], np.cumsum(sizes * (sizes - 1) // 2)])
        parts = min(get_n_threads(), 1 + int(pairs_before[-1]) // MIN_PAIRS_PER_THREAD)
        run_in_parallel(compare, split_queries_evenly(pairs_before, parts))
        return float(costs.sum()), gradient

    def compute_tensor_cost(
        self,
        scores: torch.Tensor,
        offsets: IntArray,
        *,
        query_weight: FloatArray | None = None,
        document_weight: FloatArray | None = None,
    ) -> torch.Tensor:
        """Return the cost as a differentiable tensor, for other devices."""
        scale = _compute_query_scales(offsets, query_weight, document_weight)
        total = scores.sum() * 0.0
        for query, (start, stop) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
            i, j = np.triu_indices(stop - start, 1)
            logits = torch.as_tensor(self.logits[start:stop]).to(scores)
            targets = torch.sigmoid(logits[i] - logits[j])
            differences = scores[start:stop][i] - scores[start:stop][j]
            costs = functional.binary_cross_entropy_with_logits(differences, targets, reduction="none")
            if document_weight is not None:
                weight = document_weight[start:stop]
                costs = costs * torch.as_tensor(weight[i] * weight[j]).to(scores)
            total = total + float(scale[query]) * costs.sum()
        return total


def _compute_query_scales(
    offsets: IntArray, query_weight: FloatArray | None, document_weight: FloatArray | None
) -> FloatArray:
    """Return the weight of a pair in each query: 1/√P for P pairs, divided by the sum of all √P."""
    sizes = np.diff(offsets).astype(np.float64)
    weight = np.ones(len(sizes)) if query_weight is None else query_weight
    pairs = sizes * (sizes - 1) / 2
    if document_weight is not None:
        pairs = _sum_pair_weights(document_weight, offsets)
    roots = np.sqrt(pairs)
    total = float((weight * roots).sum())
    scale: FloatArray = np.divide(
        weight, roots * total, out=np.zeros(len(sizes)), where=(roots > 0) & (total > 0)
    )
    return scale


def _sum_pair_weights(weight: FloatArray, offsets: IntArray) -> FloatArray:
    """Return Σ w_i w_j over the pairs of each query: (squared sum − sum of squares) / 2."""
    query = query_of_rows(offsets)
    sums = np.bincount(query, weight, len(offsets) - 1)
    squares = np.bincount(query, weight**2, len(offsets) - 1)
    return np.maximum((sums**2 - squares) / 2, 0.0)


@compiled_fastmath
def accumulate_document(
    scores: FloatArray,
    exponentials: FloatArray,
    score: float,
    inverse: float,
    target_odds: FloatArray,
    own_target_odds: float,
    slopes: FloatArray,
    factors: FloatArray,
) -> tuple[float, float]:
    """Compare a document with the ones after it; return Σ (σ − p) and Σ (1 − p) (s_i − s_j).

    With q = e^(s_j − s_i) a pair costs log(1 + q) + (1 − p) (s_i − s_j), and σ is 1 / (1 + q). Each σ − p is
    subtracted from `slopes`, and `factors` are multiplied by 1 + q.
    """
    slope_sum, cost = 0.0, 0.0
    for j in range(len(exponentials)):
        factor = 1.0 + exponentials[j] * inverse
        complement = target_odds[j] / (own_target_odds + target_odds[j])  # 1 − p
        slope = 1.0 / factor - 1.0 + complement
        slopes[j] -= slope
        factors[j] *= factor
        slope_sum += slope
        cost += complement * (score - scores[j])
    return slope_sum, cost


@compiled
def compare_queries(
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
    """Compare all pairs of the queries `first:last`; an empty `weights` means equal weights."""
    for query in range(first, last):
        start, stop = offsets[query], offsets[query + 1]
        n = stop - start
        if n < 2 or scale[query] == 0.0:
            continue
        own, targets, slopes = scores[start:stop], logits[start:stop], gradient[start:stop]
        exponentials, target_odds, factors = np.empty(n), np.empty(n), np.ones(n)
        spread = compute_exponentials(own, 1.0, exponentials)
        # A comparison with nan is false, so scores that are not finite take the pair loop.
        is_near = spread <= MAX_SPREAD and compute_exponentials(targets, 1.0, target_odds) <= MAX_SPREAD
        if len(weights) or not is_near:
            cost = compare_query_pairs(own, targets, weights[start:stop], slopes)
        else:
            cost = 0.0
            rows_per_log = compute_rows_per_log(spread)
            for i in range(n - 1):
                slope, summand = accumulate_document(
                    own[i + 1 :],
                    exponentials[i + 1 :],
                    own[i],
                    1.0 / exponentials[i],
                    target_odds[i + 1 :],
                    target_odds[i],
                    slopes[i + 1 :],
                    factors[i + 1 :],
                )
                slopes[i] += slope
                cost += summand
                if i % rows_per_log == rows_per_log - 1:
                    cost += sum_logs_and_reset(factors)
            cost += sum_logs_and_reset(factors)
        costs[query] = scale[query] * cost
        for index in range(n):
            slopes[index] *= scale[query]


@compiled
def compare_query_pairs(
    scores: FloatArray, logits: FloatArray, weights: FloatArray, slopes: FloatArray
) -> float:
    """Compare the documents of a query pair by pair, for any scores and weights."""
    cost = 0.0
    for i in range(len(scores) - 1):
        for j in range(i + 1, len(scores)):
            weight = weights[i] * weights[j] if len(weights) else 1.0
            o = scores[i] - scores[j]
            target = 0.5 + 0.5 * math.tanh((logits[i] - logits[j]) / 2.0)
            slope = weight * (0.5 + 0.5 * math.tanh(o / 2.0) - target)
            slopes[i] += slope
            slopes[j] -= slope
            cost += weight * (max(-o, 0.0) + math.log1p(math.exp(-abs(o))) + (1.0 - target) * o)
    return cost
