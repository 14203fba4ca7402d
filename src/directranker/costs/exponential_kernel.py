"""The cross-entropy of all pairs, compiled: one exponential per document and few logarithms.

With τ(o) = tanh(o/2), or tanh(o) at twice the steepness, the pair (i, j) costs log(1 + q) with the derivative
−q/(1 + q), where q = e^(s_j − s_i) comes from `exponentials`. No logarithm is taken of a single pair: the
factors 1 + q of a document j over several i are multiplied, and the logarithm is taken of the product before
it can overflow. Queries whose scores are too far apart take the general loop, which is stable for any scores.

>>> from directranker.costs import Objective
>>> scores = np.array([800.0, 0.0])
>>> Objective()(scores, [1, 0]).cost, Objective()(scores, [0, 1]).cost
(0.0, 800.0)
"""

from __future__ import annotations

import math

import numpy as np

from directranker.arrays import FloatArray
from directranker.compilation import compiled, compiled_fastmath
from directranker.costs.activations import get_steepness
from directranker.costs.exponentials import MAX_SPREAD, compute_exponentials
from directranker.costs.kernel_inputs import CostBatch, CostCodes, is_skipped
from directranker.costs.pair_kernel import compare_query
from directranker.metrics.sorting import max_group_size
from directranker.pairs.classes import ClassLayout
from directranker.pairs.sampling import lower_stop
from directranker.pairs.swaps import SwapTerms

__all__ = ["compare_by_exponentials", "compute_rows_per_log", "sum_logs_and_reset"]

MAX_LOG = 700.0  # of a product of factors 1 + q
MAX_PRODUCT = 1e300  # of mantissas, each below 2
MANTISSA_BITS, EXPONENT_OF_ONE = 52, 1023  # of a float64
MANTISSA = 2**MANTISSA_BITS - 1


@compiled_fastmath
def accumulate_one(below: FloatArray, inverse: float, slopes: FloatArray, factors: FloatArray) -> float:
    """Compare a document with 1/e^s = `inverse` with the less relevant ones; return Σ q/(1 + q).

    Each q/(1 + q) is added to `slopes`, and `factors` are multiplied by 1 + q.
    """
    total = 0.0
    for j in range(len(below)):
        odds = below[j] * inverse
        factor = 1.0 + odds
        probability = odds / factor
        slopes[j] += probability
        factors[j] *= factor
        total += probability
    return total


@compiled_fastmath
def accumulate_two(
    below: FloatArray, inverse: float, other_inverse: float, slopes: FloatArray, factors: FloatArray
) -> tuple[float, float]:
    """Compare two documents with the less relevant ones, as `accumulate_one` but with one division for both.

    With a = 1 + q and b = 1 + q' both quotients come from 1/(a b): q/a = q b/(a b), q'/b = q' a/(a b).
    """
    total, other_total = 0.0, 0.0
    for j in range(len(below)):
        odds, other_odds = below[j] * inverse, below[j] * other_inverse
        factor, other_factor = 1.0 + odds, 1.0 + other_odds
        product = factor * other_factor
        reciprocal = 1.0 / product
        probability = odds * other_factor * reciprocal
        other_probability = other_odds * factor * reciprocal
        slopes[j] += probability + other_probability
        factors[j] *= product
        total += probability
        other_total += other_probability
    return total, other_total


@compiled
def accumulate_block(
    above: FloatArray,
    upper_slopes: FloatArray,
    below: FloatArray,
    lower_slopes: FloatArray,
    factors: FloatArray,
) -> None:
    """Compare each of some documents with all of the less relevant ones, given their exponentials."""
    for i in range(0, len(above) - 1, 2):
        inverse, other_inverse = 1.0 / above[i], 1.0 / above[i + 1]
        total, other_total = accumulate_two(below, inverse, other_inverse, lower_slopes, factors)
        upper_slopes[i] -= total
        upper_slopes[i + 1] -= other_total
    if len(above) % 2:
        upper_slopes[-1] -= accumulate_one(below, 1.0 / above[-1], lower_slopes, factors)


@compiled
def compute_rows_per_log(spread: float) -> int:
    """Return how many factors 1 + q, each below 2 e^spread, a product may have before its logarithm."""
    return max(1, int(MAX_LOG / (spread + 0.7)))


@compiled
def sum_logs_and_reset(factors: FloatArray) -> float:
    """Return Σ log of the factors, which are at least 1, and reset them to 1.

    A factor is 2^e · m with 1 ≤ m < 2: the e are summed, and a logarithm is only taken of a product of m.
    """
    bits = factors.view(np.int64)
    total, exponents, product = 0.0, 0, 1.0
    for index in range(len(factors)):
        exponents += (bits[index] >> MANTISSA_BITS) - EXPONENT_OF_ONE
        bits[index] = (bits[index] & MANTISSA) | (EXPONENT_OF_ONE << MANTISSA_BITS)
        product *= factors[index]
        factors[index] = 1.0
        if product > MAX_PRODUCT:
            total += math.log(product)
            product = 1.0
    return total + math.log(product) + exponents * math.log(2.0)


@compiled
def compare_by_exponentials(
    codes: CostCodes,
    layout: ClassLayout,
    batch: CostBatch,
    swap: SwapTerms,
    first: int,
    last: int,
    costs: FloatArray,
    gradient: FloatArray,
) -> None:
    """Compare all pairs of the queries `first:last`, without weights of documents or pairs."""
    longest = max_group_size(layout.offsets, first, last)
    exponentials, slopes, factors = np.empty(longest), np.empty(longest), np.ones(longest)
    steepness = get_steepness(codes.activation)
    for query in range(first, last):
        if is_skipped(layout, batch, query):
            continue
        start, stop = layout.offsets[query], layout.offsets[query + 1]
        spread = compute_exponentials(batch.scores[start:stop], steepness, exponentials)
        if spread > MAX_SPREAD:
            costs[query] = compare_query(codes, layout, batch, swap, query, gradient)
            continue
        slopes[: stop - start] = 0.0
        costs[query] = batch.scale[query] * compare_classes(
            codes, layout, query, compute_rows_per_log(spread), exponentials, slopes, factors
        )
        for index in range(stop - start):
            gradient[start + index] = batch.scale[query] * steepness * slopes[index]


@compiled
def compare_classes(
    codes: CostCodes,
    layout: ClassLayout,
    query: int,
    rows_per_log: int,
    exponentials: FloatArray,
    slopes: FloatArray,
    factors: FloatArray,
) -> float:
    """Compare each class with the lower ones; positions are relative to the query's first document."""
    start, n = layout.offsets[query], layout.offsets[query + 1] - layout.offsets[query]
    total, n_factors = 0.0, 0  # the largest number of factors that a product may have so far
    for upper in range(layout.first[query], layout.first[query + 1] - 1):
        begin = layout.starts[upper + 1] - start
        stop = lower_stop(layout, query, upper, codes.adjacent) - start
        i = layout.starts[upper] - start
        while i < begin:
            until = min(begin, i + rows_per_log - n_factors)
            accumulate_block(
                exponentials[i:until],
                slopes[i:until],
                exponentials[begin:stop],
                slopes[begin:stop],
                factors[begin:stop],
            )
            n_factors, i = n_factors + until - i, until
            if n_factors == rows_per_log:
                total += sum_logs_and_reset(factors[:n])
                n_factors = 0
    return total + sum_logs_and_reset(factors[:n])
