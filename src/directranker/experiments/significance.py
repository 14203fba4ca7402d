"""Significance tests: is one ranker better than another, or only on these queries by chance?

The randomisation test of paired samples (Fisher 1935; for retrieval Smucker, Allan and Carterette 2007): if
two rankers were equally good, the sign of each query's difference would be random. The p-value is the
fraction of sign patterns whose absolute mean difference is at least the observed one. Holm's correction
(1979) bounds the probability of any false positive among many tests. The paper itself reports the distance of
two means in σ.

>>> first, second = np.array([0.9, 0.8, 0.7, 0.6]), np.array([0.5, 0.5, 0.4, 0.4])
>>> randomisation_test(first, second)  # 2 of the 16 patterns: all plus, all minus
0.125
>>> apply_holm_correction([0.01, 0.04, 0.03]).tolist()
[0.03, 0.06, 0.06]
>>> round(sigma_distance(0.476, 0.003, 0.440, 0.004), 1)  # LambdaMART and DirectRanker, Table 1
7.2
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from directranker.arrays import FloatArray

__all__ = ["apply_holm_correction", "randomisation_test", "randomisation_tests", "sigma_distance"]

N_RESAMPLES = 10_000
# Rounding error of sums of differences, relative to the sum of their absolute values.
ROUNDING = 1e-12
MAX_SIGNS_PER_BLOCK = 4_000_000


def randomisation_test(
    first: ArrayLike, second: ArrayLike, *, n_resamples: int = N_RESAMPLES, random_state: int = 0
) -> float:
    """Compute the two-sided p-value of the difference of two rankers, from values of the same queries.

    Queries where either value is nan, because a convention leaves them out, are left out.
    """
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.shape != other.shape or one.ndim != 1:
        raise ValueError(
            f"first has shape {one.shape}, second {other.shape}; pass one value per query for both"
        )
    differences = (one - other)[None, :]
    return float(randomisation_tests(differences, n_resamples=n_resamples, random_state=random_state)[0])


def randomisation_tests(
    differences: FloatArray, *, n_resamples: int = N_RESAMPLES, random_state: int = 0
) -> FloatArray:
    """Compute p-values for many pairs of rankers, (n_pairs, n_queries) → (n_pairs,).

    All pairs use the same random signs. If a pair has at most `n_resamples` sign patterns, all of them are
    enumerated and the p-value is exact; else it is (hits + 1) / (n + 1), which counts the observed pattern as
    one of the sampled ones and so is never 0.
    """
    if n_resamples < 1:
        raise ValueError(f"n_resamples is {n_resamples}; pass at least 1")
    rows = np.where(np.isnan(differences), 0.0, differences)
    # A difference of 0 is the same with either sign.
    n_signs = np.count_nonzero(rows, axis=1)
    is_exact = n_signs <= math.log2(n_resamples)
    p_values = np.empty(len(rows))
    for index in np.flatnonzero(is_exact):
        p_values[index] = _enumerate_p_value(rows[index][rows[index] != 0])
    if not is_exact.all():
        p_values[~is_exact] = _sample_p_values(rows[~is_exact], n_resamples, random_state)
    return p_values


def _enumerate_p_value(differences: FloatArray) -> float:
    n = len(differences)
    patterns = (np.arange(2**n)[:, None] >> np.arange(n)) & 1  # (2^n, n)
    return float(_count_hits(patterns.astype(np.float64), differences[None, :])[0] / 2**n)


def _sample_p_values(rows: FloatArray, n_resamples: int, random_state: int) -> FloatArray:
    generator = np.random.default_rng(random_state)
    block = max(1, MAX_SIGNS_PER_BLOCK // rows.shape[1])
    hits = np.zeros(len(rows))
    for start in range(0, n_resamples, block):
        shape = (min(block, n_resamples - start), rows.shape[1])
        hits += _count_hits(generator.integers(0, 2, size=shape, dtype=np.int8).astype(np.float64), rows)
    return (hits + 1) / (n_resamples + 1)


def _count_hits(kept: FloatArray, rows: FloatArray) -> FloatArray:
    """Count the patterns (1 keeps a sign, 0 flips it) whose absolute sum is at least the observed one."""
    observed = rows.sum(axis=1)
    sums = 2 * kept @ rows.T - observed  # (n_patterns, n_rows)
    threshold = np.abs(observed) - ROUNDING * np.abs(rows).sum(axis=1)
    counts: FloatArray = np.count_nonzero(np.abs(sums) >= threshold, axis=0).astype(np.float64)
    return counts


def apply_holm_correction(p_values: ArrayLike) -> FloatArray:
    """Apply Holm's correction: the smallest value × n, the next × (n − 1), …, non-decreasing, at most 1."""
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    stepped = values[order] * np.arange(len(values), 0, -1)
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return corrected


def sigma_distance(mean: float, error: float, other_mean: float, other_error: float) -> float:
    """Compute |μ₁ − μ₂| / √(se₁² + se₂²), the paper's distance of two means; nan if both errors are 0."""
    width = math.hypot(error, other_error)
    return abs(mean - other_mean) / width if width > 0 else math.nan
