"""Checks of fitted attributes that come from a file, before any compiled code sees them.

Kernels trust the sizes that `fit` gives. A file may say anything, so each estimator checks the type and shape
of its arrays with these when it is restored.

>>> from types import SimpleNamespace
>>> estimator = SimpleNamespace(n_features_in_=2, mean_=np.zeros(1))
>>> check_fitted_array(estimator, "mean_", np.float64, (2,))
Traceback (most recent call last):
ValueError: mean_ of SimpleNamespace has dtype float64 and shape (1,); expected float64 and (2,)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from sklearn.base import BaseEstimator

__all__ = ["ArraySpec", "check_fitted_array", "check_fitted_inputs"]

MAX_FEATURES = 1_000_000
ArraySpec = tuple[DTypeLike, tuple[int | str, ...]]


def check_fitted_inputs(estimator: BaseEstimator) -> int:
    """The number of features of an estimator, once it and their names are valid."""
    n = getattr(estimator, "n_features_in_", None)
    if type(n) is not int or not 1 <= n <= MAX_FEATURES:
        raise ValueError(f"n_features_in_ is {n!r}; expected a number from 1 to {MAX_FEATURES}")
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and (np.shape(names) != (n,) or not all(isinstance(name, str) for name in names)):
        raise ValueError(f"feature_names_in_ does not name {n} features")
    _check_categories(getattr(estimator, "categories_", {}), () if names is None else names)
    return n


def _check_categories(categories: object, names: Sequence[str]) -> None:
    """Raise unless these are sorted strings for some of the features."""
    if not isinstance(categories, Mapping) or not set(categories) <= set(names):
        raise ValueError("categories_ does not have feature names as its keys")
    for name, values in categories.items():
        are_strings = isinstance(values, list | tuple) and all(
            isinstance(value, str) and value for value in values
        )
        if not are_strings or any(low >= high for low, high in pairwise(value.encode() for value in values)):
            raise ValueError(
                f"categories_ of {name!r} are not different strings in ascending order, or one is empty"
            )


def check_fitted_array(owner: Any, name: str, dtype: DTypeLike, shape: tuple[int, ...]) -> Any:
    """The array of this name, which must have this type and shape."""
    array = getattr(owner, name, None)
    expected = f"expected {np.dtype(dtype)} and {shape}"
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{name} of {type(owner).__name__} is not an array; {expected}")
    if array.dtype != dtype or array.shape != shape:
        raise ValueError(
            f"{name} of {type(owner).__name__} has dtype {array.dtype} and shape {array.shape}; {expected}"
        )
    return array
