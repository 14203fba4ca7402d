"""Describe a fitted transform as groups of columns that share one formula.

Each column of the encoded features is a function of one feature. A column that is in no group is always 0,
such as that of a constant feature.

>>> from directranker.encoding import Standard
>>> groups, n_columns = describe_columns(Standard().fit([[1.0, 7.0], [3.0, 7.0]]))
>>> n_columns, groups[0].features.tolist(), groups[0].centre.tolist(), groups[0].width.tolist()
(2, [0], [2.0], [1.0])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from directranker.arrays import BoolArray, Float32Array, FloatArray, IntArray
from directranker.description.column_sources import find_column_sources
from directranker.encoding import (
    AutoTransform,
    InContext,
    PiecewiseLinear,
    QuantileNormal,
    QueryMinMax,
    QueryRank,
    QueryZScore,
    SignedLog,
    Standard,
    Unchanged,
    get_bins,
)
from directranker.encoding.adapters import QueryAdapter, RowAdapter
from directranker.encoding.automatic import SIGNED_LOG
from directranker.errors import ExportError

__all__ = [
    "Columns",
    "Copies",
    "Indicators",
    "MissingIndicators",
    "NormalQuantiles",
    "Ramps",
    "Rescaled",
    "describe_columns",
    "map_columns_to_features",
]


@dataclass(frozen=True)
class Columns:
    """Columns of one formula: their indices, and the feature that each is computed from."""

    features: IntArray
    indices: IntArray


@dataclass(frozen=True)
class Copies(Columns):
    """x itself."""


@dataclass(frozen=True)
class Rescaled(Columns):
    """(x − centre) / width, clipped to the range of float32, of x or of sign(x)·log(1 + |x|); 0 for NaN."""

    centre: FloatArray
    width: FloatArray
    logarithm: bool


@dataclass(frozen=True)
class Ramps(Columns):
    """(x − low) / (high − low), clipped to [0, 1]; 0 for NaN."""

    low: Float32Array
    high: Float32Array


@dataclass(frozen=True)
class MissingIndicators(Columns):
    """1 for NaN, else 0."""


@dataclass(frozen=True)
class Indicators(Columns):
    """1 where the category of one feature belongs to the column, else 0; there is one group per feature.

    The column of a category is `indices[column_of_code[code]]`, that of an unseen category (code −1)
    `indices[column_of_unseen]`. −1 in place of an index, and a missing value: all columns are 0.
    """

    column_of_code: IntArray
    column_of_unseen: int


@dataclass(frozen=True)
class NormalQuantiles(Columns):
    """Φ⁻¹(p(x))·scale, where p is linear between knots and has its own value on each knot; 0 for NaN.

    The knots of column c are `knots[offsets[c]:offsets[c + 1]]`. Below the first knot p is 0. On knot k it is
    `on[k]`, above it `after[k] + slope[k]·(x − knot)/(next − knot)`.
    """

    offsets: IntArray
    knots: FloatArray
    on: FloatArray
    after: FloatArray
    slope: FloatArray
    scale: float


def describe_columns(transform: object) -> tuple[tuple[Columns, ...], int]:
    """Return the column groups of a fitted transform, and its number of columns."""
    if isinstance(transform, InContext | QueryMinMax | QueryRank | QueryZScore):
        raise ExportError(
            f"{type(transform).__name__} needs all documents of a query, but an exported model scores one "
            "document at a time; train with transform='piecewise-linear' or 'auto', or normalise the "
            "features beforehand"
        )
    describe = _DESCRIBE.get(type(transform))
    if describe is None:
        raise ExportError(
            f"the transform {type(transform).__name__} is not one of directranker's and cannot be exported; "
            "train with transform='standard', or transform the features beforehand"
        )
    groups, n_columns = describe(transform)
    return tuple(group for group in groups if len(group.features)), n_columns


def map_columns_to_features(transform: BaseEstimator, n_columns: int) -> IntArray:
    """Return the index of the feature that each column of a fitted transform comes from.

    >>> from directranker.encoding import PiecewiseLinear
    >>> map_columns_to_features(PiecewiseLinear(2).fit([[0.0, 0.0], [1.0, 5.0], [2.0, 9.0]]), 4).tolist()
    [0, 0, 1, 1]
    """
    if isinstance(transform, RowAdapter | QueryAdapter):
        return find_column_sources(transform.transformer_, transform.n_features_in_)
    bins = get_bins(transform)
    if bins is None and n_columns == transform.n_features_in_:
        return np.arange(n_columns)
    try:
        groups, _ = describe_columns(bins or transform)
    except ExportError:
        raise TypeError(
            f"{type(transform).__name__} makes {n_columns} columns from {transform.n_features_in_} features, "
            "and the feature of each column is unknown; train with one of directranker's transforms"
        ) from None
    features = np.zeros(n_columns, dtype=np.int64)
    for group in groups:
        features[group.indices] = group.features
    # The bins of `InContext` are those of all features, then of their z-scores, then of their ranks.
    return np.asarray(features % transform.n_features_in_)


def _describe_unchanged(transform: Unchanged) -> tuple[list[Columns], int]:
    indices = np.arange(transform.n_features_in_)
    return [Copies(indices, indices)], len(indices)


def _describe_standard(transform: Standard) -> tuple[list[Columns], int]:
    logarithm = np.full(transform.n_features_in_, isinstance(transform, SignedLog))
    return _describe_rescaled(transform.mean_, transform.deviation_, logarithm)


def _describe_auto(transform: AutoTransform) -> tuple[list[Columns], int]:
    return _describe_rescaled(transform.centre_, transform.width_, np.array(transform.choices_) == SIGNED_LOG)


def _describe_rescaled(
    centre: FloatArray, width: FloatArray, logarithm: BoolArray
) -> tuple[list[Columns], int]:
    groups: list[Columns] = []
    for use_logarithm in (False, True):
        indices = np.flatnonzero((logarithm == use_logarithm) & (width > 0))
        groups.append(Rescaled(indices, indices, centre[indices], width[indices], use_logarithm))
    return groups, len(centre)


def _describe_piecewise_linear(transform: PiecewiseLinear) -> tuple[list[Columns], int]:
    bins: list[tuple[int, int, float, float]] = []
    missing: list[tuple[int, int]] = []
    indicators: list[Columns] = []
    column = 0
    for feature in range(transform.n_features_in_):
        for low, high in pairwise(transform._get_edges(feature)):
            bins.append((feature, column, low, high))
            column += 1
        n_categories = int(transform.n_category_columns_[feature])
        if n_categories:
            unseen, *of_codes = transform._get_category_columns(feature)
            own = np.arange(column, column + n_categories)
            indicators.append(Indicators(np.full_like(own, feature), own, np.array(of_codes), int(unseen)))
            column += n_categories
        if transform.marks_missing_[feature]:
            missing.append((feature, column))
            column += 1
    of_bins, indices, lows, highs = np.array(bins, dtype=np.float64).reshape(-1, 4).T
    ramps = Ramps(
        of_bins.astype(np.int64), indices.astype(np.int64), lows.astype(np.float32), highs.astype(np.float32)
    )
    marks = MissingIndicators(*np.array(missing, dtype=np.int64).reshape(-1, 2).T)
    return [ramps, *indicators, marks], column


def _describe_quantile_normal(transform: QuantileNormal) -> tuple[list[Columns], int]:
    quantiles, references = transform.quantiles_, transform.references_
    varying = np.flatnonzero(quantiles[0] < quantiles[-1])
    per_feature = [_compute_knots(quantiles[:, feature], references) for feature in varying]
    if not per_feature:
        return [], quantiles.shape[1]
    offsets = np.cumsum([0, *(len(knots) for knots, *_ in per_feature)])
    knots, on, after, slope = (np.concatenate(arrays) for arrays in zip(*per_feature, strict=True))
    group = NormalQuantiles(varying, varying, offsets, knots, on, after, slope, float(transform.scale))
    return [group], quantiles.shape[1]


def _compute_knots(
    quantiles: FloatArray, references: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Compute the distinct quantiles, p on and just above each, and how much p grows up to the next."""
    knots, first = np.unique(quantiles, return_index=True)
    last = np.append(first[1:], len(quantiles)) - 1
    on = 0.5 * (references[first] + references[last])
    after = references[last].copy()
    slope = np.append(references[first[1:]] - references[last[:-1]], 0.0)
    on[0], on[-1], after[-1] = 0.0, 1.0, 1.0
    return knots, on, after, slope


_DESCRIBE: dict[type, Callable[[Any], tuple[list[Columns], int]]] = {
    Unchanged: _describe_unchanged,
    Standard: _describe_standard,
    SignedLog: _describe_standard,
    AutoTransform: _describe_auto,
    PiecewiseLinear: _describe_piecewise_linear,
    QuantileNormal: _describe_quantile_normal,
}
