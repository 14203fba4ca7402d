"""Quantiles of each feature, from all rows or from a bounded random sample of them.

>>> compute_quantiles(np.array([[3.0], [1.0], [np.nan], [2.0]]), 3).tolist()
[[1.0], [2.0], [3.0]]
"""

from __future__ import annotations

import numpy as np

from directranker.arrays import FloatArray
from directranker.compilation import get_n_threads, run_in_parallel, split_evenly
from directranker.encoding.blocks import Table

__all__ = ["RandomState", "compute_quantiles", "sample_rows"]

RandomState = int | np.random.Generator | None


def sample_rows(table: Table, *, limit: int | None, random_state: RandomState) -> Table:
    """Sample at most `limit` rows without replacement; None returns the table itself.

    >>> len(sample_rows(np.zeros((10, 1)), limit=3, random_state=0))
    3
    """
    if limit is None or len(table) <= limit:
        return table
    rows = np.random.default_rng(random_state).choice(len(table), limit, replace=False, shuffle=False)
    return table[np.sort(rows)]


def compute_quantiles(table: Table, n_quantiles: int) -> FloatArray:
    """Compute evenly spaced quantiles of each feature, from its minimum to its maximum.

    NaN is ignored; the quantiles of a feature without values are 0.
    """
    quantiles = np.zeros((n_quantiles, table.shape[1]))

    def fill(start: int, stop: int) -> None:
        for column in range(start, stop):
            values = np.sort(table[:, column].astype(np.float64))
            values = values[: np.searchsorted(values, np.nan)]  # NaN sorts last
            if len(values):
                quantiles[:, column] = _interpolate_quantiles(values, n_quantiles)

    run_in_parallel(fill, split_evenly(table.shape[1], get_n_threads()))
    return quantiles


def _interpolate_quantiles(ascending: FloatArray, n_quantiles: int) -> FloatArray:
    # Integer positions: a rounded position would turn a quantile of 2 into 2.0000000001, which no longer
    # equals the training values.
    steps = max(1, n_quantiles - 1)
    index, remainder = np.divmod(np.arange(n_quantiles) * (len(ascending) - 1), steps)
    low, high = ascending[index], ascending[np.minimum(index + 1, len(ascending) - 1)]
    quantiles: FloatArray = np.minimum(low + remainder / steps * (high - low), high)
    return quantiles
