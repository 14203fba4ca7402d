"""Scores of a perceptron without torch: the same bits for a row wherever it stands.

That is what makes r an order: torch's matrix products round a row otherwise in another batch or at another
place of it, so that documents nearly level would change their order. The first layer on top of a
piecewise-linear encoding is summed without forming the encoding: a value fills the bins below it, whose
weights are summed beforehand, and a part of its own bin. Batch normalisation is a fixed rescaling once a net
is trained, so it is folded into the weights before it. Torch takes seconds to import, this nothing; and with
small layers it is quicker, too.

>>> from directranker.encoding import Standard
>>> weights = {"feature_net.linear_1.weight": np.eye(2, dtype=np.float32),
...            "head.weight": np.array([1, 2], np.float32)}
>>> scorer = perceptron_scorer(weights, Standard().fit([[0.0, 0.0], [2.0, 2.0]]), "relu")
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

from directranker.compilation import IntArray, even_cuts, in_parallel, n_threads
from directranker.encoding.blocks import encode_rows
from directranker.encoding.in_context import get_bins
from directranker.encoding.piecewise_linear import PiecewiseLinear
from directranker.rankers.nets.layer_functions import ACTIVATIONS, EPSILON, normalise_rows
from directranker.rankers.nets.perceptron_kernels import (
    TILE,
    BinTables,
    Floats,
    add_bins,
    add_products,
    aligned,
    in_tiles,
    weighted_sums,
)
from directranker.rankers.transforming import row_by_row

__all__ = [
    "ACTIVATIONS",
    "KnownScorer",
    "PerceptronScorer",
    "is_count",
    "layer_shapes",
    "perceptron_scorer",
]

Weights = Mapping[str, NDArray[Any]]
FLOATS_PER_LINE = 16
SKIPPED_ZEROS = 50_000  # weights up to which skipping what a ReLU made 0 gains more than tiles do
MIN_TILED = 48  # outputs
ROWS_AT_A_TIME = 512  # whose sums fit the processor's second memory
ROWS_WITHOUT_COMPILING = 2_000  # are scored in less time than numba takes to import
PRODUCTS_WITHOUT_COMPILING = 2e8  # of rows and weights: so are these


@dataclass(frozen=True)
class Layer:
    """weight · inputs + bias, outputs widened to whole lines; then layer normalisation where it has any."""

    weight: Floats
    """(n_inputs, n_outputs), or that `in_tiles`."""
    bias: Floats
    n_outputs: int
    """Without those that only fill a line."""
    normalisation: tuple[Floats, Floats] | None = None


class PerceptronScorer:
    """Calls to it score rows: by tables of bins where there are any, then layer by layer."""

    def __init__(
        self,
        transform: Any,
        tables: BinTables | None,
        layers: list[Layer],
        head: Floats,
        activation: str,
    ) -> None:
        self._transform, self._tables, self._layers, self._head = transform, tables, layers, head
        self._activate = ACTIVATIONS[activation]
        n_products = sum(layer.weight.size for layer in (layers if tables is None else layers[1:]))
        few = PRODUCTS_WITHOUT_COMPILING / max(1, n_products)
        self._n_plain, self._most_plain = 0, min(few, ROWS_WITHOUT_COMPILING)

    def __call__(self, table: Floats, query: IntArray) -> Floats:
        """Scores of rows; `query`, the number of each row's, matters to transforms within queries only."""
        scores = np.empty(len(table), dtype=np.float32)
        table, transform = row_by_row(self._transform, table, query)
        self._n_plain += len(table)
        compiled_way = self._n_plain > self._most_plain

        def score(start: int, stop: int) -> None:
            for first in range(start, stop, ROWS_AT_A_TIME):
                rows = slice(first, min(first + ROWS_AT_A_TIME, stop))
                scores[rows] = self._scored(table, rows, transform, compiled_way)

        parts = n_threads() if compiled_way and len(table) > ROWS_AT_A_TIME else 1
        in_parallel(score, even_cuts(len(table), parts))
        return scores

    def _scored(self, table: Floats, rows: slice, transform: Any, compiled_way: bool) -> Floats:
        inputs = self._inputs(table, rows, transform)
        for number, layer in enumerate(self._layers):
            sums = aligned((len(inputs), len(layer.bias)))
            sums += layer.bias
            if number == 0 and self._tables is not None:
                add_bins(inputs, self._tables, sums, compiled_way=compiled_way)
            else:
                add_products(inputs, layer.weight, sums, compiled_way=compiled_way)
            if layer.normalisation is not None:
                normalise_rows(sums, *layer.normalisation, layer.n_outputs, compiled_way=compiled_way)
            inputs = self._activate(sums)
        return weighted_sums(inputs, self._head, compiled_way=compiled_way)

    def _inputs(self, table: Floats, rows: slice, transform: Any) -> Floats:
        block = np.ascontiguousarray(table[rows], dtype=np.float32)
        if np.isinf(block).any():
            transform._check_float32_range(table, rows)
        if self._tables is not None:
            return block
        return encode_rows(block, transform._encode, n_columns=transform._n_columns_out())


@dataclass(frozen=True)
class KnownScorer:
    """A scorer, or None where torch must score, and copies of what it was made of."""

    scorer: PerceptronScorer | None
    arrays: dict[str, NDArray[Any]]
    transform: Any

    @classmethod
    def make(
        cls, weights: Weights, transform: Any, activation: str, shapes: Mapping[str, tuple[int, ...]]
    ) -> KnownScorer:
        """The scorer of weights that have these shapes; of others, as of a net of one's own, None."""
        as_stated = {name: array.shape for name, array in weights.items()} == shapes
        scorer = perceptron_scorer(weights, transform, activation) if as_stated else None
        copies = {name: np.array(array) for name, array in _arrays_of(weights, transform).items()}
        return cls(scorer, copies, transform)

    def is_of(self, weights: Weights, transform: Any) -> bool:
        """Whether weights and transform are still what it was made of; either can be changed in place."""
        arrays = _arrays_of(weights, transform)
        same = transform is self.transform and arrays.keys() == self.arrays.keys()
        return same and all(np.array_equal(array, self.arrays[name]) for name, array in arrays.items())


def _arrays_of(weights: Weights, transform: Any) -> dict[str, NDArray[Any]]:
    bins = get_bins(transform)
    if bins is None:
        return dict(weights)
    names = ("edges_", "edge_offsets_", "marks_missing_")
    return {**weights, **{name: getattr(bins, name) for name in names}}


def layer_shapes(
    n_columns: int, hidden_layers: Any, *, bias: bool, normalisation: str | None = None
) -> dict[str, tuple[int, ...]]:
    """The names and shapes of the weights of a perceptron with a ranking head.

    >>> layer_shapes(3, (2,), bias=False)
    {'feature_net.linear_1.weight': (2, 3), 'head.weight': (2,)}
    """
    shapes: dict[str, tuple[int, ...]] = {}
    width = n_columns
    for number, n_outputs in enumerate(hidden_layers, start=1):
        shapes[f"feature_net.linear_{number}.weight"] = (n_outputs, width)
        if bias:
            shapes[f"feature_net.linear_{number}.bias"] = (n_outputs,)
        for name in NORMALISATIONS.get(normalisation, ()):
            own = () if name == COUNT else (n_outputs,)
            shapes[f"feature_net.normalisation_{number}.{name}"] = own
        width = n_outputs
    return shapes | {"head.weight": (width,)}


COUNT = "num_batches_tracked"
NORMALISATIONS: Mapping[str | None, tuple[str, ...]] = {
    "batch": ("weight", "bias", "running_mean", "running_var", COUNT),
    "layer": ("weight", "bias"),
}


def is_count(name: str, array: NDArray[Any]) -> bool:
    """Whether this is how many batches a normalisation has seen, which no score depends on."""
    return name.endswith(f".{COUNT}") and array.size == 1


def perceptron_scorer(weights: Weights, transform: Any, activation: str) -> PerceptronScorer | None:
    """The scorer for weights with names as `layer_shapes` gives; None where they are not finite."""
    arrays = {name: np.asarray(array) for name, array in weights.items() if not is_count(name, array)}
    if not all(array.dtype == np.float32 and np.isfinite(array).all() for array in arrays.values()):
        return None
    n_layers = sum(name.startswith("feature_net.linear_") and name.endswith(".weight") for name in arrays)
    bins = get_bins(transform)
    layers: list[Layer] = []
    tables = None
    for number in range(1, n_layers + 1):
        weight, bias = _linear(arrays, number)
        if number == 1 and bins is not None:
            tables = _bin_tables(bins, _widened(weight, FLOATS_PER_LINE))
            multiple = FLOATS_PER_LINE
        else:
            multiple = _multiple(weight, dense=number == 1 or activation != "relu")
        layers.append(_layer(weight, bias, _normalisation(arrays, number), multiple))
    head = arrays["head.weight"][None, :]
    head = _widened(head, len(layers[-1].bias))[0] if layers else head[0].copy()
    return PerceptronScorer(transform, tables, layers, head, activation)


def _linear(arrays: Weights, number: int) -> tuple[Floats, Floats]:
    """Weight as (n_inputs, n_outputs) and bias, batch normalisation included."""
    weight = arrays[f"feature_net.linear_{number}.weight"].T
    bias = arrays.get(f"feature_net.linear_{number}.bias", np.zeros(weight.shape[1], np.float32))
    own = f"feature_net.normalisation_{number}."
    if f"{own}running_var" not in arrays:
        return weight, bias
    mean, variance = (arrays[own + name].astype(np.float64) for name in ("running_mean", "running_var"))
    factor = arrays[f"{own}weight"] / np.sqrt(variance + EPSILON)
    shifted = (bias - mean) * factor + arrays[f"{own}bias"]
    return (weight * factor).astype(np.float32), shifted.astype(np.float32)


def _normalisation(arrays: Weights, number: int) -> tuple[Floats, Floats] | None:
    own = f"feature_net.normalisation_{number}."
    if f"{own}weight" not in arrays or f"{own}running_var" in arrays:
        return None
    return arrays[f"{own}weight"], arrays[f"{own}bias"]


def _multiple(weight: Floats, *, dense: bool) -> int:
    """Outputs are filled up to a multiple of this: of a tile where tiles are quicker."""
    tiled = weight.shape[1] >= MIN_TILED and (dense or weight.size > SKIPPED_ZEROS)
    return TILE if tiled else FLOATS_PER_LINE


def _layer(weight: Floats, bias: Floats, normalisation: tuple[Floats, Floats] | None, multiple: int) -> Layer:
    widened, wide_bias = _widened(weight, multiple), _widened(bias[None, :], multiple)[0]
    table = in_tiles(widened) if multiple == TILE else widened
    if normalisation is not None:
        scale, shift = (_widened(part[None, :], multiple)[0] for part in normalisation)
        normalisation = scale, shift
    return Layer(table, wide_bias, len(bias), normalisation)


def _widened(weight: Floats, multiple: int) -> Floats:
    """Weights with a multiple of so many outputs, which fill whole lines of memory; what is added is 0."""
    table = aligned((weight.shape[0], -(-weight.shape[1] // multiple) * multiple))
    table[:, : weight.shape[1]] = weight
    return table


def _bin_tables(transform: PiecewiseLinear, weight: Floats) -> BinTables:
    """The columns of an encoding are the bins of each feature, and one where it marks missing values."""
    offsets, edges = transform.edge_offsets_, transform.edges_
    n_entries = len(edges) + len(offsets) - 1
    filled, of_bins = (aligned((n_entries, weight.shape[1])) for _ in range(2))
    per_width, column = np.zeros(n_entries), 0
    for feature, (first, stop) in enumerate(pairwise(offsets)):
        n_bins = stop - first - 1
        own = weight[column : column + n_bins]
        filled[first + 1 : stop] = np.cumsum(own, axis=0, dtype=np.float64)
        of_bins[first : stop - 1] = own
        per_width[first : stop - 1] = 1 / np.diff(edges[first:stop].astype(np.float64))
        column += n_bins
        if transform.marks_missing_[feature]:
            filled[len(edges) + feature] = weight[column]
            column += 1
    return BinTables(edges, offsets, per_width, filled, of_bins)
