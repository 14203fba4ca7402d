"""Significance tests between all pairs of rankers of a comparison.

>>> by_ranker = {"A": (0.9, 0.8, 0.7, 0.6), "B": (0.5, 0.5, 0.4, 0.4)}
>>> values = QueryValues("map", ("1",) * 4, (1, 2, 3, 4), by_ranker)
>>> rankers = [RankerResult(name, "", 1, (MetricResult("map", 0.75, None, ()),)) for name in "AB"]
>>> [(test.first, test.second, test.p_value) for test in paired_tests(rankers, values)]
[('A', 'B', 0.125)]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from directranker.experiments.results import MetricResult, PairedTest, QueryValues, RankerResult
from directranker.experiments.significance import apply_holm_correction, randomisation_tests, sigma_distance

__all__ = ["paired_tests"]


def paired_tests(results: Sequence[RankerResult], values: QueryValues) -> list[PairedTest]:
    """Test every pair of rankers by one metric."""
    pairs = list(combinations(results, 2))
    if not pairs:
        return []
    columns = {name: np.array(column, dtype=np.float64) for name, column in values.values.items()}
    differences = np.array([columns[one.ranker] - columns[other.ranker] for one, other in pairs])
    counted = differences[:, ~np.isnan(differences).any(axis=0)]
    if not counted.shape[1]:
        return []  # no query counts
    p_values = randomisation_tests(counted)
    corrected = apply_holm_correction(p_values)
    return [
        PairedTest(
            metric=values.metric,
            first=one.ranker,
            second=other.ranker,
            difference=float(counted[number].mean()),
            p_value=float(p_values[number]),
            p_corrected=float(corrected[number]),
            sigma=_compute_sigma(one.by(values.metric), other.by(values.metric)),
        )
        for number, (one, other) in enumerate(pairs)
    ]


def _compute_sigma(one: MetricResult, other: MetricResult) -> float | None:
    if one.mean is None or other.mean is None or one.error is None or other.error is None:
        return None
    sigma = sigma_distance(one.mean, one.error, other.mean, other.error)
    return None if math.isnan(sigma) else sigma
