"""The costs of a whole list, compiled with their gradient, linear in the documents.

Each is a sum over documents i with the scores s and the labels y of one query:

    listnet   −Σ P_i log softmax(s)_i with P = softmax(y): the top-one cross-entropy of Cao et al.,
              "Learning to rank: from pairwise approach to listwise approach" (ICML 2007)
    softmax   the same with P = y / Σ y, labels below 0 as 0: Bruch et al., "An analysis of the softmax
              cross entropy loss for learning-to-rank with binary relevance" (ICTIR 2019)
    listmle   Σ log(1 + Σ_j e^(s_j − s_i)) over all j less relevant than i: the negative log-likelihood of the
              order by labels, Xia et al., "Listwise approach to learning to rank" (ICML 2008). Theirs takes
              some order of equal labels; here equal labels do not meet, as in pairs. Where all labels
              differ both are the same.

A document's weight multiplies its term of the sum. Queries of one class have nothing to order and cost
nothing; with softmax also those without a label above 0.

>>> from directranker.costs import Objective
>>> Objective("listmle")(np.array([0.0, 0.0, 0.0]), [2, 1, 0]).cost  # log 3 + log 2 + log 1
1.791759469228055
"""

from __future__ import annotations

import math

import numpy as np

from directranker.compilation import compiled
from directranker.costs.batches import Batch
from directranker.metrics.sorting import FloatArray
from directranker.pairs.classes import Layout, QueryClasses

__all__ = ["LIST_COSTS", "LIST_COST_CODES", "list_targets", "lists_that_count", "measure_lists"]

LIST_COSTS = ("listnet", "softmax", "listmle")
LIST_COST_CODES = {name: code for code, name in enumerate(LIST_COSTS)}
LISTNET, SOFTMAX, LISTMLE = range(3)


def lists_that_count(cost: str, classes: QueryClasses) -> FloatArray:
    """1 for each query that has something to order, 0 for the others."""
    counts = classes.n_classes > 1
    if cost == "softmax":
        counts &= np.append(classes.relevance, 0.0)[classes.layout.offsets[:-1]] > 0
    return counts.astype(np.float64)


def list_targets(cost: str, classes: QueryClasses) -> FloatArray:
    """P for the labels of all queries; zeros for ListMLE, which has none."""
    targets = np.zeros(len(classes.relevance))
    fill_targets(LIST_COST_CODES[cost], classes.layout, classes.relevance, targets)
    return targets


@compiled
def fill_targets(cost: int, layout: Layout, relevance: FloatArray, targets: FloatArray) -> None:
    """Write P, a distribution over each query's documents that count."""
    for query in range(len(layout.offsets) - 1 if cost != LISTMLE else 0):
        start, stop = layout.offsets[query], layout.offsets[query + 1]
        total = 0.0
        for place in range(start, stop):
            label = relevance[place]  # the first one is the highest
            targets[place] = math.exp(label - relevance[start]) if cost == LISTNET else max(label, 0.0)
            total += targets[place]
        for place in range(start, stop):
            targets[place] /= total if total > 0.0 else 1.0


@compiled
def measure_lists(
    cost: int,
    layout: Layout,
    batch: Batch,
    targets: FloatArray,
    first: int,
    last: int,
    costs: FloatArray,
    gradient: FloatArray,
) -> None:
    """The queries `first:last`; a scale of 0 leaves one out."""
    longest = 0
    for query in range(first, last):
        longest = max(longest, layout.first[query + 1] - layout.first[query])
    below, pulls = np.empty(longest), np.empty(longest)
    for query in range(first, last):
        if batch.scale[query] == 0.0 or layout.first[query + 1] - layout.first[query] < 2:
            continue
        if cost == LISTMLE:
            total = likelihood(layout, batch, query, below, pulls, gradient)
        else:
            total = top_one(layout, batch, query, targets, gradient)
        costs[query] = batch.scale[query] * total


@compiled
def top_one(layout: Layout, batch: Batch, query: int, targets: FloatArray, gradient: FloatArray) -> float:
    """Σ w P (log Σ e^s − s), with the gradient (Σ w P) softmax(s) − w P."""
    start, stop = layout.offsets[query], layout.offsets[query + 1]
    top, total = batch.scores[start:stop].max(), 0.0
    for place in range(start, stop):
        total += math.exp(batch.scores[place] - top)
    log_total = top + math.log(total)
    cost, mass = 0.0, 0.0
    for place in range(start, stop):
        share = batch.weight[place] * targets[place]
        cost += share * (log_total - batch.scores[place])
        mass += share
    for place in range(start, stop):
        pull = mass * math.exp(batch.scores[place] - log_total) - batch.weight[place] * targets[place]
        gradient[place] = batch.scale[query] * pull
    return cost


@compiled
def log_add(a: float, b: float) -> float:
    """log(e^a + e^b), where a may be −inf."""
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


@compiled
def likelihood(
    layout: Layout, batch: Batch, query: int, below: FloatArray, pulls: FloatArray, gradient: FloatArray
) -> float:
    """ListMLE: from the lowest class up the cost and each document's own slope, then down the others'."""
    first, last = layout.first[query], layout.first[query + 1]
    cost, level = 0.0, -np.inf  # level: log Σ e^s over the classes below
    for c in range(last - 1, first - 1, -1):
        below[c - first], pulls[c - first], next_level = level, 0.0, level
        for place in range(layout.starts[c], layout.starts[c + 1]):
            gap = level - batch.scores[place]
            cost += batch.weight[place] * (max(gap, 0.0) + math.log1p(math.exp(-abs(gap))))
            pull = batch.weight[place] / (1.0 + math.exp(-gap))
            gradient[place] = -batch.scale[query] * pull
            pulls[c - first] += pull
            next_level = log_add(next_level, batch.scores[place])
        level = next_level
    push = 0.0  # what the classes above push down, in shares of e^level
    for c in range(first, last):
        for place in range(layout.starts[c], layout.starts[c + 1]):
            gradient[place] += batch.scale[query] * push * math.exp(batch.scores[place] - level)
        push = push * math.exp(below[c - first] - level) + pulls[c - first]
        level = below[c - first]
    return cost
