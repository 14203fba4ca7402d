"""The piecewise-linear encoding, compared with its definition in NumPy."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from directranker.encoding import PiecewiseLinear


def compute_literal_edges(values: Any, n_bins: int) -> list[float]:
    """Distinct quantiles in exact arithmetic, as float32."""
    ordered = [Fraction(value) for value in sorted(values.tolist())]
    edges = set()
    for k in range(n_bins + 1):
        position = Fraction(k * (len(ordered) - 1), n_bins)
        low, high = ordered[math.floor(position)], ordered[math.ceil(position)]
        edges.add(float(np.float32(float(low + (position - math.floor(position)) * (high - low)))))
    return sorted(edges)


def encode_literally(train: Any, X: Any, n_bins: int) -> Any:
    columns = []
    for train_values, values in zip(train.T.astype(np.float64), X.T.astype(np.float64), strict=True):
        present = train_values[~np.isnan(train_values)]
        if len(present):
            for low, high in pairwise(compute_literal_edges(present, n_bins)):
                columns.append(np.nan_to_num(np.clip((values - low) / (high - low), 0, 1)))
        if 0 < len(present) < len(train_values):
            columns.append(np.isnan(values).astype(float))
    return np.column_stack(columns) if columns else np.empty((len(X), 0))


@pytest.fixture(name="X")
def make_table() -> Any:
    generator = np.random.default_rng(7)
    X = generator.normal(size=(2500, 6)).astype(np.float32)
    X[:, 1] = np.exp(X[:, 1] * 4)
    X[:, 2] = generator.integers(0, 3, 2500)
    X[:, 3] = 4.0
    X[:, 4] = np.where(generator.random(2500) < 0.6, 0, X[:, 4])
    X[generator.random(2500) < 0.1, 5] = np.nan
    return X


@pytest.mark.parametrize("n_bins", [1, 2, 8, 50])
def test_equals_the_definition(X: Any, n_bins: int) -> None:
    train, other = X[:1500], X[1000:]
    transform = PiecewiseLinear(n_bins=n_bins).fit(train)
    for split in (train, other):
        expected = encode_literally(train, split, n_bins)
        np.testing.assert_allclose(transform.transform(split), expected, rtol=1e-5, atol=1e-6)


@settings(max_examples=100, deadline=None)
@given(
    arrays(
        np.float32,
        st.tuples(st.integers(1, 12), st.integers(1, 3)),
        elements=st.floats(-(2.0**127), 2.0**127, width=32) | st.integers(-2, 2).map(float) | st.just(np.nan),
    )
)
def test_equals_the_definition_on_any_input(X: Any) -> None:
    output = PiecewiseLinear(n_bins=4).fit_transform(X)
    np.testing.assert_allclose(output, encode_literally(X, X, 4), rtol=1e-5, atol=1e-6)
    assert ((output >= 0) & (output <= 1)).all()


def test_a_bin_is_filled_only_if_all_bins_below_are_full(X: Any) -> None:
    output = PiecewiseLinear(n_bins=8).fit(X[:, :1]).transform(X[:, :1])
    assert output.shape == (2500, 8)
    assert ((output[:, 1:] == 0) | (output[:, :-1] == 1)).all()


def test_the_sum_of_filled_widths_is_the_value(X: Any) -> None:
    transform = PiecewiseLinear(n_bins=8).fit(X[:, :1])
    widths = np.diff(transform.edges_)
    restored = transform.edges_[0] + transform.transform(X[:, :1]) @ widths
    np.testing.assert_allclose(restored, X[:, 0], atol=1e-5)


def test_bins_hold_about_equally_many_values(X: Any) -> None:
    edges = PiecewiseLinear(n_bins=8).fit(X[:, :1]).edges_
    counts, _ = np.histogram(X[:, 0], bins=edges)
    assert counts.max() - counts.min() <= 2


def test_equal_edges_are_merged_and_a_constant_has_no_column(X: Any) -> None:
    transform = PiecewiseLinear(n_bins=8).fit(X)
    n_bins = np.diff(transform.edge_offsets_) - 1
    assert n_bins.tolist()[:4] == [8, 8, 2, 0]
    assert n_bins[4] < 8
    assert transform.marks_missing_.tolist() == [False] * 5 + [True]


def test_columns_are_named_by_feature_and_bin() -> None:
    X = [[0.1, 1.0], [0.4, float("nan")], [1e-20, 1.0]]
    names = PiecewiseLinear(n_bins=2).fit(X).get_feature_names_out(["bm25", "pagerank"])
    assert names.tolist() == ["bm25[1e-20,0.1]", "bm25[0.1,0.4]", "pagerank[missing]"]


def test_a_table_of_constants_has_no_columns() -> None:
    assert PiecewiseLinear().fit_transform([[1.0, 2.0], [1.0, 2.0]]).shape == (2, 0)


def test_nan_without_nan_in_training_fills_no_bin() -> None:
    transform = PiecewiseLinear(n_bins=2).fit([[1.0], [2.0], [3.0]])
    assert transform.transform([[float("nan")]]).tolist() == [[0.0, 0.0]]
