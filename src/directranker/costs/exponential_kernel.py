"""The cross-entropy of all pairs with one exponential per document and hardly a logarithm, compiled.

With τ(o) = tanh(o/2), or tanh(o) at twice the steepness, the pair (i, j) costs log(1 + q) with the slope
−q/(1 + q), where q = e^(s_j − s_i) comes from `exponentials`. No logarithm is taken of a single pair: the
factors 1 + q of a document j with several i are multiplied, and the logarithm is taken of the product before
it can overflow. Queries whose scores lie too far apart take the loop that is stable for any scores.

>>> from directranker.costs import Objective
>>> scores = np.array([800.0, 0.0])
>>> Objective()(scores, [1, 0]).cost, Objective()(scores, [0, 1]).cost
(0.0, 800.0)
"""

from __future__ import annotations

import math

import numpy as np

from directranker.compilation import compiled, compiled_fastmath
from directranker.costs.activations import steepness_of
from directranker.costs.batches import Batch, Rule
from directranker.costs.exponentials import FAR_APART, take_exponentials
from directranker.costs.pair_kernel import compare_query
from directranker.metrics.sorting import FloatArray
from directranker.pairs.classes import Layout
from directranker.pairs.sampling import lower_stop
from directranker.pairs.swaps import SwapTerms

__all__ = ["compare_by_exponentials"]

LARGEST_LOG = 700.0  # of a product of factors
LARGE = 1e300  # of a product of numbers below 2
MANTISSA_BITS, EXPONENT_OF_ONE = 52, 1023  # of a float64
MANTISSA = 2**MANTISSA_BITS - 1


@compiled_fastmath
def meet_one(below: FloatArray, inverse: float, pulls: FloatArray, factors: FloatArray) -> float:
    """A document with 1/e^s = `inverse` meets those below it: Σ q/(1 + q); shares and factors are noted."""
    total = 0.0
    for less in range(len(below)):
        odds = below[less] * inverse
        whole = 1.0 + odds
        share = odds / whole
        pulls[less] += share
        factors[less] *= whole
        total += share
    return total


@compiled_fastmath
def meet_two(
    below: FloatArray, inverse: float, other_inverse: float, pulls: FloatArray, factors: FloatArray
) -> tuple[float, float]:
    """Two documents meet those below them, as in `meet_one` but with one division for both.

    With a = 1 + q and b = 1 + q' both shares come from 1/(a b): q/a = q b/(a b), q'/b = q' a/(a b).
    """
    total, other_total = 0.0, 0.0
    for less in range(len(below)):
        odds, other_odds = below[less] * inverse, below[less] * other_inverse
        whole, other_whole = 1.0 + odds, 1.0 + other_odds
        product = whole * other_whole
        part = 1.0 / product
        share, other_share = odds * other_whole * part, other_odds * whole * part
        pulls[less] += share + other_share
        factors[less] *= product
        total += share
        other_total += other_share
    return total, other_total


@compiled
def meet(
    above: FloatArray,
    above_pulls: FloatArray,
    below: FloatArray,
    below_pulls: FloatArray,
    factors: FloatArray,
) -> None:
    """Some documents meet those below them, all by their exponentials."""
    for more in range(0, len(above) - 1, 2):
        inverse, other_inverse = 1.0 / above[more], 1.0 / above[more + 1]
        total, other_total = meet_two(below, inverse, other_inverse, below_pulls, factors)
        above_pulls[more] -= total
        above_pulls[more + 1] -= other_total
    if len(above) % 2:
        above_pulls[-1] -= meet_one(below, 1.0 / above[-1], below_pulls, factors)


@compiled
def sum_of_logs(factors: FloatArray) -> float:
    """Σ log of the factors, which are at least 1 and become 1 again.

    A factor is 2^e · m with 1 ≤ m < 2: the e are summed, and a logarithm is only taken of a product of m.
    """
    bits = factors.view(np.int64)
    total, exponents, product = 0.0, 0, 1.0
    for at in range(len(factors)):
        exponents += (bits[at] >> MANTISSA_BITS) - EXPONENT_OF_ONE
        bits[at] = (bits[at] & MANTISSA) | (EXPONENT_OF_ONE << MANTISSA_BITS)
        product *= factors[at]
        factors[at] = 1.0
        if product > LARGE:
            total += math.log(product)
            product = 1.0
    return total + math.log(product) + exponents * math.log(2.0)


@compiled
def compare_by_exponentials(
    rule: Rule,
    layout: Layout,
    batch: Batch,
    swap: SwapTerms,
    first: int,
    last: int,
    costs: FloatArray,
    gradient: FloatArray,
) -> None:
    """The queries `first:last`; weights of documents and pairs are not looked at."""
    longest = 0
    for query in range(first, last):
        longest = max(longest, layout.offsets[query + 1] - layout.offsets[query])
    exponentials, pulls, factors = np.empty(longest), np.empty(longest), np.empty(longest)
    factors[:] = 1.0
    steepness = steepness_of(rule.activation)
    for query in range(first, last):
        start, stop = layout.offsets[query], layout.offsets[query + 1]
        if batch.draws[query] > 0 or layout.first[query + 1] - layout.first[query] < 2:
            continue
        spread = take_exponentials(batch.scores[start:stop], steepness, exponentials)
        if spread > FAR_APART:
            costs[query] = compare_query(rule, layout, batch, swap, query, gradient)
            continue
        pulls[: stop - start] = 0.0
        rows_per_log = max(1, int(LARGEST_LOG / (spread + 0.7)))  # a factor is below 2 e^spread
        costs[query] = batch.scale[query] * compare_classes(
            rule, layout, query, rows_per_log, exponentials, pulls, factors
        )
        for at in range(stop - start):
            gradient[start + at] = batch.scale[query] * steepness * pulls[at]


@compiled
def compare_classes(
    rule: Rule,
    layout: Layout,
    query: int,
    rows_per_log: int,
    exponentials: FloatArray,
    pulls: FloatArray,
    factors: FloatArray,
) -> float:
    """Each class with those that it meets; places are counted from the query's first."""
    start, n = layout.offsets[query], layout.offsets[query + 1] - layout.offsets[query]
    total, rows = 0.0, 0  # rows: how many factors a product may have by now
    for upper in range(layout.first[query], layout.first[query + 1] - 1):
        begin = layout.starts[upper + 1] - start
        stop = lower_stop(layout, query, upper, rule.neighbours) - start
        more = layout.starts[upper] - start
        while more < begin:
            until = min(begin, more + rows_per_log - rows)
            above, above_pulls = exponentials[more:until], pulls[more:until]
            meet(above, above_pulls, exponentials[begin:stop], pulls[begin:stop], factors[begin:stop])
            rows, more = rows + until - more, until
            if rows == rows_per_log:
                total += sum_of_logs(factors[:n])
                rows = 0
    return total + sum_of_logs(factors[:n])
