"""Products of a table of float32 features with weights, in float64 and on all threads, without a copy of it.

Where the cuts between threads fall depends on the table alone, not on the number of threads.

>>> table = np.array([[1, 2], [3, 4]], dtype=np.float32)
>>> scores = score_rows(table, np.array([10.0, 1.0]))
>>> scores.tolist(), sum_rows(table, np.array([1.0, 10.0])).tolist()
([12.0, 34.0], [31.0, 42.0])
>>> changed = np.empty(2)
>>> update_scores(table, scores, np.array([1]), np.array([-1.0]), changed)
>>> changed.tolist()
[10.0, 30.0]
"""

from __future__ import annotations

import numpy as np

from directranker.arrays import Features, FloatArray, IntArray
from directranker.compilation import compiled, compiled_fastmath, run_in_parallel, split_evenly

__all__ = ["score_rows", "sum_rows", "update_scores"]

ROWS_WORTH_A_THREAD = 20_000
FEW = 0.05  # up to this share of the columns, picking them is faster than reading all in order


def score_rows(table: Features, weights: FloatArray) -> FloatArray:
    """The weighted sum of each row."""
    scores = np.empty(len(table))
    update_scores(table, np.zeros(len(table)), np.arange(len(weights)), weights, scores)
    return scores


def update_scores(
    table: Features, scores: FloatArray, columns: IntArray, steps: FloatArray, changed: FloatArray
) -> None:
    """Write into `changed` the scores after the weights of some columns have changed by `steps`."""
    changes = np.zeros(table.shape[1])
    changes[columns] = steps

    def work(first: int, last: int) -> None:
        if len(columns) <= FEW * table.shape[1]:
            add_columns(table, scores, columns, steps, changed, first, last)
        else:
            add_products(table, scores, changes, changed, first, last)

    run_in_parallel(work, _cuts(table))


def sum_rows(table: Features, row_weights: FloatArray) -> FloatArray:
    """The weighted sum of the rows: one number per column."""
    parts = run_in_parallel(lambda first, last: add_rows(table, row_weights, first, last), _cuts(table))
    total: FloatArray = np.sum(parts, axis=0)
    return total


def _cuts(table: Features) -> list[int]:
    return split_evenly(len(table), 1 + len(table) // ROWS_WORTH_A_THREAD)


@compiled_fastmath
def add_columns(
    table: Features,
    scores: FloatArray,
    columns: IntArray,
    steps: FloatArray,
    changed: FloatArray,
    first: int,
    last: int,
) -> None:
    """Rows `first:last`, of which only the memory around some columns is read."""
    for row in range(first, last):
        total = 0.0
        for at in range(len(columns)):
            total += steps[at] * table[row, columns[at]]
        changed[row] = scores[row] + total


@compiled_fastmath
def add_products(
    table: Features, scores: FloatArray, changes: FloatArray, changed: FloatArray, first: int, last: int
) -> None:
    """Rows `first:last` with all their columns, which are read in order."""
    for row in range(first, last):
        total = 0.0
        for column in range(table.shape[1]):
            total += changes[column] * table[row, column]
        changed[row] = scores[row] + total


@compiled
def add_rows(table: Features, row_weights: FloatArray, first: int, last: int) -> FloatArray:
    """The weighted sum of the rows `first:last`."""
    total = np.zeros(table.shape[1])
    for row in range(first, last):
        weight = row_weights[row]
        for column in range(table.shape[1]):
            total[column] += weight * table[row, column]
    return total
