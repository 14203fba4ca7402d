"""Reference implementation: every objective by its definition, a double loop over each query's documents.

It shares nothing with the library except names and, for ΔNDCG and ΔMAP, the metrics: two documents are
swapped in the ranking, and the ranking is measured again.

>>> literal_cost([0.25, 0.0], [1, 0], [0, 2], cost="hinge", activation="identity")
0.75
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from directranker.metrics import average_precision, ndcg

Numbers = Sequence[float]

TAUS: dict[str, Callable[[float], float]] = {
    "identity": lambda o: o,
    "tanh": math.tanh,
    "half_tanh": lambda o: math.tanh(o / 2),
    "softsign": lambda o: o / (1 + abs(o)),
    "arctan": lambda o: 2 / math.pi * math.atan(o),
    "erf": math.erf,
    "arcsinh": math.asinh,
}
COSTS: dict[str, Callable[[float, float, float], float]] = {
    "squared": lambda r, y_i, y_j: (1 - r) ** 2,
    "squared_difference": lambda r, y_i, y_j: ((y_i - y_j) - r) ** 2,
    "relevance_weighted": lambda r, y_i, y_j: y_i * (1 - r) ** 2,
    "cross_entropy": lambda r, y_i, y_j: -math.log((1 + r) / 2),
    "hinge": lambda r, y_i, y_j: max(0, 1 - r),
    "squared_hinge": lambda r, y_i, y_j: max(0, 1 - r) ** 2,
    "exponential": lambda r, y_i, y_j: math.exp(-r),
}


def literal_cost(
    scores: Numbers,
    labels: Numbers,
    offsets: Sequence[int],
    *,
    cost: str,
    activation: str = "half_tanh",
    pairs: str = "all",
    weight: str | None = None,
    reduction: str = "queries",
    threshold: float = 1,
    query_weight: Numbers | None = None,
    document_weight: Numbers | None = None,
) -> float:
    """Return the cost, summed query by query and pair by pair."""
    sums, totals, weights = [], [], []
    for query, (start, stop) in enumerate(pairwise(offsets)):
        s, y = scores[start:stop], labels[start:stop]
        w = [1.0] * len(s) if document_weight is None else document_weight[start:stop]
        compared = literal_pairs(y, pairs)
        swaps = swap_weights(s, y, weight, threshold) if weight and compared else {}
        sums.append(
            sum(
                w[i] * w[j] * swaps.get((i, j), 1.0) * pair_cost(cost, activation, s[i] - s[j], y[i], y[j])
                for i, j in compared
            )
        )
        totals.append(sum(w[i] * w[j] for i, j in compared))
        weights.append(1.0 if query_weight is None else query_weight[query])
    return reduce_costs(sums, totals, weights, reduction)


def pair_cost(cost: str, activation: str, o: float, y_i: float, y_j: float) -> float:
    """Return the cost of one pair."""
    if (cost, activation) == ("cross_entropy", "erf"):
        return -math.log(math.erfc(-o) / 2)  # 1 + erf(o) rounds to 0 below o = −6
    return COSTS[cost](TAUS[activation](o), y_i, y_j)


def reduce_costs(sums: Numbers, totals: Numbers, weights: Numbers, reduction: str) -> float:
    """Reduce the costs of queries to one number."""
    if reduction == "sum":
        return sum(w * s for w, s in zip(weights, sums, strict=True))
    if reduction == "pairs":
        normaliser = sum(w * t for w, t in zip(weights, totals, strict=True))
        return sum(w * s for w, s in zip(weights, sums, strict=True)) / normaliser if normaliser else 0.0
    if reduction == "root":
        weights = [w * math.sqrt(t) for w, t in zip(weights, totals, strict=True)]
    counted = [(w, s / t) for w, s, t in zip(weights, sums, totals, strict=True) if t > 0]
    normaliser = sum(w for w, _ in counted)
    return sum(w * mean for w, mean in counted) / normaliser if normaliser else 0.0


def literal_pairs(labels: Numbers, pairs: str) -> list[tuple[int, int]]:
    """Return all (i, j) with y_i > y_j, or only those without another label between the two."""
    return [
        (i, j)
        for i in range(len(labels))
        for j in range(len(labels))
        if labels[i] > labels[j]
        and (pairs == "all" or not any(labels[j] < label < labels[i] for label in labels))
    ]


def swap_weights(
    scores: Numbers, labels: Numbers, weight: str, threshold: float
) -> dict[tuple[int, int], float]:
    """Return the weight of each pair of rows."""
    if weight == "label_difference":
        return {(i, j): labels[i] - labels[j] for i, j in literal_pairs(labels, "all")}
    measure = make_measure(weight, threshold)
    order = sorted(range(len(labels)), key=lambda row: (-scores[row], -labels[row]))
    ranked = [labels[row] for row in order]
    before, result = measure(ranked), {}
    for i, j in literal_pairs(labels, "all"):
        swapped = list(ranked)
        rank, other = order.index(i), order.index(j)
        swapped[rank], swapped[other] = swapped[other], swapped[rank]
        result[i, j] = abs(measure(swapped) - before)
    return result


def make_measure(weight: str, threshold: float) -> Callable[[Numbers], float]:
    """Return NDCG@k or average precision of labels in ranked order; 0 without a relevant document."""
    if weight == "delta_map":
        options: dict[str, Any] = {"threshold": threshold, "no_relevant": 0}
        return lambda ranked: average_precision(ranked, range(len(ranked), 0, -1), **options)
    cutoff = weight.partition("@")[2]
    k = int(cutoff) if cutoff else None
    return lambda ranked: ndcg(ranked, range(len(ranked), 0, -1), k=k, no_relevant=0)


def literal_list_cost(
    scores: Numbers, labels: Numbers, cost: str, document_weight: Numbers | None = None
) -> float:
    """Return the list cost of one query by its definition; 0 where there is nothing to order."""
    w = [1.0] * len(labels) if document_weight is None else document_weight
    rows = range(len(labels))
    if len(set(labels)) < 2 or (cost == "softmax" and max(labels) <= 0):
        return 0.0
    if cost == "listmle":
        return sum(
            w[i] * math.log(1 + sum(math.exp(scores[j] - scores[i]) for j in rows if labels[j] < labels[i]))
            for i in rows
        )
    gains = [math.exp(y) if cost == "listnet" else max(y, 0) for y in labels]
    total = sum(math.exp(s) for s in scores)
    return -sum(w[i] * gains[i] / sum(gains) * math.log(math.exp(scores[i]) / total) for i in rows)
