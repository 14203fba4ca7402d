"""Base class of rankers whose score is a weighted sum of the encoded features.

The sum is computed in float64 and in a fixed order, so a document has the same score in any batch; a BLAS
product may round a row differently in another batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from directranker.arrays import Features, Float32Array, FloatArray, IntArray
from directranker.compilation import get_n_threads, run_in_parallel, split_evenly, split_queries_evenly
from directranker.description.model import Model, Net
from directranker.encoding import Unchanged
from directranker.fitted_checks import check_fitted_array
from directranker.rankers.finite_scores import saturate
from directranker.rankers.nets.perceptron_kernels import compute_weighted_sums
from directranker.rankers.nets.perceptron_scores import BLOCK_ROWS, MAX_NUMPY_ROWS
from directranker.rankers.rounds import Rounds
from directranker.rankers.transforming import (
    TransformingRanker,
    as_row_transform,
    check_encoded,
    count_columns,
)
from directranker.training.data import TrainingData

__all__ = ["LinearRanker", "RandomState"]

RandomState = int | np.random.Generator | np.random.RandomState | None
ROWS_PER_BLOCK = 65_536  # documents encoded at a time, so that memory stays near the size of the data


class LinearRanker(TransformingRanker):
    """A ranker with one weight in `coef_` per column of its `transform_`."""

    coef_: FloatArray

    def _set_history(self, rounds: Rounds) -> None:
        """Set the fitted attributes that describe the training."""
        self.history_ = rounds.history
        self.n_rounds_ = len(rounds.history)
        self.stopped_ = rounds.stopped

    def _restore(self, state: Mapping[str, object]) -> None:
        super()._restore(state)
        check_fitted_array(self, "coef_", np.float64, (count_columns(self.transform_),))

    def _describe(self) -> Model:
        return Net(**self._describe_inputs(), layers=(), head=self.coef_)

    def _column_contributions(
        self,
        encoded: FloatArray,
        pairs: IntArray,
        n_steps: int,  # noqa: ARG002 - exact in one step
    ) -> tuple[FloatArray, str]:
        better, worse = pairs.T
        return self.coef_ * (encoded[better] - encoded[worse]), "weights times differences"

    def _encode_data(self, data: TrainingData) -> Features:
        """Encode the features, rows in query order; `Unchanged` features are not copied."""
        table = data.features if isinstance(self.transform_, Unchanged) else self._transform_in_blocks(data)
        table = np.require(table, np.float32, ["C", "A"])
        names = getattr(self, "feature_names_in_", ())
        check_encoded(table, self.transform_, names=names, rows=data.rows)
        return table

    def _transform_in_blocks(self, data: TrainingData) -> Features:
        cuts = split_queries_evenly(data.offsets, 1 + len(data.relevance) // ROWS_PER_BLOCK)
        query, blocks = data.query_of_row, [slice(*bounds) for bounds in pairwise(data.offsets[cuts])]

        def encode(documents: slice) -> Features:
            rows = documents if data.rows is None else data.rows[documents]
            block: Features = self.transform_.transform(data.table[rows], qid=query[documents])
            return block

        first = encode(blocks[0])
        table = np.empty((len(query), first.shape[1]), dtype=np.float32)
        table[blocks[0]] = first
        for documents in blocks[1:]:
            table[documents] = encode(documents)
        return table

    def _scores(self, table: Features, query: IntArray) -> Float32Array:
        table, transform = as_row_transform(self.transform_, self._add_statistics(table), query)
        scores = np.empty(len(table), dtype=np.float32)
        for start in range(0, len(table), ROWS_PER_BLOCK):
            rows = slice(start, start + ROWS_PER_BLOCK)
            encoded = np.require(transform.transform(table[rows]), np.float32, ["C", "A"])
            use_kernels = len(table) > MAX_NUMPY_ROWS
            scores[rows] = saturate(_compute_weighted_sums(encoded, self.coef_, use_kernels=use_kernels))
        return scores


def _compute_weighted_sums(table: Features, weight: FloatArray, *, use_kernels: bool) -> FloatArray:
    """Compute the weighted sum of each row, in several threads if compiled."""
    sums = np.empty(len(table))

    def fill(start: int, stop: int) -> None:
        for first in range(start, stop, BLOCK_ROWS):
            rows = slice(first, min(first + BLOCK_ROWS, stop))
            sums[rows] = compute_weighted_sums(table[rows], weight, use_kernels=use_kernels)

    run_in_parallel(fill, split_evenly(len(table), get_n_threads() if use_kernels else 1))
    return sums
