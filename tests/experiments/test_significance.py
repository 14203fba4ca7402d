"""Significance tests, compared with SciPy, with literal definitions and with known values."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from directranker.experiments.significance import (
    apply_holm_correction,
    randomisation_test,
    randomisation_tests,
    sigma_distance,
)


def compute_exact_literally(differences: list[float]) -> float:
    """Return the fraction of all sign patterns with a mean at least as far from 0."""
    observed = abs(sum(differences))
    patterns = list(product((1, -1), repeat=len(differences)))
    hits = 0
    for pattern in patterns:
        total = abs(sum(sign * value for sign, value in zip(pattern, differences, strict=True)))
        hits += total >= observed - 1e-9
    return hits / len(patterns)


def correct_holm_literally(p_values: list[float]) -> list[float]:
    """Correct each value to the largest, over the values up to it, of the value times the number left."""
    ranked = sorted(range(len(p_values)), key=lambda index: p_values[index])
    corrected = [0.0] * len(p_values)
    for step, index in enumerate(ranked):
        so_far = [(len(p_values) - earlier) * p_values[ranked[earlier]] for earlier in range(step + 1)]
        corrected[index] = min(1.0, max(so_far))
    return corrected


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=9))
def test_few_queries_are_exact(differences: list[int]) -> None:
    values = np.array(differences, dtype=float) / 10
    assert randomisation_test(values, np.zeros(len(values))) == pytest.approx(
        compute_exact_literally(values.tolist())
    )


def test_few_differences_among_many_equal_queries_are_exact() -> None:
    first = np.zeros(500)
    first[:6] = [0.1, 0.2, 0.3, -0.05, 0.2, 0.1]
    assert randomisation_test(first, np.zeros(500)) == compute_exact_literally(first[:6].tolist())


def test_exact_values_are_those_of_scipy() -> None:
    rng = np.random.default_rng(3)
    for n in (4, 8, 12):
        first, second = rng.random(n), rng.random(n)
        expected = stats.permutation_test(
            (first, second),
            lambda a, b, axis: np.mean(a - b, axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=np.inf,
        )
        assert randomisation_test(first, second) == pytest.approx(expected.pvalue)


def test_many_queries_agree_with_scipy_within_the_sampling_error() -> None:
    rng = np.random.default_rng(1)
    for shift in (0.0, 0.02, 0.04):
        first = rng.random(200)
        second = first + rng.normal(shift, 0.2, 200)
        expected = stats.permutation_test(
            (first, second),
            lambda a, b, axis: np.mean(a - b, axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=20_000,
            rng=np.random.default_rng(5),
        ).pvalue
        actual = randomisation_test(first, second, n_resamples=20_000, random_state=2)
        spread = math.sqrt(2 * max(expected * (1 - expected), 1e-4) / 20_000)
        assert abs(actual - expected) < 4 * spread


def test_sampled_p_values_count_the_observed_pattern() -> None:
    differences = np.full((1, 40), 0.1)  # only patterns of one sign reach the observed sum
    assert randomisation_tests(differences, n_resamples=999) == pytest.approx([1 / 1000])


def test_invariances_of_the_randomisation_test() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.random(60), rng.random(60)
    one_way = randomisation_test(first, second, n_resamples=2000, random_state=7)
    assert randomisation_test(second, first, n_resamples=2000, random_state=7) == one_way
    assert randomisation_test(first * 3, second * 3, n_resamples=2000, random_state=7) == one_way
    assert randomisation_test(first, second, n_resamples=2000, random_state=7) == one_way
    assert randomisation_test(first, first) == 1.0


def test_the_false_positive_rate_is_the_level() -> None:
    rng = np.random.default_rng(4)
    differences = rng.normal(0, 1, (1000, 30)) * rng.random((1000, 30))
    p_values = randomisation_tests(differences, n_resamples=1000)
    rate = np.mean(p_values <= 0.1)
    assert abs(rate - 0.1) < 4 * math.sqrt(0.1 * 0.9 / 1000)


def test_queries_that_are_left_out_do_not_count() -> None:
    first = np.array([0.9, np.nan, 0.8, 0.7, np.nan])
    second = np.array([0.5, np.nan, 0.6, 0.2, np.nan])
    assert (
        randomisation_test(first, second) == randomisation_test(first[[0, 2, 3]], second[[0, 2, 3]]) == 0.25
    )


def test_many_pairs_at_once_equal_each_pair_alone() -> None:
    rng = np.random.default_rng(9)
    differences = rng.normal(0.1, 1, (5, 80))
    together = randomisation_tests(differences, n_resamples=3000, random_state=1)
    alone = [randomisation_tests(row[None, :], n_resamples=3000, random_state=1)[0] for row in differences]
    assert together.tolist() == alone


@given(st.lists(st.floats(0, 1), min_size=0, max_size=12))
def test_holm_equals_the_literal_correction(p_values: list[float]) -> None:
    assert apply_holm_correction(p_values).tolist() == pytest.approx(correct_holm_literally(p_values))


def test_sigma_is_the_papers() -> None:
    assert sigma_distance(0.5, 0.03, 0.4, 0.04) == pytest.approx(2.0)
    assert sigma_distance(0.366, 0.003, 0.365, 0.003) == pytest.approx(0.2, abs=0.04)  # the paper's MAP
    assert math.isnan(sigma_distance(0.5, 0.0, 0.4, 0.0))


def test_wrong_input_raises() -> None:
    with pytest.raises(ValueError, match="one value per query for both"):
        randomisation_test([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="n_resamples is 0"):
        randomisation_test([1.0], [2.0], n_resamples=0)
