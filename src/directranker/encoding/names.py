"""Look up transforms by name, as rankers and the command line do.

>>> as_transform("standard")
Standard()
>>> as_transform("quantile")
Traceback (most recent call last):
ValueError: transform 'quantile' is unknown; did you mean 'quantile-normal'? Choose from 'quantile-normal',
'standard', 'signed-log', 'query-min-max', 'query-z-score', 'query-rank', 'piecewise-linear', 'in-context',
'auto', 'none'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sklearn.base import BaseEstimator, clone

from directranker.encoding.adapters import adapt_transformer, takes_qid
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
"""The transforms by name."""


def as_transform(
    transform: object, *, names: Sequence[str] = (), categories: Mapping[str, Sequence[str]] | None = None
) -> BaseEstimator:
    """Return a new, unfitted transform from a name or from a transformer, which is cloned.

    Rankers pass `qid` to `fit` and `transform`. A transformer that does not take it is adapted, and gets
    features with `names` as pandas frames with the values of `categories`.

    >>> as_transform(PiecewiseLinear(n_bins=4))
    PiecewiseLinear(n_bins=4)
    """
    if isinstance(transform, str):
        if transform not in TRANSFORMS:
            raise ValueError(describe_unknown_name("transform", transform, TRANSFORMS))
        return TRANSFORMS[transform]()
    if isinstance(transform, type) or not (hasattr(transform, "fit") and hasattr(transform, "transform")):
        names = ", ".join(map(repr, TRANSFORMS))
        raise TypeError(
            f"transform is {transform!r}; give one of {names} or a transformer with fit and transform"
        )
    if isinstance(transform, FeatureTransform) or (
        takes_qid(transform.fit) and takes_qid(transform.transform)
    ):
        return clone(transform)
    return adapt_transformer(transform, names=names, categories=categories or {})
