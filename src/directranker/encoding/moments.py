"""Mean and standard deviation of each feature, and the formula that rescales by them.

Means and sums of squared deviations are updated value by value (Welford, 1962) and merged block by block
(Chan, Golub and LeVeque, 1979): numerically stable for any offset, and exactly 0 for a constant feature.

>>> compute_moments(np.array([[1.0, 5.0], [3.0, np.nan]])).deviation.tolist()
[1.0, 0.0]
>>> rescale(np.array([[4.0, 5.0], [np.nan, 9.0]]), np.array([2.0, 5.0]), np.array([1.0, 0.0])).tolist()
[[2.0, 0.0], [0.0, 0.0]]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from directranker.arrays import Float32Array, FloatArray, IntArray
from directranker.compilation import compiled
from directranker.encoding.blocks import Table, copy_block, map_row_blocks

__all__ = [
    "FLOAT32_MAX",
    "Moments",
    "compute_block_moments",
    "compute_moments",
    "compute_range",
    "compute_range_per_query",
    "merge_moments",
    "rescale",
    "scale_queries_to_unit_range",
    "share_moments",
    "standardise_queries",
]

FLOAT32_MAX = float(np.finfo(np.float32).max)


class Moments(NamedTuple):
    """The number of values, the mean and the sum of squared deviations of each feature."""

    n_values: FloatArray
    mean: FloatArray
    squares: FloatArray

    @property
    def deviation(self) -> FloatArray:
        """The standard deviation of each feature; 0 for a feature without values.

        >>> Moments(np.array([4.0]), np.array([1.0]), np.array([36.0])).deviation.tolist()
        [3.0]
        """
        return np.sqrt(self.squares / np.maximum(self.n_values, 1))


def compute_moments(
    table: Table, prepare: Callable[[FloatArray], FloatArray] = lambda block: block
) -> Moments:
    """Compute the moments of each feature after `prepare`; NaN is ignored."""
    return merge_moments(
        map_row_blocks(lambda rows: compute_block_moments(prepare(copy_block(table, rows))), len(table))
    )


def compute_block_moments(block: FloatArray) -> Moments:
    """Compute the moments of each column of a block.

    >>> compute_block_moments(np.array([[1.0], [3.0]])).mean.tolist()
    [2.0]
    """
    return Moments(*_welford(block))


def merge_moments(blocks: Sequence[Moments]) -> Moments:
    """Merge the moments of blocks into the moments of all their rows.

    >>> blocks = [compute_block_moments(np.array([[1.0]])), compute_block_moments(np.array([[3.0]]))]
    >>> merge_moments(blocks).mean.tolist()
    [2.0]
    """
    return reduce(_merge_pair, blocks)


def _merge_pair(left: Moments, right: Moments) -> Moments:
    n_values = left.n_values + right.n_values
    fraction = right.n_values / np.maximum(n_values, 1)
    distance = right.mean - left.mean
    squares = left.squares + right.squares + distance**2 * left.n_values * fraction
    return Moments(n_values, left.mean + distance * fraction, squares)


def share_moments(moments: Moments, vector: IntArray) -> Moments:
    """Give all dimensions of a vector the moments of all its values; −1 in `vector` is a column by itself.

    >>> moments = compute_moments(np.array([[0.0, 4.0, 7.0], [2.0, 6.0, 9.0]]))
    >>> share_moments(moments, np.array([0, 0, -1])).mean.tolist()
    [3.0, 3.0, 8.0]
    """
    shared = np.array(moments)
    for number in range(int(vector.max(initial=-1)) + 1):
        columns = np.flatnonzero(vector == number)
        merged = merge_moments([Moments(*dimension) for dimension in shared.T[columns]])
        shared[:, columns] = np.array(merged)[:, None]
    return Moments(*shared)


@compiled
def _welford(block: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    n_rows, n_columns = block.shape
    n_values, mean, squares = np.zeros(n_columns), np.zeros(n_columns), np.zeros(n_columns)
    for row in range(n_rows):
        for column in range(n_columns):
            value = block[row, column]
            if value == value:  # noqa: PLR0124 - False only for NaN
                n_values[column] += 1
                distance = value - mean[column]
                mean[column] += distance / n_values[column]
                squares[column] += distance * (value - mean[column])
    return n_values, mean, squares


@compiled
def compute_range(block: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute the minimum and maximum of each column; (inf, -inf) if all values are NaN.

    >>> low, high = compute_range(np.array([[1.0], [np.nan], [3.0]]))
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
def rescale(block: FloatArray, centre: FloatArray, width: FloatArray) -> Float32Array:
    """Compute (value − centre) / width, clipped to the range of float32; 0 for NaN and for a width of 0."""
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
def compute_range_per_query(block: FloatArray, offsets: IntArray) -> tuple[FloatArray, FloatArray]:
    """Compute the minimum and maximum of each column in each query, (n_queries, n_columns) each.

    >>> low, high = compute_range_per_query(np.array([[1.0], [2.0], [3.0]]), np.array([0, 2, 3]))
    >>> low.tolist(), high.tolist()
    ([[1.0], [3.0]], [[2.0], [3.0]])
    """
    n_queries = len(offsets) - 1
    lows, highs = np.empty((n_queries, block.shape[1])), np.empty((n_queries, block.shape[1]))
    for query in range(n_queries):
        lows[query], highs[query] = compute_range(block[offsets[query] : offsets[query + 1]])
    return lows, highs


@compiled
def scale_queries_to_unit_range(block: FloatArray, offsets: IntArray) -> Float32Array:
    """Rescale each column in each query to [0, 1].

    >>> block = np.array([[2.0], [4.0], [7.0]])
    >>> scale_queries_to_unit_range(block, np.array([0, 2, 3])).ravel().tolist()
    [0.0, 1.0, 0.0]
    """
    rescaled = np.empty(block.shape, dtype=np.float32)
    low, high = compute_range_per_query(block, offsets)
    for query in range(len(offsets) - 1):
        start, stop = offsets[query], offsets[query + 1]
        rescaled[start:stop] = rescale(block[start:stop], low[query], high[query] - low[query])
    return rescaled


@compiled
def standardise_queries(block: FloatArray, offsets: IntArray) -> Float32Array:
    """Rescale each column in each query to mean 0 and standard deviation 1.

    >>> block = np.array([[2.0], [4.0], [7.0]])
    >>> standardise_queries(block, np.array([0, 2, 3])).ravel().tolist()
    [-1.0, 1.0, 0.0]
    """
    rescaled = np.empty(block.shape, dtype=np.float32)
    for query in range(len(offsets) - 1):
        start, stop = offsets[query], offsets[query + 1]
        n_values, mean, squares = _welford(block[start:stop])
        deviation = np.sqrt(squares / np.maximum(n_values, 1))
        rescaled[start:stop] = rescale(block[start:stop], mean, deviation)
    return rescaled
