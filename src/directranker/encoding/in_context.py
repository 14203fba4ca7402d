"""Encode each feature with its z-score and rank within the query, all in bins.

`PiecewiseLinear` encodes a value alone. `InContext` adds its z-score and its rank within the query, so the
score of a document depends on the other documents of its query. Within a query there is still one score per
document, so r(x, y) = τ(g(x) − g(y)) is still an order; scores of different queries are not comparable.

>>> transform = InContext(n_bins=1).fit([[0.0], [4.0]])
>>> transform.transform([[1.0], [3.0], [3.0]], qid=["a", "a", "b"])
array([[0.25, 0.  , 0.  ],
       [0.75, 1.  , 1.  ],
       [0.75, 0.5 , 0.5 ]], dtype=float32)
>>> transform.get_feature_names_out(["bm25"]).tolist()
['bm25[0,4]', 'z-score of bm25[-1,1]', 'rank of bm25[-0.5,0.5]']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from directranker.arrays import Float32Array
from directranker.data.column_kinds import ColumnKinds
from directranker.data.grouping import resolve_query_ids
from directranker.encoding.base import check_kinds
from directranker.encoding.blocks import Table
from directranker.encoding.per_query import QueryRank, QueryZScore
from directranker.encoding.piecewise_linear import BIN_ARRAYS, BinnedTransform, PiecewiseLinear

__all__ = ["InContext", "get_bins"]


class InContext(BinnedTransform):
    """Encode features, their z-scores and their ranks within the query, each with `PiecewiseLinear`.

    NaN fills no bin of the feature; its z-score and its rank are 0. Categories are encoded as by
    `PiecewiseLinear`, without a z-score or a rank, since codes have no order. The parameters and the fitted
    attributes are those of `PiecewiseLinear`, the attributes for three times as many features.
    """

    def fit(
        self,
        X: ArrayLike,
        y: object = None,  # noqa: ARG002
        *,
        qid: ArrayLike | None = None,
        kinds: ColumnKinds | None = None,
    ) -> Self:
        """Fit the bins to the training split and its queries; `y` is ignored."""
        table = self._validate(X, reset=True)
        kinds = check_kinds(kinds, table.shape[1])
        qid = resolve_query_ids(X, qid)
        with_context = self.with_context(table, qid)
        # Codes have no order, so the z-score and the rank of a code get no bin, as constants have none.
        with_context[:, table.shape[1] :][:, np.tile(kinds.is_categorical, 2)] = 0
        bins = PiecewiseLinear(**self.get_params()).fit(with_context, qid=qid, kinds=_repeat_kinds(kinds))
        for name in BIN_ARRAYS:
            setattr(self, name, getattr(bins, name))
        return self

    def transform(self, X: ArrayLike, *, qid: ArrayLike | None = None) -> Float32Array:
        """Encode rows within their queries; rows keep their order."""
        table = self._validate(X, reset=False)
        encoded: Float32Array = self.bins.transform(self.with_context(table, resolve_query_ids(X, qid)))
        return encoded

    def with_context(self, table: Table, qid: ArrayLike | None) -> Float32Array:
        """Return the features, their z-scores and their ranks within the query: (n_rows, 3 · n_features)."""
        context = [scaler.fit(table).transform(table, qid=qid) for scaler in (QueryZScore(), QueryRank())]
        return np.hstack([table.astype(np.float32, copy=False), *context])

    def get_feature_names_out(
        self,
        input_features: ArrayLike | None = None,
        categories: Mapping[str, Sequence[str]] | None = None,
    ) -> NDArray[np.object_]:
        """Name the bins: `bm25[0.1,0.4]`, `z-score of bm25[-1,0]`, `rank of bm25[-0.5,0]`."""
        check_is_fitted(self)
        names = super().get_feature_names_out(input_features)
        with_context = [prefix + name for prefix in ("", "z-score of ", "rank of ") for name in names]
        return self.bins.get_feature_names_out(with_context, categories)

    def _check_fitted(self, n_features: int) -> None:
        self._check_bins(3 * n_features)

    @property
    def bins(self) -> PiecewiseLinear:
        """The fitted bins that encode the output of `with_context`."""
        bins = PiecewiseLinear(**self.get_params())
        bins.n_features_in_ = 3 * self.n_features_in_
        for name in BIN_ARRAYS:
            setattr(bins, name, getattr(self, name))
        return bins


def _repeat_kinds(kinds: ColumnKinds) -> ColumnKinds:
    """Return the kinds of the features, of their z-scores and of their ranks."""
    n_vectors, are_numbers = int(kinds.vector.max(initial=-1)) + 1, np.zeros_like(kinds.n_categories)
    vectors = [np.where(kinds.vector < 0, -1, kinds.vector + copy * n_vectors) for copy in range(3)]
    return ColumnKinds(
        np.concatenate([kinds.n_categories, are_numbers, are_numbers]), np.concatenate(vectors)
    )


def get_bins(transform: object) -> PiecewiseLinear | None:
    """Return the bins that a fitted transform ends in, or None if it has none.

    >>> get_bins(PiecewiseLinear())
    PiecewiseLinear()
    """
    if isinstance(transform, InContext):
        return transform.bins
    return transform if isinstance(transform, PiecewiseLinear) else None
