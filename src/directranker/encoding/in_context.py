"""Each feature in bins, and beside it, in bins too, its place among the query's other documents.

`PiecewiseLinear` tells a net what a value is; here it is told its z-score and its rank within the list as
well. Then a score depends on the list that a document is in. Within the list there is still one score per
document, so r(x, y) = τ(g(x) − g(y)) is an order of its documents as ever; scores of different lists are not
comparable.

>>> transform = InContext(n_bins=1).fit([[0.0], [4.0]])
>>> transform.transform([[1.0], [3.0], [3.0]], qid=["a", "a", "b"])
array([[0.25, 0.  , 0.  ],
       [0.75, 1.  , 1.  ],
       [0.75, 0.5 , 0.5 ]], dtype=float32)
>>> transform.get_feature_names_out(["bm25"]).tolist()
['bm25[0,4]', 'z-score of bm25[-1,1]', 'rank of bm25[-0.5,0.5]']
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from directranker.data.grouping import resolve_query_ids
from directranker.encoding.base import FeatureTransform
from directranker.encoding.blocks import Encoded, Table
from directranker.encoding.per_query import QueryRank, QueryZScore
from directranker.encoding.piecewise_linear import BIN_RULES, PiecewiseLinear, check_bins
from directranker.encoding.quantiles import RandomState

__all__ = ["InContext", "bins_of"]


class InContext(FeatureTransform):
    """The columns of `PiecewiseLinear` for all features, then for their z-scores, then for their ranks.

    NaN fills no bin of the feature, has the z-score 0 and the rank 0. Parameters are those of
    `PiecewiseLinear`, and so are the fitted attributes, for three times as many features.
    """

    _rules = BIN_RULES

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

    def fit(self, X: ArrayLike, y: object = None, *, qid: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Learn the bins from the training part and its queries; `y` is never used."""
        table = self._checked(X, reset=True)
        bins = PiecewiseLinear(self.n_bins, subsample=self.subsample, random_state=self.random_state)
        bins.fit(self.with_context(table, resolve_query_ids(X, qid)))
        self.edges_, self.edge_offsets_ = bins.edges_, bins.edge_offsets_
        self.marks_missing_ = bins.marks_missing_
        return self

    def transform(self, X: ArrayLike, *, qid: ArrayLike | None = None) -> Encoded:
        """Encode rows by what `fit` learnt, and by their queries; rows keep their order."""
        table = self._checked(X, reset=False)
        encoded: Encoded = self.bins.transform(self.with_context(table, resolve_query_ids(X, qid)))
        return encoded

    def with_context(self, table: Table, qid: ArrayLike | None) -> Encoded:
        """The features, their z-scores and their ranks within the query, (n_rows, 3 · n_features)."""
        in_list = [scale.fit(table).transform(table, qid=qid) for scale in (QueryZScore(), QueryRank())]
        return np.hstack([table.astype(np.float32, copy=False), *in_list])

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Those of the bins: `bm25[0.1,0.4]`, `z-score of bm25[-1,0]`, `rank of bm25[-0.5,0]`."""
        check_is_fitted(self)
        names = super().get_feature_names_out(input_features)
        every = [prefix + name for prefix in ("", "z-score of ", "rank of ") for name in names]
        named: NDArray[Any] = self.bins.get_feature_names_out(every)
        return named

    def _check_fitted(self, n_features: int) -> None:
        check_bins(self, 3 * n_features)

    @property
    def bins(self) -> PiecewiseLinear:
        """What encodes the rows that `with_context` gives."""
        bins = PiecewiseLinear(self.n_bins, subsample=self.subsample, random_state=self.random_state)
        bins.n_features_in_ = 3 * self.n_features_in_
        bins.edges_, bins.edge_offsets_ = self.edges_, self.edge_offsets_
        bins.marks_missing_ = self.marks_missing_
        return bins


def bins_of(transform: Any) -> PiecewiseLinear | None:
    """The bins that a fitted transform ends in; None where it does not.

    >>> bins_of(PiecewiseLinear())
    PiecewiseLinear()
    """
    if isinstance(transform, InContext):
        return transform.bins
    return transform if isinstance(transform, PiecewiseLinear) else None
