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

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from directranker.arrays import Float32Array
from directranker.data.grouping import resolve_query_ids
from directranker.encoding.blocks import Table
from directranker.encoding.per_query import QueryRank, QueryZScore
from directranker.encoding.piecewise_linear import BinnedTransform, PiecewiseLinear

__all__ = ["InContext", "get_bins"]


class InContext(BinnedTransform):
    """Encode features, their z-scores and their ranks within the query, each with `PiecewiseLinear`.

    NaN fills no bin of the feature; its z-score and its rank are 0. The parameters and the fitted attributes
    are those of `PiecewiseLinear`, the attributes for three times as many features.
    """

    def fit(self, X: ArrayLike, y: object = None, *, qid: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Fit the bins to the training split and its queries; `y` is ignored."""
        table = self._validate(X, reset=True)
        bins = PiecewiseLinear(**self.get_params())
        bins.fit(self.with_context(table, resolve_query_ids(X, qid)))
        self.edges_, self.edge_offsets_ = bins.edges_, bins.edge_offsets_
        self.marks_missing_ = bins.marks_missing_
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

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Name the bins: `bm25[0.1,0.4]`, `z-score of bm25[-1,0]`, `rank of bm25[-0.5,0]`."""
        check_is_fitted(self)
        names = super().get_feature_names_out(input_features)
        with_context = [prefix + name for prefix in ("", "z-score of ", "rank of ") for name in names]
        return self.bins.get_feature_names_out(with_context)

    def _check_fitted(self, n_features: int) -> None:
        self._check_bins(3 * n_features)

    @property
    def bins(self) -> PiecewiseLinear:
        """The fitted bins that encode the output of `with_context`."""
        bins = PiecewiseLinear(**self.get_params())
        bins.n_features_in_ = 3 * self.n_features_in_
        bins.edges_, bins.edge_offsets_ = self.edges_, self.edge_offsets_
        bins.marks_missing_ = self.marks_missing_
        return bins


def get_bins(transform: object) -> PiecewiseLinear | None:
    """Return the bins that a fitted transform ends in, or None if it has none.

    >>> get_bins(PiecewiseLinear())
    PiecewiseLinear()
    """
    if isinstance(transform, InContext):
        return transform.bins
    return transform if isinstance(transform, PiecewiseLinear) else None
