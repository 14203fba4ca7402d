"""Normalise features within each query, relative to the query's other documents.

`fit` stores only the number and names of the features. At `transform`, `qid` gives the query of each row, in
any order; without it all rows are one query.

>>> QueryMinMax().fit_transform([[2.0], [9.0], [4.0], [3.0]], qid=["a", "b", "a", "a"]).ravel()
array([0. , 0. , 1. , 0.5], dtype=float32)
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from directranker.arrays import Float32Array, FloatArray, IntArray
from directranker.compilation import compiled
from directranker.data.grouping import group_by_query, resolve_query_ids
from directranker.encoding.base import FeatureTransform
from directranker.encoding.blocks import copy_block, map_query_tiles
from directranker.encoding.moments import scale_queries_to_unit_range, standardise_queries

__all__ = ["QueryMinMax", "QueryRank", "QueryZScore"]


class QueryTransform(FeatureTransform):
    """Base class of the per-query transforms; a subclass rescales the queries of a block."""

    def transform(self, X: ArrayLike, *, qid: ArrayLike | None = None) -> Float32Array:
        """Rescale each feature within each query; rows keep their order."""
        table = self._validate(X, reset=False)
        rescaled = np.empty(table.shape, dtype=np.float32)

        def rescale_tile(rows: slice | IntArray, columns: slice, offsets: IntArray) -> None:
            rescaled[rows, columns] = self._rescale(copy_block(table, rows, columns), offsets)

        map_query_tiles(
            rescale_tile,
            group_by_query(resolve_query_ids(X, qid), n_rows=len(table)),
            n_columns=table.shape[1],
        )
        return rescaled

    @abstractmethod
    def _rescale(self, block: FloatArray, offsets: IntArray) -> Float32Array:
        """Rescale the queries of a block."""


class QueryMinMax(QueryTransform):
    """Scale to (x − min) / (max − min) within each query, as in the LETOR data sets.

    NaN becomes 0, the minimum of its query. A feature that is constant in a query becomes 0 there.

    >>> QueryMinMax().fit_transform([[5.0], [float("nan")], [1.0]], qid=[1, 1, 1]).ravel()
    array([1., 0., 0.], dtype=float32)
    """

    def _rescale(self, block: FloatArray, offsets: IntArray) -> Float32Array:
        return scale_queries_to_unit_range(block, offsets)


class QueryZScore(QueryTransform):
    """Standardise to (x − mean) / standard deviation within each query.

    NaN becomes 0, the mean of its query. A feature that is constant in a query becomes 0 there.

    >>> QueryZScore().fit_transform([[5.0], [float("nan")], [1.0]], qid=[1, 1, 1]).ravel()
    array([ 1.,  0., -1.], dtype=float32)
    """

    def _rescale(self, block: FloatArray, offsets: IntArray) -> Float32Array:
        return standardise_queries(block, offsets)


class QueryRank(QueryTransform):
    """Rank within each query: the fraction of values below minus the fraction above, in (−1, 1).

    The median becomes 0. NaN is ignored and becomes 0. A feature that is constant in a query becomes 0 there.

    >>> QueryRank().fit_transform([[5.0], [1.0], [1.0], [float("nan")], [80.0]]).ravel()
    array([ 0.25, -0.5 , -0.5 ,  0.  ,  0.75], dtype=float32)
    """

    def _rescale(self, block: FloatArray, offsets: IntArray) -> Float32Array:
        return _rank_within_queries(block, offsets)


@compiled
def _rank_within_queries(block: FloatArray, offsets: IntArray) -> Float32Array:
    ranks = np.zeros(block.shape, dtype=np.float32)
    for query in range(len(offsets) - 1):
        start, stop = offsets[query], offsets[query + 1]
        for column in range(block.shape[1]):
            present = start + np.flatnonzero(~np.isnan(block[start:stop, column]))
            values = block[present, column]
            order = np.argsort(values)
            first = 0
            while first < len(order):
                last = first  # of a run of equal values
                while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
                    last += 1
                for at in range(first, last + 1):
                    ranks[present[order[at]], column] = (first + last + 1) / len(order) - 1
                first = last + 1
    return ranks
