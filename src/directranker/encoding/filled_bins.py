"""A compact piecewise-linear encoding: for each value the last bin it reaches, and how far it fills it.

All bins of the feature below that one are full and all above are empty, so two numbers per feature hold the
whole encoding, instead of one per bin.

>>> from directranker.encoding.piecewise_linear import PiecewiseLinear
>>> transform = PiecewiseLinear(n_bins=2).fit([[0.0], [1.0], [5.0]])
>>> bins = fill_bins(transform, np.array([[0.25], [3.0], [9.0]], dtype=np.float32))
>>> bins.columns.tolist(), bins.fractions.tolist()
([[0], [1], [1]], [[0.25], [0.5], [1.0]])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import BoolArray, Float32Array, FloatArray, IntArray
from directranker.compilation import compiled
from directranker.encoding.blocks import Table, copy_block, map_row_blocks
from directranker.encoding.piecewise_linear import PiecewiseLinear

__all__ = ["FilledBins", "fill_bins", "mark_first_bins"]


@dataclass(frozen=True)
class FilledBins:
    """Rows of a piecewise-linear encoding; features without an encoded column are left out."""

    packed: NDArray[np.int32]
    """(n_rows, 2 · n_features): `columns`, then the bits of `fractions`; one array, so that rows are gathered
    in one step."""
    is_first: BoolArray
    """Per encoded column, whether its feature has no bin below it: the first bin, or missing values."""

    def __len__(self) -> int:
        return len(self.packed)

    @property
    def columns(self) -> NDArray[np.int32]:
        """The encoded column of the bin that each value reaches, (n_rows, n_features)."""
        return self.packed[:, : self.packed.shape[1] // 2]

    @property
    def fractions(self) -> Float32Array:
        """How far each value fills that bin, in [0, 1]."""
        return self.packed[:, self.packed.shape[1] // 2 :].view(np.float32)


def mark_first_bins(transform: PiecewiseLinear) -> BoolArray:
    """Compute `FilledBins.is_first` for a fitted transform."""
    n_bins, first, _ = _locate_columns(transform)
    is_first = np.zeros(transform._n_columns_out(), dtype=np.bool_)
    is_first[first[n_bins > 0]] = True
    is_first[(first + n_bins)[transform.marks_missing_]] = True
    return is_first


def fill_bins(transform: PiecewiseLinear, table: Table) -> FilledBins:
    """Encode a validated table with a fitted transform."""
    _, first, encoded_features = _locate_columns(transform)
    packed = np.empty((len(table), 2 * len(encoded_features)), dtype=np.int32)
    bins = FilledBins(packed, mark_first_bins(transform))
    columns, fractions = bins.columns, bins.fractions

    def fill(rows: slice) -> None:
        _find_bins(
            copy_block(table, rows),
            transform.edges_,
            transform.edge_offsets_,
            transform.marks_missing_,
            first,
            encoded_features,
            columns[rows],
            fractions[rows],
        )

    map_row_blocks(fill, len(table))
    return bins


def _locate_columns(transform: PiecewiseLinear) -> tuple[IntArray, IntArray, IntArray]:
    """Return each feature's number of bins and first column, and the features that have a column."""
    n_bins: IntArray = np.diff(transform.edge_offsets_) - 1
    n_columns: IntArray = n_bins + transform.marks_missing_
    return n_bins, np.cumsum(n_columns) - n_columns, np.flatnonzero(n_columns)


@compiled
def _find_bins(
    block: FloatArray,
    edges: Float32Array,
    edge_offsets: IntArray,
    marks_missing: BoolArray,
    first: IntArray,
    encoded_features: IntArray,
    columns: NDArray[np.int32],
    fractions: Float32Array,
) -> None:
    values, n_below = np.empty(len(block)), np.empty(len(block), dtype=np.int64)
    for at in range(len(encoded_features)):
        feature = encoded_features[at]
        own_edges = edges[edge_offsets[feature] : edge_offsets[feature + 1]]
        values[:] = block[:, feature]
        n_below[:] = 0
        for number in range(len(own_edges) - 1):  # all rows at once: faster than each up to its own bin
            edge = np.float64(own_edges[number])
            for row in range(len(block)):
                n_below[row] += values[row] > edge
        for row in range(len(block)):
            value, above, column, fraction = values[row], n_below[row], first[feature], 0.0
            if np.isnan(value) and marks_missing[feature]:
                column, fraction = column + len(own_edges) - 1, 1.0
            elif above > 0:
                low, high = np.float64(own_edges[above - 1]), np.float64(own_edges[above])
                column += above - 1
                fraction = 1.0 if value >= high else (value - low) / (high - low)
            columns[row, at] = column
            fractions[row, at] = fraction
