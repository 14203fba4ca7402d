"""Any cost over any pairs with any weight, compiled: linear in the pairs.

Each pair is visited once. Its cost is added to the query's sum, its derivative to both documents' gradients.

>>> from directranker.costs import Objective
>>> Objective("hinge", head_activation="identity")(np.array([0.25, 0.0]), [1, 0])  # 1 − 0.25
ObjectiveResult(cost=0.75, gradient=array([-1.,  1.]), n_pairs=1, n_queries=1)
"""

from __future__ import annotations

import numpy as np

from directranker.arrays import FloatArray
from directranker.compilation import compiled
from directranker.costs.activations import get_steepness
from directranker.costs.exponentials import MAX_SPREAD, compute_exponentials
from directranker.costs.kernel_inputs import CostBatch, CostCodes, is_skipped
from directranker.costs.pair_costs import pair_cost_of_difference, pair_cost_of_odds
from directranker.pairs.classes import ClassLayout
from directranker.pairs.sampling import lower_stop
from directranker.pairs.swaps import SwapTerms, swap_weight
from directranker.pairs.weights import BY_LABELS, BY_SWAP

__all__ = ["compare_pairs", "compare_query"]


@compiled
def weigh_range(
    codes: CostCodes, batch: CostBatch, swap: SwapTerms, i: int, begin: int, stop: int, result: FloatArray
) -> None:
    """Write the weights of the pairs of document i with the documents `begin:stop`."""
    # Arrays are taken out of tuples first: inside a loop each access would count references up and down.
    weights, labels = batch.weight[begin:stop], batch.relevance[begin:stop]
    w_i, y_i = batch.weight[i], batch.relevance[i]
    for index in range(stop - begin):
        result[index] = w_i * weights[index] * (y_i - labels[index] if codes.weight == BY_LABELS else 1.0)
    if codes.weight == BY_SWAP:
        v_i, rank_i, upper_i, lower_i = swap.value[i], swap.rank[i], swap.upper[i], swap.lower[i]
        values, ranks = swap.value[begin:stop], swap.rank[begin:stop]
        uppers, lowers = swap.upper[begin:stop], swap.lower[begin:stop]
        for index in range(stop - begin):
            result[index] *= swap_weight(
                v_i - values[index], rank_i - ranks[index], upper_i + lowers[index], uppers[index] + lower_i
            )


@compiled
def compare_range(
    codes: CostCodes,
    batch: CostBatch,
    i: int,
    begin: int,
    stop: int,
    weights: FloatArray,
    slopes: FloatArray,
) -> float:
    """Compare document i with `begin:stop`; return the cost, write derivatives in s_i − s_j to `slopes`."""
    scores, labels = batch.scores[begin:stop], batch.relevance[begin:stop]
    s_i, y_i, total = batch.scores[i], batch.relevance[i], 0.0
    for index in range(stop - begin):
        value, slope = pair_cost_of_difference(
            codes.cost, codes.activation, s_i - scores[index], y_i, labels[index]
        )
        total += weights[index] * value
        slopes[index] = weights[index] * slope
    return total


@compiled
def compare_range_by_odds(
    codes: CostCodes,
    batch: CostBatch,
    i: int,
    begin: int,
    stop: int,
    above: float,
    below: FloatArray,
    weights: FloatArray,
    slopes: FloatArray,
) -> float:
    """The same from the exponentials of both sides, without one for each pair."""
    labels, y_i, total = batch.relevance[begin:stop], batch.relevance[i], 0.0
    inverse, steepness = 1.0 / above, get_steepness(codes.activation)
    for index in range(stop - begin):
        value, slope = pair_cost_of_odds(codes.cost, steepness, below[index] * inverse, y_i, labels[index])
        total += weights[index] * value
        slopes[index] = weights[index] * slope
    return total


@compiled
def compare_query(
    codes: CostCodes,
    layout: ClassLayout,
    batch: CostBatch,
    swap: SwapTerms,
    query: int,
    gradient: FloatArray,
) -> float:
    """Compare all pairs of a query; return the cost and add the gradient, both times the query's scale."""
    start, end = layout.offsets[query], layout.offsets[query + 1]
    total, scale, steepness = 0.0, float(batch.scale[query]), get_steepness(codes.activation)
    n = end - start
    weights, slopes, exponentials = np.empty(n), np.empty(n), np.empty(n)
    by_odds = (
        steepness > 0.0
        and compute_exponentials(batch.scores[start:end], steepness, exponentials) <= MAX_SPREAD
    )
    for upper in range(layout.first[query], layout.first[query + 1] - 1):
        begin, stop = layout.starts[upper + 1], lower_stop(layout, query, upper, codes.adjacent)
        lower_gradient, below = gradient[begin:stop], exponentials[begin - start : stop - start]
        for i in range(layout.starts[upper], begin):
            weigh_range(codes, batch, swap, i, begin, stop, weights)
            if by_odds:
                above = exponentials[i - start]
                total += compare_range_by_odds(codes, batch, i, begin, stop, above, below, weights, slopes)
            else:
                total += compare_range(codes, batch, i, begin, stop, weights, slopes)
            slope_sum = 0.0
            for index in range(stop - begin):
                slope_sum += slopes[index]
                lower_gradient[index] -= scale * slopes[index]
            gradient[i] += scale * slope_sum
    return scale * total


@compiled
def compare_pairs(
    codes: CostCodes,
    layout: ClassLayout,
    batch: CostBatch,
    swap: SwapTerms,
    first: int,
    last: int,
    costs: FloatArray,
    gradient: FloatArray,
) -> None:
    """Compare all pairs of the queries `first:last`."""
    for query in range(first, last):
        if not is_skipped(layout, batch, query):
            costs[query] = compare_query(codes, layout, batch, swap, query, gradient)
