"""The neutral model that all exports read: encoded columns and layers, or trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import BoolArray, Float32Array, FloatArray, IntArray
from directranker.description.columns import Columns

__all__ = ["IDENTITY", "CategoryLookup", "Layer", "LayerNorm", "Model", "Net", "Tree", "Trees"]

IDENTITY = "identity"


@dataclass(frozen=True)
class LayerNorm:
    """(h − mean of h) / √(variance of h + epsilon), times weight, plus bias."""

    weight: Float32Array
    bias: Float32Array
    epsilon: float


@dataclass(frozen=True)
class Layer:
    """activation(normalisation(weight·h + bias)); weight is (n_outputs, n_inputs)."""

    weight: Float32Array
    bias: Float32Array
    normalisation: LayerNorm | None = None
    activation: str = IDENTITY


@dataclass(frozen=True)
class CategoryLookup:
    """A number per category: `values[code]` of this feature, or `unseen` (code −1) or `missing` (NaN)."""

    feature: int
    values: Float32Array
    unseen: float
    missing: float


@dataclass(frozen=True)
class Net:
    """A weighted sum, by `head`, of the output of the layers; without layers, a linear ranker."""

    feature_names: tuple[str, ...]
    columns: tuple[Columns, ...]
    n_columns: int
    layers: tuple[Layer, ...]
    head: NDArray[np.float32 | np.float64]
    """float32 after layers; float64 in a linear ranker, which sums in float64."""
    categories: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """The sorted vocabulary of each categorical feature, by the feature's index: a value is its index there,
    −1 if it is not there, and NaN if it is missing."""
    derived: tuple[CategoryLookup, ...] = ()
    """More numbers: the columns address number i as feature n_features + i."""


@dataclass(frozen=True)
class Tree:
    """A decision tree: x ≤ threshold goes left, else right; a child below 0 is the leaf −child − 1."""

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    missing_left: BoolArray
    value: FloatArray
    category_set: tuple[IntArray | None, ...] = ()
    """For each split, None or the sorted codes that go left instead of x ≤ threshold; every other code and
    unseen go right, missing as `missing_left` says. Empty in a tree without categories."""


@dataclass(frozen=True)
class Trees:
    """A sum of the leaf values that a document reaches in each tree."""

    feature_names: tuple[str, ...]
    trees: tuple[Tree, ...]
    categories: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """As in `Net`."""


Model = Net | Trees
