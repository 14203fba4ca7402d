"""A compact piecewise-linear encoding: for each value the last bin it reaches, and how far it fills it.

All bins of the feature below that one are full and all above are empty, so two numbers per feature hold the
whole encoding, instead of one per bin. A category is a full bin with no bin below it.

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
from directranker.encoding.category_columns import locate_code
from directranker.encoding.piecewise_linear import PiecewiseLinear

__all__ = ["FilledBins", "fill_bins", "mark_first_bins"]


@dataclass(frozen=True)
class FilledBins:
    """Rows of a piecewise-linear encoding; features without an encoded column are left out."""

    packed: NDArray[np.int32]
    """(n_rows, 2 · n_features): `columns`, then the bits of `fractions`; one array, so that rows are gathered
    in one step."""
    is_first: BoolArray
    """Per encoded column, whether its feature has no bin below it: the first bin, a category, or missing
    values."""

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
    n_columns, first, _ = _locate_columns(transform)
    is_first = np.zeros(transform._n_columns_out(), dtype=np.bool_)
    is_first[first[n_columns > 0]] = True
    is_first[(first + n_columns)[transform.marks_missing_]] = True
    for feature in np.flatnonzero(transform.n_category_columns_):
        is_first[first[feature] : first[feature] + n_columns[feature]] = True
    return is_first


def fill_bins(transform: PiecewiseLinear, table: Table) -> FilledBins:
    """Encode a validated table with a fitted transform."""
    n_columns, first, encoded_features = _locate_columns(transform)
    packed = np.empty((len(table), 2 * len(encoded_features)), dtype=np.int32)
    bins = FilledBins(packed, mark_first_bins(transform))
    columns, fractions = bins.columns, bins.fractions

    def fill(rows: slice) -> None:
        _find_bins(
            copy_block(table, rows),
            transform.edges_,
            transform.edge_offsets_,
            transform.category_columns_,
            transform.category_offsets_,
            transform.marks_missing_,
            n_columns,
            first,
            encoded_features,
            columns[rows],
            fractions[rows],
        )

    map_row_blocks(fill, len(table))
    return bins


def _locate_columns(transform: PiecewiseLinear) -> tuple[IntArray, IntArray, IntArray]:
    """Return each feature's number of columns of values, its first column, and the features with columns."""
    n_columns = transform._n_value_columns()
    n_with_missing: IntArray = n_columns + transform.marks_missing_
    return n_columns, np.cumsum(n_with_missing) - n_with_missing, np.flatnonzero(n_with_missing)


@compiled
def _find_bins(
    block: FloatArray,
    edges: Float32Array,
    edge_offsets: IntArray,
    category_columns: IntArray,
    category_offsets: IntArray,
    marks_missing: BoolArray,
    n_columns: IntArray,
    first: IntArray,
    encoded_features: IntArray,
    columns: NDArray[np.int32],
    fractions: Float32Array,
) -> None:
    values, n_below = np.empty(len(block)), np.empty(len(block), dtype=np.int64)
    for at in range(len(encoded_features)):
        feature = encoded_features[at]
        start, stop = category_offsets[feature], category_offsets[feature + 1]
        own_edges = edges[edge_offsets[feature] : edge_offsets[feature + 1]]
        values[:] = block[:, feature]
        n_below[:] = 0
        for number in range(len(own_edges) - 1):  # all rows at once: faster than each up to its own bin
            edge = np.float64(own_edges[number])
            for row in range(len(block)):
                n_below[row] += values[row] > edge
        for row in range(len(block)):
            value, above, column, fraction = values[row], n_below[row], first[feature], 0.0
            if np.isnan(value):
                if marks_missing[feature]:
                    column, fraction = column + n_columns[feature], 1.0
            elif stop > start:
                own_column = category_columns[locate_code(value, start, stop)]
                if own_column >= 0:
                    column, fraction = column + own_column, 1.0
            elif above > 0:
                low, high = np.float64(own_edges[above - 1]), np.float64(own_edges[above])
                column += above - 1
                fraction = 1.0 if value >= high else (value - low) / (high - low)
            columns[row, at] = column
            fractions[row, at] = fraction
