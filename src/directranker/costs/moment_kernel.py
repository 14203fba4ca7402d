"""The squared costs with τ = identity, compiled: in time linear in the documents, whatever the pairs.

Each is Σ f_i g_j (h_i − l_j)² over pairs, with a value h of the more and l of the less relevant document:

    squared, relevance_weighted   h = 1 − s, l = −s       (1 − (s_i − s_j))²
    squared_difference            h = l = y − s           (y_i − y_j − (s_i − s_j))²

so sums of g, g·l and g·l² over all that a document meets give its cost and slope at once. The weight
y_i − y_j is two such sums, one with f = y, one with g = −y. Scores and labels are centred first, which
changes no difference and keeps the squares small.

>>> from directranker.costs import Objective
>>> Objective("squared", head_activation="identity")(np.array([0.5, 0.25]), [1, 0]).cost  # (1 − 0.25)²
0.5625
"""

from __future__ import annotations

import numpy as np

from directranker.compilation import compiled
from directranker.costs.batches import Batch, Rule
from directranker.costs.pair_costs import RELEVANCE_WEIGHTED, SQUARED_DIFFERENCE
from directranker.metrics.sorting import FloatArray
from directranker.pairs.classes import Layout
from directranker.pairs.swaps import SwapTerms
from directranker.pairs.weights import BY_LABELS

__all__ = ["compare_by_moments"]


@compiled
def compare_by_moments(
    rule: Rule,
    layout: Layout,
    batch: Batch,
    swap: SwapTerms,  # noqa: ARG001 - pair kernels take the same arguments
    first: int,
    last: int,
    costs: FloatArray,
    gradient: FloatArray,
) -> None:
    """The queries `first:last`, but for those whose pairs are drawn."""
    longest = 0
    for query in range(first, last):
        longest = max(longest, layout.offsets[query + 1] - layout.offsets[query])
    high, low = np.empty(longest), np.empty(longest)
    upper_factor, lower_factor = np.empty(longest), np.empty(longest)
    for query in range(first, last):
        start, n = layout.offsets[query], layout.offsets[query + 1] - layout.offsets[query]
        if batch.draws[query] > 0 or layout.first[query + 1] - layout.first[query] < 2:
            continue
        labels, weights = batch.relevance[start : start + n], batch.weight[start : start + n]
        middle_score, middle_label = batch.scores[start : start + n].mean(), labels.mean()
        for at in range(n):
            own = middle_score - batch.scores[start + at]
            if rule.cost == SQUARED_DIFFERENCE:
                own += labels[at] - middle_label
            high[at] = own if rule.cost == SQUARED_DIFFERENCE else 1.0 + own
            low[at] = own
        total = 0.0
        for term in range(2 if rule.weight == BY_LABELS else 1):
            for at in range(n):
                label = labels[at] - middle_label if rule.weight == BY_LABELS else 1.0
                upper_factor[at] = weights[at] * (label if term == 0 else -1.0)
                lower_factor[at] = weights[at] * (1.0 if term == 0 else label)
                if rule.cost == RELEVANCE_WEIGHTED:
                    upper_factor[at] *= labels[at]
            moments = (high, low, upper_factor, lower_factor)
            total += rise(rule, layout, query, batch.scale[query], moments, gradient)
            fall(rule, layout, query, batch.scale[query], moments, gradient)
        costs[query] = batch.scale[query] * total


Moments = tuple[FloatArray, FloatArray, FloatArray, FloatArray]  # h, l, f and g, from the query's first place


@compiled
def rise(
    rule: Rule, layout: Layout, query: int, scale: float, moments: Moments, gradient: FloatArray
) -> float:
    """From the lowest class up: the cost, and the gradients of the more relevant documents."""
    high, low, upper_factor, lower_factor = moments
    start, total = layout.offsets[query], 0.0
    g0, g1, g2 = 0.0, 0.0, 0.0  # Σ g, Σ g l and Σ g l² over what the class meets
    for c in range(layout.first[query + 1] - 1, layout.first[query] - 1, -1):
        own0, own1, own2 = 0.0, 0.0, 0.0
        for place in range(layout.starts[c], layout.starts[c + 1]):
            at = place - start
            h, f = high[at], upper_factor[at]
            total += f * ((h * g0 - 2.0 * g1) * h + g2)
            gradient[place] -= 2.0 * scale * f * (h * g0 - g1)
            own0 += lower_factor[at]
            own1 += lower_factor[at] * low[at]
            own2 += lower_factor[at] * low[at] * low[at]
        if rule.neighbours:
            g0, g1, g2 = own0, own1, own2
        else:
            g0, g1, g2 = g0 + own0, g1 + own1, g2 + own2
    return total


@compiled
def fall(
    rule: Rule, layout: Layout, query: int, scale: float, moments: Moments, gradient: FloatArray
) -> None:
    """From the highest class down: the gradients of the less relevant documents."""
    high, low, upper_factor, lower_factor = moments
    start = layout.offsets[query]
    f0, f1 = 0.0, 0.0  # Σ f and Σ f h over those that meet the class
    for c in range(layout.first[query], layout.first[query + 1]):
        own0, own1 = 0.0, 0.0
        for place in range(layout.starts[c], layout.starts[c + 1]):
            at = place - start
            gradient[place] += 2.0 * scale * lower_factor[at] * (f1 - low[at] * f0)
            own0 += upper_factor[at]
            own1 += upper_factor[at] * high[at]
        if rule.neighbours:
            f0, f1 = own0, own1
        else:
            f0, f1 = f0 + own0, f1 + own1
