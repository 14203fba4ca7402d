"""The arguments that all pair kernels share: which cost to compute, and the batch to compute it on.

A kernel's cache remembers the module of each named tuple it takes: after moving one, run `make clean`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from directranker.arrays import FloatArray, IntArray
from directranker.compilation import inlined
from directranker.pairs.classes import ClassLayout

__all__ = ["CostBatch", "CostCodes", "is_skipped"]


class CostCodes(NamedTuple):
    """The cost of a pair as the codes of `pair_costs`, `activations` and `pairs.weights`."""

    cost: int
    activation: int
    adjacent: int
    """1 where only adjacent classes are compared."""
    weight: int


class CostBatch(NamedTuple):
    """Scores, labels and weights in label order (see `QueryClasses`), and scale and draws of each query."""

    scores: FloatArray
    relevance: FloatArray
    weight: FloatArray
    scale: FloatArray
    n_draws: IntArray
    """The number of sampled pairs of each query, 0 where all pairs are compared."""
    seed: np.uint64


@inlined
def is_skipped(layout: ClassLayout, batch: CostBatch, query: int) -> bool:
    """Whether a kernel over all pairs skips a query: it has a single class, or its pairs are sampled."""
    skipped: bool = batch.n_draws[query] > 0 or layout.first[query + 1] - layout.first[query] < 2
    return skipped
