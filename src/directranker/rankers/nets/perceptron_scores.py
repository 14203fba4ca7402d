"""Scores of a perceptron without torch, with the same bits for a row in any batch.

That makes r an order: torch's matrix products round a row differently in another batch or at another
position, so that documents of nearly equal scores could change their order. The first layer on a
piecewise-linear encoding is computed without the encoding: a value fills the bins below it, whose weights are
summed in advance, and a fraction of its own bin. Batch normalisation of a trained net is a fixed rescaling,
which is folded into the weights before it. Importing torch takes seconds; this module needs none of it, and
is also faster for small layers.

>>> from directranker.encoding import Standard
>>> weights = {"feature_net.linear_1.weight": np.eye(2, dtype=np.float32),
...            "head.weight": np.array([1, 2], np.float32)}
>>> scorer = build_scorer(weights, Standard().fit([[0.0, 0.0], [2.0, 2.0]]), "relu")
>>> scorer(np.array([[2, 2], [0, 2]], np.float32), np.array([0, 0])).tolist()
[3.0, 2.0]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from directranker.arrays import Float32Array, IntArray
from directranker.compilation import get_n_threads, run_in_parallel, split_evenly
from directranker.encoding.blocks import encode_rows
from directranker.encoding.in_context import get_bins
from directranker.encoding.piecewise_linear import BIN_ARRAYS, PiecewiseLinear
from directranker.rankers.nets.layer_functions import ACTIVATIONS, EPSILON, normalise_rows
from directranker.rankers.nets.perceptron_kernels import (
    TILE,
    BinTables,
    add_bins,
    add_products,
    allocate_aligned,
    compute_weighted_sums,
    split_into_tiles,
)
from directranker.rankers.transforming import as_row_transform

__all__ = [
    "ACTIVATIONS",
    "CachedScorer",
    "PerceptronScorer",
    "build_scorer",
    "compute_layer_shapes",
    "is_batch_count",
]

Weights = Mapping[str, NDArray[Any]]
FLOATS_PER_LINE = 16
MAX_SKIPPING_WEIGHTS = 50_000  # for which skipping the zeros of a ReLU is faster than tiles
MIN_TILED_OUTPUTS = 48
BLOCK_ROWS = 512  # whose sums fit the L2 cache
MAX_NUMPY_ROWS = 2_000  # that NumPy scores in less time than numba takes to import
MAX_NUMPY_PRODUCTS = 2e8  # of rows and weights: likewise


@dataclass(frozen=True)
class Layer:
    """A linear layer, its outputs padded to whole cache lines, and its layer normalisation if any."""

    weight: Float32Array
    """(n_inputs, n_outputs), or `split_into_tiles` of it."""
    bias: Float32Array
    n_outputs: int
    """The number of outputs without padding."""
    normalisation: tuple[Float32Array, Float32Array] | None = None


class PerceptronScorer:
    """A callable that scores rows: by bin tables where there are any, then layer by layer."""

    def __init__(
        self,
        transform: BaseEstimator,
        tables: BinTables | None,
        layers: list[Layer],
        head: Float32Array,
        activation: str,
    ) -> None:
        self._transform, self._tables, self._layers, self._head = transform, tables, layers, head
        self._activate = ACTIVATIONS[activation]
        n_products = sum(layer.weight.size for layer in (layers if tables is None else layers[1:]))
        max_rows = MAX_NUMPY_PRODUCTS / max(1, n_products)
        self._n_scored, self._max_numpy_rows = 0, min(max_rows, MAX_NUMPY_ROWS)

    def __call__(self, table: Float32Array, query: IntArray) -> Float32Array:
        """Score rows; `query`, the query number of each row, matters to per-query transforms only."""
        scores = np.empty(len(table), dtype=np.float32)
        table, transform = as_row_transform(self._transform, table, query)
        self._n_scored += len(table)
        use_kernels = self._n_scored > self._max_numpy_rows

        def score(start: int, stop: int) -> None:
            for first in range(start, stop, BLOCK_ROWS):
                rows = slice(first, min(first + BLOCK_ROWS, stop))
                scores[rows] = self._score_block(table, rows, transform, use_kernels)

        n_parts = get_n_threads() if use_kernels and len(table) > BLOCK_ROWS else 1
        run_in_parallel(score, split_evenly(len(table), n_parts))
        return scores

    def _score_block(
        self, table: Float32Array, rows: slice, transform: BaseEstimator, use_kernels: bool
    ) -> Float32Array:
        inputs = self._read_inputs(table, rows, transform)
        for number, layer in enumerate(self._layers):
            sums = allocate_aligned((len(inputs), len(layer.bias)))
            sums += layer.bias
            if number == 0 and self._tables is not None:
                add_bins(inputs, self._tables, sums, use_kernels=use_kernels)
            else:
                add_products(inputs, layer.weight, sums, use_kernels=use_kernels)
            if layer.normalisation is not None:
                normalise_rows(sums, *layer.normalisation, layer.n_outputs, use_kernels=use_kernels)
            inputs = self._activate(sums)
        return compute_weighted_sums(inputs, self._head, use_kernels=use_kernels)

    def _read_inputs(self, table: Float32Array, rows: slice, transform: BaseEstimator) -> Float32Array:
        block = np.ascontiguousarray(table[rows], dtype=np.float32)
        if np.isinf(block).any():
            transform._check_float32_range(table, rows)
        if self._tables is not None:
            return block
        return encode_rows(block, transform._encode, n_columns=transform._n_columns_out())


@dataclass(frozen=True)
class CachedScorer:
    """A scorer, or None where torch must score, and copies of the arrays that it was built from."""

    scorer: PerceptronScorer | None
    arrays: dict[str, NDArray[Any]]
    transform: Any

    @classmethod
    def build(
        cls,
        weights: Weights,
        transform: BaseEstimator,
        activation: str,
        shapes: Mapping[str, tuple[int, ...]],
    ) -> CachedScorer:
        """Build the scorer for weights of these shapes; for others, such as of a user's net, None."""
        has_shapes = {name: array.shape for name, array in weights.items()} == shapes
        scorer = build_scorer(weights, transform, activation) if has_shapes else None
        copies = {name: np.array(array) for name, array in _collect_arrays(weights, transform).items()}
        return cls(scorer, copies, transform)

    def matches(self, weights: Weights, transform: BaseEstimator) -> bool:
        """Whether it was built from these weights and this transform; either can be changed in place."""
        arrays = _collect_arrays(weights, transform)
        is_same = transform is self.transform and arrays.keys() == self.arrays.keys()
        return is_same and all(np.array_equal(array, self.arrays[name]) for name, array in arrays.items())


def _collect_arrays(weights: Weights, transform: BaseEstimator) -> dict[str, NDArray[np.generic]]:
    bins = get_bins(transform)
    if bins is None:
        return dict(weights)
    return {**weights, **{name: getattr(bins, name) for name in BIN_ARRAYS}}


def compute_layer_shapes(
    n_columns: int, hidden_layers: Any, *, bias: bool, normalisation: str | None = None
) -> dict[str, tuple[int, ...]]:
    """Return the names and shapes of the weights of a perceptron with a ranking head.

    >>> compute_layer_shapes(3, (2,), bias=False)
    {'feature_net.linear_1.weight': (2, 3), 'head.weight': (2,)}
    """
    shapes: dict[str, tuple[int, ...]] = {}
    width = n_columns
    for number, n_outputs in enumerate(hidden_layers, start=1):
        shapes[f"feature_net.linear_{number}.weight"] = (n_outputs, width)
        if bias:
            shapes[f"feature_net.linear_{number}.bias"] = (n_outputs,)
        for name in NORMALISATIONS.get(normalisation, ()):
            shape = () if name == COUNT else (n_outputs,)
            shapes[f"feature_net.normalisation_{number}.{name}"] = shape
        width = n_outputs
    return shapes | {"head.weight": (width,)}


COUNT = "num_batches_tracked"
NORMALISATIONS: Mapping[str | None, tuple[str, ...]] = {
    "batch": ("weight", "bias", "running_mean", "running_var", COUNT),
    "layer": ("weight", "bias"),
}


def is_batch_count(name: str, array: NDArray[np.generic]) -> bool:
    """Whether this is the batch counter of a normalisation, which no score depends on."""
    return name.endswith(f".{COUNT}") and array.size == 1


def build_scorer(weights: Weights, transform: BaseEstimator, activation: str) -> PerceptronScorer | None:
    """Build the scorer for weights named as by `compute_layer_shapes`; None where they are not finite."""
    arrays = {name: np.asarray(array) for name, array in weights.items() if not is_batch_count(name, array)}
    if not all(array.dtype == np.float32 and np.isfinite(array).all() for array in arrays.values()):
        return None
    n_layers = sum(name.startswith("feature_net.linear_") and name.endswith(".weight") for name in arrays)
    bins = get_bins(transform)
    layers: list[Layer] = []
    tables = None
    for number in range(1, n_layers + 1):
        weight, bias = _fold_batch_norm(arrays, number)
        if number == 1 and bins is not None:
            tables = _build_bin_tables(bins, _pad_outputs(weight, FLOATS_PER_LINE))
            multiple = FLOATS_PER_LINE
        else:
            multiple = _select_multiple(weight, dense=number == 1 or activation != "relu")
        layers.append(_build_layer(weight, bias, _read_layer_norm(arrays, number), multiple))
    head = arrays["head.weight"][None, :]
    head = _pad_outputs(head, len(layers[-1].bias))[0] if layers else head[0].copy()
    return PerceptronScorer(transform, tables, layers, head, activation)


def _fold_batch_norm(arrays: Weights, number: int) -> tuple[Float32Array, Float32Array]:
    """Return weight (n_inputs, n_outputs) and bias, with batch normalisation folded in."""
    weight = arrays[f"feature_net.linear_{number}.weight"].T
    bias = arrays.get(f"feature_net.linear_{number}.bias", np.zeros(weight.shape[1], np.float32))
    prefix = f"feature_net.normalisation_{number}."
    if f"{prefix}running_var" not in arrays:
        return weight, bias
    mean, variance = (arrays[prefix + name].astype(np.float64) for name in ("running_mean", "running_var"))
    factor = arrays[f"{prefix}weight"] / np.sqrt(variance + EPSILON)
    shifted = (bias - mean) * factor + arrays[f"{prefix}bias"]
    return (weight * factor).astype(np.float32), shifted.astype(np.float32)


def _read_layer_norm(arrays: Weights, number: int) -> tuple[Float32Array, Float32Array] | None:
    prefix = f"feature_net.normalisation_{number}."
    if f"{prefix}weight" not in arrays or f"{prefix}running_var" in arrays:
        return None
    return arrays[f"{prefix}weight"], arrays[f"{prefix}bias"]


def _select_multiple(weight: Float32Array, *, dense: bool) -> int:
    """Return the multiple that outputs are padded to: a tile where tiles are faster, else a cache line."""
    is_tiled = weight.shape[1] >= MIN_TILED_OUTPUTS and (dense or weight.size > MAX_SKIPPING_WEIGHTS)
    return TILE if is_tiled else FLOATS_PER_LINE


def _build_layer(
    weight: Float32Array,
    bias: Float32Array,
    normalisation: tuple[Float32Array, Float32Array] | None,
    multiple: int,
) -> Layer:
    padded, padded_bias = _pad_outputs(weight, multiple), _pad_outputs(bias[None, :], multiple)[0]
    table = split_into_tiles(padded) if multiple == TILE else padded
    if normalisation is not None:
        scale, shift = (_pad_outputs(array[None, :], multiple)[0] for array in normalisation)
        normalisation = scale, shift
    return Layer(table, padded_bias, len(bias), normalisation)


def _pad_outputs(weight: Float32Array, multiple: int) -> Float32Array:
    """Pad the outputs with zeros to a multiple of this number."""
    table = allocate_aligned((weight.shape[0], -(-weight.shape[1] // multiple) * multiple))
    table[:, : weight.shape[1]] = weight
    return table


def _build_bin_tables(transform: PiecewiseLinear, weight: Float32Array) -> BinTables:
    """Build the tables of the first layer from the weights of bins, categories and missing values."""
    offsets, edges = transform.edge_offsets_, transform.edges_
    n_entries = len(edges) + len(offsets) - 1 + int(transform.n_category_columns_.sum())
    filled, bin_weight = (allocate_aligned((n, weight.shape[1])) for n in (n_entries, len(edges) + 1))
    category_entries = np.full(len(transform.category_columns_), -1, dtype=np.int64)
    per_width, column, entry = np.zeros(len(edges)), 0, len(edges) + len(offsets) - 1
    for feature, (first, stop) in enumerate(pairwise(offsets)):
        n_bins, n_categories = stop - first - 1, transform.n_category_columns_[feature]
        feature_weight = weight[column : column + n_bins]
        filled[first + 1 : stop] = np.cumsum(feature_weight, axis=0, dtype=np.float64)
        bin_weight[first : stop - 1] = feature_weight
        per_width[first : stop - 1] = 1 / np.diff(edges[first:stop].astype(np.float64))
        column += n_bins
        filled[entry : entry + n_categories] = weight[column : column + n_categories]
        own_columns = transform._get_category_columns(feature)
        codes = slice(*transform.category_offsets_[feature : feature + 2])
        category_entries[codes] = np.where(own_columns >= 0, own_columns + entry, -1)
        column, entry = column + n_categories, entry + n_categories
        if transform.marks_missing_[feature]:
            filled[len(edges) + feature] = weight[column]
            column += 1
    return BinTables(
        edges, offsets, category_entries, transform.category_offsets_, per_width, filled, bin_weight
    )
