"""The squared costs with τ = identity, compiled: linear in the documents, for any number of pairs.

Each is Σ f_i g_j (h_i − l_j)² over pairs, with a value h of the more and l of the less relevant document:

    squared, relevance_weighted   h = 1 − s, l = −s       (1 − (s_i − s_j))²
    squared_difference            h = l = y − s           (y_i − y_j − (s_i − s_j))²

so the sums of g, g·l and g·l² over all documents below give a document's cost and gradient at once. The
weight y_i − y_j is two such sums, one with f = y, one with g = −y. Scores and labels are centred first, which
changes no difference and keeps the squares small.

>>> from directranker.costs import Objective
>>> Objective("squared", head_activation="identity")(np.array([0.5, 0.25]), [1, 0]).cost  # (1 − 0.25)²
0.5625
"""

from __future__ import annotations

import numpy as np

from directranker.arrays import FloatArray
from directranker.compilation import compiled
from directranker.costs.kernel_inputs import CostBatch, CostCodes, is_skipped
from directranker.costs.pair_costs import RELEVANCE_WEIGHTED, SQUARED_DIFFERENCE
from directranker.metrics.sorting import max_group_size
from directranker.pairs.classes import ClassLayout
from directranker.pairs.swaps import SwapTerms
from directranker.pairs.weights import BY_LABELS

__all__ = ["compare_by_moments"]

Moments = tuple[FloatArray, FloatArray, FloatArray, FloatArray]  # h, l, f and g of a query's documents


@compiled
def compare_by_moments(
    codes: CostCodes,
    layout: ClassLayout,
    batch: CostBatch,
    swap: SwapTerms,  # noqa: ARG001 - pair kernels take the same arguments
    first: int,
    last: int,
    costs: FloatArray,
    gradient: FloatArray,
) -> None:
    """Compare all pairs of the queries `first:last`."""
    longest = max_group_size(layout.offsets, first, last)
    high, low = np.empty(longest), np.empty(longest)
    upper_factor, lower_factor = np.empty(longest), np.empty(longest)
    for query in range(first, last):
        if is_skipped(layout, batch, query):
            continue
        start, n = layout.offsets[query], layout.offsets[query + 1] - layout.offsets[query]
        labels, weights = batch.relevance[start : start + n], batch.weight[start : start + n]
        mean_score, mean_label = batch.scores[start : start + n].mean(), labels.mean()
        for index in range(n):
            value = mean_score - batch.scores[start + index]
            if codes.cost == SQUARED_DIFFERENCE:
                value += labels[index] - mean_label
            high[index] = value if codes.cost == SQUARED_DIFFERENCE else 1.0 + value
            low[index] = value
        total = 0.0
        for term in range(2 if codes.weight == BY_LABELS else 1):
            for index in range(n):
                label = labels[index] - mean_label if codes.weight == BY_LABELS else 1.0
                upper_factor[index] = weights[index] * (label if term == 0 else -1.0)
                lower_factor[index] = weights[index] * (1.0 if term == 0 else label)
                if codes.cost == RELEVANCE_WEIGHTED:
                    upper_factor[index] *= labels[index]
            moments = (high, low, upper_factor, lower_factor)
            total += accumulate_upwards(codes, layout, query, batch.scale[query], moments, gradient)
            accumulate_downwards(codes, layout, query, batch.scale[query], moments, gradient)
        costs[query] = batch.scale[query] * total


@compiled
def accumulate_upwards(
    codes: CostCodes, layout: ClassLayout, query: int, scale: float, moments: Moments, gradient: FloatArray
) -> float:
    """From the lowest class up: return the cost, and add the gradients of the more relevant documents."""
    high, low, upper_factor, lower_factor = moments
    start, total = layout.offsets[query], 0.0
    g0, g1, g2 = 0.0, 0.0, 0.0  # Σ g, Σ g l and Σ g l² over the documents that the class is compared with
    for c in range(layout.first[query + 1] - 1, layout.first[query] - 1, -1):
        class0, class1, class2 = 0.0, 0.0, 0.0
        for position in range(layout.starts[c], layout.starts[c + 1]):
            index = position - start
            h, f = high[index], upper_factor[index]
            total += f * ((h * g0 - 2.0 * g1) * h + g2)
            gradient[position] -= 2.0 * scale * f * (h * g0 - g1)
            class0 += lower_factor[index]
            class1 += lower_factor[index] * low[index]
            class2 += lower_factor[index] * low[index] * low[index]
        if codes.adjacent:
            g0, g1, g2 = class0, class1, class2
        else:
            g0, g1, g2 = g0 + class0, g1 + class1, g2 + class2
    return total


@compiled
def accumulate_downwards(
    codes: CostCodes, layout: ClassLayout, query: int, scale: float, moments: Moments, gradient: FloatArray
) -> None:
    """From the highest class down: add the gradients of the less relevant documents."""
    high, low, upper_factor, lower_factor = moments
    start = layout.offsets[query]
    f0, f1 = 0.0, 0.0  # Σ f and Σ f h over the documents that are compared with the class
    for c in range(layout.first[query], layout.first[query + 1]):
        class0, class1 = 0.0, 0.0
        for position in range(layout.starts[c], layout.starts[c + 1]):
            index = position - start
            gradient[position] += 2.0 * scale * lower_factor[index] * (f1 - low[index] * f0)
            class0 += upper_factor[index]
            class1 += upper_factor[index] * high[index]
        if codes.adjacent:
            f0, f1 = class0, class1
        else:
            f0, f1 = f0 + class0, f1 + class1
