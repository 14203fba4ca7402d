"""Features as the pandas frame that they were read from, with the values of categories instead of their codes.

scikit-learn's transformers select columns by name and encode categories from their values. Categories are
strings in columns of objects, and NaN where missing; those that were read from numbers are numbers again.

>>> features = np.array([[1, 0.5], [np.nan, 2], [-1, 3]], np.float32)
>>> frame = build_feature_frame(features, ("brand", "price"), {"brand": ("acme", "zeta")})
>>> frame["brand"].tolist()
['zeta', nan, '(unseen)']
>>> str(frame["price"].dtype)
'float32'
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import Features
from directranker.data.checking import as_feature_names
from directranker.data.dataset import RankingDataset

__all__ = ["INTEGER", "UNSEEN_VALUE", "build_feature_frame", "has_own_names", "read_feature_frame"]

INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
UNSEEN_VALUE = "(unseen)"
"""The value of a code that is not in the vocabulary."""


def build_feature_frame(
    features: Features,
    names: Sequence[str],
    categories: Mapping[str, Sequence[str]],
    *,
    ids: Collection[str] = (),
) -> Any:
    """Return a pandas frame of these features; `ids` are categories that were read from whole numbers."""
    try:
        import pandas as pd  # noqa: PLC0415 - optional
    except ImportError:
        raise ImportError(
            "transformers of tables with names need pandas; pip install 'directranker[pandas]'"
        ) from None
    columns: dict[str, NDArray[Any]] = {}
    for index, name in enumerate(names):
        column = features[:, index]
        if name in categories:
            values = categories[name]
            are_numbers = name in ids and all(map(INTEGER.fullmatch, values))
            columns[name] = _decode_numbers(column, values) if are_numbers else _decode(column, values)
        else:
            columns[name] = column
    return pd.DataFrame(columns, copy=False)


def _decode(codes: NDArray[np.float32], values: Sequence[str]) -> NDArray[Any]:
    """Return the strings of codes; NaN is the last entry of the look-up, the unseen value the one before."""
    lookup = np.array([*values, UNSEEN_VALUE, np.nan], dtype=object)
    missing, n_values = np.isnan(codes), len(values)
    indices = np.where(missing, n_values + 1, codes).astype(np.int64)
    decoded: NDArray[Any] = lookup[np.where(indices < 0, n_values, indices)]
    return decoded


def _decode_numbers(codes: NDArray[np.float32], values: Sequence[str]) -> NDArray[Any]:
    """Return the numbers of codes: integers, or float64 where one is missing or unseen."""
    known = codes >= 0
    numbers = np.array(values, dtype=np.int64)
    if known.all():
        return np.asarray(numbers[codes.astype(np.int64)])
    decoded = np.full(len(codes), np.nan)
    decoded[known] = numbers[codes[known].astype(np.int64)]
    return decoded


def has_own_names(data: RankingDataset) -> bool:
    """Whether a data set has names of its own; default names count as none."""
    return data.feature_names != as_feature_names((), data.n_features)


def read_feature_frame(data: RankingDataset) -> Any:
    """Return the features of a data set as a pandas frame, or as an array if they have no names of their own.

    >>> data = RankingDataset.from_arrays([[1.0]], [0], feature_names=["price"])
    >>> read_feature_frame(data).columns.tolist()
    ['price']
    """
    if not has_own_names(data):
        return data.features
    categories = {name: tuple(values.to_pylist()) for name, values in data.categories.items()}
    ids = () if data.columns is None else data.columns.categorical
    return build_feature_frame(data.features, data.feature_names, categories, ids=ids)
