"""ΔNDCG and ΔMAP of a pair: what changes when its documents swap places in the current order, compiled.

LambdaRank's idea (Burges, Ragno and Le, "Learning to rank with nonsmooth cost functions", NIPS 2006), which
the DirectRanker paper names as its outlook. The order is by falling scores; where scores are equal the more
relevant document stands first. Both measures have the same form. With a value v of a document and terms of
its rank,

    |Δ| = |v_i − v_j| · |upper(first of the two) + lower(second of the two)|

    ΔNDCG@k   v = (2^y − 1) / ideal DCG@k    upper = 1 / log2(rank + 1) up to rank k, then 0;  lower = −upper
    ΔMAP      v = relevant / number of them  upper = (hits before + 1) / rank − Σ up to it of hit / rank
                                             lower = Σ before it of hit / rank − (hits up to it) / rank

>>> from directranker.pairs.classes import classes_of
>>> terms = swap_terms(PairWeight("delta_map"), classes_of([1, 0]), np.array([0.1, 0.9]), threshold=1.0)
>>> terms.rank.tolist(), terms.value.tolist()
([1.0, 0.0], [1.0, 0.0])
>>> swap_weight(1.0, 1.0, terms.upper[0] + terms.lower[1], terms.upper[1] + terms.lower[0])  # 1 − 1/2
0.5
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from directranker.arrays import IntArray
from directranker.compilation import compiled, get_n_threads, inlined, run_in_parallel, split_queries_evenly
from directranker.metrics.kernels import GAINS, gain_exponent, scaled_gain
from directranker.metrics.sorting import FloatArray, room_to_sort, sort_descending
from directranker.pairs.classes import WORTH_A_THREAD, QueryClasses
from directranker.pairs.weights import PairWeight

__all__ = ["SwapTerms", "no_swap_terms", "rank_discounts", "swap_terms", "swap_values", "swap_weight"]

EXPONENTIAL = GAINS["exponential"]


class SwapTerms(NamedTuple):
    """What `swap_weight` needs to know of each place; `rank` counts from 0."""

    value: FloatArray
    rank: FloatArray
    upper: FloatArray
    lower: FloatArray


def no_swap_terms() -> SwapTerms:
    """For weights that do not look at ranks."""
    return SwapTerms(*np.empty((4, 0)))


@inlined
def swap_weight(values_apart: float, ranks_apart: float, ahead: float, behind: float) -> float:
    """|Δ| from v_i − v_j, rank_i − rank_j, upper_i + lower_j and upper_j + lower_i.

    Both sums come ready: which one holds could not be foretold, and a wrong guess would cost more.

    >>> swap_weight(1.0, -1.0, 0.5, 0.25), swap_weight(1.0, 1.0, 0.5, 0.25)
    (0.5, 0.25)
    """
    return abs(values_apart * (ahead if ranks_apart < 0.0 else behind))


def rank_discounts(n: int, k: int | None) -> FloatArray:
    """1 / log2(rank + 1) for n ranks from 1 on, 0 behind rank k.

    >>> rank_discounts(4, 3)[[0, 2, 3]].tolist()
    [1.0, 0.5, 0.0]
    """
    discounts = 1 / np.log2(np.arange(2, n + 2))
    discounts[n if k is None else k :] = 0
    return discounts


def _longest(classes: QueryClasses) -> int:
    return int(np.diff(classes.layout.offsets).max(initial=0))


def swap_values(weight: PairWeight, classes: QueryClasses, threshold: float) -> FloatArray:
    """The value v of each place; it does not depend on the scores."""
    values = np.empty(len(classes.relevance))
    if weight.name == "delta_ndcg":
        discounts = rank_discounts(_longest(classes), weight.k)
        normalised_gains(classes.relevance, classes.layout.offsets, discounts, values)
    else:
        shares_of_relevant(classes.relevance, classes.layout.offsets, threshold, values)
    return values


def swap_terms(weight: PairWeight, classes: QueryClasses, scores: FloatArray, threshold: float) -> SwapTerms:
    """The terms of ΔNDCG or ΔMAP for finite scores by place, in parallel."""
    values = swap_values(weight, classes, threshold)
    terms = SwapTerms(values, *np.empty((3, len(values))))
    discounts = rank_discounts(_longest(classes), weight.k)
    offsets, by_gain = classes.layout.offsets, weight.name == "delta_ndcg"

    def work(first: int, last: int) -> None:
        rank_queries(scores, offsets, by_gain, discounts, first, last, terms)

    run_in_parallel(
        work, split_queries_evenly(offsets, min(get_n_threads(), 1 + len(scores) // WORTH_A_THREAD))
    )
    return terms


@compiled
def normalised_gains(
    relevance: FloatArray, offsets: IntArray, discounts: FloatArray, values: FloatArray
) -> None:
    """(2^y − 1) / ideal DCG, both scaled by a power of two so that no label overflows; 0 without gain."""
    for query in range(len(offsets) - 1):
        start, stop = offsets[query], offsets[query + 1]
        exponent = gain_exponent(relevance[start], EXPONENTIAL) if stop > start else 0.0
        ideal = 0.0
        for place in range(start, stop):  # places are the ideal order
            values[place] = scaled_gain(relevance[place], EXPONENTIAL, 1.0, exponent)
            ideal += values[place] * discounts[place - start]
        for place in range(start, stop):
            values[place] = values[place] / ideal if ideal > 0.0 else 0.0


@compiled
def shares_of_relevant(
    relevance: FloatArray, offsets: IntArray, threshold: float, values: FloatArray
) -> None:
    """1 / number of relevant documents for those from the threshold on, 0 for others."""
    for query in range(len(offsets) - 1):
        start, stop = offsets[query], offsets[query + 1]
        hits = 0
        for place in range(start, stop):
            hits += relevance[place] >= threshold
        for place in range(start, stop):
            values[place] = 1.0 / hits if relevance[place] >= threshold else 0.0


@compiled
def rank_queries(
    scores: FloatArray,
    offsets: IntArray,
    by_gain: bool,
    discounts: FloatArray,
    first: int,
    last: int,
    swap: SwapTerms,
) -> None:
    """Rank the queries `first:last` by falling score and write the terms of each rank."""
    longest = 0
    for query in range(first, last):
        longest = max(longest, offsets[query + 1] - offsets[query])
    keys, order, room = np.empty(longest), np.empty(longest, dtype=np.int64), room_to_sort(longest)
    for query in range(first, last):
        start, n = offsets[query], offsets[query + 1] - offsets[query]
        if n > 0:
            sort_descending(scores[start : start + n], keys[:n], order, room)
        hits, precisions = 0, 0.0  # of the ranks before
        for rank in range(n):
            place = start + order[rank]
            swap.rank[place] = rank
            if by_gain:
                swap.upper[place], swap.lower[place] = discounts[rank], -discounts[rank]
                continue
            hit = swap.value[place] > 0.0
            swap.lower[place] = precisions - (hits + hit) / (rank + 1)
            precisions += hit / (rank + 1)
            swap.upper[place] = (hits + 1) / (rank + 1) - precisions
            hits += hit
