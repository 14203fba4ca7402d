"""Fitted transformers of scikit-learn as JSON and arrays, for those whose state is known here.

A transformer of another class, or one with a function, raises an error that names its step. On loading, every
fitted attribute is checked against its class: names, types, shapes and ranges of indices.

>>> from sklearn.preprocessing import MinMaxScaler
>>> store = Store({})
>>> entry = encode_transformer(MinMaxScaler().fit([[1.0], [3.0]]), "scale", store, step="scale")
>>> decode_transformer(entry, store).transform([[2.0]]).tolist()
[[0.5]]
>>> from sklearn.decomposition import PCA
>>> encode_transformer(PCA(1).fit([[1.0], [3.0]]), "pca", store, step="pca")
Traceback (most recent call last):
TypeError: step 'pca' is a PCA, which cannot be saved without pickle; use one of ColumnTransformer,
FunctionTransformer, MaxAbsScaler, MinMaxScaler, OneHotEncoder, OrdinalEncoder, Pipeline, PowerTransformer,
QuantileTransformer, RobustScaler, SimpleImputer, StandardScaler, TargetEncoder, or a transform of
directranker
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from directranker.encoding import FeatureTransform
from directranker.persistence.fitted_transformers import KNOWN, Known, check_columns
from directranker.persistence.values import pack, unpack

__all__ = ["Store", "decode_transformer", "encode_transformer"]

Entry = dict[str, Any]


def _refuse(*_arguments: object) -> NoReturn:
    raise TypeError("a transform of directranker is not expected here")


class Store(NamedTuple):
    """Where arrays are stored, and how directranker's own transforms are encoded and decoded."""

    arrays: dict[str, NDArray[Any]]
    encode_own: Callable[[FeatureTransform, str], Entry] = _refuse
    decode_own: Callable[[Entry, str], BaseEstimator] = _refuse


def encode_transformer(transformer: Any, name: str, store: Store, *, step: str) -> Entry:
    """Encode a fitted transformer, or the strings `passthrough` and `drop`; errors name the step."""
    if transformer is None or isinstance(transformer, str):
        return {"name": transformer}
    if isinstance(transformer, FeatureTransform):
        return {"own": store.encode_own(transformer, name), "prefix": name}
    if type(transformer) is Pipeline:
        return {"steps": _encode_steps(transformer.steps, name, store, step)}
    if type(transformer) is ColumnTransformer:
        return _encode_column_transformer(transformer, name, store, step)
    class_name = type(transformer).__name__
    known = KNOWN.get(class_name)
    if known is None or type(transformer) is not known.kind:
        names = ", ".join(sorted([*(name for name in KNOWN if name != "MissingIndicator"), *_COMPOSED]))
        raise TypeError(
            f"step {step!r} is a {class_name}, which cannot be saved without pickle; use one of {names}, or a "
            "transform of directranker"
        )
    return {"class": class_name, **_encode_state(transformer, known, name, store, step)}


_COMPOSED = ("ColumnTransformer", "Pipeline")


def _encode_steps(steps: Any, name: str, store: Store, step: str) -> list[list[Any]]:
    return [
        [key, encode_transformer(one, f"{name}/{key}", store, step=f"{step}__{key}" if step else key)]
        for key, one in steps
    ]


def _encode_state(
    transformer: BaseEstimator, known: Known, name: str, store: Store, step: str
) -> dict[str, Any]:
    parameters, defaults = transformer.get_params(deep=False), known.kind().get_params(deep=False)
    state = {key: value for key, value in vars(transformer).items() if key not in parameters}
    unknown = sorted(set(state) - set(known.attributes) - INPUTS)
    if unknown:
        raise TypeError(
            f"step {step!r}, a {type(transformer).__name__}, has the attribute {unknown[0]}, which this "
            "directranker does not know; update directranker"
        )
    changed = {
        key: value
        for key, value in parameters.items()
        if key not in known.unsaved and not _is_same(value, defaults[key])
    }
    try:
        return {
            "parameters": {key: pack(one, f"{name}/{key}", store.arrays) for key, one in changed.items()},
            "fitted": {key: _pack_attribute(one, f"{name}/{key}", store, step) for key, one in state.items()},
        }
    except TypeError as error:
        raise TypeError(f"step {step!r}, a {type(transformer).__name__}: {error}") from None


INPUTS = {"n_features_in_", "feature_names_in_", "_sklearn_output_config"}


def _is_same(value: Any, default: Any) -> bool:
    is_nan = isinstance(value, float) and isinstance(default, float) and value != value and default != default
    return value is default or is_nan or (type(value) is type(default) and bool(np.all(value == default)))


def _pack_attribute(value: Any, name: str, store: Store, step: str) -> Entry:
    if isinstance(value, BaseEstimator):
        return {"transformer": encode_transformer(value, name, store, step=step)}
    return pack(value, name, store.arrays)


def _encode_column_transformer(transformer: ColumnTransformer, name: str, store: Store, step: str) -> Entry:
    if transformer.transformer_weights:
        raise TypeError(f"step {step!r} has transformer_weights, which cannot be saved without pickle")
    parts = []
    for key, one, columns in transformer.transformers_:
        where = f"{step}__{key}" if step else key
        entry = encode_transformer(one, f"{name}/{key}", store, step=where)
        parts.append([key, entry, pack(columns, f"{name}/{key}/columns", store.arrays)])
    state = {
        key: getattr(transformer, key)
        for key in (*_COLUMN_STATE, *sorted(INPUTS))
        if hasattr(transformer, key)
    }
    return {
        "columns": parts,
        "sparse_threshold": float(transformer.sparse_threshold),
        "fitted": {key: pack(one, f"{name}/{key}", store.arrays) for key, one in state.items()},
    }


_COLUMN_STATE = ("_columns", "_transformer_to_input_indices", "sparse_output_", "output_indices_")


def decode_transformer(entry: Mapping[str, Any], store: Store) -> Any:
    """Create the transformer that `encode_transformer` encoded; raise ValueError if its state is invalid."""
    kind = next(iter(entry))
    if kind == "name":
        if entry["name"] not in (None, "passthrough", "drop"):
            raise ValueError(f"{entry['name']!r} is not a transformer")
        return entry["name"]
    if kind == "own":
        own = store.decode_own(entry["own"], entry["prefix"])
        if not isinstance(own, FeatureTransform):
            raise ValueError(f"{type(own).__name__} is not a transform")
        return own
    if kind == "steps":
        return Pipeline([(_as_name(key), decode_transformer(one, store)) for key, one in entry["steps"]])
    if kind == "columns":
        return _decode_column_transformer(entry, store)
    known = KNOWN.get(entry["class"])
    if known is None:
        raise ValueError(f"{entry['class']!r} is not a transformer that can be loaded")
    parameters = {key: unpack(one, store.arrays) for key, one in entry["parameters"].items()}
    if set(parameters) & known.unsaved:
        raise ValueError(f"{entry['class']} has a parameter that is never saved")
    transformer = known.kind(**parameters)
    transformer._validate_params()
    for key, one in entry["fitted"].items():
        if key not in known.attributes and key not in INPUTS:
            raise ValueError(f"{key!r} is not an attribute of {entry['class']}")
        value = (
            decode_transformer(one["transformer"], store)
            if "transformer" in one
            else unpack(one, store.arrays)
        )
        setattr(transformer, key, value)
    known.check(transformer)
    return transformer


def _decode_column_transformer(entry: Mapping[str, Any], store: Store) -> ColumnTransformer:
    parts = [
        (_as_name(key), decode_transformer(one, store), unpack(columns, store.arrays))
        for key, one, columns in entry["columns"]
    ]
    threshold = entry["sparse_threshold"]
    state = {key: unpack(one, store.arrays) for key, one in entry["fitted"].items()}
    if set(state) - INPUTS != set(_COLUMN_STATE):
        raise ValueError("the attributes of a ColumnTransformer are not complete")
    remainder: tuple[str, Any, Any] = next(
        (part for part in parts if part[0] == "remainder"), ("remainder", "drop", [])
    )
    given = [(key, one if isinstance(one, str) else clone(one), columns) for key, one, columns in parts]
    transformer = ColumnTransformer(
        [part for part in given if part[0] != "remainder"], sparse_threshold=threshold
    )
    transformer.remainder = remainder[1] if isinstance(remainder[1], str) else clone(remainder[1])
    transformer._validate_params()
    transformer.transformers_ = parts
    transformer._remainder = remainder
    for key, value in state.items():
        setattr(transformer, key, value)
    check_columns(transformer)
    return transformer


def _as_name(key: Any) -> str:
    if not isinstance(key, str):
        raise ValueError(f"{key!r} is not the name of a step")
    return key
