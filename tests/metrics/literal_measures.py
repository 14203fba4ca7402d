"""The slow twin: every measure by its textbook definition, ties by going through all their orders.

It shares nothing with the library but the names of the rules.

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
    """The measure of one list; nan where it has no relevant document."""
    values = [in_order(order, measure, rules, k) for order in orders(labels, scores, rules.ties)]
    return fmean(values)


def orders(labels: Labels, scores: Sequence[float], ties: str) -> Iterator[list[float]]:
    """All label sequences that a ranking by falling score may mean."""
    rows = sorted(range(len(labels)), key=lambda row: -scores[row])
    groups = [[labels[row] for row in tied] for _, tied in groupby(rows, key=lambda row: scores[row])]
    if ties == "worst":
        groups = [sorted(group) for group in groups]
    if ties != "average":
        yield [label for group in groups for label in group]
        return
    for choice in product(*(permutations(group) for group in groups)):
        yield [label for group in choice for label in group]


def in_order(labels: Labels, measure: str, rules: Convention, k: int | None = None) -> float:
    """The measure of labels in their ranked order."""
    cut = len(labels) if k is None else k
    gains = [gain_of(label, rules) for label in labels]
    relevant = [label >= rules.threshold for label in labels]
    if not any(gains if measure in ("dcg", "ndcg", "err") else relevant):
        return math.nan
    if measure == "err":
        return err(labels, rules, cut)
    if measure in ("dcg", "ndcg"):
        short = rules.short_lists == "zero" and len(labels) < cut
        best = dcg(sorted(gains, reverse=True)[:cut], rules) if measure == "ndcg" else 1
        return 0.0 if short and measure == "ndcg" else dcg(gains[:cut], rules) / best
    if measure == "precision":
        return sum(relevant[:cut]) / (cut if rules.precision_over == "k" else min(cut, len(labels)))
    if measure == "reciprocal_rank":
        first = relevant.index(True) + 1
        return 1 / first if first <= cut else 0.0
    hits = [rank for rank in range(1, min(cut, len(labels)) + 1) if relevant[rank - 1]]
    whole = sum(relevant)
    over = min(whole, cut) if rules.average_precision_over == "reachable" else whole
    return sum(sum(relevant[:rank]) / rank for rank in hits) / over


def gain_of(label: float, rules: Convention) -> float:
    """What a label is worth."""
    if rules.gain == "binary":
        return float(label >= rules.threshold)
    if isinstance(rules.gain, tuple):
        return dict(rules.gain)[label]
    if label <= 0:
        return 0.0
    return 2.0**label - 1 if rules.gain == "exponential" else label


def dcg(gains: Sequence[float], rules: Convention) -> float:
    """Gains times discounts, rank by rank."""
    if rules.discount == "log2":
        return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
    return sum(gain / (1 if rank <= 2 else math.log2(rank)) for rank, gain in enumerate(gains, 1))


def err(labels: Labels, rules: Convention, cut: int) -> float:
    """Walk down the list; `max_grade` must be set unless gains are binary."""
    if rules.gain == "binary":
        labels, top = [float(label >= rules.threshold) for label in labels], 1.0
    else:
        top = convention(rules).max_grade or 0.0
    total, going_on = 0.0, 1.0
    for rank, label in enumerate(labels[:cut], 1):
        stop = max(2.0**label - 1, 0) / 2.0**top
        total += going_on * stop / rank
        going_on *= 1 - stop
    return total
