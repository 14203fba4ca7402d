"""Any cost over randomly sampled pairs, compiled: for queries with too many pairs to compare them all.

A sampled pair represents n_pairs / n_draws pairs of its query, so cost and gradient are unbiased.

>>> from directranker.costs import Objective
>>> capped = Objective("hinge", head_activation="identity", max_pairs=5)
>>> round(capped(np.zeros(1000), np.arange(1000), seed=0).cost, 9)  # each pair costs 1
1.0
"""

from __future__ import annotations

import numpy as np

from directranker.arrays import FloatArray, IntArray
from directranker.compilation import compiled
from directranker.costs.kernel_inputs import CostBatch, CostCodes
from directranker.costs.pair_costs import pair_cost_of_difference
from directranker.pairs.classes import ClassLayout
from directranker.pairs.sampling import sample_pairs
from directranker.pairs.swaps import SwapTerms, swap_weight
from directranker.pairs.weights import BY_LABELS, BY_SWAP

__all__ = ["compare_sampled_pairs"]


@compiled
def compare_sampled_pairs(
    codes: CostCodes,
    layout: ClassLayout,
    batch: CostBatch,
    swap: SwapTerms,
    n_pairs: IntArray,
    first: int,
    last: int,
    costs: FloatArray,
    gradient: FloatArray,
) -> None:
    """Sample and compare pairs of those of the queries `first:last` that have draws."""
    max_draws = 0
    for query in range(first, last):
        max_draws = max(max_draws, batch.n_draws[query])
    higher, lower = np.empty(max_draws, dtype=np.int64), np.empty(max_draws, dtype=np.int64)
    weights, slopes = np.empty(max_draws), np.empty(max_draws)
    for query in range(first, last):
        n = batch.n_draws[query]
        if n == 0:
            continue
        sample_pairs(layout, query, codes.adjacent, batch.seed, higher[:n], lower[:n])
        weigh_sampled(codes, batch, swap, higher[:n], lower[:n], weights)
        scale = batch.scale[query] * (n_pairs[query] / n)
        costs[query] = scale * compare_sampled(codes, batch, higher[:n], lower[:n], weights, slopes)
        for pair in range(n):
            gradient[higher[pair]] += scale * slopes[pair]
            gradient[lower[pair]] -= scale * slopes[pair]


@compiled
def weigh_sampled(
    codes: CostCodes,
    batch: CostBatch,
    swap: SwapTerms,
    higher: IntArray,
    lower: IntArray,
    result: FloatArray,
) -> None:
    """Write the weights of the pairs of positions `higher`, `lower`."""
    weights, labels = batch.weight, batch.relevance
    values, ranks, uppers, lowers = swap.value, swap.rank, swap.upper, swap.lower
    for pair in range(len(higher)):
        i, j = higher[pair], lower[pair]
        result[pair] = weights[i] * weights[j]
        if codes.weight == BY_LABELS:
            result[pair] *= labels[i] - labels[j]
        elif codes.weight == BY_SWAP:
            ahead, behind = uppers[i] + lowers[j], uppers[j] + lowers[i]
            result[pair] *= swap_weight(values[i] - values[j], ranks[i] - ranks[j], ahead, behind)


@compiled
def compare_sampled(
    codes: CostCodes,
    batch: CostBatch,
    higher: IntArray,
    lower: IntArray,
    weights: FloatArray,
    slopes: FloatArray,
) -> float:
    """Compare these pairs; return the cost and write its derivatives in s_i − s_j to `slopes`."""
    scores, labels, total = batch.scores, batch.relevance, 0.0
    for pair in range(len(higher)):
        i, j = higher[pair], lower[pair]
        o, y_i, y_j = scores[i] - scores[j], labels[i], labels[j]
        value, slope = pair_cost_of_difference(codes.cost, codes.activation, o, y_i, y_j)
        total += weights[pair] * value
        slopes[pair] = weights[pair] * slope
    return total
