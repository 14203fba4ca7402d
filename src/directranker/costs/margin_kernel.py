"""The hinge costs with τ = identity, compiled: n log n time for n documents of a query, for any labels.

A pair costs t or t² with t = max(0, 1 − (s_i − s_j)). Take a run of documents with higher labels and a run
with lower ones, both sorted by falling score. Going down the first run, the lower documents with t > 0 are
always the top of the second run, and t grows for all of them by the step δ ≥ 0 in s_i:

    Σ w ← Σ w        Σ w t ← Σ w t + δ Σ w        Σ w t² ← Σ w t² + 2 δ Σ w t + δ² Σ w

All summands are ≥ 0, so no digits cancel. At first each class is a run; neighbouring runs are compared and
then merged, until one is left: ⌈log₂ classes⌉ passes over the documents. Queries with few pairs per document
take the loop over pairs, which is faster there.

>>> from directranker.costs import Objective
>>> objective = Objective("squared_hinge", head_activation="identity")
>>> objective(np.zeros(10_000), np.arange(10_000)).cost  # every pair costs 1
1.0
"""

from __future__ import annotations

import numpy as np

from directranker.arrays import FloatArray, IntArray
from directranker.compilation import compiled
from directranker.costs.kernel_inputs import CostBatch, CostCodes, is_skipped
from directranker.costs.pair_costs import SQUARED_HINGE
from directranker.costs.pair_kernel import compare_query
from directranker.metrics.sorting import make_sort_workspace, max_group_size, merge, sort_descending
from directranker.pairs.classes import ClassLayout
from directranker.pairs.swaps import SwapTerms

__all__ = ["MAX_LOOPED_PAIRS_PER_DOCUMENT", "compare_by_margins"]

MAX_LOOPED_PAIRS_PER_DOCUMENT = 64  # with more, sorting is faster than the loop over pairs

Runs = tuple[FloatArray, IntArray]  # scores, falling within each run, and the position of each


@compiled
def compare_by_margins(
    codes: CostCodes,
    layout: ClassLayout,
    batch: CostBatch,
    swap: SwapTerms,
    first: int,
    last: int,
    costs: FloatArray,
    gradient: FloatArray,
) -> None:
    """Compare all pairs of the queries `first:last`, without pair weights."""
    for query in range(first, last):
        if is_skipped(layout, batch, query):
            continue
        n = layout.offsets[query + 1] - layout.offsets[query]
        if count_pairs(layout, query, codes.adjacent) <= MAX_LOOPED_PAIRS_PER_DOCUMENT * n:
            costs[query] = compare_query(codes, layout, batch, swap, query, gradient)
        else:
            costs[query] = compare_query_runs(codes, layout, batch, query, gradient)


@compiled
def count_pairs(layout: ClassLayout, query: int, adjacent: int) -> float:
    """Count the pairs of a query, as a float so that no length overflows."""
    below, total = 0.0, 0.0
    for c in range(layout.first[query + 1] - 1, layout.first[query] - 1, -1):
        size = float(layout.starts[c + 1] - layout.starts[c])
        total += size * below
        below = size if adjacent else below + size
    return total


@compiled
def compare_query_runs(
    codes: CostCodes, layout: ClassLayout, batch: CostBatch, query: int, gradient: FloatArray
) -> float:
    """Compare all pairs of a query; return the cost and add the gradient, both times the query's scale."""
    first, last = layout.first[query], layout.first[query + 1]
    start, stop = layout.offsets[query], layout.offsets[query + 1]
    n, starts = stop - start, layout.starts[first : last + 1] - start
    scale, weights, slopes = float(batch.scale[query]), batch.weight[start:stop], gradient[start:stop]
    squared = codes.cost == SQUARED_HINGE
    runs = sort_classes(batch.scores[start:stop], starts)
    total = 0.0
    if codes.adjacent:
        for c in range(last - first - 1):
            total += compare_runs(
                runs, starts[c], starts[c + 1], starts[c + 2], squared, scale, weights, slopes
            )
        return total
    spare = np.empty(n), np.empty(n, dtype=np.int64)
    width = 1
    while width < last - first:
        for c in range(0, last - first, 2 * width):
            begin, middle = starts[c], starts[min(c + width, last - first)]
            end = starts[min(c + 2 * width, last - first)]
            total += compare_runs(runs, begin, middle, end, squared, scale, weights, slopes)
            merge(runs[0], runs[1], begin, middle, end, spare[0], spare[1])
        runs, spare = spare, runs
        width *= 2
    return total


@compiled
def sort_classes(scores: FloatArray, starts: IntArray) -> Runs:
    """Sort each class by falling score."""
    keys, order = scores.copy(), np.arange(len(scores))
    workspace = make_sort_workspace(max_group_size(starts, 0, len(starts) - 1))
    for c in range(len(starts) - 1):
        begin, stop = starts[c], starts[c + 1]
        if stop - begin > 1:
            sort_descending(scores[begin:stop], keys[begin:stop], order[begin:stop], workspace)
            order[begin:stop] += begin
    return keys, order


@compiled
def compare_runs(
    runs: Runs,
    begin: int,
    middle: int,
    stop: int,
    squared: bool,
    scale: float,
    weights: FloatArray,
    slopes: FloatArray,
) -> float:
    """Compare the run `begin:middle` with the less relevant `middle:stop`; add the gradient to `slopes`."""
    keys, order = runs
    total, sum0, sum1, sum2 = 0.0, 0.0, 0.0, 0.0  # Σ w, Σ w t and Σ w t² over the lower documents with t > 0
    j, previous = middle, keys[begin]
    for i in range(begin, middle):
        score, position = keys[i], order[i]
        step = previous - score
        if step > 0.0 and sum0 > 0.0:
            sum2 += step * (2.0 * sum1 + step * sum0)
            sum1 += step * sum0
        previous = score
        while j < stop and score - keys[j] < 1.0:
            weight, shortfall = weights[order[j]], 1.0 - (score - keys[j])
            sum0 += weight
            sum1 += weight * shortfall
            sum2 += weight * shortfall * shortfall
            j += 1
        weight = weights[position]
        total += weight * (sum2 if squared else sum1)
        slopes[position] -= scale * weight * (2.0 * sum1 if squared else sum0)
    sum0, sum1 = 0.0, 0.0  # now over the upper documents with t > 0, from the lowest score up
    i, previous = middle - 1, keys[stop - 1]
    for j in range(stop - 1, middle - 1, -1):
        score, position = keys[j], order[j]
        step = score - previous
        if step > 0.0 and sum0 > 0.0:
            sum1 += step * sum0
        previous = score
        while i >= begin and keys[i] - score < 1.0:
            weight = weights[order[i]]
            sum0 += weight
            sum1 += weight * (1.0 - (keys[i] - score))
            i -= 1
        slopes[position] += scale * weights[position] * (2.0 * sum1 if squared else sum0)
    return scale * total
