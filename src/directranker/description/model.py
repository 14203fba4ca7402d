"""What all exports read: a ranker as columns and layers, or as trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import Float32Array, IntArray
from directranker.description.columns import Columns

__all__ = ["IDENTITY", "Layer", "LayerNorm", "Model", "Net", "Tree", "Trees"]

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
class Net:
    """A sum of `head` times what the layers make of the columns; without layers a linear ranker."""

    feature_names: tuple[str, ...]
    columns: tuple[Columns, ...]
    n_columns: int
    layers: tuple[Layer, ...]
    head: NDArray[Any]
    """float32 behind layers; float64 in a linear ranker, which sums in float64."""


@dataclass(frozen=True)
class Tree:
    """x ≤ threshold goes left, more goes right; a child below 0 is the leaf −child − 1."""

    feature: IntArray
    threshold: NDArray[np.float64]
    left: IntArray
    right: IntArray
    missing_left: NDArray[np.bool_]
    value: NDArray[np.float64]


@dataclass(frozen=True)
class Trees:
    """The sum of the values of the leaves that a document comes to."""

    feature_names: tuple[str, ...]
    trees: tuple[Tree, ...]


Model = Net | Trees
