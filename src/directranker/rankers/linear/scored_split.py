"""A part of the data under a linear scorer that changes one weight at a time, and how well it is ranked.

Encoded features are kept by column where they have at most 1 GB. Else columns are encoded when they are first
needed, several in a pass and in each pass as many as in all before: memory grows with the columns in use, and
there are few passes.

>>> from directranker.encoding import Unchanged
>>> features, relevance = np.array([[0.0, 3.0], [2.0, 1.0]], np.float32), np.array([0.0, 1.0])
>>> data = TrainingData(features, None, relevance, np.array([0, 2]))
>>> part = ScoredSplit(data, Unchanged().fit(features), Metric("ndcg"))
>>> part.fitness()  # all scores are 0
0.8154648767857288
>>> part.add(0, 0.5)
>>> part.scores.tolist(), part.fitness()
([0.0, 1.0], 1.0)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import FloatArray
from directranker.compilation import compiled, get_n_threads, run_in_parallel, split_evenly
from directranker.metrics import Metric
from directranker.metrics.repeated import Column, RepeatedMetric
from directranker.rankers.transforming import check_encoded
from directranker.training.data import TrainingData

__all__ = ["EncodedColumns", "ScoredSplit"]

ROWS_PER_BLOCK = 65_536  # documents encoded at a time
KEPT_BYTES = 1 << 30  # encoded features up to this size are kept as a whole
COLUMNS_AT_FIRST = 16  # columns that the first pass keeps
WORTH_A_THREAD = 100_000  # documents
TILE = 32  # rows and columns exchanged at a time


class EncodedColumns:
    """The features of a part after the transform, by column."""

    def __init__(self, data: TrainingData, transform: Any, names: Sequence[str] = ()) -> None:
        self._data, self._transform, self._names = data, transform, names
        self._query = data.query_of_row
        self.n_columns = self._encode(slice(0, 1)).shape[1]
        self._kept: dict[int, Column] = {}
        self._fit = 4 * self.n_columns * len(self._query) <= KEPT_BYTES

    def blocks(self) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """All columns, some queries at a time: which queries, and the columns of their rows."""
        if self._fit and not self._kept:
            return self._keeping(range(self.n_columns))
        return self._passing()

    def column(self, number: int, promising: Iterable[int] = ()) -> Column:
        """One column; the promising ones are encoded with it, the first ones first."""
        if number not in self._kept:
            new = [each for each in dict.fromkeys(chain([number], promising)) if each not in self._kept]
            some = new[: max(COLUMNS_AT_FIRST, len(self._kept))]
            deque(self._keeping(range(self.n_columns) if self._fit else some), maxlen=0)
        return self._kept[number]

    def _passing(self) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        offsets, first = self._data.offsets, 0
        while first < self._data.n_queries:
            fitting = int(np.searchsorted(offsets, offsets[first] + ROWS_PER_BLOCK, side="right")) - 1
            last = max(first + 1, fitting)
            yield slice(first, last), by_column(self._encode(slice(offsets[first], offsets[last])))
            first = last

    def _keeping(self, numbers: Sequence[int]) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """The same, and in the end these columns are kept."""
        columns = np.empty((len(numbers), len(self._query)), dtype=np.float32)
        for queries, block in self._passing():
            rows = slice(self._data.offsets[queries.start], self._data.offsets[queries.stop])
            columns[:, rows] = block if len(numbers) == self.n_columns else block[numbers]
            yield queries, block
        self._kept |= zip(numbers, columns, strict=True)

    def _encode(self, documents: slice) -> NDArray[np.float32]:
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
    """Documents with scores, at first all 0, and the metric that judges them."""

    def __init__(self, data: TrainingData, transform: Any, metric: Metric, names: Sequence[str] = ()) -> None:
        self.columns = EncodedColumns(data, transform, names)
        self.scores = np.zeros(len(data.relevance))
        self._metric = RepeatedMetric(metric, data.relevance, data.offsets)
        self.weights = weights_of_queries(data, self._metric.per_query(self.scores))

    def add(self, number: int, step: float, promising: Iterable[int] = ()) -> None:
        """Add step × column to the scores."""
        column = self.columns.column(number, promising)
        cuts = split_evenly(len(column), min(get_n_threads(), 1 + len(column) // WORTH_A_THREAD))
        run_in_parallel(
            lambda start, stop: add_scaled(self.scores[start:stop], column[start:stop], step), cuts
        )

    def per_query(self) -> FloatArray:
        """The metric of each query; 0 where it is left out."""
        return np.nan_to_num(self._metric.per_query(self.scores))

    def fitness(self) -> float:
        """The metric's mean over the queries by their weights."""
        return float(self.per_query() @ self.weights)

    def per_query_after(self, number: int, step: float, promising: Iterable[int] = ()) -> FloatArray:
        """The metric of each query under scores + step × column."""
        column = self.columns.column(number, promising)
        (values,) = np.nan_to_num(self._metric.evaluate_steps(self.scores, column, np.array([step])))
        return np.asarray(values)

    def fitness_of_steps(self, number: int, steps: FloatArray) -> FloatArray:
        """The fitness under scores + step × column for each step."""
        column = self.columns.column(number, range(self.columns.n_columns))
        values: FloatArray = (
            np.nan_to_num(self._metric.evaluate_steps(self.scores, column, steps)) @ self.weights
        )
        return values

    def per_column(self, sign: float = 1.0) -> FloatArray:
        """The metric of each query under sign × each column alone, (n_columns, n_queries)."""
        table = np.empty((self.columns.n_columns, len(self.weights)))
        for queries, block in self.columns.blocks():
            table[:, queries] = self._metric.evaluate_columns(block, queries, sign)
        np.nan_to_num(table, copy=False)
        return table


def weights_of_queries(data: TrainingData, values: FloatArray) -> FloatArray:
    """What each query weighs, 1 in all, or all 0 where none counts; 0 for queries without a value.

    >>> data = TrainingData(np.ones((3, 1), np.float32), None, np.ones(3), np.array([0, 1, 2, 3]))
    >>> weights_of_queries(data, np.array([0.5, np.nan, 0.0])).tolist()
    [0.5, 0.0, 0.5]
    """
    weights = np.where(np.isnan(values), 0.0, data.weight_of_queries)
    return weights / (weights.sum() or 1.0)


def by_column(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """A table with rows and columns exchanged, in memory of its own.

    >>> by_column(np.array([[1, 2], [3, 4]], np.float32)).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    columns = np.empty(rows.shape[::-1], dtype=np.float32)
    parts = min(get_n_threads(), 1 + len(rows) // (WORTH_A_THREAD // 10))
    run_in_parallel(lambda start, stop: turn(rows, columns, start, stop), split_evenly(len(rows), parts))
    return columns


@compiled
def turn(rows: NDArray[np.float32], columns: NDArray[np.float32], start: int, stop: int) -> None:
    """Write `rows[start:stop]` as columns, in tiles that fit the processor's nearest memory."""
    n_columns = rows.shape[1]
    for first_row in range(start, stop, TILE):
        for first_column in range(0, n_columns, TILE):
            for column in range(first_column, min(first_column + TILE, n_columns)):
                for row in range(first_row, min(first_row + TILE, stop)):
                    columns[column, row] = rows[row, column]


@compiled
def add_scaled(scores: FloatArray, column: Column, step: float) -> None:
    """Add step × column to the scores."""
    for row in range(len(scores)):
        scores[row] += step * column[row]
