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

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from directranker.arrays import BoolArray, Float32Array, FloatArray, IntArray
from directranker.compilation import compiled
from directranker.data.column_kinds import ColumnKinds
from directranker.data.grouping import Grouping, group_by_query, resolve_query_ids
from directranker.encoding.base import FeatureTransform, RowTransform, check_kinds
from directranker.encoding.blocks import Table, map_row_blocks
from directranker.encoding.category_columns import CategoryColumns, fit_category_columns, locate_code
from directranker.encoding.quantiles import RandomState, compute_quantiles, sample_rows
from directranker.fitted_checks import check_fitted_array
from directranker.parameters import SEED, integer, or_none

__all__ = ["BIN_ARRAYS", "BinnedTransform", "PiecewiseLinear"]

BIN_ARRAYS = (
    "edges_",
    "edge_offsets_",
    "marks_missing_",
    "category_columns_",
    "category_offsets_",
    "n_category_columns_",
)
"""The fitted attributes of transforms that end in bins."""


class BinnedTransform(FeatureTransform):
    """Base class of transforms that end in quantile bins: their parameters and fitted attributes."""

    edges_: Float32Array
    edge_offsets_: IntArray
    marks_missing_: BoolArray
    category_columns_: IntArray
    category_offsets_: IntArray
    n_category_columns_: IntArray

    _rules = {  # noqa: RUF012 - as in the base
        "n_bins": integer(1),
        "min_category_count": integer(1),
        "max_categories": integer(1),
        "subsample": or_none(integer(2)),
        "random_state": SEED,
    }

    def __init__(
        self,
        n_bins: int = 16,
        *,
        min_category_count: int = 20,
        max_categories: int = 128,
        subsample: int | None = 100_000,
        random_state: RandomState = 0,
    ) -> None:
        self.n_bins = n_bins
        self.min_category_count = min_category_count
        self.max_categories = max_categories
        self.subsample = subsample
        self.random_state = random_state

    def _restore(self, state: Mapping[str, object]) -> None:
        if "category_offsets_" not in state and isinstance(state.get("edge_offsets_"), np.ndarray):
            # Bins that were saved before there were categories.
            n_features = len(state["edge_offsets_"]) - 1  # type: ignore[arg-type]
            nothing = CategoryColumns(*(np.zeros(n, dtype=np.int64) for n in (0, n_features + 1, n_features)))
            state = {**state, **_name_category_arrays(nothing)}
        super()._restore(state)

    def _check_bins(self, n_features: int) -> None:
        """Raise a ValueError unless there are bins for `n_features` features with valid offsets."""
        offsets = check_fitted_array(self, "edge_offsets_", np.int64, (n_features + 1,))
        check_fitted_array(self, "marks_missing_", np.bool_, (n_features,))
        # Each feature has at least one edge, so offsets increase, and all are within `edges_`.
        if offsets[0] != 0 or (np.diff(offsets) < 1).any():
            raise ValueError(f"edge_offsets_ of {type(self).__name__} do not increase from 0")
        check_fitted_array(self, "edges_", np.float32, (int(offsets[-1]),))
        self._check_categories(n_features, offsets)

    def _check_categories(self, n_features: int, edge_offsets: IntArray) -> None:
        """Raise a ValueError unless each code has a column of its feature, or none."""
        name = type(self).__name__
        offsets = check_fitted_array(self, "category_offsets_", np.int64, (n_features + 1,))
        counts = check_fitted_array(self, "n_category_columns_", np.int64, (n_features,))
        sizes = np.diff(offsets)
        if offsets[0] != 0 or (sizes < 0).any() or (sizes == 1).any():
            raise ValueError(f"category_offsets_ of {name} do not increase from 0")
        columns = check_fitted_array(self, "category_columns_", np.int64, (int(offsets[-1]),))
        if (counts < 0).any() or (counts > sizes).any():
            raise ValueError(f"n_category_columns_ of {name} has more columns than categories")
        if (columns < -1).any() or (columns >= np.repeat(counts, sizes)).any():
            raise ValueError(f"category_columns_ of {name} has a column that its feature does not have")
        if (np.diff(edge_offsets)[sizes > 0] != 1).any():
            raise ValueError(f"{name} has bins and categories for the same feature")


def _name_category_arrays(categories: CategoryColumns) -> dict[str, IntArray]:
    return {
        "category_columns_": categories.columns,
        "category_offsets_": categories.offsets,
        "n_category_columns_": categories.n_columns,
    }


class PiecewiseLinear(BinnedTransform, RowTransform):
    """Encode a value as the filled fraction of each bin of its feature, in [0, 1].

    There are up to `n_bins` bins with about equally many training values each. Equal quantiles are merged,
    so a feature with many equal values has fewer bins and a constant one has none. The quantiles are
    computed on at most `subsample` rows, sampled with `random_state`; None uses all rows.

    NaN fills no bin. A feature with some NaN in the training split has one more column, `name[missing]`:
    1 for NaN, 0 otherwise. Without that column NaN is encoded as the minimum.

    **Vectors.** The dimensions of a vector have one bin each, with the same edges: the least and the greatest
    value of the whole vector. So their proportions stay, and a vector of many dimensions has few columns.

    **Categories** (columns of codes, by `kinds`): a value with at least `min_category_count` training rows
    has a column of its own, `brand=Acme`, 1 for the value and 0 otherwise; at most the `max_categories` most
    frequent values have. All other values share the column `brand[rare]`, and so do values that the training
    split does not have. Missing values have `brand[missing]` if the training split has some. A code without a
    column fills none. A feature that is constant within most queries has no columns: it says nothing about
    the order of their documents, but a net could memorise queries by it. Nor has one whose frequent values
    are less than a fifth of the rows.

    Fitted attributes: the bin edges of feature j are `edges_[edge_offsets_[j]:edge_offsets_[j + 1]]`;
    `marks_missing_[j]` is True if it has a column for missing values. For categories,
    `n_category_columns_[j]` is the number of columns of values, and
    `category_columns_[category_offsets_[j]:category_offsets_[j + 1]]` the column, among them, of the code −1
    (unseen) and of each code from 0; −1 is none.

    >>> transform = PiecewiseLinear(n_bins=1).fit([[0.0], [float("nan")], [4.0]])
    >>> transform.transform([[1.0], [float("nan")]])
    array([[0.25, 0.  ],
           [0.  , 1.  ]], dtype=float32)
    >>> kinds = ColumnKinds.of(["brand"], {"brand": 2})
    >>> transform = PiecewiseLinear(min_category_count=1).fit([[0.0], [1.0], [1.0]], kinds=kinds)
    >>> transform.transform([[1.0], [-1.0]])
    array([[0., 1.],
           [0., 0.]], dtype=float32)
    """

    def get_feature_names_out(
        self,
        input_features: ArrayLike | None = None,
        categories: Mapping[str, Sequence[str]] | None = None,
    ) -> NDArray[np.object_]:
        """Name each column by its feature and the edges of its bin: `bm25[0.1,0.4]`.

        The column of a category is `brand=Acme` with the values in `categories`, by feature; otherwise it
        has the code, `brand=0`.
        """
        names = super().get_feature_names_out(input_features)
        columns: list[str] = []
        for feature, name in enumerate(names):
            edges = [str(edge).removesuffix(".0") for edge in self._get_edges(feature)]
            columns += [f"{name}[{low},{high}]" for low, high in pairwise(edges)]
            columns += self._name_category_columns(feature, name, (categories or {}).get(name))
            columns += [f"{name}[missing]"] if self.marks_missing_[feature] else []
        return np.array(columns, dtype=object)

    def _name_category_columns(self, feature: int, name: str, values: Sequence[str] | None) -> list[str]:
        names = [f"{name}[rare]"] * int(self.n_category_columns_[feature])
        columns = self._get_category_columns(feature)
        if not len(names):
            return names
        unseen, columns = columns[0], columns[1:]  # unseen values use the column of rare ones
        for code in np.flatnonzero((columns >= 0) & (columns != unseen)).tolist():
            names[columns[code]] = f"{name}={code if values is None else values[code]}"
        return names

    def fit(
        self,
        X: ArrayLike,
        y: object = None,  # noqa: ARG002
        *,
        qid: ArrayLike | None = None,
        kinds: ColumnKinds | None = None,
    ) -> Self:
        """Fit to the training split; `qid` matters to categories only."""
        table = self._validate(X, reset=True)
        kinds = check_kinds(kinds, table.shape[1])
        self._fit(table, kinds)
        query_ids = resolve_query_ids(X, qid) if kinds.is_categorical.any() else None
        self._fit_categories(table, kinds, group_by_query(query_ids, n_rows=len(table)))
        return self

    def _fit(self, table: Table, kinds: ColumnKinds) -> None:
        sample = sample_rows(table, limit=self.subsample, random_state=self.random_state)
        # Edges are float32, as features are: they print short and export exactly.
        quantiles = compute_quantiles(sample, self.n_bins + 1).astype(np.float32)
        n_missing = np.sum(map_row_blocks(lambda rows: np.isnan(table[rows]).sum(axis=0), len(table)), axis=0)
        self.marks_missing_ = (n_missing > 0) & (n_missing < len(table))
        quantiles[:, kinds.is_categorical] = 0  # one edge, so no bin
        edges = [np.unique(column) for column in quantiles.T]
        for number in range(int(kinds.vector.max(initial=-1)) + 1):
            dimensions = np.flatnonzero((kinds.vector == number) & (n_missing < len(table)))
            shared = np.unique(quantiles[:, dimensions])[[0, -1] if len(dimensions) else []]
            for dimension in dimensions:
                edges[dimension] = np.unique(shared)
        self.edges_ = np.concatenate(edges)
        self.edge_offsets_ = np.cumsum([0, *map(len, edges)], dtype=np.int64)

    def _fit_categories(self, table: Table, kinds: ColumnKinds, grouping: Grouping) -> None:
        categories = fit_category_columns(
            table, kinds, grouping, min_count=self.min_category_count, max_columns=self.max_categories
        )
        for name, array in _name_category_arrays(categories).items():
            setattr(self, name, array)
        self.marks_missing_ &= ~kinds.is_categorical | (categories.n_columns > 0)

    def _encode(self, block: FloatArray) -> Float32Array:
        return _fill_bins(
            block,
            self.edges_,
            self.edge_offsets_,
            self.category_columns_,
            self.category_offsets_,
            self.n_category_columns_,
            self.marks_missing_,
            self._n_columns_out(),
        )

    def _n_columns_out(self) -> int:
        return int(self._n_value_columns().sum() + self.marks_missing_.sum())

    def _n_value_columns(self) -> IntArray:
        """Return each feature's number of columns without that of missing values."""
        n_columns: IntArray = np.diff(self.edge_offsets_) - 1 + self.n_category_columns_
        return n_columns

    def _get_category_columns(self, feature: int) -> IntArray:
        return self.category_columns_[self.category_offsets_[feature] : self.category_offsets_[feature + 1]]

    def _check_fitted(self, n_features: int) -> None:
        self._check_bins(n_features)

    def _get_edges(self, feature: int) -> Float32Array:
        return self.edges_[self.edge_offsets_[feature] : self.edge_offsets_[feature + 1]]


@compiled
def _fill_bins(
    block: FloatArray,
    edges: Float32Array,
    edge_offsets: IntArray,
    category_columns: IntArray,
    category_offsets: IntArray,
    n_category_columns: IntArray,
    marks_missing: BoolArray,
    n_columns: int,
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
            first, stop = category_offsets[feature], category_offsets[feature + 1]
            if stop > first and not np.isnan(value):
                reached = category_columns[locate_code(value, first, stop)]
                if reached >= 0:
                    filled[row, column + reached] = 1.0
            column += n_category_columns[feature]
            if marks_missing[feature]:
                filled[row, column] = np.isnan(value)
                column += 1
    return filled
