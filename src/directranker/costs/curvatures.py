"""Gradient and curvature of the swap-weighted pair cross-entropy: what LambdaMART fits its next tree to.

A pair of a more relevant document i and another one j costs w log(1 + e^(s_j − s_i)) with w = |Δ| of `swaps`,
a constant. With ρ = 1 / (1 + e^(s_i − s_j)) its slopes are −wρ for i and wρ for j, its curvature wρ(1 − ρ)
for both (Burges, "From RankNet to LambdaRank to LambdaMART: An overview", 2010).

>>> lambdas = SwapLambdas(PairWeight("delta_map"), [1, 0], [0, 2], threshold=1.0)
>>> gradient, curvature = lambdas(np.array([0.0, 0.0]))  # a swap changes AP by ½, and ρ is ½
>>> gradient.tolist(), curvature.tolist()
([-0.25, 0.25], [0.125, 0.125])
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from directranker.compilation import balanced_cuts, compiled, in_parallel, n_threads
from directranker.costs.exponentials import FAR_APART, take_exponentials
from directranker.metrics.sorting import FloatArray
from directranker.pairs.choosing import pair_totals
from directranker.pairs.classes import Layout, classes_of
from directranker.pairs.swaps import SwapTerms, swap_terms, swap_weight
from directranker.pairs.weights import PairWeight

__all__ = ["SwapLambdas"]

PAIRS_WORTH_A_THREAD = 100_000


class SwapLambdas:
    """All pairs of different labels, by query; called with scores, it gives gradient and curvature."""

    def __init__(
        self, weight: PairWeight, relevance: ArrayLike, offsets: ArrayLike, *, threshold: float
    ) -> None:
        self._weight, self._threshold = weight, threshold
        self._classes = classes_of(relevance, offsets)
        self.n_pairs = pair_totals(self._classes, neighbours=False).astype(np.int64)

    def __call__(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Both per document, summed over its pairs, for finite scores."""
        by_place, layout = self._classes.by_place(scores), self._classes.layout
        swap = swap_terms(self._weight, self._classes, by_place, self._threshold)
        gradient, curvature = np.zeros((2, len(by_place)))

        def work(first: int, last: int) -> None:
            pull_queries(layout, by_place, swap, first, last, gradient, curvature)

        pairs_before = np.concatenate([[0], np.cumsum(self.n_pairs)])
        parts = min(n_threads(), 1 + int(pairs_before[-1]) // PAIRS_WORTH_A_THREAD)
        in_parallel(work, balanced_cuts(pairs_before, parts))
        return self._classes.by_row(gradient), self._classes.by_row(curvature)


@compiled
def pull_queries(
    layout: Layout,
    scores: FloatArray,
    swap: SwapTerms,
    first: int,
    last: int,
    gradient: FloatArray,
    curvature: FloatArray,
) -> None:
    """Add what all pairs of the queries `first:last` give their documents."""
    for query in range(first, last):
        start, stop = layout.offsets[query], layout.offsets[query + 1]
        exponentials = np.empty(stop - start)
        near = stop > start and take_exponentials(scores[start:stop], 1.0, exponentials) <= FAR_APART
        for upper in range(layout.first[query], layout.first[query + 1] - 1):
            begin = layout.starts[upper + 1]
            for more in range(layout.starts[upper], begin):
                pull_stretch(scores, swap, exponentials, near, start, more, begin, stop, gradient, curvature)


@compiled
def pull_stretch(
    scores: FloatArray,
    swap: SwapTerms,
    exponentials: FloatArray,
    near: bool,
    start: int,
    more: int,
    begin: int,
    stop: int,
    gradient: FloatArray,
    curvature: FloatArray,
) -> None:
    """The pairs of one place with all from `begin` to `stop`."""
    values, ranks, uppers, lowers = swap.value, swap.rank, swap.upper, swap.lower
    v_i, rank_i, upper_i, lower_i = values[more], ranks[more], uppers[more], lowers[more]
    pull, bend = 0.0, 0.0
    for less in range(begin, stop):
        weight = swap_weight(
            v_i - values[less], rank_i - ranks[less], upper_i + lowers[less], uppers[less] + lower_i
        )
        if near:
            e_j = exponentials[less - start]
            rho = e_j / (exponentials[more - start] + e_j)
        else:
            rho = 1.0 / (1.0 + math.exp(scores[more] - scores[less]))
        pulled = weight * rho
        bent = pulled * (1.0 - rho)
        gradient[less] += pulled
        curvature[less] += bent
        pull += pulled
        bend += bent
    gradient[more] -= pull
    curvature[more] += bend
