"""Any cost over pairs drawn at random, compiled: for lists with more pairs than one wants to look at.

A drawn pair stands for as many as the query has per draw, so cost and gradient are right on average.

>>> from directranker.costs import Objective
>>> capped = Objective("hinge", head_activation="identity", max_pairs=5)
>>> round(capped(np.zeros(1000), np.arange(1000), seed=0).cost, 9)  # each pair costs 1
1.0
"""

from __future__ import annotations

import numpy as np

from directranker.arrays import IntArray
from directranker.compilation import compiled
from directranker.costs.batches import Batch, Rule
from directranker.costs.pair_costs import pair_cost_of_difference
from directranker.metrics.sorting import FloatArray
from directranker.pairs.classes import Layout
from directranker.pairs.sampling import sample_pairs
from directranker.pairs.swaps import SwapTerms, swap_weight
from directranker.pairs.weights import BY_LABELS, BY_SWAP

__all__ = ["compare_sampled_pairs"]


@compiled
def compare_sampled_pairs(
    rule: Rule,
    layout: Layout,
    batch: Batch,
    swap: SwapTerms,
    n_pairs: IntArray,
    first: int,
    last: int,
    costs: FloatArray,
    gradient: FloatArray,
) -> None:
    """The drawn pairs of the queries `first:last`, but for those whose pairs are all compared."""
    longest = 0
    for query in range(first, last):
        longest = max(longest, batch.draws[query])
    mores, lesses = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    weights, pulls = np.empty(longest), np.empty(longest)
    for query in range(first, last):
        n = batch.draws[query]
        if n == 0:
            continue
        sample_pairs(layout, query, rule.neighbours, batch.seed, mores[:n], lesses[:n])
        weigh_listed(rule, batch, swap, mores[:n], lesses[:n], weights)
        scale = batch.scale[query] * (n_pairs[query] / n)
        costs[query] = scale * compare_listed(rule, batch, mores[:n], lesses[:n], weights, pulls)
        for at in range(n):
            gradient[mores[at]] += scale * pulls[at]
            gradient[lesses[at]] -= scale * pulls[at]


@compiled
def weigh_listed(
    rule: Rule, batch: Batch, swap: SwapTerms, mores: IntArray, lesses: IntArray, result: FloatArray
) -> None:
    """Write the weights of some pairs of places."""
    weights, labels = batch.weight, batch.relevance
    values, ranks, uppers, lowers = swap.value, swap.rank, swap.upper, swap.lower
    for at in range(len(mores)):
        more, less = mores[at], lesses[at]
        result[at] = weights[more] * weights[less]
        if rule.weight == BY_LABELS:
            result[at] *= labels[more] - labels[less]
        elif rule.weight == BY_SWAP:
            ahead, behind = uppers[more] + lowers[less], uppers[less] + lowers[more]
            result[at] *= swap_weight(values[more] - values[less], ranks[more] - ranks[less], ahead, behind)


@compiled
def compare_listed(
    rule: Rule, batch: Batch, mores: IntArray, lesses: IntArray, weights: FloatArray, pulls: FloatArray
) -> float:
    """Some pairs of places: the cost; `pulls` gets the slopes in the differences."""
    scores, labels, total = batch.scores, batch.relevance, 0.0
    for at in range(len(mores)):
        more, less = mores[at], lesses[at]
        o, y_i, y_j = scores[more] - scores[less], labels[more], labels[less]
        value, slope = pair_cost_of_difference(rule.cost, rule.activation, o, y_i, y_j)
        total += weights[at] * value
        pulls[at] = weights[at] * slope
    return total
