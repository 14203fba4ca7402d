"""Any cost over any pairs with any weight, compiled: in time linear in the pairs.

Each pair is looked at once. Its cost goes to the query's sum, its slope to the gradients of both documents.

>>> from directranker.costs import Objective
>>> Objective("hinge", head_activation="identity")(np.array([0.25, 0.0]), [1, 0])  # 1 − 0.25
ObjectiveResult(cost=0.75, gradient=array([-1.,  1.]), n_pairs=1, n_queries=1)
"""

from __future__ import annotations

import numpy as np

from directranker.compilation import compiled
from directranker.costs.activations import steepness_of
from directranker.costs.batches import Batch, Rule
from directranker.costs.exponentials import FAR_APART, take_exponentials
from directranker.costs.pair_costs import pair_cost_of_difference, pair_cost_of_odds
from directranker.metrics.sorting import FloatArray
from directranker.pairs.classes import Layout
from directranker.pairs.sampling import lower_stop
from directranker.pairs.swaps import SwapTerms, swap_weight
from directranker.pairs.weights import BY_LABELS, BY_SWAP

__all__ = ["compare_pairs", "compare_query"]


@compiled
def weigh_stretch(
    rule: Rule, batch: Batch, swap: SwapTerms, more: int, begin: int, stop: int, result: FloatArray
) -> None:
    """Write the weights of the pairs of one place with all from `begin` to `stop`."""
    # Arrays are taken out of tuples first: in a loop each look would count references up and down.
    weights, labels = batch.weight[begin:stop], batch.relevance[begin:stop]
    w_i, y_i = batch.weight[more], batch.relevance[more]
    for at in range(stop - begin):
        result[at] = w_i * weights[at] * (y_i - labels[at] if rule.weight == BY_LABELS else 1.0)
    if rule.weight == BY_SWAP:
        v_i, rank_i, upper_i, lower_i = swap.value[more], swap.rank[more], swap.upper[more], swap.lower[more]
        values, ranks = swap.value[begin:stop], swap.rank[begin:stop]
        uppers, lowers = swap.upper[begin:stop], swap.lower[begin:stop]
        for at in range(stop - begin):
            result[at] *= swap_weight(
                v_i - values[at], rank_i - ranks[at], upper_i + lowers[at], uppers[at] + lower_i
            )


@compiled
def compare_stretch(
    rule: Rule, batch: Batch, more: int, begin: int, stop: int, weights: FloatArray, pulls: FloatArray
) -> float:
    """One place with all from `begin` to `stop`: the cost; `pulls` gets the slopes in the differences."""
    scores, labels = batch.scores[begin:stop], batch.relevance[begin:stop]
    s_i, y_i, total = batch.scores[more], batch.relevance[more], 0.0
    for at in range(stop - begin):
        value, slope = pair_cost_of_difference(rule.cost, rule.activation, s_i - scores[at], y_i, labels[at])
        total += weights[at] * value
        pulls[at] = weights[at] * slope
    return total


@compiled
def compare_stretch_by_odds(
    rule: Rule,
    batch: Batch,
    more: int,
    begin: int,
    stop: int,
    above: float,
    below: FloatArray,
    weights: FloatArray,
    pulls: FloatArray,
) -> float:
    """The same from the exponentials of both sides, without one for each pair."""
    labels, y_i, total = batch.relevance[begin:stop], batch.relevance[more], 0.0
    inverse, steepness = 1.0 / above, steepness_of(rule.activation)
    for at in range(stop - begin):
        value, slope = pair_cost_of_odds(rule.cost, steepness, below[at] * inverse, y_i, labels[at])
        total += weights[at] * value
        pulls[at] = weights[at] * slope
    return total


@compiled
def compare_query(
    rule: Rule, layout: Layout, batch: Batch, swap: SwapTerms, query: int, gradient: FloatArray
) -> float:
    """All pairs of one query: the cost, and the gradient added, both times the query's scale."""
    start, end = layout.offsets[query], layout.offsets[query + 1]
    total, scale, steepness = 0.0, float(batch.scale[query]), steepness_of(rule.activation)
    n = end - start
    weights, pulls, exponentials = np.empty(n), np.empty(n), np.empty(n)
    by_odds = (
        steepness > 0.0 and take_exponentials(batch.scores[start:end], steepness, exponentials) <= FAR_APART
    )
    for upper in range(layout.first[query], layout.first[query + 1] - 1):
        begin, stop = layout.starts[upper + 1], lower_stop(layout, query, upper, rule.neighbours)
        pushed, below = gradient[begin:stop], exponentials[begin - start : stop - start]
        for more in range(layout.starts[upper], begin):
            weigh_stretch(rule, batch, swap, more, begin, stop, weights)
            if by_odds:
                above = exponentials[more - start]
                total += compare_stretch_by_odds(rule, batch, more, begin, stop, above, below, weights, pulls)
            else:
                total += compare_stretch(rule, batch, more, begin, stop, weights, pulls)
            pull = 0.0
            for at in range(stop - begin):
                pull += pulls[at]
                pushed[at] -= scale * pulls[at]
            gradient[more] += scale * pull
    return scale * total


@compiled
def compare_pairs(
    rule: Rule,
    layout: Layout,
    batch: Batch,
    swap: SwapTerms,
    first: int,
    last: int,
    costs: FloatArray,
    gradient: FloatArray,
) -> None:
    """All pairs of the queries `first:last`, but for those whose pairs are drawn."""
    for query in range(first, last):
        if batch.draws[query] == 0:
            costs[query] = compare_query(rule, layout, batch, swap, query, gradient)
