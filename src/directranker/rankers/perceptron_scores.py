"""Scores of a perceptron of ReLU or tanh layers without torch: the same bits for a row wherever it stands.

The first layer on top of a piecewise-linear encoding is summed without forming the encoding: a value fills
the bins below it, whose weights are summed beforehand, and a part of its own bin. Torch takes seconds to
import, this nothing; and with small layers it is quicker, too.

>>> from directranker.data.transforms import Standard
>>> weights = {"feature_net.linear_1.weight": np.eye(2, dtype=np.float32),
...            "head.weight": np.array([1, 2], np.float32)}
>>> scorer = perceptron_scorer(weights, Standard().fit([[0.0, 0.0], [2.0, 2.0]]), "relu")
>>> scorer(np.array([[2, 2], [0, 2]], np.float32), np.array([0, 0])).tolist()
[3.0, 2.0]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker.compilation import IntArray, even_cuts, in_parallel, n_threads
from directranker.data.transforms.blocks import encode_rows
from directranker.data.transforms.in_context import bins_of
from directranker.data.transforms.piecewise_linear import PiecewiseLinear
from directranker.rankers.perceptron_kernels import (
    BinTables,
    Floats,
    add_bins,
    add_products,
    aligned,
    weighted_sums,
)
from directranker.rankers.transforming import row_by_row

__all__ = ["ACTIVATIONS", "KnownScorer", "PerceptronScorer", "layer_shapes", "perceptron_scorer"]

Weights = Mapping[str, NDArray[Any]]
ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "relu": lambda sums: np.maximum(sums, np.float32(0.0), out=sums),
    "tanh": lambda sums: np.tanh(sums, out=sums),
    "identity": lambda sums: sums,
}
MOST_PRODUCTS = 50_000  # of a row in all layers but one of bins; above, torch's matrix products are quicker
FLOATS_PER_LINE = 16
ROWS_AT_A_TIME = 512  # whose sums fit the processor's second memory
ROWS_WITHOUT_COMPILING = 2_000  # are scored in less time than numba takes to import


class PerceptronScorer:
    """Calls to it score rows: by tables of bins where there are any, then layer by layer."""

    def __init__(
        self,
        transform: Any,
        tables: BinTables | None,
        layers: list[tuple[Floats, Floats]],
        head: Floats,
        activation: str,
    ) -> None:
        self._transform, self._tables, self._layers, self._head = transform, tables, layers, head
        self._activate = ACTIVATIONS[activation]
        self._n_plain = 0

    def __call__(self, table: Floats, query: IntArray) -> Floats:
        """Scores of rows; `query`, the number of each row's, matters to transforms within queries only."""
        scores = np.empty(len(table), dtype=np.float32)
        table, transform = row_by_row(self._transform, table, query)
        self._n_plain += len(table)
        compiled_way = self._n_plain > ROWS_WITHOUT_COMPILING

        def score(start: int, stop: int) -> None:
            for first in range(start, stop, ROWS_AT_A_TIME):
                rows = slice(first, min(first + ROWS_AT_A_TIME, stop))
                scores[rows] = self._scored(table, rows, transform, compiled_way)

        parts = n_threads() if compiled_way and len(table) > ROWS_AT_A_TIME else 1
        in_parallel(score, even_cuts(len(table), parts))
        return scores

    def _scored(self, table: Floats, rows: slice, transform: Any, compiled_way: bool) -> Floats:
        inputs = self._inputs(table, rows, transform)
        for number, (weight, bias) in enumerate(self._layers):
            sums = aligned((len(inputs), len(bias)))
            sums += bias
            if number == 0 and self._tables is not None:
                add_bins(inputs, self._tables, sums, compiled_way=compiled_way)
            else:
                add_products(inputs, weight, sums, compiled_way=compiled_way)
            inputs = self._activate(sums)
        return weighted_sums(inputs, self._head, compiled_way=compiled_way)

    def _inputs(self, table: Floats, rows: slice, transform: Any) -> Floats:
        block = np.ascontiguousarray(table[rows], dtype=np.float32)
        if np.isinf(block).any():
            transform._refuse_too_large(table, rows)
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
        copies = {name: array.copy() for name, array in _arrays_of(weights, transform).items()}
        return cls(scorer, copies, transform)

    def is_of(self, weights: Weights, transform: Any) -> bool:
        """Whether weights and transform are still what it was made of; either can be changed in place."""
        arrays = _arrays_of(weights, transform)
        same = transform is self.transform and arrays.keys() == self.arrays.keys()
        return same and all(np.array_equal(array, self.arrays[name]) for name, array in arrays.items())


def _arrays_of(weights: Weights, transform: Any) -> dict[str, NDArray[Any]]:
    bins = bins_of(transform)
    if bins is None:
        return dict(weights)
    names = ("edges_", "edge_offsets_", "marks_missing_")
    return {**weights, **{name: getattr(bins, name) for name in names}}


def layer_shapes(n_columns: int, hidden_layers: Any, *, bias: bool) -> dict[str, tuple[int, ...]]:
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
        width = n_outputs
    return shapes | {"head.weight": (width,)}


def perceptron_scorer(weights: Weights, transform: Any, activation: str) -> PerceptronScorer | None:
    """The scorer for weights that have names as `layer_shapes` gives; None where torch must do it."""
    arrays = {name: np.asarray(array) for name, array in weights.items()}
    if not all(array.dtype == np.float32 and np.isfinite(array).all() for array in arrays.values()):
        return None
    layers: list[tuple[Floats, Floats]] = []
    for number in range(1, len(arrays)):
        weight = arrays.get(f"feature_net.linear_{number}.weight")
        if weight is None:
            break
        bias = arrays.get(f"feature_net.linear_{number}.bias", np.zeros(len(weight), np.float32))
        n_inputs = layers[-1][0].shape[1] if layers else weight.shape[1]
        layers.append((_widened(weight.T, n_inputs), _widened(bias[None, :], 1)[0]))
    head = arrays["head.weight"][None, :]
    head = _widened(head, 1)[0] if layers else head[0].copy()
    bins = bins_of(transform)
    tables = _bin_tables(bins, layers[0][0]) if layers and bins is not None else None
    dense = layers if tables is None else layers[1:]
    if sum(weight.size for weight, _ in dense) > MOST_PRODUCTS:
        return None
    return PerceptronScorer(transform, tables, layers, head, activation)


def _widened(weight: Floats, n_inputs: int) -> Floats:
    """Weights with so many inputs, and outputs to fill whole lines of memory; what is added is 0."""
    table = aligned((n_inputs, -(-weight.shape[1] // FLOATS_PER_LINE) * FLOATS_PER_LINE))
    table[: weight.shape[0], : weight.shape[1]] = weight
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
