"""Whether one ranker is better than another, or only was so on these queries.

The randomisation test of paired samples (Fisher 1935; for retrieval Smucker, Allan and Carterette 2007): if
two rankers were equally good, the sign of each query's difference would be a coin's. The p-value is the share
of sign patterns whose mean difference is at least as large as the one seen, on either side. Holm's correction
(1979) keeps the chance of any false alarm among many comparisons below the level. The paper itself gives the
distance of two means in σ.

>>> first, second = np.array([0.9, 0.8, 0.7, 0.6]), np.array([0.5, 0.5, 0.4, 0.4])
>>> randomisation_test(first, second)  # 2 of the 16 patterns: all plus, all minus
0.125
>>> apply_holm_correction([0.01, 0.04, 0.03]).tolist()
[0.03, 0.06, 0.06]
>>> round(sigma_distance(0.476, 0.003, 0.440, 0.004), 1)  # LambdaMART and DirectRanker in the paper's ScoreTable 1
7.2
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["apply_holm_correction", "randomisation_test", "randomisation_tests", "sigma_distance"]

N_RESAMPLES = 10_000
# Of sums of differences, relative to the sum of their sizes.
ROUNDING = 1e-12
SIGNS_AT_A_TIME = 4_000_000

FloatArray = NDArray[np.float64]


def randomisation_test(
    first: ArrayLike, second: ArrayLike, *, n_resamples: int = N_RESAMPLES, random_state: int = 0
) -> float:
    """The two-sided p-value that two rankers differ, from their values of the same queries.

    Queries where either value is nan, because a convention leaves them out, are left out here too.
    """
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.shape != other.shape or one.ndim != 1:
        raise ValueError(f"values of shape {one.shape} against {other.shape}; give one per query for both")
    differences = (one - other)[None, :]
    return float(randomisation_tests(differences, n_resamples=n_resamples, random_state=random_state)[0])


def randomisation_tests(
    differences: FloatArray, *, n_resamples: int = N_RESAMPLES, random_state: int = 0
) -> FloatArray:
    """The same for many pairs of rankers: a row of differences each, a column per query.

    All pairs meet the same random signs. Where all sign patterns of a pair's differences are no more than
    `n_resamples`, they are gone through one by one and the value is exact; else it is (hits + 1) / (n + 1),
    which counts the pattern seen as one of those drawn and so is never 0.
    """
    if n_resamples < 1:
        raise ValueError(f"n_resamples is {n_resamples}; give at least 1")
    rows = np.where(np.isnan(differences), 0.0, differences)
    # A difference of 0 stays 0 with either sign.
    n_signs = np.count_nonzero(rows, axis=1)
    few = n_signs <= math.log2(n_resamples)
    p_values = np.empty(len(rows))
    for number in np.flatnonzero(few):
        p_values[number] = _exact(rows[number][rows[number] != 0])
    if not few.all():
        p_values[~few] = _estimated(rows[~few], n_resamples, random_state)
    return p_values


def _exact(differences: FloatArray) -> float:
    n = len(differences)
    patterns = (np.arange(2**n)[:, None] >> np.arange(n)) & 1  # (2^n, n)
    return float(_hits(patterns.astype(np.float64), differences[None, :])[0] / 2**n)


def _estimated(rows: FloatArray, n_resamples: int, random_state: int) -> FloatArray:
    generator = np.random.default_rng(random_state)
    block = max(1, SIGNS_AT_A_TIME // rows.shape[1])
    hits = np.zeros(len(rows))
    for start in range(0, n_resamples, block):
        shape = (min(block, n_resamples - start), rows.shape[1])
        hits += _hits(generator.integers(0, 2, size=shape, dtype=np.int8).astype(np.float64), rows)
    return (hits + 1) / (n_resamples + 1)


def _hits(kept: FloatArray, rows: FloatArray) -> FloatArray:
    """How many patterns, 1 to keep a sign and 0 to turn it, give a sum at least as large as the one seen."""
    seen = rows.sum(axis=1)
    sums = 2 * kept @ rows.T - seen  # (n_patterns, n_rows)
    needed = np.abs(seen) - ROUNDING * np.abs(rows).sum(axis=1)
    counts: FloatArray = np.count_nonzero(np.abs(sums) >= needed, axis=0).astype(np.float64)
    return counts


def apply_holm_correction(p_values: ArrayLike) -> FloatArray:
    """Holm's correction: the smallest value × n, the next × (n − 1), …, never falling, at most 1."""
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    stepped = values[order] * np.arange(len(values), 0, -1)
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return corrected


def sigma_distance(mean: float, error: float, other_mean: float, other_error: float) -> float:
    """The paper's distance of two means: |μ₁ − μ₂| / √(se₁² + se₂²); nan where neither has an error."""
    width = math.hypot(error, other_error)
    return abs(mean - other_mean) / width if width > 0 else math.nan
