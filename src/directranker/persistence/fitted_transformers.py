"""The fitted attributes of scikit-learn's transformers that can be saved, and checks of their values.

>>> from sklearn.preprocessing import StandardScaler
>>> scaler = StandardScaler().fit([[1.0], [3.0]])
>>> scaler.mean_ = np.zeros(2)
>>> KNOWN["StandardScaler"].check(scaler)
Traceback (most recent call last):
ValueError: mean_ of StandardScaler has shape (2,); expected numbers of shape (1,)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from directranker.fitted_checks import check_fitted_inputs

__all__ = ["KNOWN", "Known", "check_columns"]


@dataclass(frozen=True)
class Known:
    """A class of transformers that can be saved."""

    kind: type[Any]
    attributes: tuple[str, ...]
    """Fitted attributes besides the number and names of features."""
    check_state: Callable[[Any, int], None]
    """Raises ValueError unless the fitted attributes are valid for this number of features."""
    unsaved: frozenset[str] = frozenset()
    """Parameters that matter in `fit` only."""

    def check(self, transformer: Any) -> None:
        """Raise ValueError unless a restored transformer is valid."""
        n = _check_inputs(transformer)
        missing = [name for name in self.attributes if not hasattr(transformer, name)]
        if missing and not set(missing) <= OPTIONAL:
            raise ValueError(f"{type(transformer).__name__} lacks {missing[0]}")
        self.check_state(transformer, n)


OUTPUTS = {("transform", kind) for kind in (None, "default", "pandas", "polars")}
OPTIONAL = {"_infrequent_indices", "_default_to_infrequent_mappings", "_scaler"}


def _check_inputs(transformer: Any) -> int:
    names = getattr(transformer, "feature_names_in_", None)
    if names is not None and not isinstance(names, np.ndarray):
        raise ValueError("feature_names_in_ is not an array")
    output = getattr(transformer, "_sklearn_output_config", {})  # what `set_output` stores
    if not isinstance(output, dict) or not set(output.items()) <= OUTPUTS:
        raise ValueError(f"the output of {type(transformer).__name__} is not a kind of table")
    if isinstance(getattr(transformer, "categories_", None), list):  # of an encoder, not of a ranker
        given = transformer.categories_
        del transformer.categories_
        try:
            return check_fitted_inputs(transformer)
        finally:
            transformer.categories_ = given
    return check_fitted_inputs(transformer)


def _check_numbers(owner: Any, name: str, shape: tuple[int, ...], *, or_none: bool = False) -> None:
    value = getattr(owner, name)
    if value is None and or_none:
        return
    title = f"{name} of {type(owner).__name__}"
    if not isinstance(value, np.ndarray | np.generic) or value.dtype.kind not in "biuf":
        raise ValueError(f"{title} is not an array of numbers")
    if value.shape != shape:
        raise ValueError(f"{title} has shape {value.shape}; expected numbers of shape {shape}")


def _check_count(owner: Any, n: int) -> None:
    value = owner.n_samples_seen_
    if np.shape(value) not in ((), (n,)) or np.asarray(value).dtype.kind not in "iuf":
        raise ValueError(f"n_samples_seen_ of {type(owner).__name__} is not a number of rows")


def _check_standard(scaler: StandardScaler, n: int) -> None:
    _check_numbers(scaler, "mean_", (n,), or_none=not scaler.with_mean)
    _check_numbers(scaler, "var_", (n,), or_none=True)
    _check_numbers(scaler, "scale_", (n,), or_none=not scaler.with_std)
    _check_count(scaler, n)


def _check_min_max(scaler: MinMaxScaler, n: int) -> None:
    for name in ("scale_", "min_", "data_min_", "data_max_", "data_range_"):
        _check_numbers(scaler, name, (n,))
    _check_count(scaler, n)
    _check_pair(scaler, "feature_range")


def _check_pair(owner: Any, name: str) -> None:
    pair = getattr(owner, name)
    if len(pair) != 2 or not all(isinstance(one, int | float | np.number) for one in pair):
        raise ValueError(f"{name} of {type(owner).__name__} is not a pair of numbers")


def _check_max_abs(scaler: MaxAbsScaler, n: int) -> None:
    _check_numbers(scaler, "scale_", (n,))
    _check_numbers(scaler, "max_abs_", (n,))
    _check_count(scaler, n)


def _check_robust(scaler: RobustScaler, n: int) -> None:
    _check_numbers(scaler, "center_", (n,), or_none=not scaler.with_centering)
    _check_numbers(scaler, "scale_", (n,), or_none=not scaler.with_scaling)
    _check_pair(scaler, "quantile_range")


def _check_quantile(transformer: QuantileTransformer, n: int) -> None:
    n_quantiles = transformer.n_quantiles_
    if type(n_quantiles) is not int or n_quantiles < 1:
        raise ValueError("n_quantiles_ of QuantileTransformer is not a number of quantiles")
    _check_numbers(transformer, "quantiles_", (n_quantiles, n))
    _check_numbers(transformer, "references_", (n_quantiles,))
    if (np.diff(transformer.quantiles_, axis=0) < 0).any() or (np.diff(transformer.references_) < 0).any():
        raise ValueError("the quantiles of QuantileTransformer are not in ascending order")


def _check_power(transformer: PowerTransformer, n: int) -> None:
    _check_numbers(transformer, "lambdas_", (n,))
    scaler: Any = getattr(transformer, "_scaler", None)
    if transformer.standardize and (type(scaler) is not StandardScaler or scaler.n_features_in_ != n):
        raise ValueError("_scaler of PowerTransformer is not a StandardScaler of its features")


def _check_imputer(imputer: SimpleImputer, n: int) -> None:
    statistics = imputer.statistics_
    if not isinstance(statistics, np.ndarray) or statistics.shape != (n,):
        raise ValueError(f"statistics_ of SimpleImputer is not an array of {n} values")
    for name in ("_fit_dtype", "_fill_dtype"):
        if not isinstance(getattr(imputer, name), np.dtype):
            raise ValueError(f"{name} of SimpleImputer is not a dtype")
    indicator = imputer.indicator_
    if imputer.add_indicator != (type(indicator) is MissingIndicator):
        raise ValueError("indicator_ of SimpleImputer does not match add_indicator")


def _check_indicator(indicator: MissingIndicator, n: int) -> None:
    _check_numbers(indicator, "features_", indicator.features_.shape)
    _check_indices(indicator.features_, n, "features_ of MissingIndicator")
    if indicator._n_features != n or not isinstance(indicator._precomputed, bool):
        raise ValueError("MissingIndicator is for another number of features")


def _check_indices(indices: Any, n: int, what: str) -> None:
    if not all(isinstance(one, int | np.integer) and 0 <= one < n for one in indices):
        raise ValueError(f"{what} is not an index below {n}")


def _check_categories(encoder: Any, n: int) -> list[int]:
    """Check the categories of an encoder; return the number of each feature's."""
    categories = encoder.categories_
    if not isinstance(categories, list) or len(categories) != n:
        raise ValueError(f"categories_ of {type(encoder).__name__} is not a list of {n} arrays")
    for one in categories:
        if not isinstance(one, np.ndarray) or one.ndim != 1:
            raise ValueError(f"categories_ of {type(encoder).__name__} is not a list of arrays")
    counts = list(map(len, categories))
    if not isinstance(encoder._infrequent_enabled, bool):
        raise ValueError("_infrequent_enabled is not True or False")
    if encoder._infrequent_enabled:
        _check_infrequent(encoder, counts)
    return counts


def _check_infrequent(encoder: Any, counts: list[int]) -> None:
    for name in ("_infrequent_indices", "_default_to_infrequent_mappings"):
        given = getattr(encoder, name, None)
        if not isinstance(given, list) or len(given) != len(counts):
            raise ValueError(f"{name} of {type(encoder).__name__} is not a list of {len(counts)} arrays")
        for one, count in zip(given, counts, strict=True):
            if one is not None:
                _check_indices(one, count, f"{name} of {type(encoder).__name__}")
                # Without a missing value, which OrdinalEncoder encodes on its own.
                if name.startswith("_default") and count - len(one) not in (0, 1):
                    raise ValueError(f"{name} of {type(encoder).__name__} does not map all categories")


def _check_one_hot(encoder: OneHotEncoder, n: int) -> None:
    counts = _check_categories(encoder, n)
    for name in ("drop_idx_", "_drop_idx_after_grouping"):
        dropped = getattr(encoder, name)
        if dropped is not None:
            if len(dropped) != n:
                raise ValueError(f"{name} of OneHotEncoder is not for {n} features")
            for one, count in zip(dropped, counts, strict=True):
                _check_indices([] if one is None else [one], count, f"{name} of OneHotEncoder")
    if encoder._n_features_outs != encoder._compute_n_features_outs():
        raise ValueError("_n_features_outs of OneHotEncoder does not match its categories")


def _check_ordinal(encoder: OrdinalEncoder, n: int) -> None:
    counts = _check_categories(encoder, n)
    if not isinstance(encoder._missing_indices, dict):
        raise ValueError("_missing_indices of OrdinalEncoder is not a mapping")
    for feature, index in encoder._missing_indices.items():
        _check_indices([feature], n, "_missing_indices of OrdinalEncoder")
        _check_indices([index], counts[feature], "_missing_indices of OrdinalEncoder")


def _check_target(encoder: TargetEncoder, n: int) -> None:
    counts = _check_categories(encoder, n)
    if encoder.target_type_ not in ("binary", "continuous", "multiclass"):
        raise ValueError("target_type_ of TargetEncoder is unknown")
    n_classes = len(encoder.classes_) if encoder.target_type_ == "multiclass" else 1
    is_list = isinstance(encoder.encodings_, list)
    if not is_list or [np.shape(one) for one in encoder.encodings_] != [
        (count,) for count in counts for _ in range(n_classes)
    ]:
        raise ValueError("encodings_ of TargetEncoder does not match its categories")
    if not all(one.dtype.kind == "f" for one in encoder.encodings_):
        raise ValueError("encodings_ of TargetEncoder are not numbers")
    _check_numbers(encoder, "target_mean_", (n_classes,) if encoder.target_type_ == "multiclass" else ())


def _check_nothing(_transformer: Any, _n: int) -> None:
    """Accept a transformer without fitted attributes."""


def check_columns(transformer: ColumnTransformer) -> None:
    """Raise ValueError unless the columns of a restored `ColumnTransformer` are valid."""
    n = _check_inputs(transformer)
    indices = transformer._transformer_to_input_indices
    parts = {name: one for name, one, _ in transformer.transformers_}
    if not isinstance(indices, dict) or not set(parts) <= set(indices):
        raise ValueError("the columns of a ColumnTransformer do not match its steps")
    for name, columns in indices.items():
        _check_indices(columns, n, f"a column of {name!r}")
        if hasattr(parts.get(name), "n_features_in_") and parts[name].n_features_in_ != len(columns):
            raise ValueError(f"{name!r} is for {parts[name].n_features_in_} columns, but gets {len(columns)}")
    slices = transformer.output_indices_
    if not isinstance(slices, dict) or not all(isinstance(one, slice) for one in slices.values()):
        raise ValueError("output_indices_ of ColumnTransformer is not a mapping of slices")
    if not isinstance(transformer.sparse_output_, bool) or not isinstance(transformer._columns, list):
        raise ValueError("the state of ColumnTransformer is invalid")
    starts = [one.start for name, one in slices.items() if name in parts and one.stop > one.start]
    if any(low >= high for low, high in pairwise(starts)):
        raise ValueError("output_indices_ of ColumnTransformer are not in order")


_FIT_ONLY = frozenset({"random_state", "n_jobs", "verbose"})
_ENCODER = ("categories_", "_infrequent_enabled", "_infrequent_indices", "_default_to_infrequent_mappings")

KNOWN: dict[str, Known] = {
    one.kind.__name__: one
    for one in (
        Known(StandardScaler, ("mean_", "var_", "scale_", "n_samples_seen_"), _check_standard),
        Known(
            MinMaxScaler,
            ("scale_", "min_", "data_min_", "data_max_", "data_range_", "n_samples_seen_"),
            _check_min_max,
        ),
        Known(MaxAbsScaler, ("scale_", "max_abs_", "n_samples_seen_"), _check_max_abs),
        Known(RobustScaler, ("center_", "scale_"), _check_robust),
        Known(QuantileTransformer, ("quantiles_", "references_", "n_quantiles_"), _check_quantile, _FIT_ONLY),
        Known(PowerTransformer, ("lambdas_", "_scaler"), _check_power),
        Known(SimpleImputer, ("statistics_", "indicator_", "_fit_dtype", "_fill_dtype"), _check_imputer),
        Known(MissingIndicator, ("features_", "_n_features", "_precomputed"), _check_indicator),
        Known(
            OneHotEncoder,
            (*_ENCODER, "drop_idx_", "_drop_idx_after_grouping", "_n_features_outs"),
            _check_one_hot,
        ),
        Known(OrdinalEncoder, (*_ENCODER, "_missing_indices"), _check_ordinal),
        Known(
            TargetEncoder,
            (*_ENCODER, "encodings_", "target_mean_", "target_type_", "classes_"),
            _check_target,
            _FIT_ONLY | {"cv", "shuffle"},
        ),
        Known(FunctionTransformer, (), _check_nothing),
    )
}
