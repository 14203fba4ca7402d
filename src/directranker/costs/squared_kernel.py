"""The squared costs with τ = tanh, compiled: one exponential per document, and per pair a single division.

With τ(o) = tanh(k o/2) and q = e^(−k o) from `exponentials`, 1 − r = 2p for p = q/(1 + q), so each cost is

    f (a + 2p)²     with the slope     −4 k f (a + 2p) p (1 − p)     in o

where a = 0 for `squared` and `relevance_weighted` and y_i − y_j − 1 for `squared_difference`, and f is 1 or
y_i, times y_i − y_j where pairs weigh so. A loop without branches, whose sums may be taken in any order,
takes a sixth of the time that the loop for any cost takes. Queries whose scores lie too far apart take
that one.

>>> from directranker.costs import Objective
>>> Objective("squared")(np.zeros(2), [1, 0])  # r = 0: (1 − 0)², and −4 (2 · ½) ½ · ½
ObjectiveResult(cost=1.0, gradient=array([-1.,  1.]), n_pairs=1, n_queries=1)
"""

from __future__ import annotations

import numpy as np

from directranker.compilation import compiled, compiled_fastmath
from directranker.costs.activations import steepness_of
from directranker.costs.batches import Batch, Rule
from directranker.costs.exponentials import FAR_APART, take_exponentials
from directranker.costs.pair_costs import RELEVANCE_WEIGHTED, SQUARED_DIFFERENCE
from directranker.costs.pair_kernel import compare_query
from directranker.metrics.sorting import FloatArray
from directranker.pairs.classes import Layout
from directranker.pairs.sampling import lower_stop
from directranker.pairs.swaps import SwapTerms
from directranker.pairs.weights import BY_LABELS

__all__ = ["compare_by_shares"]


@compiled_fastmath
def meet_plainly(below: FloatArray, inverse: float, factor: float, pulls: FloatArray) -> tuple[float, float]:
    """A document with 1/e^s = `inverse` meets those below it, a = 0: Σ p² and Σ p² (1 − p)."""
    cost, pull = 0.0, 0.0
    for less in range(len(below)):
        odds = below[less] * inverse
        rest = 1.0 / (1.0 + odds)  # 1 − p, with all its digits where p is nearly 1
        share = odds * rest
        square = share * share
        slope = square * rest
        pulls[less] += factor * slope
        cost += square
        pull += slope
    return cost, pull


@compiled_fastmath
def meet_by_labels(
    below: FloatArray,
    labels: FloatArray,
    inverse: float,
    label: float,
    offset: float,
    weighs: float,
    factor: float,
    pulls: FloatArray,
) -> tuple[float, float]:
    """The same with 2a = `offset` · (y_i − y_j − 1), each pair times y_i − y_j where `weighs` is 1."""
    cost, pull = 0.0, 0.0
    for less in range(len(below)):
        odds = below[less] * inverse
        rest = 1.0 / (1.0 + odds)
        share = odds * rest
        difference = label - labels[less]
        weight = 1.0 + weighs * (difference - 1.0)
        missing = share + offset * (difference - 1.0)
        slope = weight * missing * share * rest
        pulls[less] += factor * slope
        cost += weight * missing * missing
        pull += slope
    return cost, pull


@compiled
def compare_by_shares(
    rule: Rule,
    layout: Layout,
    batch: Batch,
    swap: SwapTerms,
    first: int,
    last: int,
    costs: FloatArray,
    gradient: FloatArray,
) -> None:
    """The queries `first:last`, but for those whose pairs are drawn; weights of documents are not seen."""
    longest = 0
    for query in range(first, last):
        longest = max(longest, layout.offsets[query + 1] - layout.offsets[query])
    exponentials, pulls = np.empty(longest), np.empty(longest)
    steepness = steepness_of(rule.activation)
    for query in range(first, last):
        start, stop = layout.offsets[query], layout.offsets[query + 1]
        if batch.draws[query] > 0 or layout.first[query + 1] - layout.first[query] < 2:
            continue
        if take_exponentials(batch.scores[start:stop], steepness, exponentials) > FAR_APART:
            costs[query] = compare_query(rule, layout, batch, swap, query, gradient)
            continue
        pulls[: stop - start] = 0.0
        cost = compare_classes(rule, layout, batch, query, exponentials, pulls)
        costs[query] = 4.0 * batch.scale[query] * cost
        for at in range(stop - start):
            gradient[start + at] = 8.0 * steepness * batch.scale[query] * pulls[at]


@compiled
def compare_classes(
    rule: Rule, layout: Layout, batch: Batch, query: int, exponentials: FloatArray, pulls: FloatArray
) -> float:
    """Each class with those that it meets: cost/4; `pulls` gets slopes/8k."""
    start, total = layout.offsets[query], 0.0
    offset = 0.5 if rule.cost == SQUARED_DIFFERENCE else 0.0
    weighs = 1.0 if rule.weight == BY_LABELS else 0.0
    plain = offset == 0.0 and weighs == 0.0
    for upper in range(layout.first[query], layout.first[query + 1] - 1):
        begin, stop = layout.starts[upper + 1], lower_stop(layout, query, upper, rule.neighbours)
        below, pushed = exponentials[begin - start : stop - start], pulls[begin - start : stop - start]
        labels = batch.relevance[begin:stop]
        for more in range(layout.starts[upper], begin):
            label, inverse = batch.relevance[more], 1.0 / exponentials[more - start]
            factor = label if rule.cost == RELEVANCE_WEIGHTED else 1.0
            if plain:
                cost, pull = meet_plainly(below, inverse, factor, pushed)
            else:
                cost, pull = meet_by_labels(below, labels, inverse, label, offset, weighs, factor, pushed)
            total += factor * cost
            pulls[more - start] -= factor * pull
    return total
