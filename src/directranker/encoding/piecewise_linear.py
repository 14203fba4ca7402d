"""Piecewise-linear encoding: a feature becomes the filled fraction of each of its quantile bins.

Quantiles of the training split divide the range of a feature into bins. A value fills the bins below it, a
fraction of its own, and none above. A linear layer on top is then a piecewise-linear function of the feature,
following Gorishniy, Rubachev and Babenko, "On Embeddings for Numerical Features in Tabular Deep Learning"
(2022). Of all transforms it improved neural rankers most.

>>> transform = PiecewiseLinear(n_bins=2).fit([[0.0], [1.0], [5.0]])
>>> transform.get_feature_names_out(["bm25"]).tolist()
['bm25[0,1]', 'bm25[1,5]']
>>> transform.transform([[0.25], [3.0], [9.0]])
array([[0.25, 0.  ],
       [1.  , 0.5 ],
       [1.  , 1.  ]], dtype=float32)
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from directranker.arrays import BoolArray, Float32Array, FloatArray, IntArray
from directranker.compilation import compiled
from directranker.encoding.base import FeatureTransform, RowTransform
from directranker.encoding.blocks import Table, map_row_blocks
from directranker.encoding.quantiles import RandomState, compute_quantiles, sample_rows
from directranker.fitted_checks import check_fitted_array
from directranker.parameters import SEED, integer, or_none

__all__ = ["BinnedTransform", "PiecewiseLinear"]


class BinnedTransform(FeatureTransform):
    """Base class of transforms that end in quantile bins: their parameters and fitted attributes."""

    edges_: Float32Array
    edge_offsets_: IntArray
    marks_missing_: BoolArray

    _rules = {  # noqa: RUF012 - as in the base
        "n_bins": integer(1),
        "subsample": or_none(integer(2)),
        "random_state": SEED,
    }

    def __init__(
        self,
        n_bins: int = 16,
        *,
        subsample: int | None = 100_000,
        random_state: RandomState = 0,
    ) -> None:
        self.n_bins = n_bins
        self.subsample = subsample
        self.random_state = random_state

    def _check_bins(self, n_features: int) -> None:
        """Raise a ValueError unless there are bins for `n_features` features with valid offsets."""
        offsets = check_fitted_array(self, "edge_offsets_", np.int64, (n_features + 1,))
        check_fitted_array(self, "marks_missing_", np.bool_, (n_features,))
        # Each feature has at least one edge, so offsets increase, and all are within `edges_`.
        if offsets[0] != 0 or (np.diff(offsets) < 1).any():
            raise ValueError(f"edge_offsets_ of {type(self).__name__} do not increase from 0")
        check_fitted_array(self, "edges_", np.float32, (int(offsets[-1]),))


class PiecewiseLinear(BinnedTransform, RowTransform):
    """Encode a value as the filled fraction of each bin of its feature, in [0, 1].

    There are up to `n_bins` bins with about equally many training values each. Equal quantiles are merged,
    so a feature with many equal values has fewer bins and a constant one has none. The quantiles are
    computed on at most `subsample` rows, sampled with `random_state`; None uses all rows.

    NaN fills no bin. A feature with some NaN in the training split has one more column, `name[missing]`:
    1 for NaN, 0 otherwise. Without that column NaN is encoded as the minimum.

    Fitted attributes: the bin edges of feature j are `edges_[edge_offsets_[j]:edge_offsets_[j + 1]]`;
    `marks_missing_[j]` is True if it has a column for missing values.

    >>> transform = PiecewiseLinear(n_bins=1).fit([[0.0], [float("nan")], [4.0]])
    >>> transform.transform([[1.0], [float("nan")]])
    array([[0.25, 0.  ],
           [0.  , 1.  ]], dtype=float32)
    """

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Name each column by its feature and the edges of its bin: `bm25[0.1,0.4]`."""
        names = super().get_feature_names_out(input_features)
        columns: list[str] = []
        for feature, name in enumerate(names):
            edges = [str(edge).removesuffix(".0") for edge in self._get_edges(feature)]
            columns += [f"{name}[{low},{high}]" for low, high in pairwise(edges)]
            columns += [f"{name}[missing]"] if self.marks_missing_[feature] else []
        return np.array(columns, dtype=object)

    def _fit(self, table: Table) -> None:
        sample = sample_rows(table, limit=self.subsample, random_state=self.random_state)
        # Edges are float32, as features are: they print short and export exactly.
        quantiles = compute_quantiles(sample, self.n_bins + 1).astype(np.float32)
        edges = [np.unique(column) for column in quantiles.T]
        self.edges_ = np.concatenate(edges)
        self.edge_offsets_ = np.cumsum([0, *map(len, edges)], dtype=np.int64)
        n_missing = np.sum(map_row_blocks(lambda rows: np.isnan(table[rows]).sum(axis=0), len(table)), axis=0)
        self.marks_missing_ = (n_missing > 0) & (n_missing < len(table))

    def _encode(self, block: FloatArray) -> Float32Array:
        return _fill_bins(block, self.edges_, self.edge_offsets_, self.marks_missing_, self._n_columns_out())

    def _n_columns_out(self) -> int:
        n_bins = np.diff(self.edge_offsets_) - 1
        return int(n_bins.sum() + self.marks_missing_.sum())

    def _check_fitted(self, n_features: int) -> None:
        self._check_bins(n_features)

    def _get_edges(self, feature: int) -> Float32Array:
        return self.edges_[self.edge_offsets_[feature] : self.edge_offsets_[feature + 1]]


@compiled
def _fill_bins(
    block: FloatArray, edges: Float32Array, edge_offsets: IntArray, marks_missing: BoolArray, n_columns: int
) -> Float32Array:
    n_rows, n_features = block.shape
    filled = np.zeros((n_rows, n_columns), dtype=np.float32)
    for row in range(n_rows):
        column = 0
        for feature in range(n_features):
            own_edges = edges[edge_offsets[feature] : edge_offsets[feature + 1]]
            value = block[row, feature]
            for number in range(len(own_edges) - 1):
                low, high = np.float64(own_edges[number]), np.float64(own_edges[number + 1])
                if not value > low:  # also for NaN
                    break
                filled[row, column + number] = 1.0 if value >= high else (value - low) / (high - low)
            column += len(own_edges) - 1
            if marks_missing[feature]:
                filled[row, column] = np.isnan(value)
                column += 1
    return filled
