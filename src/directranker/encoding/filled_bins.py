"""A piecewise-linear encoding in short: of each value the last bin that it reaches, and how far it fills it.

All bins of the feature below that one are full and all above are empty, so this is the whole encoding, in two
numbers a feature instead of one a bin.

>>> from directranker.encoding.piecewise_linear import PiecewiseLinear
>>> transform = PiecewiseLinear(n_bins=2).fit([[0.0], [1.0], [5.0]])
>>> bins = fill_bins(transform, np.array([[0.25], [3.0], [9.0]], dtype=np.float32))
>>> bins.places.tolist(), bins.parts.tolist()
([[0], [1], [1]], [[0.25], [0.5], [1.0]])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import IntArray
from directranker.compilation import compiled
from directranker.encoding.blocks import Block, Encoded, Table, over_rows, working_copy
from directranker.encoding.piecewise_linear import PiecewiseLinear

__all__ = ["FilledBins", "bin_starts", "fill_bins"]


@dataclass(frozen=True)
class FilledBins:
    """Rows of a piecewise-linear encoding; features without a column have no place in them."""

    packed: NDArray[np.int32]
    """(n_rows, 2 · n_features): the places, then the bits of the parts; one array, so that rows are gathered
    at once."""
    starts: NDArray[np.bool_]
    """Per column of the encoding, whether no bin of its feature lies below: the first bin, missing values."""

    def __len__(self) -> int:
        return len(self.packed)

    @property
    def places(self) -> NDArray[np.int32]:
        """The column of the bin that each value reaches, (n_rows, n_features)."""
        return self.packed[:, : self.packed.shape[1] // 2]

    @property
    def parts(self) -> NDArray[np.float32]:
        """How far each value fills it, in [0, 1]."""
        return self.packed[:, self.packed.shape[1] // 2 :].view(np.float32)


def bin_starts(transform: PiecewiseLinear) -> NDArray[np.bool_]:
    """`FilledBins.starts` of a fitted transform."""
    n_bins, first, _ = _columns(transform)
    starts = np.zeros(transform._n_columns_out(), dtype=np.bool_)
    starts[first[n_bins > 0]] = True
    starts[(first + n_bins)[transform.marks_missing_]] = True
    return starts


def fill_bins(transform: PiecewiseLinear, table: Table) -> FilledBins:
    """Encode the rows of a table, whose numbers have been checked, by a fitted transform."""
    _, first, counted = _columns(transform)
    packed = np.empty((len(table), 2 * len(counted)), dtype=np.int32)
    bins = FilledBins(packed, bin_starts(transform))
    places, parts = bins.places, bins.parts

    def fill(rows: slice) -> None:
        _reach(
            working_copy(table, rows),
            transform.edges_,
            transform.edge_offsets_,
            transform.marks_missing_,
            first,
            counted,
            places[rows],
            parts[rows],
        )

    over_rows(fill, len(table))
    return bins


def _columns(transform: PiecewiseLinear) -> tuple[IntArray, IntArray, IntArray]:
    """How many bins each feature has, where its columns begin, and which features have a column at all."""
    n_bins: IntArray = np.diff(transform.edge_offsets_) - 1
    n_columns: IntArray = n_bins + transform.marks_missing_
    return n_bins, np.cumsum(n_columns) - n_columns, np.flatnonzero(n_columns)


@compiled
def _reach(
    block: Block,
    edges: Encoded,
    edge_offsets: IntArray,
    marks_missing: NDArray[np.bool_],
    first: IntArray,
    counted: IntArray,
    places: NDArray[np.int32],
    parts: NDArray[Any],
) -> None:
    values, rungs = np.empty(len(block)), np.empty(len(block), dtype=np.int64)
    for at in range(len(counted)):
        feature = counted[at]
        ladder = edges[edge_offsets[feature] : edge_offsets[feature + 1]]
        values[:] = block[:, feature]
        rungs[:] = 0
        for rung in range(len(ladder) - 1):  # all rows at once: quicker than each up to its own bin
            edge = np.float64(ladder[rung])
            for row in range(len(block)):
                rungs[row] += values[row] > edge
        for row in range(len(block)):
            value, rung, place, part = values[row], rungs[row], first[feature], 0.0
            if np.isnan(value) and marks_missing[feature]:
                place, part = place + len(ladder) - 1, 1.0
            elif rung > 0:
                low, high = np.float64(ladder[rung - 1]), np.float64(ladder[rung])
                place += rung - 1
                part = 1.0 if value >= high else (value - low) / (high - low)
            places[row, at] = place
            parts[row, at] = part
