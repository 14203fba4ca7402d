"""The reduction of pair costs to one number, by weights and a mean over queries or pairs.

>>> import numpy as np
>>> compute_query_scales(np.array([3.0, 0.0, 1.0]), np.ones(3), "queries")  # over queries that have pairs
array([0.16666667, 0.        , 0.5       ])
>>> compute_query_scales(np.array([3.0, 0.0, 1.0]), np.ones(3), "pairs")
array([0.25, 0.  , 0.25])
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from directranker.arrays import FloatArray

__all__ = ["REDUCTIONS", "compute_query_scales", "validate_weights"]

REDUCTIONS = ("queries", "root", "pairs", "sum")


def validate_weights(name: str, weights: ArrayLike | None, n: int, per: str) -> FloatArray | None:
    """Return n weights as float64; raise where one is missing, negative or not finite.

    >>> validate_weights("query_weight", [1, -2], 2, "query")
    Traceback (most recent call last):
    ValueError: query_weight is -2.0 for query 1; weights must be finite and not negative
    """
    if weights is None:
        return None
    try:
        array = np.require(weights, np.float64, ["C", "A", "W"])
    except (TypeError, ValueError) as problem:
        raise ValueError(f"{name} has values that are not numbers: {problem}") from None
    if array.shape != (n,):
        raise ValueError(f"{name} has shape {array.shape}; pass one weight per {per}, shape ({n},)")
    invalid = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(invalid):
        raise ValueError(
            f"{name} is {array[invalid[0]]} for {per} {invalid[0]}; weights must be finite and not negative"
        )
    return array


def compute_query_scales(totals: FloatArray, query_weight: FloatArray, reduction: str) -> FloatArray:
    """Return the factor of each query's sum of costs, given the total weight of its pairs.

    All means are weighted means: doubling every weight changes nothing, a weight of 0 excludes the query.
    """
    if reduction == "sum":
        return query_weight
    # The importance of a query's mean: constant, by its number of pairs, or by the square root of it.
    importance = totals ** {"queries": 0.0, "root": 0.5, "pairs": 1.0}[reduction]
    counted = np.where(totals > 0, query_weight * importance, 0.0)
    normaliser = float(counted.sum())
    return np.divide(
        counted, totals * normaliser, out=np.zeros_like(totals), where=(totals > 0) & (normaliser > 0)
    )
