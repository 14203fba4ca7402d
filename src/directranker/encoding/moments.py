"""Mean and deviation of each feature, and the one formula that rescales by them.

Means and squared deviations are updated value by value (Welford, 1962) and merged block by block (Chan,
Golub and LeVeque, 1979): stable for any offset, and exactly 0 deviation for a constant feature.

>>> moments_of_columns(np.array([[1.0, 5.0], [3.0, np.nan]])).deviation.tolist()
[1.0, 0.0]
>>> rescale(np.array([[4.0, 5.0], [np.nan, 9.0]]), np.array([2.0, 5.0]), np.array([1.0, 0.0])).tolist()
[[2.0, 0.0], [0.0, 0.0]]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import IntArray
from directranker.compilation import compiled
from directranker.encoding.blocks import Block, Encoded, Table, over_rows, working_copy

__all__ = [
    "FLOAT32_MAX",
    "Moments",
    "Vector",
    "block_moments",
    "extremes",
    "extremes_of_queries",
    "merged",
    "moments_of_columns",
    "queries_to_unit_range",
    "queries_to_z_scores",
    "rescale",
]

Vector = NDArray[np.float64]
FLOAT32_MAX = float(np.finfo(np.float32).max)


class Moments(NamedTuple):
    """Of each feature: how many values it has, their mean, and their summed squared deviation."""

    n_values: Vector
    mean: Vector
    squares: Vector

    @property
    def deviation(self) -> Vector:
        """The standard deviation of each feature; 0 where it has no values.

        >>> Moments(np.array([4.0]), np.array([1.0]), np.array([36.0])).deviation.tolist()
        [3.0]
        """
        return np.sqrt(self.squares / np.maximum(self.n_values, 1))


def moments_of_columns(table: Table, prepare: Callable[[Block], Block] = lambda block: block) -> Moments:
    """The moments of each feature of a table, or of what `prepare` makes of it; NaN does not count."""
    parts = over_rows(lambda rows: block_moments(prepare(working_copy(table, rows))), len(table))
    return merged(parts)


def block_moments(block: Block) -> Moments:
    """The moments of each column of a block.

    >>> block_moments(np.array([[1.0], [3.0]])).mean.tolist()
    [2.0]
    """
    return Moments(*_welford(block))


def merged(parts: Sequence[Moments]) -> Moments:
    """The moments of all rows from the moments of their parts.

    >>> parts = [block_moments(np.array([[1.0]])), block_moments(np.array([[3.0]]))]
    >>> merged(parts).mean.tolist()
    [2.0]
    """
    return reduce(_merged_pair, parts)


def _merged_pair(left: Moments, right: Moments) -> Moments:
    n_values = left.n_values + right.n_values
    share = right.n_values / np.maximum(n_values, 1)
    distance = right.mean - left.mean
    squares = left.squares + right.squares + distance**2 * left.n_values * share
    return Moments(n_values, left.mean + distance * share, squares)


@compiled
def _welford(block: Block) -> tuple[Vector, Vector, Vector]:
    n_rows, n_columns = block.shape
    n_values, mean, squares = np.zeros(n_columns), np.zeros(n_columns), np.zeros(n_columns)
    for row in range(n_rows):
        for column in range(n_columns):
            value = block[row, column]
            if value == value:  # noqa: PLR0124 - NaN is the one value unlike itself
                n_values[column] += 1
                distance = value - mean[column]
                mean[column] += distance / n_values[column]
                squares[column] += distance * (value - mean[column])
    return n_values, mean, squares


@compiled
def extremes(block: Block) -> tuple[Vector, Vector]:
    """Lowest and highest value of each column; (inf, -inf) where all are NaN.

    >>> low, high = extremes(np.array([[1.0], [np.nan], [3.0]]))
    >>> low.tolist(), high.tolist()
    ([1.0], [3.0])
    """
    n_rows, n_columns = block.shape
    low, high = np.full(n_columns, np.inf), np.full(n_columns, -np.inf)
    for row in range(n_rows):
        for column in range(n_columns):
            value = block[row, column]
            low[column] = min(low[column], value)
            high[column] = max(high[column], value)
    return low, high


@compiled
def rescale(block: Block, centre: Vector, width: Vector) -> Encoded:
    """(value − centre) / width, kept in the range of float32; 0 for NaN and where the width is 0."""
    n_rows, n_columns = block.shape
    rescaled = np.empty((n_rows, n_columns), dtype=np.float32)
    for row in range(n_rows):
        for column in range(n_columns):
            value = (block[row, column] - centre[column]) / width[column]
            if width[column] == 0 or value != value:  # noqa: PLR0124 - NaN
                value = 0.0
            rescaled[row, column] = min(max(value, -FLOAT32_MAX), FLOAT32_MAX)
    return rescaled


@compiled
def extremes_of_queries(block: Block, offsets: IntArray) -> tuple[Block, Block]:
    """Lowest and highest value of each column in each query, (n_queries, n_columns) each.

    >>> low, high = extremes_of_queries(np.array([[1.0], [2.0], [3.0]]), np.array([0, 2, 3]))
    >>> low.tolist(), high.tolist()
    ([[1.0], [3.0]], [[2.0], [3.0]])
    """
    n_queries = len(offsets) - 1
    lows, highs = np.empty((n_queries, block.shape[1])), np.empty((n_queries, block.shape[1]))
    for query in range(n_queries):
        lows[query], highs[query] = extremes(block[offsets[query] : offsets[query + 1]])
    return lows, highs


@compiled
def queries_to_unit_range(block: Block, offsets: IntArray) -> Encoded:
    """Each column rescaled from its lowest to its highest value in each query.

    >>> block = np.array([[2.0], [4.0], [7.0]])
    >>> queries_to_unit_range(block, np.array([0, 2, 3])).ravel().tolist()
    [0.0, 1.0, 0.0]
    """
    rescaled = np.empty(block.shape, dtype=np.float32)
    low, high = extremes_of_queries(block, offsets)
    for query in range(len(offsets) - 1):
        start, stop = offsets[query], offsets[query + 1]
        rescaled[start:stop] = rescale(block[start:stop], low[query], high[query] - low[query])
    return rescaled


@compiled
def queries_to_z_scores(block: Block, offsets: IntArray) -> Encoded:
    """Each column rescaled by its mean and standard deviation in each query.

    >>> block = np.array([[2.0], [4.0], [7.0]])
    >>> queries_to_z_scores(block, np.array([0, 2, 3])).ravel().tolist()
    [-1.0, 1.0, 0.0]
    """
    rescaled = np.empty(block.shape, dtype=np.float32)
    for query in range(len(offsets) - 1):
        start, stop = offsets[query], offsets[query + 1]
        n_values, mean, squares = _welford(block[start:stop])
        deviation = np.sqrt(squares / np.maximum(n_values, 1))
        rescaled[start:stop] = rescale(block[start:stop], mean, deviation)
    return rescaled
