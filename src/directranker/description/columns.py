"""What a fitted transform does, as groups of columns that are all made by one formula.

Each column of the encoded features is a function of one feature. A column that no group names is always 0,
as one of a constant feature.

>>> from directranker.encoding import Standard
>>> groups, n_columns = columns_of(Standard().fit([[1.0, 7.0], [3.0, 7.0]]))
>>> n_columns, groups[0].features.tolist(), groups[0].centre.tolist(), groups[0].width.tolist()
(2, [0], [2.0], [1.0])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import IntArray
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
    bins_of,
)
from directranker.encoding.automatic import SIGNED_LOG
from directranker.errors import ExportError

__all__ = ["Columns", "Copies", "MissingMarks", "NormalPlaces", "Ramps", "Rescaled", "columns_of"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Columns:
    """Columns of one formula: which ones they are, and the feature that each is made of."""

    features: IntArray
    places: IntArray


@dataclass(frozen=True)
class Copies(Columns):
    """x itself."""


@dataclass(frozen=True)
class Rescaled(Columns):
    """(x − centre) / width in the range of float32, of x or of sign(x)·log(1 + |x|); 0 for NaN."""

    centre: Vector
    width: Vector
    logarithm: bool


@dataclass(frozen=True)
class Ramps(Columns):
    """(x − low) / (high − low), from 0 to 1; 0 for NaN."""

    low: NDArray[np.float32]
    high: NDArray[np.float32]


@dataclass(frozen=True)
class MissingMarks(Columns):
    """1 for NaN, else 0."""


@dataclass(frozen=True)
class NormalPlaces(Columns):
    """Φ⁻¹(p(x))·scale, where p is linear between knots and has a value of its own on each; 0 for NaN.

    The knots of one feature lie one after another, those of column c in `offsets[c]:offsets[c + 1]`. Below
    the first p is 0. On knot k it is `on[k]`, behind it `after[k] + slope[k]·(x − knot)/(next − knot)`.
    """

    offsets: IntArray
    knots: Vector
    on: Vector
    after: Vector
    slope: Vector
    scale: float


def columns_of(transform: Any) -> tuple[tuple[Columns, ...], int]:
    """The groups of a fitted transform, and how many columns it makes."""
    if isinstance(transform, InContext | QueryMinMax | QueryRank | QueryZScore):
        raise ExportError(
            f"{type(transform).__name__} looks at all documents of a query, and a score is asked for one at "
            "a time; train with transform='piecewise-linear' or 'auto', or normalise the features before"
        )
    describe = _DESCRIBE.get(type(transform))
    if describe is None:
        raise ExportError(
            f"the transform {type(transform).__name__} is not one of directranker's, so what it does is not "
            "known; train with transform='standard', or transform the features before"
        )
    groups, n_columns = describe(transform)
    return tuple(group for group in groups if len(group.features)), n_columns


def feature_of_columns(transform: Any, n_columns: int) -> IntArray:
    """The feature that each column of a fitted transform comes from.

    >>> from directranker.encoding import PiecewiseLinear
    >>> feature_of_columns(PiecewiseLinear(2).fit([[0.0, 0.0], [1.0, 5.0], [2.0, 9.0]]), 4).tolist()
    [0, 0, 1, 1]
    """
    if n_columns == transform.n_features_in_:
        return np.arange(n_columns)
    try:
        groups, _ = columns_of(bins_of(transform) or transform)
    except ExportError:
        raise TypeError(
            f"{type(transform).__name__} makes {n_columns} columns of {transform.n_features_in_} features, "
            "and which of which is not known; train with one of directranker's transforms"
        ) from None
    features = np.zeros(n_columns, dtype=np.int64)
    for group in groups:
        features[group.places] = group.features
    # In the bins of `InContext` a feature's z-scores and ranks come behind all features.
    return np.asarray(features % transform.n_features_in_)


def _copies(transform: Unchanged) -> tuple[list[Columns], int]:
    every = np.arange(transform.n_features_in_)
    return [Copies(every, every)], len(every)


def _standard(transform: Standard) -> tuple[list[Columns], int]:
    logarithm = np.full(transform.n_features_in_, isinstance(transform, SignedLog))
    return _rescaled(transform.mean_, transform.deviation_, logarithm)


def _auto(transform: AutoTransform) -> tuple[list[Columns], int]:
    return _rescaled(transform.centre_, transform.width_, np.array(transform.choices_) == SIGNED_LOG)


def _rescaled(centre: Vector, width: Vector, logarithm: NDArray[np.bool_]) -> tuple[list[Columns], int]:
    groups: list[Columns] = []
    for kind in (False, True):
        chosen = np.flatnonzero((logarithm == kind) & (width > 0))
        groups.append(Rescaled(chosen, chosen, centre[chosen], width[chosen], kind))
    return groups, len(centre)


def _piecewise_linear(transform: PiecewiseLinear) -> tuple[list[Columns], int]:
    bins: list[tuple[int, int, float, float]] = []
    marks: list[tuple[int, int]] = []
    place = 0
    for feature in range(transform.n_features_in_):
        for low, high in pairwise(transform._edges_of(feature)):
            bins.append((feature, place, low, high))
            place += 1
        if transform.marks_missing_[feature]:
            marks.append((feature, place))
            place += 1
    features, places, low, high = np.array(bins, dtype=np.float64).reshape(-1, 4).T
    marked = np.array(marks, dtype=np.int64).reshape(-1, 2).T
    ramps = Ramps(
        features.astype(np.int64), places.astype(np.int64), low.astype(np.float32), high.astype(np.float32)
    )
    return [ramps, MissingMarks(*marked)], place


def _quantile_normal(transform: QuantileNormal) -> tuple[list[Columns], int]:
    quantiles, references = transform.quantiles_, transform.references_
    varying = np.flatnonzero(quantiles[0] < quantiles[-1])
    parts = [_knots(quantiles[:, feature], references) for feature in varying]
    offsets = np.cumsum([0, *(len(part[0]) for part in parts)])
    if not parts:
        return [], quantiles.shape[1]
    knots, on, after, slope = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    group = NormalPlaces(varying, varying, offsets, knots, on, after, slope, float(transform.scale))
    return [group], quantiles.shape[1]


def _knots(ladder: Vector, references: Vector) -> tuple[Vector, Vector, Vector, Vector]:
    """Distinct quantiles, p on each and behind each, and by how much p grows up to the next."""
    knots, first = np.unique(ladder, return_index=True)
    last = np.append(first[1:], len(ladder)) - 1
    on = 0.5 * (references[first] + references[last])
    after = references[last].copy()
    slope = np.append(references[first[1:]] - references[last[:-1]], 0.0)
    on[0], on[-1], after[-1] = 0.0, 1.0, 1.0
    return knots, on, after, slope


_DESCRIBE: dict[type, Callable[[Any], tuple[list[Columns], int]]] = {
    Unchanged: _copies,
    Standard: _standard,
    SignedLog: _standard,
    AutoTransform: _auto,
    PiecewiseLinear: _piecewise_linear,
    QuantileNormal: _quantile_normal,
}
