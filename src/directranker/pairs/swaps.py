"""ΔNDCG and ΔMAP of a pair: the change of the metric when its documents swap ranks, compiled.

LambdaRank's idea (Burges, Ragno and Le, "Learning to rank with nonsmooth cost functions", NIPS 2006), which
the DirectRanker paper names as future work. Documents are ranked by falling score; among equal scores the
more relevant document is ranked first. Both metrics have the same form. With a value v of a document and
terms of its rank,

    |Δ| = |v_i − v_j| · |upper(first of the two) + lower(second of the two)|

    ΔNDCG@k   v = (2^y − 1) / ideal DCG@k    upper = 1 / log2(rank + 1) up to rank k, then 0;  lower = −upper
    ΔMAP      v = relevant / number of them  upper = (hits before + 1) / rank − Σ up to it of hit / rank
                                             lower = Σ before it of hit / rank − (hits up to it) / rank

>>> from directranker.pairs.classes import group_by_label
>>> classes, scores = group_by_label([1, 0]), np.array([0.1, 0.9])
>>> terms = compute_swap_terms(PairWeight("delta_map"), classes, scores, threshold=1.0)
>>> terms.rank.tolist(), terms.value.tolist()
([1.0, 0.0], [1.0, 0.0])
>>> swap_weight(1.0, 1.0, terms.upper[0] + terms.lower[1], terms.upper[1] + terms.lower[0])  # 1 − 1/2
0.5
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from directranker.arrays import FloatArray, IntArray
from directranker.compilation import compiled, get_n_threads, inlined, run_in_parallel, split_queries_evenly
from directranker.metrics.kernels import GAINS, compute_gain_exponent, compute_scaled_gain
from directranker.metrics.sorting import make_sort_workspace, max_group_size, sort_descending
from directranker.pairs.classes import MIN_DOCUMENTS_PER_THREAD, QueryClasses
from directranker.pairs.weights import PairWeight

__all__ = [
    "SwapTerms",
    "compute_discounts",
    "compute_swap_terms",
    "compute_swap_values",
    "make_empty_swap_terms",
    "swap_weight",
]

EXPONENTIAL = GAINS["exponential"]


class SwapTerms(NamedTuple):
    """The terms of `swap_weight` for each document in label order; `rank` starts at 0."""

    value: FloatArray
    rank: FloatArray
    upper: FloatArray
    lower: FloatArray


def make_empty_swap_terms() -> SwapTerms:
    """Return empty terms, for weights that do not depend on ranks."""
    return SwapTerms(*np.empty((4, 0)))


@inlined
def swap_weight(value_difference: float, rank_difference: float, ahead: float, behind: float) -> float:
    """Return |Δ| from v_i − v_j, rank_i − rank_j, upper_i + lower_j and upper_j + lower_i.

    Both sums are computed, and one is selected: a mispredicted branch would cost more.

    >>> swap_weight(1.0, -1.0, 0.5, 0.25), swap_weight(1.0, 1.0, 0.5, 0.25)
    (0.5, 0.25)
    """
    return abs(value_difference * (ahead if rank_difference < 0.0 else behind))


def compute_discounts(n: int, k: int | None) -> FloatArray:
    """Return 1 / log2(rank + 1) for the ranks 1 to n, and 0 beyond rank k.

    >>> compute_discounts(4, 3)[[0, 2, 3]].tolist()
    [1.0, 0.5, 0.0]
    """
    discounts = 1 / np.log2(np.arange(2, n + 2))
    discounts[n if k is None else k :] = 0
    return discounts


def _max_query_size(classes: QueryClasses) -> int:
    return int(np.diff(classes.layout.offsets).max(initial=0))


def compute_swap_values(weight: PairWeight, classes: QueryClasses, threshold: float) -> FloatArray:
    """Return the value v of each document in label order; it does not depend on the scores."""
    values = np.empty(len(classes.relevance))
    if weight.name == "delta_ndcg":
        discounts = compute_discounts(_max_query_size(classes), weight.k)
        write_normalised_gains(classes.relevance, classes.layout.offsets, discounts, values)
    else:
        write_relevant_fractions(classes.relevance, classes.layout.offsets, threshold, values)
    return values


def compute_swap_terms(
    weight: PairWeight, classes: QueryClasses, scores: FloatArray, threshold: float
) -> SwapTerms:
    """Return the terms of ΔNDCG or ΔMAP for finite scores in label order, in parallel."""
    values = compute_swap_values(weight, classes, threshold)
    terms = SwapTerms(values, *np.empty((3, len(values))))
    discounts = compute_discounts(_max_query_size(classes), weight.k)
    offsets, by_gain = classes.layout.offsets, weight.name == "delta_ndcg"

    def write_terms(first: int, last: int) -> None:
        write_rank_terms(scores, offsets, by_gain, discounts, first, last, terms)

    run_in_parallel(
        write_terms,
        split_queries_evenly(offsets, min(get_n_threads(), 1 + len(scores) // MIN_DOCUMENTS_PER_THREAD)),
    )
    return terms


@compiled
def write_normalised_gains(
    relevance: FloatArray, offsets: IntArray, discounts: FloatArray, values: FloatArray
) -> None:
    """Write (2^y − 1) / ideal DCG, scaled by a power of two so that no label overflows; 0 without gain."""
    for query in range(len(offsets) - 1):
        start, stop = offsets[query], offsets[query + 1]
        exponent = compute_gain_exponent(relevance[start], EXPONENTIAL) if stop > start else 0.0
        ideal = 0.0
        for position in range(start, stop):  # label order is the ideal order
            values[position] = compute_scaled_gain(relevance[position], EXPONENTIAL, 1.0, exponent)
            ideal += values[position] * discounts[position - start]
        for position in range(start, stop):
            values[position] = values[position] / ideal if ideal > 0.0 else 0.0


@compiled
def write_relevant_fractions(
    relevance: FloatArray, offsets: IntArray, threshold: float, values: FloatArray
) -> None:
    """Write 1 / number of relevant documents for labels of at least `threshold`, 0 for others."""
    for query in range(len(offsets) - 1):
        start, stop = offsets[query], offsets[query + 1]
        hits = 0
        for position in range(start, stop):
            hits += relevance[position] >= threshold
        for position in range(start, stop):
            values[position] = 1.0 / hits if relevance[position] >= threshold else 0.0


@compiled
def write_rank_terms(
    scores: FloatArray,
    offsets: IntArray,
    by_gain: bool,
    discounts: FloatArray,
    first: int,
    last: int,
    swap: SwapTerms,
) -> None:
    """Rank the queries `first:last` by falling score and write the terms of each document."""
    longest = max_group_size(offsets, first, last)
    keys, order = np.empty(longest), np.empty(longest, dtype=np.int64)
    workspace = make_sort_workspace(longest)
    for query in range(first, last):
        start, n = offsets[query], offsets[query + 1] - offsets[query]
        if n > 0:
            sort_descending(scores[start : start + n], keys[:n], order, workspace)
        hits, precisions = 0, 0.0  # over the ranks before
        for rank in range(n):
            position = start + order[rank]
            swap.rank[position] = rank
            if by_gain:
                swap.upper[position], swap.lower[position] = discounts[rank], -discounts[rank]
                continue
            hit = swap.value[position] > 0.0
            swap.lower[position] = precisions - (hits + hit) / (rank + 1)
            precisions += hit / (rank + 1)
            swap.upper[position] = (hits + 1) / (rank + 1) - precisions
            hits += hit
