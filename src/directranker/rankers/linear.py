"""Rankers whose score is a weighted sum of the transformed features."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from directranker.compilation import IntArray, balanced_cuts
from directranker.data.checking import Features
from directranker.data.transforms import Unchanged
from directranker.rankers.finite_scores import saturated
from directranker.rankers.training_data import TrainingData
from directranker.rankers.transforming import TransformingRanker, check_encoded, row_by_row

__all__ = ["LinearRanker"]

SCORED_ROWS = 65_536  # documents transformed at a time, so that memory stays at the data's own size


class LinearRanker(TransformingRanker):
    """A ranker with weights `coef_`, one for each column that its `transform_` makes."""

    coef_: NDArray[np.float64]

    def _encoded(self, data: TrainingData) -> Features:
        """What `transform_` makes of the features, query by query; features that stay are not copied."""
        table = data.features if isinstance(self.transform_, Unchanged) else self._transformed(data)
        table = np.require(table, np.float32, ["C", "A"])
        check_encoded(table, self.transform_)
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
            scores[rows] = saturated(transform.transform(table[rows]) @ self.coef_)
        return scores
