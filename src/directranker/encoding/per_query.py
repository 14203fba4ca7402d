"""Features measured within each query: what counts is a document's place among its rivals.

Nothing is learnt but the number and names of the features; `qid` says at `transform` which rows belong
together, in any order. Without it all rows are one list.

>>> QueryMinMax().fit_transform([[2.0], [9.0], [4.0], [3.0]], qid=["a", "b", "a", "a"]).ravel()
array([0. , 0. , 1. , 0.5], dtype=float32)
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from directranker.arrays import IntArray
from directranker.compilation import compiled
from directranker.data.grouping import group_by_query, resolve_query_ids
from directranker.encoding.base import FeatureTransform
from directranker.encoding.blocks import Block, Encoded, over_queries, working_copy
from directranker.encoding.moments import queries_to_unit_range, queries_to_z_scores

__all__ = ["QueryMinMax", "QueryRank", "QueryZScore"]


class QueryTransform(FeatureTransform):
    """The base of all three: a subclass rescales the queries of a block."""

    def transform(self, X: ArrayLike, *, qid: ArrayLike | None = None) -> Encoded:
        """Rescale each feature within each query; rows keep their order."""
        table = self._checked(X, reset=False)
        rescaled = np.empty(table.shape, dtype=np.float32)

        def rescale_tile(rows: slice | IntArray, columns: slice, offsets: IntArray) -> None:
            rescaled[rows, columns] = self._rescaled(working_copy(table, rows, columns), offsets)

        over_queries(
            rescale_tile,
            group_by_query(resolve_query_ids(X, qid), n_rows=len(table)),
            n_columns=table.shape[1],
        )
        return rescaled

    @abstractmethod
    def _rescaled(self, block: Block, offsets: IntArray) -> Encoded:
        """Rescale the queries of a block."""


class QueryMinMax(QueryTransform):
    """(x − min) / (max − min) within each query, as in the LETOR data sets.

    NaN becomes 0, the lowest of its query. A feature that is constant in a query becomes 0 there.

    >>> QueryMinMax().fit_transform([[5.0], [float("nan")], [1.0]], qid=[1, 1, 1]).ravel()
    array([1., 0., 0.], dtype=float32)
    """

    def _rescaled(self, block: Block, offsets: IntArray) -> Encoded:
        return queries_to_unit_range(block, offsets)


class QueryZScore(QueryTransform):
    """(x − mean) / standard deviation within each query.

    NaN becomes 0, the mean of its query. A feature that is constant in a query becomes 0 there.

    >>> QueryZScore().fit_transform([[5.0], [float("nan")], [1.0]], qid=[1, 1, 1]).ravel()
    array([ 1.,  0., -1.], dtype=float32)
    """

    def _rescaled(self, block: Block, offsets: IntArray) -> Encoded:
        return queries_to_z_scores(block, offsets)


class QueryRank(QueryTransform):
    """The share of the query's values that lie below, less the share above: from −1 to 1, 0 for the median.

    NaN does not count and becomes 0. A feature that is constant in a query becomes 0 there.

    >>> QueryRank().fit_transform([[5.0], [1.0], [1.0], [float("nan")], [80.0]]).ravel()
    array([ 0.25, -0.5 , -0.5 ,  0.  ,  0.75], dtype=float32)
    """

    def _rescaled(self, block: Block, offsets: IntArray) -> Encoded:
        return _queries_to_ranks(block, offsets)


@compiled
def _queries_to_ranks(block: Block, offsets: IntArray) -> Encoded:
    ranks = np.zeros(block.shape, dtype=np.float32)
    for query in range(len(offsets) - 1):
        start, stop = offsets[query], offsets[query + 1]
        for column in range(block.shape[1]):
            known = start + np.flatnonzero(~np.isnan(block[start:stop, column]))
            values = block[known, column]
            order = np.argsort(values)
            first = 0
            while first < len(order):
                last = first
                while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
                    last += 1
                for at in range(first, last + 1):
                    ranks[known[order[at]], column] = (first + last + 1) / len(order) - 1
                first = last + 1
    return ranks
