"""Each feature in bins, and beside them its place among the query's other documents.

`PiecewiseLinear` tells a net what a value is, `QueryZScore` what it is in its list. With both, a score
depends on the list that a document is in. Within the list there is still one score per document, so
r(x, y) = τ(g(x) − g(y)) is an order of its documents as ever; scores of different lists are not comparable.

>>> transform = InContext(n_bins=1).fit([[0.0], [4.0]])
>>> transform.transform([[1.0], [3.0], [3.0]], qid=["a", "a", "b"])
array([[ 0.25, -1.  ],
       [ 0.75,  1.  ],
       [ 0.75,  0.  ]], dtype=float32)
>>> transform.get_feature_names_out(["bm25"]).tolist()
['bm25[0,4]', 'bm25[in its list]']
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from directranker.data.transforms.base import FeatureTransform
from directranker.data.transforms.blocks import Encoded, Table
from directranker.data.transforms.per_query import QueryZScore
from directranker.data.transforms.piecewise_linear import PiecewiseLinear
from directranker.data.transforms.quantiles import RandomState

__all__ = ["InContext"]


class InContext(FeatureTransform):
    """The columns of `PiecewiseLinear`, then each feature's z-score within its query.

    NaN fills no bin and has the z-score 0; parameters and fitted attributes are those of `PiecewiseLinear`.
    """

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

    def transform(self, X: ArrayLike, *, qid: ArrayLike | None = None) -> Encoded:
        """Encode rows by what `fit` learnt, and by their queries; rows keep their order."""
        table = self._checked(X, reset=False)
        in_list = QueryZScore().fit(table).transform(table, qid=qid)
        return np.hstack([self._bins().transform(table), in_list])

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Those of the bins, `bm25[0.1,0.4]`, then `bm25[in its list]` for each feature."""
        names = super().get_feature_names_out(input_features)
        in_list = np.array([f"{name}[in its list]" for name in names], dtype=object)
        return np.concatenate([self._bins().get_feature_names_out(names), in_list])

    def _learn(self, table: Table) -> None:
        bins = PiecewiseLinear(self.n_bins, subsample=self.subsample, random_state=self.random_state)
        bins.fit(table)
        self.edges_, self.edge_offsets_ = bins.edges_, bins.edge_offsets_
        self.marks_missing_ = bins.marks_missing_

    def _bins(self) -> PiecewiseLinear:
        bins = PiecewiseLinear(self.n_bins)
        bins.n_features_in_ = self.n_features_in_
        bins.edges_, bins.edge_offsets_ = self.edges_, self.edge_offsets_
        bins.marks_missing_ = self.marks_missing_
        return bins
