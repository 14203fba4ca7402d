"""The formulas of the measures, compiled, over groups of equal scores.

A tie group of m documents at ranks a+1 … a+m has m! equally likely orders, and each measure is the exact mean
over them. Where ties are not averaged, every document is its own group, so the same formulas hold. Average
precision and reciprocal rank follow McSherry and Najork, "Computing information retrieval performance
measures efficiently in the presence of tied scores" (ECIR 2008).

>>> grades, ends = np.array([1.0, 0.0, 1.0]), np.array([3])  # three tied documents, two relevant
>>> compute_expected_hits(grades, ends, 1.0, 2)  # in 2 ranks
1.3333333333333333
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import FloatArray, IntArray
from directranker.compilation import compiled

__all__ = ["AVERAGE", "GAINS", "MEASURES", "SPEC", "TIES", "USE_GAINS", "WORST", "measure_ranking"]

NDCG, DCG, AVERAGE_PRECISION, PRECISION, RECALL, HIT_RATE, RECIPROCAL_RANK, ERR = range(8)
EXPONENTIAL, LINEAR, BINARY = range(3)
AVERAGE, INPUT, WORST = range(3)
USE_GAINS = (NDCG, DCG)  # these need the best order

MEASURES = {
    "ndcg": NDCG,
    "dcg": DCG,
    "average_precision": AVERAGE_PRECISION,
    "precision": PRECISION,
    "recall": RECALL,
    "hit_rate": HIT_RATE,
    "reciprocal_rank": RECIPROCAL_RANK,
    "err": ERR,
}
GAINS = {"exponential": EXPONENTIAL, "linear": LINEAR, "binary": BINARY}
TIES = {"average": AVERAGE, "input": INPUT, "worst": WORST}

SPEC = np.dtype(
    [
        ("measure", np.int64),
        ("k", np.int64),
        ("grades", np.int64),  # the row of the grades
        ("gain", np.int64),
        ("threshold", np.float64),
        ("discount", np.int64),  # the row of the discounts
        ("ties", np.int64),
        ("short_list_is_zero", np.bool_),
        ("precision_over_k", np.bool_),
        ("over_reachable", np.bool_),
        ("max_grade", np.float64),
    ]
)
Spec = Any  # one record of SPEC; numba accesses its fields as attributes
Specs = NDArray[np.void]


@compiled
def measure_ranking(
    spec: Spec, grades: FloatArray, ends: IntArray, ideal: FloatArray, discounts: FloatArray
) -> float:
    """Return one measure of one query's grades in ranked order; nan without a relevant document.

    `ideal` holds the k highest grades, falling, `ends` the end of each group of equal scores.
    """
    if len(grades) == 0:
        return np.nan
    if spec.measure in USE_GAINS:
        return compute_gain_measure(spec, grades, ends, ideal, discounts[spec.discount])
    if spec.measure == ERR:
        return compute_err(spec, grades, ends)
    return compute_binary_measure(spec, grades, ends)


@compiled
def compute_gain_measure(
    spec: Spec, grades: FloatArray, ends: IntArray, ideal: FloatArray, discount: FloatArray
) -> float:
    """Return DCG or NDCG at k; for NDCG, gains are scaled by a power of two, so that no label overflows."""
    exponent = 0.0 if spec.measure == DCG else compute_gain_exponent(ideal[0], spec.gain)
    if compute_scaled_gain(ideal[0], spec.gain, spec.threshold, exponent) <= 0.0:
        return np.nan
    if spec.measure == NDCG and spec.short_list_is_zero and len(grades) < spec.k:
        return 0.0
    dcg = compute_expected_dcg(spec, grades, ends, exponent, discount)
    if spec.measure == DCG:
        return dcg
    best = 0.0
    for rank in range(min(len(grades), spec.k)):
        best += compute_scaled_gain(ideal[rank], spec.gain, spec.threshold, exponent) * discount[rank]
    # Rounding could lift a perfect ranking with ties slightly above 1.
    return min(dcg / best, 1.0)


@compiled
def compute_gain_exponent(highest: float, gain: int) -> float:
    """Return the power of two that scales the highest gain to about 1; 0 where nothing can overflow."""
    if gain == BINARY or highest <= 0.0:
        return 0.0
    return float(np.floor(highest) if gain == EXPONENTIAL else max(math.frexp(highest)[1], 0))


@compiled
def compute_scaled_gain(grade: float, gain: int, threshold: float, exponent: float) -> float:
    """Return the gain of a grade times 2^-exponent; 0 for grades of 0 and below."""
    if gain == BINARY:
        return 1.0 if grade >= threshold else 0.0
    if grade <= 0.0:
        return 0.0
    if gain == LINEAR:
        return grade * math.exp2(-exponent)
    return math.exp2(grade - exponent) - math.exp2(-exponent)


@compiled
def compute_binary_measure(spec: Spec, grades: FloatArray, ends: IntArray) -> float:
    """Return a measure of binary relevance; grades of at least the threshold are relevant."""
    relevant = count_hits(grades, 0, len(grades), spec.threshold)
    if relevant == 0:
        return np.nan
    if spec.measure == AVERAGE_PRECISION:
        denominator = min(relevant, spec.k) if spec.over_reachable else relevant
        return sum_precisions(grades, ends, spec.threshold, spec.k) / float(denominator)
    if spec.measure == PRECISION:
        n_ranks = spec.k if spec.precision_over_k else min(len(grades), spec.k)
        return compute_expected_hits(grades, ends, spec.threshold, spec.k) / float(n_ranks)
    if spec.measure == RECALL:
        return compute_expected_hits(grades, ends, spec.threshold, spec.k) / float(relevant)
    if spec.measure == HIT_RATE:
        return compute_hit_probability(grades, ends, spec.threshold, spec.k)
    return compute_reciprocal_rank(grades, ends, spec.threshold, spec.k)


@compiled
def compute_expected_dcg(
    spec: Spec, grades: FloatArray, ends: IntArray, exponent: float, discount: FloatArray
) -> float:
    """Return the sum over groups of the mean gain times the discounts of the ranks up to k."""
    total, start = 0.0, 0
    for end in ends:
        if start >= spec.k:
            break
        gain = 0.0
        for rank in range(start, end):
            gain += compute_scaled_gain(grades[rank], spec.gain, spec.threshold, exponent)
        if gain > 0.0:
            total += gain / (end - start) * discount[start : min(end, spec.k)].sum()
        start = end
    return total


@compiled
def count_hits(grades: FloatArray, start: int, end: int, threshold: float) -> int:
    """Count the relevant documents at the ranks `start:end`."""
    hits = 0
    for rank in range(start, end):
        hits += grades[rank] >= threshold
    return hits


@compiled
def compute_expected_hits(grades: FloatArray, ends: IntArray, threshold: float, k: int) -> float:
    """Return the expected number of relevant documents at the first k ranks."""
    total, start = 0.0, 0
    for end in ends:
        if start >= k:
            break
        hits = count_hits(grades, start, end, threshold)
        total += hits * (min(end, k) - start) / (end - start)
        start = end
    return total


@compiled
def compute_hit_probability(grades: FloatArray, ends: IntArray, threshold: float, k: int) -> float:
    """Return the probability of at least one relevant document at the first k ranks."""
    start = 0
    for end in ends:
        if start >= k:
            break
        hits = count_hits(grades, start, end, threshold)
        if hits > 0:
            return 1.0 - compute_miss_probability(end - start, hits, min(end, k) - start)
        start = end
    return 0.0


@compiled
def compute_miss_probability(size: int, hits: int, n_drawn: int) -> float:
    """Return the probability that m documents drawn from n, of which r are hits, contain no hit.

    It is hypergeometric: C(n − r, m) / C(n, m) = Π (n − r − i) / (n − i) over i < m, exactly 0 for m > n − r.
    """
    probability = 1.0
    for position in range(min(n_drawn, size - hits + 1)):
        left = size - position
        probability *= (left - hits) / left
    return probability


@compiled
def sum_precisions(grades: FloatArray, ends: IntArray, threshold: float, k: int) -> float:
    """Return Σ over relevant documents of the precision at their rank, over ranks up to k.

    The i-th of a group's m ranks holds one of its r hits with probability r/m, and then
    (i − 1)(r − 1)/(m − 1) further hits are expected before it within the group.
    """
    total, start, end, group = 0.0, 0, 0, 0
    hits_before, hits, hit_rate, further = 0, 0, 0.0, 0.0
    for rank in range(min(len(grades), k)):
        if rank == end:  # the next group begins
            start, end, group = end, ends[group], group + 1
            hits_before += hits
            hits = 0
            for tied in range(start, end):  # a call of `count_hits` would double the time
                hits += grades[tied] >= threshold
            hit_rate, further = float(hits), 0.0
            if end - start > 1:
                hit_rate, further = hits / (end - start), (hits - 1) / (end - start - 1)
        # No branch on hits: for single documents it would be unpredictable.
        total += hit_rate * (hits_before + 1 + (rank - start) * further) / (rank + 1)
    return total


@compiled
def compute_reciprocal_rank(grades: FloatArray, ends: IntArray, threshold: float, k: int) -> float:
    """Return the expected 1/rank of the first relevant document; 0 beyond rank k."""
    start = 0
    for end in ends:
        hits = count_hits(grades, start, end, threshold)
        if hits > 0:
            return compute_reciprocal_rank_in_group(start, end - start, hits, k)
        start = end
    return 0.0


@compiled
def compute_reciprocal_rank_in_group(start: int, size: int, hits: int, k: int) -> float:
    """Return the same within the tie group of the first hits: no hit before position i, then one."""
    total, no_hit_yet = 0.0, 1.0
    for position in range(min(size - hits + 1, k - start)):
        left = size - position
        total += no_hit_yet * hits / left / (start + position + 1)
        no_hit_yet *= (left - hits) / left
    return total


@compiled
def compute_err(spec: Spec, grades: FloatArray, ends: IntArray) -> float:
    """Return Σ over ranks of 1/rank × the probability that the user stops there (Chapelle et al., 2009)."""
    total, start, survived = 0.0, 0, 1.0
    if compute_mean_stop(spec, grades) == 0.0:
        return np.nan
    for end in ends:
        if start >= spec.k:
            break
        passing = compute_pass_probabilities(spec, grades[start:end], spec.k - start)
        for position in range(1, len(passing)):
            total += survived * (passing[position - 1] - passing[position]) / (start + position)
        survived *= passing[-1]
        start = end
    return total


@compiled
def compute_pass_probabilities(spec: Spec, grades: FloatArray, max_ranks: int) -> FloatArray:
    """Return the probabilities to pass a tie group's first 0, 1, 2, … ranks, until they become negligible.

    Passing i of n documents has the mean probability p_i over all subsets of i. A further document,
    passed with x, makes it p_i (n − i)/n + x p_{i−1} i/n: weights that add up to 1, hence stable.
    """
    stop = compute_mean_stop(spec, grades)
    # p_i ≤ (1 − stop)^i (Maclaurin): below e^-45 it does not change the sum, and without stops nothing does.
    n_ranks = min(len(grades), max_ranks) if stop > 0.0 else 0
    if stop * n_ranks > 45.0:
        n_ranks = int(45.0 / stop) + 1
    passing = np.zeros(n_ranks + 1)
    passing[0] = 1.0
    for n in range(1, len(grades) + 1):
        x = 1.0 - compute_stop_probability(spec, grades[n - 1])
        for i in range(min(n, n_ranks), 0, -1):
            passing[i] = passing[i] * ((n - i) / n) + x * passing[i - 1] * (i / n)
    return passing


@compiled
def compute_mean_stop(spec: Spec, grades: FloatArray) -> float:
    """Return the mean stop probability of these documents."""
    total = 0.0
    for grade in grades:
        total += compute_stop_probability(spec, grade)
    return total / len(grades)


@compiled
def compute_stop_probability(spec: Spec, grade: float) -> float:
    """Return (2^y − 1) / 2^max_grade, the probability that a document of this grade ends the search."""
    if spec.gain == BINARY:
        return 0.5 if grade >= spec.threshold else 0.0
    return math.exp2(grade - spec.max_grade) - math.exp2(-spec.max_grade) if grade > 0.0 else 0.0
