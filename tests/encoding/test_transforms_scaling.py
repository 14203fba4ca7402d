"""Standard and SignedLog, compared with scikit-learn and with the formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.preprocessing import StandardScaler

from directranker.encoding import SignedLog, Standard, Unchanged


@pytest.fixture(name="X")
def make_table() -> Any:
    generator = np.random.default_rng(1)
    X = np.exp(generator.normal(size=(3000, 5)) * [0.1, 1, 2, 3, 4]) * [1, -1, 1, 1e30, 1e-30]
    X[generator.random(X.shape) < 0.05] = np.nan
    return X.astype(np.float32)


def test_standard_equals_scikit_learn_with_nan_at_the_mean(X: Any) -> None:
    expected = np.nan_to_num(StandardScaler().fit_transform(X.astype(np.float64)))
    np.testing.assert_allclose(Standard().fit_transform(X), expected, rtol=1e-5, atol=1e-6)


def test_signed_log_standardises_the_logarithms(X: Any) -> None:
    values = X.astype(np.float64)
    logarithms = np.sign(values) * np.log1p(np.abs(values))
    expected = np.nan_to_num(StandardScaler().fit_transform(logarithms))
    varying = np.nanstd(logarithms, axis=0) > 1e-15
    output = SignedLog().fit_transform(X)
    np.testing.assert_allclose(output[:, varying], expected[:, varying], rtol=1e-5, atol=1e-6)


def test_values_by_hand() -> None:
    transform = Standard().fit([[1.0], [2.0], [6.0]])  # mean 3, variance (4 + 1 + 9) / 3
    assert transform.mean_.tolist() == [3.0]
    assert transform.deviation_[0] == pytest.approx((14 / 3) ** 0.5)
    assert transform.transform([[10.0]])[0, 0] == pytest.approx(7 / (14 / 3) ** 0.5)


def test_a_large_offset_loses_no_precision() -> None:
    X = 1e9 + np.arange(5000.0)[:, None]
    output = Standard().fit_transform(X).ravel()
    expected = (np.arange(5000) - 2499.5) / np.sqrt((5000**2 - 1) / 12)
    np.testing.assert_allclose(output, expected, rtol=1e-6, atol=1e-6)


def test_transform_uses_the_training_split_alone() -> None:
    transform = Standard().fit([[0.0], [2.0]])
    np.testing.assert_array_equal(transform.transform([[100.0], [200.0]]), [[99.0], [199.0]])


@settings(max_examples=50, deadline=None)
@given(arrays(np.float32, (20, 1), elements=st.floats(-1000, 1000, width=32)))
def test_signed_log_is_odd(X: Any) -> None:
    np.testing.assert_array_equal(SignedLog().fit_transform(-X), -SignedLog().fit_transform(X))


def test_unchanged_keeps_values_and_missing_values(X: Any) -> None:
    np.testing.assert_array_equal(Unchanged().fit_transform(X), X)
