"""Rankers whose score is a weighted sum of the transformed features.

The sum is taken in float64 and in one order, so that a document has the same score in any batch; a product by
BLAS would round a row otherwise in another batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import Features, FloatArray, IntArray
from directranker.compilation import get_n_threads, run_in_parallel, split_evenly, split_queries_evenly
from directranker.description.columns import columns_of
from directranker.description.model import Model, Net
from directranker.encoding import Unchanged
from directranker.fitted_checks import check_fitted_array
from directranker.rankers.finite_scores import saturate
from directranker.rankers.nets.perceptron_kernels import compute_weighted_sums
from directranker.rankers.nets.perceptron_scores import BLOCK_ROWS, MAX_NUMPY_ROWS
from directranker.rankers.transforming import (
    TransformingRanker,
    as_row_transform,
    check_encoded,
    count_columns,
)
from directranker.training.data import TrainingData

__all__ = ["LinearRanker"]

SCORED_ROWS = 65_536  # documents transformed at a time, so that memory stays at the data's own size


class LinearRanker(TransformingRanker):
    """A ranker with weights `coef_`, one for each column that its `transform_` makes."""

    coef_: NDArray[np.float64]

    def _restore(self, state: Mapping[str, Any]) -> None:
        super()._restore(state)
        check_fitted_array(self, "coef_", np.float64, (count_columns(self.transform_),))

    def _describe(self) -> Model:
        columns, n_columns = columns_of(self.transform_)
        return Net(self._feature_names(), columns, n_columns, (), self.coef_)

    def _column_contributions(
        self,
        encoded: FloatArray,
        pairs: IntArray,
        n_steps: int,  # noqa: ARG002 - exact in one step
    ) -> tuple[FloatArray, str]:
        better, worse = pairs.T
        return self.coef_ * (encoded[better] - encoded[worse]), "weights times differences"

    def _encoded(self, data: TrainingData) -> Features:
        """What `transform_` makes of the features, query by query; features that stay are not copied."""
        table = data.features if isinstance(self.transform_, Unchanged) else self._transformed(data)
        table = np.require(table, np.float32, ["C", "A"])
        names = getattr(self, "feature_names_in_", ())
        check_encoded(table, self.transform_, names=names, rows=data.rows)
        return table

    def _transformed(self, data: TrainingData) -> Features:
        cuts = split_queries_evenly(data.offsets, 1 + len(data.relevance) // SCORED_ROWS)
        query, blocks = data.query_of_row, [slice(*bounds) for bounds in pairwise(data.offsets[cuts])]

        def encoded(documents: slice) -> Features:
            rows = documents if data.rows is None else data.rows[documents]
            block: Features = self.transform_.transform(data.table[rows], qid=query[documents])
            return block

        first = encoded(blocks[0])
        table = np.empty((len(query), first.shape[1]), dtype=np.float32)
        table[blocks[0]] = first
        for documents in blocks[1:]:
            table[documents] = encoded(documents)
        return table

    def _scores(self, table: Features, query: IntArray) -> NDArray[np.float32]:
        table, transform = as_row_transform(self.transform_, table, query)
        scores = np.empty(len(table), dtype=np.float32)
        for start in range(0, len(table), SCORED_ROWS):
            rows = slice(start, start + SCORED_ROWS)
            encoded = np.require(transform.transform(table[rows]), np.float32, ["C", "A"])
            use_kernels = len(table) > MAX_NUMPY_ROWS
            scores[rows] = saturate(_weighted_sums(encoded, self.coef_, use_kernels=use_kernels))
        return scores


def _weighted_sums(table: Features, weight: NDArray[np.float64], *, use_kernels: bool) -> NDArray[np.float64]:
    """The weighted sum of each row, on all threads where there are many."""
    sums = np.empty(len(table))

    def add(start: int, stop: int) -> None:
        for first in range(start, stop, BLOCK_ROWS):
            rows = slice(first, min(first + BLOCK_ROWS, stop))
            sums[rows] = compute_weighted_sums(table[rows], weight, use_kernels=use_kernels)

    run_in_parallel(add, split_evenly(len(table), get_n_threads() if use_kernels else 1))
    return sums
