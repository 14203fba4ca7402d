"""The squared costs with τ = tanh, compiled: one exponential per document and one division per pair.

With τ(o) = tanh(k o/2) and q = e^(−k o) from `exponentials`, 1 − r = 2p for p = q/(1 + q), the probability
that the less relevant document is ranked first. Each cost is then

    f (a + 2p)²     with the derivative     −4 k f (a + 2p) p (1 − p)     with respect to o

where a = 0 for `squared` and `relevance_weighted` and y_i − y_j − 1 for `squared_difference`, and f is 1 or
y_i, times y_i − y_j with the pair weight `label_difference`. A loop without branches whose sums may be taken
in any order is six times as fast as the general loop. Queries whose scores are too far apart take the general
loop.

>>> from directranker.costs import Objective
>>> Objective("squared")(np.zeros(2), [1, 0])  # r = 0: (1 − 0)², and −4 (2 · ½) ½ · ½
ObjectiveResult(cost=1.0, gradient=array([-1.,  1.]), n_pairs=1, n_queries=1)
"""

from __future__ import annotations

import numpy as np

from directranker.arrays import FloatArray
from directranker.compilation import compiled, compiled_fastmath
from directranker.costs.activations import get_steepness
from directranker.costs.exponentials import MAX_SPREAD, compute_exponentials
from directranker.costs.kernel_inputs import CostBatch, CostCodes, is_skipped
from directranker.costs.pair_costs import RELEVANCE_WEIGHTED, SQUARED_DIFFERENCE
from directranker.costs.pair_kernel import compare_query
from directranker.metrics.sorting import max_group_size
from directranker.pairs.classes import ClassLayout
from directranker.pairs.sampling import lower_stop
from directranker.pairs.swaps import SwapTerms
from directranker.pairs.weights import BY_LABELS

__all__ = ["compare_by_probabilities"]


@compiled_fastmath
def accumulate_squared(
    below: FloatArray, inverse: float, factor: float, slopes: FloatArray
) -> tuple[float, float]:
    """Compare a document with 1/e^s = `inverse` with the less relevant ones, a = 0: Σ p² and Σ p² (1 − p)."""
    cost, slope_sum = 0.0, 0.0
    for j in range(len(below)):
        odds = below[j] * inverse
        complement = 1.0 / (1.0 + odds)  # 1 − p, with all its digits where p is nearly 1
        probability = odds * complement
        square = probability * probability
        slope = square * complement
        slopes[j] += factor * slope
        cost += square
        slope_sum += slope
    return cost, slope_sum


@compiled_fastmath
def accumulate_squared_by_labels(
    below: FloatArray,
    labels: FloatArray,
    inverse: float,
    label: float,
    offset: float,
    label_weight: float,
    factor: float,
    slopes: FloatArray,
) -> tuple[float, float]:
    """The same with 2a = `offset` · (y_i − y_j − 1), each pair times y_i − y_j where `label_weight` is 1."""
    cost, slope_sum = 0.0, 0.0
    for j in range(len(below)):
        odds = below[j] * inverse
        complement = 1.0 / (1.0 + odds)
        probability = odds * complement
        difference = label - labels[j]
        weight = 1.0 + label_weight * (difference - 1.0)
        residual = probability + offset * (difference - 1.0)
        slope = weight * residual * probability * complement
        slopes[j] += factor * slope
        cost += weight * residual * residual
        slope_sum += slope
    return cost, slope_sum


@compiled
def compare_by_probabilities(
    codes: CostCodes,
    layout: ClassLayout,
    batch: CostBatch,
    swap: SwapTerms,
    first: int,
    last: int,
    costs: FloatArray,
    gradient: FloatArray,
) -> None:
    """Compare all pairs of the queries `first:last`, without document weights."""
    longest = max_group_size(layout.offsets, first, last)
    exponentials, slopes = np.empty(longest), np.empty(longest)
    steepness = get_steepness(codes.activation)
    for query in range(first, last):
        if is_skipped(layout, batch, query):
            continue
        start, stop = layout.offsets[query], layout.offsets[query + 1]
        if compute_exponentials(batch.scores[start:stop], steepness, exponentials) > MAX_SPREAD:
            costs[query] = compare_query(codes, layout, batch, swap, query, gradient)
            continue
        slopes[: stop - start] = 0.0
        cost = compare_squared_classes(codes, layout, batch, query, exponentials, slopes)
        costs[query] = 4.0 * batch.scale[query] * cost
        for index in range(stop - start):
            gradient[start + index] = 8.0 * steepness * batch.scale[query] * slopes[index]


@compiled
def compare_squared_classes(
    codes: CostCodes,
    layout: ClassLayout,
    batch: CostBatch,
    query: int,
    exponentials: FloatArray,
    slopes: FloatArray,
) -> float:
    """Compare each class with the lower ones; return cost/4 and add gradient/8k to `slopes`."""
    start, total = layout.offsets[query], 0.0
    offset = 0.5 if codes.cost == SQUARED_DIFFERENCE else 0.0
    label_weight = 1.0 if codes.weight == BY_LABELS else 0.0
    ignores_labels = offset == 0.0 and label_weight == 0.0
    for upper in range(layout.first[query], layout.first[query + 1] - 1):
        begin, stop = layout.starts[upper + 1], lower_stop(layout, query, upper, codes.adjacent)
        below, lower_slopes = exponentials[begin - start : stop - start], slopes[begin - start : stop - start]
        labels = batch.relevance[begin:stop]
        for i in range(layout.starts[upper], begin):
            label, inverse = batch.relevance[i], 1.0 / exponentials[i - start]
            factor = label if codes.cost == RELEVANCE_WEIGHTED else 1.0
            if ignores_labels:
                cost, slope = accumulate_squared(below, inverse, factor, lower_slopes)
            else:
                cost, slope = accumulate_squared_by_labels(
                    below, labels, inverse, label, offset, label_weight, factor, lower_slopes
                )
            total += factor * cost
            slopes[i - start] -= factor * slope
    return total
