"""Reference implementation: every measure by its textbook definition, ties by enumerating all their orders.

It shares nothing with the library except the names of the rules.

>>> literal([1, 0], [0.5, 0.5], "average_precision", convention("graded"))
0.75
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby, permutations, product
from statistics import fmean

from directranker.metrics import Convention, convention

Labels = Sequence[float]


def literal(
    labels: Labels, scores: Sequence[float], measure: str, rules: Convention, k: int | None = None
) -> float:
    """Return the measure of one query; nan without a relevant document."""
    values = [measure_in_order(order, measure, rules, k) for order in list_orders(labels, scores, rules.ties)]
    return fmean(values)


def list_orders(labels: Labels, scores: Sequence[float], ties: str) -> Iterator[list[float]]:
    """Yield all label sequences of a ranking by falling score."""
    rows = sorted(range(len(labels)), key=lambda row: -scores[row])
    groups = [[labels[row] for row in tied] for _, tied in groupby(rows, key=lambda row: scores[row])]
    if ties == "worst":
        groups = [sorted(group) for group in groups]
    if ties != "average":
        yield [label for group in groups for label in group]
        return
    for choice in product(*(permutations(group) for group in groups)):
        yield [label for group in choice for label in group]


def measure_in_order(labels: Labels, measure: str, rules: Convention, k: int | None = None) -> float:
    """Return the measure of labels in ranked order."""
    cut = len(labels) if k is None else k
    gains = [label_gain(label, rules) for label in labels]
    relevant = [label >= rules.threshold for label in labels]
    if not any(gains if measure in ("dcg", "ndcg", "err") else relevant):
        return math.nan
    if measure == "err":
        return err(labels, rules, cut)
    if measure in ("dcg", "ndcg"):
        short = rules.short_lists == "zero" and len(labels) < cut
        best = dcg(sorted(gains, reverse=True)[:cut], rules) if measure == "ndcg" else 1
        return 0.0 if short and measure == "ndcg" else dcg(gains[:cut], rules) / best
    return measure_relevance(relevant, measure, rules, cut)


def measure_relevance(relevant: Sequence[bool], measure: str, rules: Convention, cut: int) -> float:
    """Return the measure of documents in ranked order that are relevant or not, some of them relevant."""
    if measure == "precision":
        return sum(relevant[:cut]) / (cut if rules.precision_over == "k" else min(cut, len(relevant)))
    if measure == "recall":
        return sum(relevant[:cut]) / sum(relevant)
    if measure == "hit_rate":
        return float(any(relevant[:cut]))
    if measure == "reciprocal_rank":
        first = relevant.index(True) + 1
        return 1 / first if first <= cut else 0.0
    hits = [rank for rank in range(1, min(cut, len(relevant)) + 1) if relevant[rank - 1]]
    n_relevant = sum(relevant)
    over = min(n_relevant, cut) if rules.average_precision_over == "reachable" else n_relevant
    return sum(sum(relevant[:rank]) / rank for rank in hits) / over


def label_gain(label: float, rules: Convention) -> float:
    """Return the gain of a label."""
    if rules.gain == "binary":
        return float(label >= rules.threshold)
    if isinstance(rules.gain, tuple):
        return dict(rules.gain)[label]
    if label <= 0:
        return 0.0
    return 2.0**label - 1 if rules.gain == "exponential" else label


def dcg(gains: Sequence[float], rules: Convention) -> float:
    """Return the sum of gains times discounts."""
    if rules.discount == "log2":
        return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
    return sum(gain / (1 if rank <= 2 else math.log2(rank)) for rank, gain in enumerate(gains, 1))


def err(labels: Labels, rules: Convention, cut: int) -> float:
    """Return ERR rank by rank; `max_grade` must be set unless gains are binary."""
    if rules.gain == "binary":
        labels, top = [float(label >= rules.threshold) for label in labels], 1.0
    else:
        top = convention(rules).max_grade or 0.0
    total, reached = 0.0, 1.0
    for rank, label in enumerate(labels[:cut], 1):
        stop = max(2.0**label - 1, 0) / 2.0**top
        total += reached * stop / rank
        reached *= 1 - stop
    return total
