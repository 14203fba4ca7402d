"""Features as the pandas frame that they were read from, with the values of categories instead of their codes.

scikit-learn's transformers select columns by name and encode categories from their values. Columns of
categories have the type `category`, as in `RankingDataset.to_frame`, with NaN where a value is missing. Those
that were read from whole numbers, such as ids, are whole numbers again.

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

from directranker.arrays import Features, Float32Array
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
    columns: dict[str, Any] = {}
    for index, name in enumerate(names):
        column = features[:, index]
        columns[name] = _decode(column, categories[name], name in ids) if name in categories else column
    return pd.DataFrame(columns, copy=False)


def _decode(codes: Float32Array, values: Sequence[str], are_ids: bool) -> Any:
    """Return a pandas categorical; a code that is not in the vocabulary becomes a category of its own."""
    import pandas as pd  # noqa: PLC0415 - optional

    n_values, is_unseen = len(values), codes < 0
    indices = np.where(np.isnan(codes), -1, np.where(is_unseen, n_values, codes)).astype(np.int64)
    if are_ids and not is_unseen.any() and all(map(INTEGER.fullmatch, values)):
        return pd.Categorical.from_codes(indices, categories=np.array(values, dtype=np.int64))
    known = [*values, UNSEEN_VALUE] if is_unseen.any() else list(values)
    return pd.Categorical.from_codes(indices, categories=pd.Index(known, dtype=object))


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
