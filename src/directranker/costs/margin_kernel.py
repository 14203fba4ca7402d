"""The hinge costs with τ = identity, compiled: in n log n time for n documents of a query, for any labels.

A pair costs t or t² with t = max(0, 1 − (s_i − s_j)). Take a run of documents with higher labels and a run
with lower ones, both sorted by falling score. Going down the first run, the lower documents with t > 0 are
always the top of the second run, and t grows for all of them by the step δ ≥ 0 in s_i:

    Σ w ← Σ w        Σ w t ← Σ w t + δ Σ w        Σ w t² ← Σ w t² + 2 δ Σ w t + δ² Σ w

Only numbers ≥ 0 are added, so no digits cancel. Each class is one run at first; neighbouring runs meet and
are then merged, until one is left: ⌈log₂ classes⌉ passes over the documents. Queries with few pairs per
document take the loop over pairs, which is faster there.

>>> from directranker.costs import Objective
>>> objective = Objective("squared_hinge", head_activation="identity")
>>> objective(np.zeros(10_000), np.arange(10_000)).cost  # every pair costs 1
1.0
"""

from __future__ import annotations

import numpy as np

from directranker.arrays import IntArray
from directranker.compilation import compiled
from directranker.costs.batches import Batch, Rule
from directranker.costs.pair_costs import SQUARED_HINGE
from directranker.costs.pair_kernel import compare_query
from directranker.metrics.sorting import FloatArray, merge, room_to_sort, sort_descending
from directranker.pairs.classes import Layout
from directranker.pairs.swaps import SwapTerms

__all__ = ["PAIRS_PER_DOCUMENT", "compare_by_margins"]

PAIRS_PER_DOCUMENT = 64  # with more, sorting is faster than the loop over pairs

Runs = tuple[FloatArray, IntArray]  # scores falling within each run, and the place of each


@compiled
def compare_by_margins(
    rule: Rule,
    layout: Layout,
    batch: Batch,
    swap: SwapTerms,
    first: int,
    last: int,
    costs: FloatArray,
    gradient: FloatArray,
) -> None:
    """The queries `first:last`, but for those whose pairs are drawn; weights of pairs are not seen."""
    for query in range(first, last):
        if batch.draws[query] > 0:
            continue
        n = layout.offsets[query + 1] - layout.offsets[query]
        if count_pairs(layout, query, rule.neighbours) <= PAIRS_PER_DOCUMENT * n:
            costs[query] = compare_query(rule, layout, batch, swap, query, gradient)
        else:
            costs[query] = compare_runs(rule, layout, batch, query, gradient)


@compiled
def count_pairs(layout: Layout, query: int, neighbours: int) -> float:
    """How many pairs a query has; a float, for lists of any length."""
    below, total = 0.0, 0.0
    for c in range(layout.first[query + 1] - 1, layout.first[query] - 1, -1):
        size = float(layout.starts[c + 1] - layout.starts[c])
        total += size * below
        below = size if neighbours else below + size
    return total


@compiled
def compare_runs(rule: Rule, layout: Layout, batch: Batch, query: int, gradient: FloatArray) -> float:
    """All pairs of one query: the cost, and the gradient added, both times the query's scale."""
    first, last = layout.first[query], layout.first[query + 1]
    start, n = layout.offsets[query], layout.offsets[query + 1] - layout.offsets[query]
    starts = layout.starts[first : last + 1] - start
    scale, weights, pulls = (
        float(batch.scale[query]),
        batch.weight[start : start + n],
        gradient[start : start + n],
    )
    squared = rule.cost == SQUARED_HINGE
    runs = sort_classes(batch.scores[start : start + n], starts)
    total = 0.0
    if rule.neighbours:
        for c in range(last - first - 1):
            total += meet(runs, starts[c], starts[c + 1], starts[c + 2], squared, scale, weights, pulls)
        return total
    spare = np.empty(n), np.empty(n, dtype=np.int64)
    width = 1
    while width < last - first:
        for c in range(0, last - first, 2 * width):
            begin, middle = starts[c], starts[min(c + width, last - first)]
            stop = starts[min(c + 2 * width, last - first)]
            total += meet(runs, begin, middle, stop, squared, scale, weights, pulls)
            merge(runs[0], runs[1], begin, middle, stop, spare[0], spare[1])
        runs, spare = spare, runs
        width *= 2
    return total


@compiled
def sort_classes(scores: FloatArray, starts: IntArray) -> Runs:
    """Sort each class by falling score."""
    keys, order = scores.copy(), np.arange(len(scores))
    longest = 0
    for c in range(len(starts) - 1):
        longest = max(longest, starts[c + 1] - starts[c])
    room = room_to_sort(longest)
    for c in range(len(starts) - 1):
        begin, stop = starts[c], starts[c + 1]
        if stop - begin > 1:
            sort_descending(scores[begin:stop], keys[begin:stop], order[begin:stop], room)
            order[begin:stop] += begin
    return keys, order


@compiled
def meet(
    runs: Runs,
    begin: int,
    middle: int,
    stop: int,
    squared: bool,
    scale: float,
    weights: FloatArray,
    pulls: FloatArray,
) -> float:
    """The run `begin:middle` meets the less relevant run `middle:stop`: the cost; `pulls` gets the slopes."""
    keys, order = runs
    total, sum0, sum1, sum2 = 0.0, 0.0, 0.0, 0.0  # Σ w, Σ w t and Σ w t² over the lower documents met
    less, previous = middle, keys[begin]
    for more in range(begin, middle):
        score, place = keys[more], order[more]
        step = previous - score
        if step > 0.0 and sum0 > 0.0:
            sum2 += step * (2.0 * sum1 + step * sum0)
            sum1 += step * sum0
        previous = score
        while less < stop and score - keys[less] < 1.0:
            weight, missing = weights[order[less]], 1.0 - (score - keys[less])
            sum0 += weight
            sum1 += weight * missing
            sum2 += weight * missing * missing
            less += 1
        weight = weights[place]
        total += weight * (sum2 if squared else sum1)
        pulls[place] -= scale * weight * (2.0 * sum1 if squared else sum0)
    sum0, sum1 = 0.0, 0.0  # now over the upper documents that a lower one meets, from the lowest score up
    more, previous = middle - 1, keys[stop - 1]
    for less in range(stop - 1, middle - 1, -1):
        score, place = keys[less], order[less]
        step = score - previous
        if step > 0.0 and sum0 > 0.0:
            sum1 += step * sum0
        previous = score
        while more >= begin and keys[more] - score < 1.0:
            weight = weights[order[more]]
            sum0 += weight
            sum1 += weight * (1.0 - (keys[more] - score))
            more -= 1
        pulls[place] += scale * weights[place] * (2.0 * sum1 if squared else sum0)
    return scale * total
