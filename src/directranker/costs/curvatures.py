"""Gradient and curvature of the pair cross-entropy: the targets of the next boosted tree.

A pair of a more relevant document i and another one j costs w log(1 + e^(s_j − s_i)). In `SwapLambdas`, those
of LambdaMART, w is |Δ| of `swaps`, taken as a constant; in `EvenLambdas` it is 1/√P in a query of P pairs.
With ρ = 1 / (1 + e^(s_i − s_j)) the gradient is −wρ for i and wρ for j, the curvature wρ(1 − ρ) for both
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

from directranker.arrays import FloatArray
from directranker.compilation import compiled, get_n_threads, run_in_parallel, split_queries_evenly
from directranker.costs.exponentials import MAX_SPREAD, compute_exponentials
from directranker.pairs.classes import ClassLayout, group_by_label
from directranker.pairs.pair_table import sum_pair_weights
from directranker.pairs.swaps import SwapTerms, compute_swap_terms, swap_weight
from directranker.pairs.weights import PairWeight

__all__ = ["EvenLambdas", "Lambdas", "SwapLambdas"]

MIN_PAIRS_PER_THREAD = 100_000


class Lambdas(ABC):
    """All pairs of different labels in each query; a call with scores returns gradient and curvature."""

    def __init__(self, relevance: ArrayLike, offsets: ArrayLike) -> None:
        self._classes = group_by_label(relevance, offsets)
        self.n_pairs = sum_pair_weights(self._classes, adjacent=False).astype(np.int64)

    def __call__(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return gradient and curvature of each document, summed over its pairs, for finite scores."""
        sorted_scores = self._classes.to_label_order(scores)
        gradient, curvature = np.zeros((2, len(sorted_scores)))
        accumulate = self._make_accumulator(sorted_scores, gradient, curvature)
        pairs_before = np.concatenate([[0], np.cumsum(self.n_pairs)])
        parts = min(get_n_threads(), 1 + int(pairs_before[-1]) // MIN_PAIRS_PER_THREAD)
        run_in_parallel(accumulate, split_queries_evenly(pairs_before, parts))
        return self._classes.to_row_order(gradient), self._classes.to_row_order(curvature)

    @abstractmethod
    def _make_accumulator(
        self, scores: FloatArray, gradient: FloatArray, curvature: FloatArray
    ) -> Callable[[int, int], None]:
        """Return a function that adds the pairs of the queries `first:last`, for arrays in label order."""


class SwapLambdas(Lambdas):
    """LambdaMART's lambdas: the weight of a pair is |Δ| of the metric when its documents swap ranks."""

    def __init__(
        self, weight: PairWeight, relevance: ArrayLike, offsets: ArrayLike, *, threshold: float
    ) -> None:
        super().__init__(relevance, offsets)
        self._weight, self._threshold = weight, threshold

    def _make_accumulator(
        self, scores: FloatArray, gradient: FloatArray, curvature: FloatArray
    ) -> Callable[[int, int], None]:
        layout = self._classes.layout
        swap = compute_swap_terms(self._weight, self._classes, scores, self._threshold)
        return lambda first, last: accumulate_swaps(layout, scores, swap, first, last, gradient, curvature)


class EvenLambdas(Lambdas):
    """All pairs of a query have the same weight; a query counts by the root of its number of pairs.

    Weights are scaled so that a document's is about 1, because LightGBM bounds sums of curvatures.

    >>> gradient, curvature = EvenLambdas([1, 0, 1, 0], [0, 2, 4])(np.zeros(4))
    >>> gradient.tolist(), curvature.tolist()
    ([-1.0, 1.0, -1.0, 1.0], [0.5, 0.5, 0.5, 0.5])
    """

    def __init__(self, relevance: ArrayLike, offsets: ArrayLike) -> None:
        super().__init__(relevance, offsets)
        roots = np.sqrt(self.n_pairs)
        n_documents = float(self._classes.layout.offsets[-1])
        self._scale = n_documents / max(float(roots.sum()), 1.0) / np.maximum(roots, 1.0)

    def _make_accumulator(
        self, scores: FloatArray, gradient: FloatArray, curvature: FloatArray
    ) -> Callable[[int, int], None]:
        layout, scale = self._classes.layout, self._scale
        return lambda first, last: accumulate_evenly(layout, scores, scale, first, last, gradient, curvature)


@compiled
def accumulate_evenly(
    layout: ClassLayout,
    scores: FloatArray,
    scale: FloatArray,
    first: int,
    last: int,
    gradient: FloatArray,
    curvature: FloatArray,
) -> None:
    """Add gradient and curvature of all pairs of the queries `first:last`, weighted by the query's scale."""
    for query in range(first, last):
        start, stop = layout.offsets[query], layout.offsets[query + 1]
        exponentials, weight = np.empty(stop - start), scale[query]
        is_near = stop > start and compute_exponentials(scores[start:stop], 1.0, exponentials) <= MAX_SPREAD
        for upper in range(layout.first[query], layout.first[query + 1] - 1):
            begin = layout.starts[upper + 1]
            for i in range(layout.starts[upper], begin):
                for j in range(begin, stop):
                    rho = compute_rho(scores, exponentials, is_near, start, i, j)
                    gradient[i] -= weight * rho
                    gradient[j] += weight * rho
                    curvature[i] += weight * rho * (1.0 - rho)
                    curvature[j] += weight * rho * (1.0 - rho)


@compiled
def compute_rho(
    scores: FloatArray, exponentials: FloatArray, is_near: bool, start: int, i: int, j: int
) -> float:
    """Return 1 / (1 + e^(s_i − s_j)), from exponentials where the query's scores are near enough."""
    if is_near:
        e_j = exponentials[j - start]
        return float(e_j / (exponentials[i - start] + e_j))
    return 1.0 / (1.0 + math.exp(scores[i] - scores[j]))


@compiled
def accumulate_swaps(
    layout: ClassLayout,
    scores: FloatArray,
    swap: SwapTerms,
    first: int,
    last: int,
    gradient: FloatArray,
    curvature: FloatArray,
) -> None:
    """Add gradient and curvature of all pairs of the queries `first:last`, weighted by |Δ| of a swap."""
    for query in range(first, last):
        start, stop = layout.offsets[query], layout.offsets[query + 1]
        exponentials = np.empty(stop - start)
        is_near = stop > start and compute_exponentials(scores[start:stop], 1.0, exponentials) <= MAX_SPREAD
        for upper in range(layout.first[query], layout.first[query + 1] - 1):
            begin = layout.starts[upper + 1]
            for i in range(layout.starts[upper], begin):
                accumulate_range(
                    scores, swap, exponentials, is_near, start, i, begin, stop, gradient, curvature
                )


@compiled
def accumulate_range(
    scores: FloatArray,
    swap: SwapTerms,
    exponentials: FloatArray,
    is_near: bool,
    start: int,
    i: int,
    begin: int,
    stop: int,
    gradient: FloatArray,
    curvature: FloatArray,
) -> None:
    """Add the pairs of document i with the documents `begin:stop`."""
    values, ranks, uppers, lowers = swap.value, swap.rank, swap.upper, swap.lower
    v_i, rank_i, upper_i, lower_i = values[i], ranks[i], uppers[i], lowers[i]
    gradient_i, curvature_i = 0.0, 0.0
    for j in range(begin, stop):
        weight = swap_weight(v_i - values[j], rank_i - ranks[j], upper_i + lowers[j], uppers[j] + lower_i)
        rho = compute_rho(scores, exponentials, is_near, start, i, j)
        slope = weight * rho
        bend = slope * (1.0 - rho)
        gradient[j] += slope
        curvature[j] += bend
        gradient_i += slope
        curvature_i += bend
    gradient[i] -= gradient_i
    curvature[i] += curvature_i
