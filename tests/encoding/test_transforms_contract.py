"""The contract of all transforms, tested for each of them."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from directranker.encoding import (
    TRANSFORMS,
    AutoTransform,
    InContext,
    PiecewiseLinear,
    QuantileNormal,
    QueryMinMax,
    QueryRank,
    QueryZScore,
    Standard,
    as_transform,
)

NAMES = sorted(TRANSFORMS)
ONE_TO_ONE = sorted(set(NAMES) - {"piecewise-linear", "in-context"})
BY_QUERY = ["in-context", "query-min-max", "query-rank", "query-z-score"]
ROW_BY_ROW = sorted(set(NAMES) - set(BY_QUERY))
FLOAT32_MAX = float(np.finfo(np.float32).max)


def make_table(n_rows: int = 60) -> tuple[Any, Any]:
    generator = np.random.default_rng(0)
    X = generator.normal(3, 2, size=(n_rows, 4))
    X[:, 1] = np.exp(3 * X[:, 1])
    X[:, 2] = 7.0
    X[generator.random(X.shape) < 0.1] = np.nan
    return X.astype(np.float32), generator.integers(0, 5, n_rows)


def list_expected_failures(transform: Any) -> dict[str, str]:
    if isinstance(transform, InContext | QueryMinMax | QueryRank | QueryZScore):
        reason = "without qid all rows are one query, so a subset of the rows is another query"
        return {"check_methods_subset_invariance": reason}
    return {}


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [transform() for transform in TRANSFORMS.values()], expected_failed_checks=list_expected_failures
)
def test_scikit_learn_estimator_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("name", NAMES)
def test_output_is_float32_in_c_order_for_any_input(name: str) -> None:
    X, qid = make_table()
    expected = as_transform(name).fit_transform(X, qid=qid)
    for input_table in (X.astype(np.float64), np.asfortranarray(X), X[::-1][::-1]):
        output = as_transform(name).fit(input_table, qid=qid).transform(input_table, qid=qid)
        assert output.dtype == np.float32
        assert output.flags.c_contiguous
        np.testing.assert_array_equal(output, expected)


@pytest.mark.parametrize("name", NAMES)
def test_input_is_not_modified(name: str) -> None:
    X, qid = make_table()
    before = X.copy()
    X.flags.writeable = False
    as_transform(name).fit_transform(X, qid=qid)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_the_same_output_and_set_the_feature_names(name: str, frame: Any) -> None:
    X, qid = make_table()
    table = frame(dict(zip("abcd", X.T, strict=True)))
    transform = as_transform(name).fit(table, qid=qid)
    assert transform.feature_names_in_.tolist() == list("abcd")
    assert transform.n_features_in_ == 4
    output = transform.transform(table, qid=qid)
    np.testing.assert_array_equal(output, as_transform(name).fit_transform(X, qid=qid))
    names = transform.get_feature_names_out()
    assert len(names) == len(set(names)) == output.shape[1]
    with pytest.raises(ValueError, match="feature names should match"):
        transform.transform(frame(dict(zip("abdc", X.T, strict=True))), qid=qid)


@pytest.mark.parametrize("name", ONE_TO_ONE)
def test_one_to_one_transforms_keep_the_names(name: str) -> None:
    X, _ = make_table()
    assert as_transform(name).fit(X).get_feature_names_out(list("abcd")).tolist() == list("abcd")


@pytest.mark.parametrize("name", NAMES)
def test_set_output_returns_a_frame(name: str) -> None:
    X, qid = make_table()
    transform = as_transform(name).set_output(transform="pandas")
    output = transform.fit_transform(X, qid=qid)
    assert list(output.columns) == transform.get_feature_names_out().tolist()


class ArrayLikeTable:
    """An object with `__array__` that is not an array."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.values, dtype=dtype)


@pytest.mark.parametrize("name", NAMES)
def test_any_object_with_array_is_accepted(name: str) -> None:
    X, qid = make_table()
    output = as_transform(name).fit_transform(ArrayLikeTable(X), qid=qid)
    np.testing.assert_array_equal(output, as_transform(name).fit_transform(X, qid=qid))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bad", [np.inf, -np.inf, 1e39])
def test_values_outside_float32_raise_with_row_and_column(name: str, bad: float) -> None:
    X = np.zeros((2000, 3))
    X[1500, 2] = bad
    with pytest.raises(ValueError, match=r"in row 1500, column 2; give finite numbers that fit float32"):
        as_transform(name).fit(X)
    fitted = as_transform(name).fit(pd.DataFrame(np.eye(3), columns=["a", "b", "bm25"]))
    with pytest.raises(ValueError, match=r"in row 1500, column 'bm25'"):
        fitted.transform(pd.DataFrame(X, columns=["a", "b", "bm25"]))


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_number_of_features_raises(name: str) -> None:
    X, _ = make_table()
    with pytest.raises(ValueError, match="features"):
        as_transform(name).fit(X).transform(X[:, :2])


@pytest.mark.parametrize("name", NAMES)
def test_an_unfitted_transform_raises(name: str) -> None:
    with pytest.raises(NotFittedError):
        as_transform(name).transform([[1.0]])


@pytest.mark.parametrize("name", ["auto", *BY_QUERY])
def test_a_wrong_number_of_query_ids_raises(name: str) -> None:
    X, qid = make_table()
    with pytest.raises(ValueError, match="qid has 59 entries for 60 rows"):
        as_transform(name).fit_transform(X, qid=qid[:-1])


@pytest.mark.parametrize("name", NAMES)
def test_state_is_serialisable_and_not_changed_by_transform(name: str) -> None:
    X, qid = make_table()
    transform = as_transform(name).fit(X, qid=qid)
    before = pickle.dumps(transform)
    transform.transform(X * 1000 - 5, qid=qid)
    assert pickle.dumps(transform) == before
    for attribute, value in vars(transform).items():
        if attribute.endswith("_"):
            assert isinstance(value, np.ndarray) or json.loads(json.dumps(value)) == value


@pytest.mark.parametrize("name", NAMES)
def test_a_clone_has_the_parameters_and_is_unfitted(name: str) -> None:
    X, _ = make_table()
    copy = clone(as_transform(name).fit(X))
    assert copy.get_params() == as_transform(name).get_params()
    assert not hasattr(copy, "n_features_in_")


@pytest.mark.parametrize("name", NAMES)
def test_missing_values_become_neutral(name: str) -> None:
    X, qid = make_table()
    transform = as_transform(name).fit(X, qid=qid)
    output = transform.transform(np.full((2, 4), np.nan), qid=[1, 2])
    names = transform.get_feature_names_out()
    is_missing_column = [column.endswith("[missing]") for column in names]
    expected = np.full(output.shape, np.nan if name == "none" else 0.0)
    expected[:, is_missing_column] = 1.0
    # A z-score or rank of 0 fills the bins up to the middle.
    is_own_value = [not column.startswith(("z-score of", "rank of")) for column in names]
    np.testing.assert_array_equal(output[:, is_own_value], expected[:, is_own_value])


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"none"}))
@pytest.mark.parametrize("value", [np.nan, 0.0, 5.0, 1e38, 0.1])
def test_constant_and_missing_features_become_zero(name: str, value: float) -> None:
    X = np.full((1100, 2), value, dtype=np.float32)
    output = as_transform(name).fit_transform(X, qid=np.arange(1100) % 7)
    np.testing.assert_array_equal(output, 0)


values = st.floats(-FLOAT32_MAX, FLOAT32_MAX, width=32) | st.just(np.nan) | st.integers(-3, 3).map(float)
tables = arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=8), elements=values)


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"none"}))
@settings(max_examples=60, deadline=None)
@given(X=tables, data=st.data())
def test_output_is_finite_for_any_input(name: str, X: Any, data: st.DataObject) -> None:
    qid = data.draw(arrays(np.int64, len(X), elements=st.integers(0, 3)))
    other = data.draw(arrays(np.float32, X.shape, elements=values))
    transform = as_transform(name).fit(X, qid=qid)
    for table in (X, other):
        output = transform.transform(table, qid=qid)
        assert output.shape == (len(X), len(transform.get_feature_names_out()))
        assert np.isfinite(output).all()


@pytest.mark.parametrize("name", ROW_BY_ROW)
@settings(max_examples=60, deadline=None)
@given(X=tables, data=st.data())
def test_each_feature_keeps_its_order(name: str, X: Any, data: st.DataObject) -> None:
    column = np.sort(data.draw(arrays(np.float32, 10, elements=st.floats(-100, 100, width=32))))
    transform = as_transform(name).fit(X)
    output = transform.transform(np.repeat(column[:, None], X.shape[1], axis=1))
    is_value = [not column.endswith("[missing]") for column in transform.get_feature_names_out()]
    assert (output[1:, is_value] >= output[:-1, is_value]).all()


class RememberQueries(BaseEstimator):  # type: ignore[misc]
    """A final step that stores the data a pipeline passes to it."""

    __metadata_request__fit = {"qid": True}  # noqa: RUF012
    __metadata_request__predict = {"qid": True}  # noqa: RUF012

    def fit(self, X: Any, y: Any = None, *, qid: Any = None) -> RememberQueries:  # noqa: ARG002, D102
        self.X_, self.qid_ = X, qid
        return self

    def predict(self, X: Any, *, qid: Any = None) -> Any:  # noqa: ARG002, D102
        return X[:, 0]


@pytest.mark.parametrize("name", NAMES)
def test_a_pipeline_routes_query_ids_by_default(name: str) -> None:
    X, qid = make_table()
    expected = as_transform(name).fit_transform(X, qid=qid)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(as_transform(name), RememberQueries()).fit(X, None, qid=qid)
        scores = pipeline.predict(X, qid=qid)
    np.testing.assert_array_equal(pipeline[-1].X_, expected)
    np.testing.assert_array_equal(pipeline[-1].qid_, qid)
    np.testing.assert_array_equal(scores, expected[:, 0])


def test_names_and_instances_become_new_transforms() -> None:
    assert {name: type(as_transform(name)) for name in NAMES} == dict(TRANSFORMS)
    original = PiecewiseLinear(n_bins=3)
    copy = as_transform(original)
    assert copy is not original
    assert copy.get_params() == original.get_params()
    assert isinstance(as_transform(MinMaxScaler()), TransformerMixin)


@pytest.mark.parametrize(
    ("typo", "intended"),
    [
        ("standart", "standard"),
        ("Signed_Log", "signed-log"),
        ("quantile", "quantile-normal"),
        ("aut", "auto"),
    ],
)
def test_a_typo_suggests_the_closest_name(typo: str, intended: str) -> None:
    with pytest.raises(ValueError, match=f"transform '{typo}' is unknown; did you mean '{intended}'"):
        as_transform(typo)


def test_an_invalid_transform_raises() -> None:
    with pytest.raises(ValueError, match="transform 'xyzzy' is unknown; choose from 'quantile-normal'"):
        as_transform("xyzzy")
    for wrong in (Standard, 3, None):
        with pytest.raises(TypeError, match="give one of 'quantile-normal'"):
            as_transform(wrong)


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (QuantileNormal(n_quantiles=1), "n_quantiles is 1; give a whole number of at least 2"),
        (QuantileNormal(subsample=0), "subsample is 0"),
        (QuantileNormal(scale=0), "scale is 0; give a number above 0"),
        (PiecewiseLinear(n_bins=0), "n_bins is 0; give a whole number of at least 1"),
        (PiecewiseLinear(n_bins=2.5), "n_bins is 2.5"),  # type: ignore[arg-type]
        (PiecewiseLinear(subsample=1), "subsample is 1"),
    ],
)
def test_invalid_parameters_raise_at_fit(transform: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        transform.fit([[1.0], [2.0]])


@pytest.mark.parametrize("name", NAMES)
def test_results_do_not_depend_on_the_number_of_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, qid = make_table(5000)
    outputs = []
    for n_threads in (1, 3):
        monkeypatch.setattr("directranker.encoding.blocks.get_n_threads", lambda n=n_threads: n)
        outputs.append(as_transform(name).fit_transform(X, qid=qid))
    np.testing.assert_array_equal(*outputs)


def test_describe_of_auto_needs_a_fit() -> None:
    with pytest.raises(NotFittedError):
        AutoTransform().describe()
