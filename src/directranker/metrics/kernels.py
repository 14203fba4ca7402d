"""The measures themselves, compiled: each formula once, by groups of equal scores.

A group of m documents at ranks a+1 … a+m stands in each of its m! orders equally often, and each measure
here is the exact mean over these orders. Where ties are not averaged every document is its own group, so
the same formulas hold. Average precision and reciprocal rank follow McSherry and Najork, "Computing
information retrieval performance measures efficiently in the presence of tied scores" (ECIR 2008).

>>> grades, ends = np.array([1.0, 0.0, 1.0]), np.array([3])  # three tied documents, two relevant
>>> expected_hits(grades, ends, 1.0, 2)  # of 2 places
1.3333333333333333
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import IntArray
from directranker.compilation import compiled
from directranker.metrics.sorting import FloatArray

__all__ = ["AVERAGE", "GAINS", "MEASURES", "SPEC", "TIES", "USE_GAINS", "WORST", "measure_list"]

NDCG, DCG, AVERAGE_PRECISION, PRECISION, RECIPROCAL_RANK, ERR = range(6)
EXPONENTIAL, LINEAR, BINARY = range(3)
AVERAGE, INPUT, WORST = range(3)
USE_GAINS = (NDCG, DCG)  # these compare with the best order; the others need none

MEASURES = {
    "ndcg": NDCG,
    "dcg": DCG,
    "average_precision": AVERAGE_PRECISION,
    "precision": PRECISION,
    "reciprocal_rank": RECIPROCAL_RANK,
    "err": ERR,
}
GAINS = {"exponential": EXPONENTIAL, "linear": LINEAR, "binary": BINARY}
TIES = {"average": AVERAGE, "input": INPUT, "worst": WORST}

SPEC = np.dtype(
    [
        ("measure", np.int64),
        ("k", np.int64),
        ("grades", np.int64),  # which row of the grades is measured
        ("gain", np.int64),
        ("threshold", np.float64),
        ("discount", np.int64),  # which row of the discounts holds
        ("ties", np.int64),
        ("short_list_is_zero", np.bool_),
        ("precision_over_k", np.bool_),
        ("over_reachable", np.bool_),
        ("max_grade", np.float64),
    ]
)
Spec = Any  # one record of SPEC; numba gives it fields
Specs = NDArray[np.void]


@compiled
def measure_list(
    spec: Spec, grades: FloatArray, ends: IntArray, ideal: FloatArray, discounts: FloatArray
) -> float:
    """One measure of one list, in ranked order; nan where the list has no relevant document.

    `ideal` holds the k highest grades, falling, `ends` where each group of equal scores ends.
    """
    if len(grades) == 0:
        return np.nan
    if spec.measure in USE_GAINS:
        return gain_measure(spec, grades, ends, ideal, discounts[spec.discount])
    if spec.measure == ERR:
        return expected_reciprocal_rank(spec, grades, ends)
    return binary_measure(spec, grades, ends)


@compiled
def gain_measure(
    spec: Spec, grades: FloatArray, ends: IntArray, ideal: FloatArray, discount: FloatArray
) -> float:
    """DCG or NDCG at k; for NDCG, gains are scaled by a power of two, so that no label overflows."""
    exponent = 0.0 if spec.measure == DCG else gain_exponent(ideal[0], spec.gain)
    if scaled_gain(ideal[0], spec.gain, spec.threshold, exponent) <= 0.0:
        return np.nan
    if spec.measure == NDCG and spec.short_list_is_zero and len(grades) < spec.k:
        return 0.0
    dcg = expected_dcg(spec, grades, ends, exponent, discount)
    if spec.measure == DCG:
        return dcg
    best = 0.0
    for at in range(min(len(grades), spec.k)):
        best += scaled_gain(ideal[at], spec.gain, spec.threshold, exponent) * discount[at]
    # Rounding could lift a perfect list with ties a hair above 1.
    return min(dcg / best, 1.0)


@compiled
def gain_exponent(highest: float, gain: int) -> float:
    """The power of two that brings a list's highest gain near 1; 0 where nothing could overflow."""
    if gain == BINARY or highest <= 0.0:
        return 0.0
    return float(np.floor(highest) if gain == EXPONENTIAL else max(math.frexp(highest)[1], 0))


@compiled
def scaled_gain(grade: float, gain: int, threshold: float, exponent: float) -> float:
    """What a document is worth, times 2^-exponent; grades of 0 and below are worth nothing."""
    if gain == BINARY:
        return 1.0 if grade >= threshold else 0.0
    if grade <= 0.0:
        return 0.0
    if gain == LINEAR:
        return grade * math.exp2(-exponent)
    return math.exp2(grade - exponent) - math.exp2(-exponent)


@compiled
def binary_measure(spec: Spec, grades: FloatArray, ends: IntArray) -> float:
    """Average precision, precision or reciprocal rank: a grade is relevant from the threshold on."""
    relevant = hits_between(grades, 0, len(grades), spec.threshold)
    if relevant == 0:
        return np.nan
    if spec.measure == AVERAGE_PRECISION:
        most = min(relevant, spec.k) if spec.over_reachable else relevant
        return sum_of_precisions(grades, ends, spec.threshold, spec.k) / float(most)
    if spec.measure == PRECISION:
        places = spec.k if spec.precision_over_k else min(len(grades), spec.k)
        return expected_hits(grades, ends, spec.threshold, spec.k) / float(places)
    return reciprocal_of_first(grades, ends, spec.threshold, spec.k)


@compiled
def expected_dcg(
    spec: Spec, grades: FloatArray, ends: IntArray, exponent: float, discount: FloatArray
) -> float:
    """A group's mean gain times the discounts of its ranks, over all groups."""
    total, start = 0.0, 0
    for end in ends:
        if start >= spec.k:
            break
        gain = 0.0
        for at in range(start, end):
            gain += scaled_gain(grades[at], spec.gain, spec.threshold, exponent)
        if gain > 0.0:
            total += gain / (end - start) * discount[start : min(end, spec.k)].sum()
        start = end
    return total


@compiled
def hits_between(grades: FloatArray, start: int, end: int, threshold: float) -> int:
    """How many documents of a group are relevant."""
    hits = 0
    for at in range(start, end):
        hits += grades[at] >= threshold
    return hits


@compiled
def expected_hits(grades: FloatArray, ends: IntArray, threshold: float, k: int) -> float:
    """How many relevant documents the first k ranks hold: of a group, a share of its hits."""
    total, start = 0.0, 0
    for end in ends:
        if start >= k:
            break
        hits = hits_between(grades, start, end, threshold)
        total += hits * (min(end, k) - start) / (end - start)
        start = end
    return total


@compiled
def sum_of_precisions(grades: FloatArray, ends: IntArray, threshold: float, k: int) -> float:
    """Σ over relevant documents of the precision at their rank, counting ranks up to k.

    The i-th of a group's m places holds one of its r hits with probability r/m, and then
    (i − 1)(r − 1)/(m − 1) further hits are expected before it within the group.
    """
    total, start, end, group = 0.0, 0, 0, 0
    hits_before, hits, share, further = 0, 0, 0.0, 0.0
    for at in range(min(len(grades), k)):
        if at == end:  # the next group begins
            start, end, group = end, ends[group], group + 1
            hits_before += hits
            hits = 0
            for tied in range(start, end):  # `hits_between` would take twice the time here
                hits += grades[tied] >= threshold
            share, further = float(hits), 0.0
            if end - start > 1:
                share, further = hits / (end - start), (hits - 1) / (end - start - 1)
        # No branch on hits: for single documents it could not be foretold.
        total += share * (hits_before + 1 + (at - start) * further) / (at + 1)
    return total


@compiled
def reciprocal_of_first(grades: FloatArray, ends: IntArray, threshold: float, k: int) -> float:
    """The expected 1/rank of the first relevant document; 0 where it stands behind rank k."""
    start = 0
    for end in ends:
        hits = hits_between(grades, start, end, threshold)
        if hits > 0:
            return reciprocal_in_group(start, end - start, hits, k)
        start = end
    return 0.0


@compiled
def reciprocal_in_group(start: int, size: int, hits: int, k: int) -> float:
    """The same within the group that has the first hits: no hit before place i, then one."""
    total, no_hit_yet = 0.0, 1.0
    for place in range(min(size - hits + 1, k - start)):
        left = size - place
        total += no_hit_yet * hits / left / (start + place + 1)
        no_hit_yet *= (left - hits) / left
    return total


@compiled
def expected_reciprocal_rank(spec: Spec, grades: FloatArray, ends: IntArray) -> float:
    """Σ over ranks of 1/rank × the probability that the user stops there (Chapelle et al., 2009)."""
    total, start, survived = 0.0, 0, 1.0
    if mean_stop(spec, grades) == 0.0:
        return np.nan
    for end in ends:
        if start >= spec.k:
            break
        passing = passing_by_place(spec, grades[start:end], spec.k - start)
        for place in range(1, len(passing)):
            total += survived * (passing[place - 1] - passing[place]) / (start + place)
        survived *= passing[-1]
        start = end
    return total


@compiled
def passing_by_place(spec: Spec, grades: FloatArray, places: int) -> FloatArray:
    """The probability to pass a group's first 0, 1, 2, … places, as far as it matters.

    Passing i of n documents has the mean probability p_i over all subsets of i. A further document,
    passed with x, makes it p_i (n − i)/n + x p_{i−1} i/n: weights that add up to 1, hence stable.
    """
    stop = mean_stop(spec, grades)
    # p_i ≤ (1 − stop)^i (Maclaurin): beyond e^-45 no place changes a sum, and without stops none does.
    places = min(len(grades), places) if stop > 0.0 else 0
    if stop * places > 45.0:
        places = int(45.0 / stop) + 1
    passing = np.zeros(places + 1)
    passing[0] = 1.0
    for n in range(1, len(grades) + 1):
        x = 1.0 - stop_probability(spec, grades[n - 1])
        for i in range(min(n, places), 0, -1):
            passing[i] = passing[i] * ((n - i) / n) + x * passing[i - 1] * (i / n)
    return passing


@compiled
def mean_stop(spec: Spec, grades: FloatArray) -> float:
    """The mean stop probability of some documents."""
    total = 0.0
    for grade in grades:
        total += stop_probability(spec, grade)
    return total / len(grades)


@compiled
def stop_probability(spec: Spec, grade: float) -> float:
    """(2^y − 1) / 2^max: how likely a document of this grade ends the search."""
    if spec.gain == BINARY:
        return 0.5 if grade >= spec.threshold else 0.0
    return math.exp2(grade - spec.max_grade) - math.exp2(-spec.max_grade) if grade > 0.0 else 0.0
