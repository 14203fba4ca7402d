"""A batch as kernels take it: documents by place, and what each query's costs are multiplied with.

The cache of a kernel remembers the module of each named tuple it takes: after moving one, `make clean`.

>>> import numpy as np
>>> from directranker.pairs import classes_of
>>> query_scales(np.array([3.0, 0.0, 1.0]), np.ones(3), "queries")  # the mean over queries that have pairs
array([0.16666667, 0.        , 0.5       ])
>>> query_scales(np.array([3.0, 0.0, 1.0]), np.ones(3), "pairs")
array([0.25, 0.  , 0.25])
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from directranker.arrays import FloatArray, IntArray

__all__ = ["REDUCTIONS", "Batch", "Rule", "as_weights", "query_scales"]

REDUCTIONS = ("queries", "root", "pairs", "sum")


class Rule(NamedTuple):
    """What a pair kernel computes, in the codes of `pair_costs`, `activations` and `pairs.weights`."""

    cost: int
    activation: int
    neighbours: int
    weight: int


class Batch(NamedTuple):
    """Scores, labels and weights by place; a scale per query; how many pairs to draw, 0 for all."""

    scores: FloatArray
    relevance: FloatArray
    weight: FloatArray
    scale: FloatArray
    draws: IntArray
    seed: np.uint64


def as_weights(name: str, weights: ArrayLike | None, n: int, per: str) -> FloatArray | None:
    """Weights from users: one each, finite and not negative.

    >>> as_weights("query_weight", [1, -2], 2, "query")
    Traceback (most recent call last):
    ValueError: query_weight is -2.0 for query 1; weights must be finite and not negative
    """
    if weights is None:
        return None
    try:
        array = np.require(weights, np.float64, ["C", "A", "W"])
    except (TypeError, ValueError) as problem:
        raise ValueError(f"{name} are not all numbers: {problem}") from None
    if array.shape != (n,):
        raise ValueError(f"{name} has shape {array.shape}; give one weight per {per}, shape ({n},)")
    broken = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(broken):
        raise ValueError(
            f"{name} is {array[broken[0]]} for {per} {broken[0]}; weights must be finite and not negative"
        )
    return array


def query_scales(totals: FloatArray, query_weight: FloatArray, reduction: str) -> FloatArray:
    """What to multiply the sum of each query's costs with, given the sum of its pairs' weights.

    All means are weighted ones: to double every weight changes nothing, a weight of 0 leaves out.
    """
    if reduction == "sum":
        return query_weight
    # How much the mean of a query counts: all the same, by its pairs, or by their root, half-way between.
    importance = totals ** {"queries": 0.0, "root": 0.5, "pairs": 1.0}[reduction]
    counted = np.where(totals > 0, query_weight * importance, 0.0)
    whole = float(counted.sum())
    return np.divide(counted, totals * whole, out=np.zeros_like(totals), where=(totals > 0) & (whole > 0))
