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

from directranker.arrays import FloatArray, IntArray
from directranker.compilation import balanced_cuts, even_cuts, in_parallel, n_threads
from directranker.data.checking import Features
from directranker.description.columns import describe_columns
from directranker.description.model import Model, Net
from directranker.encoding import Unchanged
from directranker.fitted_checks import check_fitted_array
from directranker.rankers.finite_scores import saturated
from directranker.rankers.nets.perceptron_kernels import weighted_sums
from directranker.rankers.nets.perceptron_scores import ROWS_AT_A_TIME, ROWS_WITHOUT_COMPILING
from directranker.rankers.training_data import TrainingData
from directranker.rankers.transforming import TransformingRanker, check_encoded, n_columns_of, row_by_row

__all__ = ["LinearRanker"]

SCORED_ROWS = 65_536  # documents transformed at a time, so that memory stays at the data's own size


class LinearRanker(TransformingRanker):
    """A ranker with weights `coef_`, one for each column that its `transform_` makes."""

    coef_: NDArray[np.float64]

    def _restore(self, state: Mapping[str, Any]) -> None:
        super()._restore(state)
        check_fitted_array(self, "coef_", np.float64, (n_columns_of(self.transform_),))

    def _describe(self) -> Model:
        columns, n_columns = describe_columns(self.transform_)
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
        cuts = balanced_cuts(data.offsets, 1 + len(data.relevance) // SCORED_ROWS)
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
        table, transform = row_by_row(self.transform_, table, query)
        scores = np.empty(len(table), dtype=np.float32)
        for start in range(0, len(table), SCORED_ROWS):
            rows = slice(start, start + SCORED_ROWS)
            encoded = np.require(transform.transform(table[rows]), np.float32, ["C", "A"])
            compiled_way = len(table) > ROWS_WITHOUT_COMPILING
            scores[rows] = saturated(_weighted_sums(encoded, self.coef_, compiled_way=compiled_way))
        return scores


def _weighted_sums(
    table: Features, weight: NDArray[np.float64], *, compiled_way: bool
) -> NDArray[np.float64]:
    """The weighted sum of each row, on all threads where there are many."""
    sums = np.empty(len(table))

    def add(start: int, stop: int) -> None:
        for first in range(start, stop, ROWS_AT_A_TIME):
            rows = slice(first, min(first + ROWS_AT_A_TIME, stop))
            sums[rows] = weighted_sums(table[rows], weight, compiled_way=compiled_way)

    in_parallel(add, even_cuts(len(table), n_threads() if compiled_way else 1))
    return sums
