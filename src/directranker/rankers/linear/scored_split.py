"""A data split scored by a linear model that changes one weight at a time, and its metric.

Encoded features are cached by column if they have at most 1 GB. Otherwise columns are encoded when they are
first needed, several in a pass, and each pass caches as many as all passes before: memory grows with the
columns in use, and there are few passes.

>>> from directranker.encoding import Unchanged
>>> features, relevance = np.array([[0.0, 3.0], [2.0, 1.0]], np.float32), np.array([0.0, 1.0])
>>> data = TrainingData(features, None, relevance, np.array([0, 2]))
>>> split = ScoredSplit(data, Unchanged().fit(features), Metric("ndcg"))
>>> split.compute_fitness()  # all scores are 0
0.8154648767857288
>>> split.add_column(0, 0.5)
>>> split.scores.tolist(), split.compute_fitness()
([0.0, 1.0], 1.0)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np
from sklearn.base import BaseEstimator

from directranker.arrays import Float32Array, FloatArray
from directranker.compilation import compiled, get_n_threads, run_in_parallel, split_evenly
from directranker.metrics import Metric
from directranker.metrics.repeated import RepeatedMetric
from directranker.rankers.transforming import check_encoded
from directranker.training.data import TrainingData

__all__ = ["EncodedColumns", "ScoredSplit"]

ROWS_PER_BLOCK = 65_536  # documents encoded at a time
MAX_CACHED_BYTES = 1 << 30  # encoded features up to this size are cached as a whole
COLUMNS_IN_FIRST_PASS = 16
MIN_ROWS_PER_THREAD = 100_000
TILE = 32  # rows and columns transposed at a time


class EncodedColumns:
    """The encoded features of a split, by column."""

    def __init__(self, data: TrainingData, transform: BaseEstimator, names: Sequence[str] = ()) -> None:
        self._data, self._transform, self._names = data, transform, names
        self._query = data.query_of_row
        self.n_columns = self._encode(slice(0, 1)).shape[1]
        self._cached: dict[int, Float32Array] = {}
        self._fits_cache = 4 * self.n_columns * len(self._query) <= MAX_CACHED_BYTES

    def iterate_blocks(self) -> Iterator[tuple[slice, Float32Array]]:
        """Iterate over all columns, some queries at a time: the queries, and the columns of their rows."""
        if self._fits_cache and not self._cached:
            return self._encode_and_cache(range(self.n_columns))
        return self._encode_blocks()

    def get_column(self, column: int, prefetch: Iterable[int] = ()) -> Float32Array:
        """Return one column; if it must be encoded, encode the first columns of `prefetch` with it."""
        if column not in self._cached:
            missing = [each for each in dict.fromkeys(chain([column], prefetch)) if each not in self._cached]
            some = missing[: max(COLUMNS_IN_FIRST_PASS, len(self._cached))]
            deque(self._encode_and_cache(range(self.n_columns) if self._fits_cache else some), maxlen=0)
        return self._cached[column]

    def _encode_blocks(self) -> Iterator[tuple[slice, Float32Array]]:
        offsets, first = self._data.offsets, 0
        while first < self._data.n_queries:
            fitting = int(np.searchsorted(offsets, offsets[first] + ROWS_PER_BLOCK, side="right")) - 1
            last = max(first + 1, fitting)
            yield slice(first, last), transpose(self._encode(slice(offsets[first], offsets[last])))
            first = last

    def _encode_and_cache(self, columns: Sequence[int]) -> Iterator[tuple[slice, Float32Array]]:
        """Iterate over the same blocks, and cache these columns at the end."""
        cache = np.empty((len(columns), len(self._query)), dtype=np.float32)
        for queries, block in self._encode_blocks():
            rows = slice(self._data.offsets[queries.start], self._data.offsets[queries.stop])
            cache[:, rows] = block if len(columns) == self.n_columns else block[columns]
            yield queries, block
        self._cached |= zip(columns, cache, strict=True)

    def _encode(self, documents: slice) -> Float32Array:
        rows = (
            np.arange(documents.start, documents.stop)
            if self._data.rows is None
            else self._data.rows[documents]
        )
        table = self._data.table[documents if self._data.rows is None else rows]
        encoded = self._transform.transform(table, qid=self._query[documents])
        block = np.ascontiguousarray(encoded, dtype=np.float32)
        check_encoded(block, self._transform, names=self._names, rows=rows)
        return block


class ScoredSplit:
    """Documents with scores, initially all 0, and the metric that evaluates them."""

    def __init__(
        self, data: TrainingData, transform: BaseEstimator, metric: Metric, names: Sequence[str] = ()
    ) -> None:
        self.columns = EncodedColumns(data, transform, names)
        self.scores = np.zeros(len(data.relevance))
        self._metric = RepeatedMetric(metric, data.relevance, data.offsets)
        self.weights = compute_query_weights(data, self._metric.per_query(self.scores))

    def add_column(self, column: int, step: float, prefetch: Iterable[int] = ()) -> None:
        """Add step × column to the scores."""
        values = self.columns.get_column(column, prefetch)
        cuts = split_evenly(len(values), min(get_n_threads(), 1 + len(values) // MIN_ROWS_PER_THREAD))
        run_in_parallel(
            lambda start, stop: add_scaled(self.scores[start:stop], values[start:stop], step), cuts
        )

    def compute_per_query(self) -> FloatArray:
        """Compute the metric of each query; 0 for queries that the metric leaves out."""
        return np.nan_to_num(self._metric.per_query(self.scores))

    def compute_fitness(self) -> float:
        """Compute the weighted mean of the metric over queries."""
        return float(self.compute_per_query() @ self.weights)

    def compute_per_query_after(self, column: int, step: float, prefetch: Iterable[int] = ()) -> FloatArray:
        """Compute the metric of each query for scores + step × column."""
        values = self.columns.get_column(column, prefetch)
        (per_query,) = np.nan_to_num(self._metric.evaluate_steps(self.scores, values, np.array([step])))
        return np.asarray(per_query)

    def compute_fitness_of_steps(self, column: int, steps: FloatArray) -> FloatArray:
        """Compute the fitness for scores + step × column, for each step."""
        values = self.columns.get_column(column, range(self.columns.n_columns))
        fitness: FloatArray = (
            np.nan_to_num(self._metric.evaluate_steps(self.scores, values, steps)) @ self.weights
        )
        return fitness

    def compute_per_column(self, sign: float = 1.0) -> FloatArray:
        """Compute the metric of each query for sign × each column alone, (n_columns, n_queries)."""
        table = np.empty((self.columns.n_columns, len(self.weights)))
        for queries, block in self.columns.iterate_blocks():
            table[:, queries] = self._metric.evaluate_columns(block, queries, sign)
        np.nan_to_num(table, copy=False)
        return table


def compute_query_weights(data: TrainingData, values: FloatArray) -> FloatArray:
    """Compute the weight of each query in the mean: 0 for queries without a value, and a sum of 1, else 0.

    >>> data = TrainingData(np.ones((3, 1), np.float32), None, np.ones(3), np.array([0, 1, 2, 3]))
    >>> compute_query_weights(data, np.array([0.5, np.nan, 0.0])).tolist()
    [0.5, 0.0, 0.5]
    """
    weights = np.where(np.isnan(values), 0.0, data.weight_of_queries)
    return weights / (weights.sum() or 1.0)


def transpose(rows: Float32Array) -> Float32Array:
    """Return a transposed, contiguous copy of a table.

    >>> transpose(np.array([[1, 2], [3, 4]], np.float32)).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    columns = np.empty(rows.shape[::-1], dtype=np.float32)
    n_slices = min(get_n_threads(), 1 + len(rows) // (MIN_ROWS_PER_THREAD // 10))
    run_in_parallel(
        lambda start, stop: transpose_rows(rows, columns, start, stop), split_evenly(len(rows), n_slices)
    )
    return columns


@compiled
def transpose_rows(rows: Float32Array, columns: Float32Array, start: int, stop: int) -> None:
    """Write `rows[start:stop]` as columns, in tiles that fit the processor's first-level cache."""
    n_columns = rows.shape[1]
    for first_row in range(start, stop, TILE):
        for first_column in range(0, n_columns, TILE):
            for column in range(first_column, min(first_column + TILE, n_columns)):
                for row in range(first_row, min(first_row + TILE, stop)):
                    columns[column, row] = rows[row, column]


@compiled
def add_scaled(scores: FloatArray, column: Float32Array, step: float) -> None:
    """Add step × column to the scores."""
    for row in range(len(scores)):
        scores[row] += step * column[row]
