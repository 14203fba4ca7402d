"""The feature that each column of a scikit-learn transformer comes from, for explanations by feature.

>>> from sklearn.compose import ColumnTransformer
>>> from sklearn.preprocessing import OneHotEncoder
>>> steps = ColumnTransformer([("words", OneHotEncoder(), [1])], remainder="passthrough")
>>> find_column_sources(steps.fit([[1.5, 0], [2.5, 1]]), 2).tolist()
[1, 1, 0]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from directranker.arrays import IntArray

__all__ = ["find_column_sources"]


def find_column_sources(transformer: Any, n_features: int) -> IntArray:
    """Return the index of the feature of each column; raise TypeError where a column comes from several."""
    if isinstance(transformer, str) or transformer is None:
        return np.arange(n_features if transformer == "passthrough" else 0)
    find = next((find for kind, find in _FINDERS if isinstance(transformer, kind)), None)
    sources = None if find is None else find(transformer, np.arange(n_features))
    if sources is None:
        raise TypeError(
            f"the feature of each column of {type(transformer).__name__} is unknown; train with one of "
            "directranker's transforms"
        )
    return sources


def _follow_steps(pipeline: Pipeline, sources: IntArray) -> IntArray:
    for _, step in pipeline.steps:
        if step is not None and not (isinstance(step, str) and step == "passthrough"):
            sources = sources[find_column_sources(step, len(sources))]
    return sources


def _collect_columns(transformer: ColumnTransformer, _everything: IntArray) -> IntArray:
    parts = [np.empty(0, dtype=np.int64)]
    for name, one, _ in transformer.transformers_:
        columns = np.array(transformer._transformer_to_input_indices[name], dtype=np.int64)
        parts.append(columns[find_column_sources(one, len(columns))])
    return np.concatenate(parts)


def _list_imputed(imputer: SimpleImputer, everything: IntArray) -> IntArray:
    statistics = imputer.statistics_
    is_empty = np.array([isinstance(one, float) and bool(np.isnan(one)) for one in statistics.tolist()])
    kept = everything if imputer.keep_empty_features else everything[~is_empty]
    return np.concatenate([kept, imputer.indicator_.features_]) if imputer.add_indicator else kept


_FINDERS: tuple[tuple[type, Callable[[Any, IntArray], IntArray | None]], ...] = (
    (Pipeline, _follow_steps),
    (ColumnTransformer, _collect_columns),
    (OneHotEncoder, lambda encoder, everything: np.repeat(everything, encoder._n_features_outs)),
    (SimpleImputer, _list_imputed),
    (SelectorMixin, lambda selector, everything: everything[selector.get_support()]),
    (FunctionTransformer, lambda function, everything: everything if function.func is None else None),
    (OneToOneFeatureMixin, lambda _, everything: everything),
)
