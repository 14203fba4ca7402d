"""Gradient and curvature of the pair cross-entropy: what boosted trees fit the next tree to.

A pair of a more relevant document i and another one j costs w log(1 + e^(s_j − s_i)). In LambdaMART, that is
`SwapLambdas`, w is |Δ| of `swaps`, taken as a constant; in `EvenLambdas` it is 1/√P in a query of P pairs.
With ρ = 1 / (1 + e^(s_i − s_j)) the slopes are −wρ for i and wρ for j, the curvature is wρ(1 − ρ) for both
(Burges, "From RankNet to LambdaRank to LambdaMART: An overview", 2010).

>>> lambdas = SwapLambdas(PairWeight("delta_map"), [1, 0], [0, 2], threshold=1.0)
>>> gradient, curvature = lambdas(np.array([0.0, 0.0]))  # a swap changes AP by ½, and ρ is ½
>>> gradient.tolist(), curvature.tolist()
([-0.25, 0.25], [0.125, 0.125])
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from directranker.compilation import compiled, get_n_threads, run_in_parallel, split_queries_evenly
from directranker.costs.exponentials import FAR_APART, take_exponentials
from directranker.metrics.sorting import FloatArray
from directranker.pairs.classes import Layout, classes_of
from directranker.pairs.pair_table import pair_totals
from directranker.pairs.swaps import SwapTerms, swap_terms, swap_weight
from directranker.pairs.weights import PairWeight

__all__ = ["EvenLambdas", "Lambdas", "SwapLambdas"]

PAIRS_WORTH_A_THREAD = 100_000


class Lambdas(ABC):
    """All pairs of different labels, by query; called with scores, it gives gradient and curvature."""

    def __init__(self, relevance: ArrayLike, offsets: ArrayLike) -> None:
        self._classes = classes_of(relevance, offsets)
        self.n_pairs = pair_totals(self._classes, neighbours=False).astype(np.int64)

    def __call__(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Both per document, summed over its pairs, for finite scores."""
        by_place = self._classes.by_place(scores)
        gradient, curvature = np.zeros((2, len(by_place)))
        work = self._work(by_place, gradient, curvature)
        pairs_before = np.concatenate([[0], np.cumsum(self.n_pairs)])
        parts = min(get_n_threads(), 1 + int(pairs_before[-1]) // PAIRS_WORTH_A_THREAD)
        run_in_parallel(work, split_queries_evenly(pairs_before, parts))
        return self._classes.by_row(gradient), self._classes.by_row(curvature)

    @abstractmethod
    def _work(
        self, by_place: FloatArray, gradient: FloatArray, curvature: FloatArray
    ) -> Callable[[int, int], None]:
        """What adds the pairs of the queries from a first to a last one."""


class SwapLambdas(Lambdas):
    """LambdaMART's: a pair weighs what swapping its documents would change."""

    def __init__(
        self, weight: PairWeight, relevance: ArrayLike, offsets: ArrayLike, *, threshold: float
    ) -> None:
        super().__init__(relevance, offsets)
        self._weight, self._threshold = weight, threshold

    def _work(
        self, by_place: FloatArray, gradient: FloatArray, curvature: FloatArray
    ) -> Callable[[int, int], None]:
        layout = self._classes.layout
        swap = swap_terms(self._weight, self._classes, by_place, self._threshold)
        return lambda first, last: pull_queries(layout, by_place, swap, first, last, gradient, curvature)


class EvenLambdas(Lambdas):
    """A pair weighs as all others of its query, and a query by the root of its number of pairs.

    Weights are scaled so that a document's is about 1, for LightGBM sets bounds to sums of curvatures.

    >>> gradient, curvature = EvenLambdas([1, 0, 1, 0], [0, 2, 4])(np.zeros(4))
    >>> gradient.tolist(), curvature.tolist()
    ([-1.0, 1.0, -1.0, 1.0], [0.5, 0.5, 0.5, 0.5])
    """

    def __init__(self, relevance: ArrayLike, offsets: ArrayLike) -> None:
        super().__init__(relevance, offsets)
        roots = np.sqrt(self.n_pairs)
        n_documents = float(self._classes.layout.offsets[-1])
        self._scale = n_documents / max(float(roots.sum()), 1.0) / np.maximum(roots, 1.0)

    def _work(
        self, by_place: FloatArray, gradient: FloatArray, curvature: FloatArray
    ) -> Callable[[int, int], None]:
        layout, scale = self._classes.layout, self._scale
        return lambda first, last: pull_evenly(layout, by_place, scale, first, last, gradient, curvature)


@compiled
def pull_evenly(
    layout: Layout,
    scores: FloatArray,
    scale: FloatArray,
    first: int,
    last: int,
    gradient: FloatArray,
    curvature: FloatArray,
) -> None:
    """Add what all pairs of the queries `first:last` give their documents, all with its scale."""
    for query in range(first, last):
        start, stop = layout.offsets[query], layout.offsets[query + 1]
        exponentials, weight = np.empty(stop - start), scale[query]
        near = stop > start and take_exponentials(scores[start:stop], 1.0, exponentials) <= FAR_APART
        for upper in range(layout.first[query], layout.first[query + 1] - 1):
            begin = layout.starts[upper + 1]
            for more in range(layout.starts[upper], begin):
                for less in range(begin, stop):
                    rho = behind(scores, exponentials, near, start, more, less)
                    gradient[more] -= weight * rho
                    gradient[less] += weight * rho
                    curvature[more] += weight * rho * (1.0 - rho)
                    curvature[less] += weight * rho * (1.0 - rho)


@compiled
def behind(
    scores: FloatArray, exponentials: FloatArray, near: bool, start: int, more: int, less: int
) -> float:
    """ρ of a pair: 1 / (1 + e^(s_i − s_j))."""
    if near:
        e_j = exponentials[less - start]
        return float(e_j / (exponentials[more - start] + e_j))
    return 1.0 / (1.0 + math.exp(scores[more] - scores[less]))


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
        rho = behind(scores, exponentials, near, start, more, less)
        pulled = weight * rho
        bent = pulled * (1.0 - rho)
        gradient[less] += pulled
        curvature[less] += bent
        pull += pulled
        bend += bent
    gradient[more] -= pull
    curvature[more] += bend
