"""Listwise costs, compiled with their gradient, linear in the documents.

Each is a sum over the documents i of one query with scores s and labels y:

    listnet   −Σ P_i log softmax(s)_i with P = softmax(y): the top-one cross-entropy of Cao et al.,
              "Learning to rank: from pairwise approach to listwise approach" (ICML 2007)
    softmax   the same with P = y / Σ y, labels below 0 as 0: Bruch et al., "An analysis of the softmax
              cross entropy loss for learning-to-rank with binary relevance" (ICTIR 2019)
    listmle   Σ log(1 + Σ_j e^(s_j − s_i)) over all j less relevant than i: the negative log-likelihood of the
              order by labels, Xia et al., "Listwise approach to learning to rank" (ICML 2008). Theirs picks
              an order of equal labels; here equal labels are not compared, as in pairs. Where all
              labels differ both are the same.

A document's weight multiplies its term of the sum. Queries with a single label have nothing to order and
cost 0; with softmax so do queries without a label above 0.

>>> from directranker.costs import Objective
>>> Objective("listmle")(np.array([0.0, 0.0, 0.0]), [2, 1, 0]).cost  # log 3 + log 2 + log 1
1.791759469228055
"""

from __future__ import annotations

import math

import numpy as np

from directranker.arrays import FloatArray
from directranker.compilation import compiled
from directranker.costs.kernel_inputs import CostBatch
from directranker.metrics.sorting import max_group_size
from directranker.pairs.classes import ClassLayout, QueryClasses

__all__ = [
    "LIST_COSTS",
    "LIST_COST_CODES",
    "compute_list_costs",
    "compute_list_targets",
    "mark_counted_queries",
]

LIST_COSTS = ("listnet", "softmax", "listmle")
LIST_COST_CODES = {name: code for code, name in enumerate(LIST_COSTS)}
LISTNET, SOFTMAX, LISTMLE = range(3)


def mark_counted_queries(cost: str, classes: QueryClasses) -> FloatArray:
    """Return 1 for each query that has something to order, 0 for the others."""
    is_counted = classes.n_classes > 1
    if cost == "softmax":
        is_counted &= np.append(classes.relevance, 0.0)[classes.layout.offsets[:-1]] > 0
    return is_counted.astype(np.float64)


def compute_list_targets(cost: str, classes: QueryClasses) -> FloatArray:
    """Return P for the labels of all queries; zeros for ListMLE, which has no targets."""
    targets = np.zeros(len(classes.relevance))
    write_list_targets(LIST_COST_CODES[cost], classes.layout, classes.relevance, targets)
    return targets


@compiled
def write_list_targets(cost: int, layout: ClassLayout, relevance: FloatArray, targets: FloatArray) -> None:
    """Write P, a distribution over the documents of each query."""
    for query in range(len(layout.offsets) - 1 if cost != LISTMLE else 0):
        start, stop = layout.offsets[query], layout.offsets[query + 1]
        total = 0.0
        for position in range(start, stop):
            label = relevance[position]  # labels fall: the first one is the highest
            targets[position] = math.exp(label - relevance[start]) if cost == LISTNET else max(label, 0.0)
            total += targets[position]
        for position in range(start, stop):
            targets[position] /= total if total > 0.0 else 1.0


@compiled
def compute_list_costs(
    cost: int,
    layout: ClassLayout,
    batch: CostBatch,
    targets: FloatArray,
    first: int,
    last: int,
    costs: FloatArray,
    gradient: FloatArray,
) -> None:
    """Write costs and gradients of the queries `first:last`, except those with a scale of 0."""
    max_classes = max_group_size(layout.first, first, last)
    below, slopes = np.empty(max_classes), np.empty(max_classes)
    for query in range(first, last):
        if batch.scale[query] == 0.0 or layout.first[query + 1] - layout.first[query] < 2:
            continue
        if cost == LISTMLE:
            total = compute_listmle_cost(layout, batch, query, below, slopes, gradient)
        else:
            total = compute_softmax_cost(layout, batch, query, targets, gradient)
        costs[query] = batch.scale[query] * total


@compiled
def compute_softmax_cost(
    layout: ClassLayout, batch: CostBatch, query: int, targets: FloatArray, gradient: FloatArray
) -> float:
    """Return Σ w P (log Σ e^s − s) and write its gradient (Σ w P) softmax(s) − w P."""
    start, stop = layout.offsets[query], layout.offsets[query + 1]
    highest, total = batch.scores[start:stop].max(), 0.0
    for position in range(start, stop):
        total += math.exp(batch.scores[position] - highest)
    log_total = highest + math.log(total)
    cost, mass = 0.0, 0.0
    for position in range(start, stop):
        target = batch.weight[position] * targets[position]
        cost += target * (log_total - batch.scores[position])
        mass += target
    for position in range(start, stop):
        slope = (
            mass * math.exp(batch.scores[position] - log_total) - batch.weight[position] * targets[position]
        )
        gradient[position] = batch.scale[query] * slope
    return cost


@compiled
def log_add(a: float, b: float) -> float:
    """Return log(e^a + e^b), where a may be −inf."""
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


@compiled
def compute_listmle_cost(
    layout: ClassLayout,
    batch: CostBatch,
    query: int,
    below: FloatArray,
    slopes: FloatArray,
    gradient: FloatArray,
) -> float:
    """Return ListMLE's cost and write its gradient: of each document's term going up, of the others' down."""
    first, last = layout.first[query], layout.first[query + 1]
    cost, level = 0.0, -np.inf  # level: log Σ e^s over the classes below
    for c in range(last - 1, first - 1, -1):
        below[c - first], slopes[c - first], next_level = level, 0.0, level
        for position in range(layout.starts[c], layout.starts[c + 1]):
            gap = level - batch.scores[position]
            cost += batch.weight[position] * (max(gap, 0.0) + math.log1p(math.exp(-abs(gap))))
            slope = batch.weight[position] / (1.0 + math.exp(-gap))
            gradient[position] = -batch.scale[query] * slope
            slopes[c - first] += slope
            next_level = log_add(next_level, batch.scores[position])
        level = next_level
    inherited = 0.0  # the slopes of the classes above, as a fraction of e^level
    for c in range(first, last):
        for position in range(layout.starts[c], layout.starts[c + 1]):
            gradient[position] += batch.scale[query] * inherited * math.exp(batch.scores[position] - level)
        inherited = inherited * math.exp(below[c - first] - level) + slopes[c - first]
        level = below[c - first]
    return cost
