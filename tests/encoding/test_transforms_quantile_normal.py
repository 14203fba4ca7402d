"""QuantileNormal, compared with scikit-learn's transformer and with values by hand."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm, rankdata
from sklearn.preprocessing import QuantileTransformer

from directranker.encoding import QuantileNormal


@pytest.fixture(name="X")
def make_table() -> Any:
    generator = np.random.default_rng(2)
    X = generator.normal(size=(3000, 5))
    X[:, 1] = generator.integers(0, 4, 3000)
    X[:, 2] = np.floor(np.exp(X[:, 2] * 2))
    X[:, 3] = np.where(generator.random(3000) < 0.7, 0.0, X[:, 3])
    X[:, 4] = np.exp(5 * X[:, 4]) * 1e6
    return X


def make_oracle(n_quantiles: int) -> QuantileTransformer:
    return QuantileTransformer(n_quantiles=n_quantiles, output_distribution="normal", subsample=None)


@pytest.mark.parametrize("n_quantiles", [2, 7, 1000])
def test_equals_scikit_learns_quantile_transformer(X: Any, n_quantiles: int) -> None:
    train, test = X[:2000], X[1000:]
    oracle = make_oracle(n_quantiles).fit(train)
    transform = QuantileNormal(n_quantiles=n_quantiles).fit(train)
    np.testing.assert_allclose(transform.quantiles_, oracle.quantiles_, rtol=1e-12)
    np.testing.assert_allclose(transform.references_, oracle.references_)
    for split in (train, test):
        np.testing.assert_allclose(transform.transform(split), oracle.transform(split) / 3, atol=1e-5)


def test_with_a_quantile_per_row_the_probability_is_the_average_rank(X: Any) -> None:
    # scikit-learn rounds its quantiles here and so is off by half a rank in runs of equal values.
    output = QuantileNormal(n_quantiles=5000).fit_transform(X)
    probabilities = (rankdata(X, axis=0) - 1) / (len(X) - 1)
    inside = (X.min(axis=0) < X) & (X.max(axis=0) > X)
    np.testing.assert_allclose(output[inside], norm.ppf(probabilities[inside]) / 3, atol=1e-6)


def test_equals_scikit_learns_with_missing_values(X: Any) -> None:
    X[np.random.default_rng(3).random(X.shape) < 0.1] = np.nan
    expected = np.nan_to_num(make_oracle(1000).fit_transform(X) / 3)
    np.testing.assert_allclose(QuantileNormal().fit_transform(X), expected, atol=1e-5)


def test_values_by_hand() -> None:
    transform = QuantileNormal(scale=2.0).fit([[0.0], [10.0], [10.0], [10.0], [50.0]])
    probabilities = [0.25 * 0.3, (0.25 + 0.75) / 2, 0.75 + 0.25 * 0.1]
    expected = [2 * NormalDist().inv_cdf(p) for p in probabilities]
    np.testing.assert_allclose(transform.transform([[3.0], [10.0], [14.0]]).ravel(), expected, rtol=1e-6)


def test_ends_are_clipped_as_in_scikit_learn() -> None:
    output = QuantileNormal(scale=1.0).fit([[0.0], [1.0]]).transform([[-9.0], [0.0], [1.0], [9.0]]).ravel()
    end = NormalDist().inv_cdf(1e-7)
    np.testing.assert_allclose(output, [end, end, -end, -end], rtol=1e-5)


def test_almost_all_values_of_a_normal_feature_are_in_the_unit_range() -> None:
    output = QuantileNormal().fit_transform(np.random.default_rng(4).normal(50, 8, size=(20_000, 1)))
    assert np.std(output) == pytest.approx(1 / 3, rel=0.02)
    assert np.mean(np.abs(output) <= 1) > 0.99


def test_a_feature_on_a_tiny_scale_is_not_constant(X: Any) -> None:
    tiny = QuantileNormal().fit_transform(X * 2.0**-60)
    np.testing.assert_array_equal(tiny, QuantileNormal().fit_transform(X))


def test_a_subsample_is_reproducible_and_close() -> None:
    X = np.random.default_rng(5).normal(size=(20_000, 2))
    exact = QuantileNormal(n_quantiles=100).fit(X)
    sampled = QuantileNormal(n_quantiles=100, subsample=5000).fit(X)
    again = QuantileNormal(n_quantiles=100, subsample=5000).fit(X)
    other = QuantileNormal(n_quantiles=100, subsample=5000, random_state=1).fit(X)
    np.testing.assert_array_equal(sampled.quantiles_, again.quantiles_)
    assert not np.array_equal(sampled.quantiles_, exact.quantiles_)
    assert not np.array_equal(sampled.quantiles_, other.quantiles_)
    np.testing.assert_allclose(sampled.quantiles_[10:-10], exact.quantiles_[10:-10], atol=0.1)


def test_a_subsample_of_all_rows_is_exact() -> None:
    X = np.random.default_rng(6).normal(size=(500, 2))
    expected = QuantileNormal(subsample=None).fit(X).quantiles_
    np.testing.assert_array_equal(QuantileNormal(subsample=500).fit(X).quantiles_, expected)
