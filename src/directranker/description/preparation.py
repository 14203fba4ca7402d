"""Steps of scikit-learn before a model, described exactly: fill in, subtract, divide, multiply, add, clip.

Scalers and imputers compute each column from one feature, and round each operation to float32. A
`Preparation` is one such step for all columns; a `Prepared` model applies some to the features, then scores
their result.

>>> from sklearn.preprocessing import MinMaxScaler
>>> (scaling,) = describe_transformer(MinMaxScaler().fit([[1.0], [5.0]]), 1, step="scale")
>>> scaling.source.tolist(), scaling.multiply.tolist(), scaling.add.tolist()
([0], [0.25], [-0.25])
>>> from sklearn.preprocessing import OneHotEncoder
>>> describe_transformer(OneHotEncoder().fit([["a"]]), 1, step="brand")
Traceback (most recent call last):
directranker.errors.ExportError: step 'brand' is a OneHotEncoder, for which there is no exact export; use
StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler or SimpleImputer on columns of numbers, or
directranker's own transforms and categories
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)

from directranker.arrays import FloatArray, IntArray
from directranker.description.model import Model
from directranker.errors import ExportError

__all__ = ["Preparation", "Prepared", "describe_transformer"]


@dataclass(frozen=True)
class Preparation:
    """Column j is clip((x − subtract) / divide · multiply + add), where x is the value of `source[j]`.

    A missing value is replaced by `missing` first; NaN keeps it missing. Each operation rounds to float32.
    """

    source: IntArray
    missing: FloatArray
    subtract: FloatArray
    divide: FloatArray
    multiply: FloatArray
    add: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, source: IntArray, **values: Any) -> Preparation:
        """Return a preparation that changes nothing, but for these values."""
        defaults = {
            "missing": np.nan, "subtract": 0.0, "divide": 1.0, "multiply": 1.0, "add": 0.0, "low": -np.inf,
            "high": np.inf,
        }  # fmt: skip
        filled = {
            name: np.array(np.broadcast_to(values.get(name, default), len(source)), dtype=np.float64)
            for name, default in defaults.items()
        }
        return cls(source, **filled)


@dataclass(frozen=True)
class Prepared:
    """A model of prepared features."""

    feature_names: tuple[str, ...]
    preparations: tuple[Preparation, ...]
    model: Model
    steps: str
    """The steps, for messages."""

    @property
    def categories(self) -> Mapping[int, tuple[str, ...]]:
        """None: the steps that can be exported take numbers."""
        return {}


def describe_transformer(transformer: Any, n_features: int, *, step: str) -> tuple[Preparation, ...]:
    """Describe a fitted transformer; raise `ExportError` that names the step without a description."""
    everything = np.arange(n_features)
    if isinstance(transformer, str) or transformer is None:
        return (Preparation.of(everything if transformer == "passthrough" else everything[:0]),)
    if isinstance(transformer, Pipeline):
        return _describe_pipeline(transformer, n_features, step)
    if isinstance(transformer, ColumnTransformer):
        return _describe_column_transformer(transformer, step)
    describe = _DESCRIBE.get(type(transformer))
    values = None if describe is None else describe(transformer)
    if values is None:
        raise ExportError(
            f"step {step!r} is a {type(transformer).__name__}, for which there is no exact export; use "
            "StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler or SimpleImputer on columns of "
            "numbers, or directranker's own transforms and categories"
        )
    source = values.pop("source", everything)
    return (Preparation.of(source, **values),)


def _describe_pipeline(pipeline: Pipeline, n_features: int, step: str) -> tuple[Preparation, ...]:
    described: list[Preparation] = []
    for name, one in pipeline.steps:
        if one is None or (isinstance(one, str) and one == "passthrough"):
            continue
        described += describe_transformer(one, n_features, step=f"{step}__{name}" if step else name)
        n_features = len(described[-1].source)
    return tuple(described) or (Preparation.of(np.arange(n_features)),)


def _describe_column_transformer(transformer: ColumnTransformer, step: str) -> tuple[Preparation, ...]:
    if transformer.transformer_weights:
        raise ExportError(f"step {step!r} has transformer_weights, for which there is no exact export")
    branches = []
    for name, one, _ in transformer.transformers_:
        columns = np.array(transformer._transformer_to_input_indices[name], dtype=np.int64)
        where = f"{step}__{name}" if step else name
        if isinstance(one, str) and one == "drop":
            continue
        first, *rest = describe_transformer(one, len(columns), step=where)
        branches.append([replace(first, source=columns[first.source]), *rest])
    return _join(branches)


def _join(branches: Sequence[Sequence[Preparation]]) -> tuple[Preparation, ...]:
    """Put the columns of all branches side by side; shorter branches change nothing at their end."""
    depth = max(map(len, branches), default=0)
    filled = [
        [*branch, *[Preparation.of(np.arange(len(branch[-1].source)))] * (depth - len(branch))]
        for branch in branches
    ]
    joined = []
    for level in range(depth):
        parts = [branch[level] for branch in filled]
        if level:  # sources count the columns of the level before, of which each branch has some
            widths = [len(branch[level - 1].source) for branch in filled]
            starts = np.cumsum([0, *widths[:-1]])
            parts = [
                replace(part, source=part.source + start) for part, start in zip(parts, starts, strict=True)
            ]
        names = [field.name for field in fields(Preparation)]
        joined.append(
            Preparation(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})
        )
    return tuple(joined)


def _describe_standard(scaler: StandardScaler) -> dict[str, Any]:
    # scikit-learn rounds the constants to the type of the features first.
    values = {}
    if scaler.with_mean:
        values["subtract"] = scaler.mean_.astype(np.float32)
    if scaler.with_std:
        values["divide"] = scaler.scale_.astype(np.float32)
    return values


def _describe_min_max(scaler: MinMaxScaler) -> dict[str, Any]:
    clip = {"low": scaler.feature_range[0], "high": scaler.feature_range[1]} if scaler.clip else {}
    return {"multiply": scaler.scale_, "add": scaler.min_, **clip}


def _describe_max_abs(scaler: MaxAbsScaler) -> dict[str, Any]:
    clip = {"low": -1.0, "high": 1.0} if getattr(scaler, "clip", False) else {}
    return {"divide": scaler.scale_, **clip}


def _describe_robust(scaler: RobustScaler) -> dict[str, Any]:
    values = {"subtract": scaler.center_} if scaler.with_centering else {}
    return {**values, **({"divide": scaler.scale_} if scaler.with_scaling else {})}


def _describe_imputer(imputer: SimpleImputer) -> dict[str, Any] | None:
    missing = imputer.missing_values
    is_nan = isinstance(missing, float) and np.isnan(missing)
    if imputer.add_indicator or imputer.statistics_.dtype.kind != "f" or not is_nan:
        return None
    statistics = imputer.statistics_.astype(np.float32)
    if imputer.keep_empty_features:
        return {"missing": statistics}
    source = np.flatnonzero(~np.isnan(statistics))  # columns without any value are dropped
    return {"source": source, "missing": statistics[source]}


def _describe_function(transformer: FunctionTransformer) -> dict[str, Any] | None:
    return {} if transformer.func is None else None


_DESCRIBE: dict[type, Callable[[Any], dict[str, Any] | None]] = {
    StandardScaler: _describe_standard,
    MinMaxScaler: _describe_min_max,
    MaxAbsScaler: _describe_max_abs,
    RobustScaler: _describe_robust,
    SimpleImputer: _describe_imputer,
    FunctionTransformer: _describe_function,
}
