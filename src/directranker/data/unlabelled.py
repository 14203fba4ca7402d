"""Frames of documents without labels and queries, as scikit-learn passes them to `fit` and `predict`.

>>> import pandas as pd
>>> frame = pd.DataFrame({"brand": ["b", "a"], "price": [1.5, 2.5]})
>>> has_categories(frame), has_categories(frame[["price"]])
(True, False)
>>> read_unlabelled(frame).features.tolist()
[[1.0, 1.5], [0.0, 2.5]]
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from directranker.data.column_roles import ColumnRoles
from directranker.data.dataset import RankingDataset
from directranker.data.tabular import read_features
from directranker.errors import DataError

__all__ = ["format_names", "has_categories", "read_columns", "read_unlabelled"]

MAX_SHOWN = 5


def has_categories(X: Any) -> bool:
    """Whether X is a frame with a column that is not made of numbers."""
    if hasattr(X, "iloc"):  # pandas
        return any(_is_category(X[name]) for name in X.columns) if X.columns.is_unique else False
    if hasattr(X, "columns") and hasattr(X, "schema"):  # polars
        return not all(dtype.is_numeric() or str(dtype) == "Boolean" for dtype in X.dtypes)
    return False


def _is_category(column: Any) -> bool:
    if column.dtype == object:  # numbers of Python or of another library are numbers
        return any(isinstance(value, str | list | np.ndarray) for value in column)
    return str(column.dtype) == "category" or (
        getattr(column.dtype, "kind", "O") in "OUST" and not hasattr(column.dtype, "numpy_dtype")
    )


def read_unlabelled(
    frame: Any, categorical: Collection[str] = (), names: Sequence[str] | None = None
) -> RankingDataset:
    """Read the columns of these names, by default all, as a data set without labels."""
    available = [str(name) for name in frame.columns]
    if names is not None and (missing := [name for name in names if name not in set(available)]):
        raise DataError(f"X lacks {format_names(missing)}; give the columns of the fit")
    chosen = tuple(available if names is None else names)
    return read_columns(
        frame, ColumnRoles(query=None, document=None, features=chosen, categorical=tuple(categorical))
    )


def read_columns(frame: Any, columns: ColumnRoles) -> RankingDataset:
    """Read the features of these columns as a data set without labels, in the order of the rows."""
    features, feature_names, categories = read_features(frame, columns)
    n_rows = len(features)
    return RankingDataset(
        features,
        np.zeros(n_rows),
        np.array([0, n_rows], dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        feature_names,
        categories=categories,
    )


def format_names(names: Sequence[str]) -> str:
    """Format the first names of a list.

    >>> format_names(["a", "b"]), format_names(list("abcdefg"))
    ("'a', 'b'", "'a', 'b', 'c', 'd', 'e' and 2 more")
    """
    shown = ", ".join(map(repr, names[:MAX_SHOWN]))
    return shown if len(names) <= MAX_SHOWN else f"{shown} and {len(names) - MAX_SHOWN} more"
