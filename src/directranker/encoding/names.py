"""Transforms by name, as rankers and the command line take them.

>>> as_transform("standard")
Standard()
>>> as_transform("quantile")
Traceback (most recent call last):
ValueError: transform 'quantile' is unknown; did you mean 'quantile-normal'? Choose from 'quantile-normal',
'standard', 'signed-log', 'query-min-max', 'query-z-score', 'query-rank', 'piecewise-linear', 'in-context',
'auto', 'none'
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sklearn.base import clone

from directranker.encoding.automatic import AutoTransform
from directranker.encoding.base import FeatureTransform
from directranker.encoding.in_context import InContext
from directranker.encoding.per_query import QueryMinMax, QueryRank, QueryZScore
from directranker.encoding.piecewise_linear import PiecewiseLinear
from directranker.encoding.quantile_normal import QuantileNormal
from directranker.encoding.scaling import SignedLog, Standard, Unchanged
from directranker.suggestions import describe_unknown_name

__all__ = ["TRANSFORMS", "as_transform"]

TRANSFORMS: Mapping[str, type[FeatureTransform]] = MappingProxyType(
    {
        "quantile-normal": QuantileNormal,
        "standard": Standard,
        "signed-log": SignedLog,
        "query-min-max": QueryMinMax,
        "query-z-score": QueryZScore,
        "query-rank": QueryRank,
        "piecewise-linear": PiecewiseLinear,
        "in-context": InContext,
        "auto": AutoTransform,
        "none": Unchanged,
    }
)
"""The transforms by their short names."""


def as_transform(transform: str | Any) -> Any:
    """A new, unfitted transform from its name, or from a transformer, which itself stays as it is.

    Any scikit-learn transformer will do; query ids reach it only if it asks for them.

    >>> as_transform(PiecewiseLinear(n_bins=4))
    PiecewiseLinear(n_bins=4)
    """
    if isinstance(transform, str):
        return _class_named(transform)()
    if isinstance(transform, type) or not (hasattr(transform, "fit") and hasattr(transform, "transform")):
        raise TypeError(
            f"transform is {transform!r}; give one of {_names()} or a transformer with fit and transform"
        )
    return clone(transform)


def _class_named(name: str) -> type[FeatureTransform]:
    if name in TRANSFORMS:
        return TRANSFORMS[name]
    raise ValueError(describe_unknown_name("transform", name, TRANSFORMS))


def _names() -> str:
    return ", ".join(map(repr, TRANSFORMS))
