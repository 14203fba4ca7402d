"""Products of a float32 table with weights, in float64 and in parallel, without a copy of the table.

The boundaries between threads depend on the table alone, not on the number of threads.

>>> table = np.array([[1, 2], [3, 4]], dtype=np.float32)
>>> scores = score_rows(table, np.array([10.0, 1.0]))
>>> scores.tolist(), sum_rows(table, np.array([1.0, 10.0])).tolist()
([12.0, 34.0], [31.0, 42.0])
>>> updated = np.empty(2)
>>> update_scores(table, scores, np.array([1]), np.array([-1.0]), updated)
>>> updated.tolist()
[10.0, 30.0]
"""

from __future__ import annotations

import numpy as np

from directranker.arrays import Features, FloatArray, IntArray
from directranker.compilation import compiled, compiled_fastmath, run_in_parallel, split_evenly

__all__ = ["score_rows", "sum_rows", "update_scores"]

MIN_ROWS_PER_THREAD = 20_000
MAX_GATHERED_FRACTION = 0.05  # of the columns; gathering more is slower than reading all in order


def score_rows(table: Features, weights: FloatArray) -> FloatArray:
    """Compute the weighted sum of each row."""
    scores = np.empty(len(table))
    update_scores(table, np.zeros(len(table)), np.arange(len(weights)), weights, scores)
    return scores


def update_scores(
    table: Features, scores: FloatArray, columns: IntArray, steps: FloatArray, updated: FloatArray
) -> None:
    """Write into `updated` the scores after the weights of some columns change by `steps`."""
    changes = np.zeros(table.shape[1])
    changes[columns] = steps

    def update(start: int, stop: int) -> None:
        if len(columns) <= MAX_GATHERED_FRACTION * table.shape[1]:
            add_columns(table, scores, columns, steps, updated, start, stop)
        else:
            add_products(table, scores, changes, updated, start, stop)

    run_in_parallel(update, _compute_cuts(table))


def sum_rows(table: Features, row_weights: FloatArray) -> FloatArray:
    """Compute the weighted sum of the rows: one number per column."""
    sums = run_in_parallel(
        lambda start, stop: add_rows(table, row_weights, start, stop), _compute_cuts(table)
    )
    total: FloatArray = np.sum(sums, axis=0)
    return total


def _compute_cuts(table: Features) -> list[int]:
    return split_evenly(len(table), 1 + len(table) // MIN_ROWS_PER_THREAD)


@compiled_fastmath
def add_columns(
    table: Features,
    scores: FloatArray,
    columns: IntArray,
    steps: FloatArray,
    updated: FloatArray,
    start: int,
    stop: int,
) -> None:
    """Update rows `start:stop`, reading only the given columns."""
    for row in range(start, stop):
        total = 0.0
        for at in range(len(columns)):
            total += steps[at] * table[row, columns[at]]
        updated[row] = scores[row] + total


@compiled_fastmath
def add_products(
    table: Features, scores: FloatArray, changes: FloatArray, updated: FloatArray, start: int, stop: int
) -> None:
    """Update rows `start:stop`, reading all columns in order."""
    for row in range(start, stop):
        total = 0.0
        for column in range(table.shape[1]):
            total += changes[column] * table[row, column]
        updated[row] = scores[row] + total


@compiled
def add_rows(table: Features, row_weights: FloatArray, start: int, stop: int) -> FloatArray:
    """Compute the weighted sum of the rows `start:stop`."""
    total = np.zeros(table.shape[1])
    for row in range(start, stop):
        weight = row_weights[row]
        for column in range(table.shape[1]):
            total[column] += weight * table[row, column]
    return total
