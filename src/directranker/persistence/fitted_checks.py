"""Whether the parts of a loaded estimator fit together, before any compiled code sees them.

Kernels believe the sizes that `fit` would have made. A file may say anything, so each fitted array is held to
its type and shape here, and offsets to their range.

>>> from directranker.encoding import Standard
>>> transform = Standard().fit([[1.0, 2.0], [3.0, 5.0]])
>>> check_fitted(transform)
>>> transform.mean_ = transform.mean_[:1]
>>> check_fitted(transform)
Traceback (most recent call last):
ValueError: mean_ of Standard is float64 of shape (1,); it must be float64 of shape (2,)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from directranker.encoding import (
    AutoTransform,
    FeatureTransform,
    InContext,
    PiecewiseLinear,
    QuantileNormal,
    Standard,
    bins_of,
)
from directranker.encoding.automatic import AS_IS, SIGNED_LOG, STANDARD
from directranker.parameters import check_parameters
from directranker.rankers.base import Ranker
from directranker.rankers.ensemble import Ensemble
from directranker.rankers.linear.base import LinearRanker
from directranker.rankers.nets.direct_ranker import DirectRanker

__all__ = ["check_fitted"]

MOST_FEATURES = 1_000_000
Shape = tuple[int, ...]


def check_fitted(estimator: Any) -> None:
    """Raise a ValueError where a fitted attribute is not what `fit` could have made."""
    n = getattr(estimator, "n_features_in_", None)
    if type(n) is not int or not 1 <= n <= MOST_FEATURES:
        raise ValueError(f"n_features_in_ is {n!r}, not a number of features")
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and (np.shape(names) != (n,) or not all(isinstance(name, str) for name in names)):
        raise ValueError(f"feature_names_in_ does not name {n} features")
    for kind, check in _CHECKS.items():
        if isinstance(estimator, kind):
            check(estimator, n)


def _check_array(owner: Any, name: str, dtype: Any, shape: Shape) -> Any:
    array = getattr(owner, name, None)
    kind = type(owner).__name__
    wanted = f"{np.dtype(dtype)} of shape {shape}"
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{name} of {kind} is no array; it must be {wanted}")
    if array.dtype != dtype or array.shape != shape:
        raise ValueError(f"{name} of {kind} is {array.dtype} of shape {array.shape}; it must be {wanted}")
    return array


def _check_standard(transform: Standard, n: int) -> None:
    _check_array(transform, "mean_", np.float64, (n,))
    _check_array(transform, "deviation_", np.float64, (n,))


def _check_auto(transform: AutoTransform, n: int) -> None:
    _check_array(transform, "centre_", np.float64, (n,))
    _check_array(transform, "width_", np.float64, (n,))
    choices = getattr(transform, "choices_", None)
    if not isinstance(choices, list) or len(choices) != n:
        raise ValueError(f"choices_ of AutoTransform does not have {n} entries")
    if not all(choice in (AS_IS, SIGNED_LOG, STANDARD) for choice in choices):
        raise ValueError("choices_ of AutoTransform has an unknown word")


def _check_bins(transform: PiecewiseLinear | InContext, n: int) -> None:
    offsets = _check_array(transform, "edge_offsets_", np.int64, (n + 1,))
    _check_array(transform, "marks_missing_", np.bool_, (n,))
    # Each feature has one edge at the least, so offsets grow; then they are all within the edges.
    if offsets[0] != 0 or (np.diff(offsets) < 1).any():
        raise ValueError(f"edge_offsets_ of {type(transform).__name__} do not grow from 0")
    _check_array(transform, "edges_", np.float32, (int(offsets[-1]),))


def _check_quantile_normal(transform: QuantileNormal, n: int) -> None:
    references = getattr(transform, "references_", None)
    n_quantiles = len(references) if isinstance(references, np.ndarray) and references.ndim == 1 else 0
    if n_quantiles < 1:
        raise ValueError("references_ of QuantileNormal holds nothing")
    _check_array(transform, "references_", np.float64, (n_quantiles,))
    _check_array(transform, "quantiles_", np.float64, (n_quantiles, n))
    check_parameters(transform, transform._rules)


def _check_transform_of(ranker: Any, n: int) -> None:
    transform = getattr(ranker, "transform_", None)
    if not isinstance(transform, FeatureTransform):
        raise ValueError("transform_ is no transform")
    if transform.n_features_in_ != n:
        raise ValueError(f"the transform is for {transform.n_features_in_} features, the ranker for {n}")


def _check_linear(ranker: LinearRanker, n: int) -> None:
    _check_transform_of(ranker, n)
    bins = bins_of(ranker.transform_)
    n_columns = n if bins is None else bins._n_columns_out()
    _check_array(ranker, "coef_", np.float64, (n_columns,))


def _check_ensemble(ranker: Ensemble, n: int) -> None:
    members = getattr(ranker, "rankers_", None)
    if not isinstance(members, list) or not members:
        raise ValueError("rankers_ of Ensemble holds nothing")
    for member in members:
        if not isinstance(member, Ranker) or member.n_features_in_ != n:
            raise ValueError(f"rankers_ of Ensemble holds something else than rankers for {n} features")
    if not hasattr(ranker, "factors_"):
        raise ValueError("an Ensemble of an earlier directranker had no fixed scale; fit and save it again")
    _check_array(ranker, "factors_", np.float64, (len(members),))


_CHECKS: dict[type, Callable[[Any, int], None]] = {
    Standard: _check_standard,
    AutoTransform: _check_auto,
    PiecewiseLinear: _check_bins,
    InContext: lambda transform, n: _check_bins(transform, 3 * n),
    QuantileNormal: _check_quantile_normal,
    DirectRanker: _check_transform_of,
    LinearRanker: _check_linear,
    Ensemble: _check_ensemble,
}
