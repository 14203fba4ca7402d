"""Quantiles of each feature, from all rows or from a bounded random sample of them.

>>> column_quantiles(np.array([[3.0], [1.0], [np.nan], [2.0]]), 3).tolist()
[[1.0], [2.0], [3.0]]
"""

from __future__ import annotations

import numpy as np

from directranker.compilation import get_n_threads, run_in_parallel, split_evenly
from directranker.encoding.blocks import Block, Table
from directranker.encoding.moments import Vector

__all__ = ["RandomState", "column_quantiles", "sampled_rows"]

RandomState = int | np.random.Generator | None


def sampled_rows(table: Table, *, limit: int | None, random_state: RandomState) -> Table:
    """The table itself, or `limit` of its rows drawn without replacement if it has more.

    >>> len(sampled_rows(np.zeros((10, 1)), limit=3, random_state=0))
    3
    """
    if limit is None or len(table) <= limit:
        return table
    rows = np.random.default_rng(random_state).choice(len(table), limit, replace=False, shuffle=False)
    return table[np.sort(rows)]


def column_quantiles(table: Table, n_quantiles: int) -> Block:
    """Evenly spaced quantiles of each feature, from its lowest to its highest value.

    NaN does not count; a feature without values has quantiles of 0.
    """
    quantiles = np.zeros((n_quantiles, table.shape[1]))

    def fill(start: int, stop: int) -> None:
        for column in range(start, stop):
            values = np.sort(table[:, column].astype(np.float64))
            values = values[: np.searchsorted(values, np.nan)]  # NaN sorts last
            if len(values):
                quantiles[:, column] = _even_quantiles(values, n_quantiles)

    run_in_parallel(fill, split_evenly(table.shape[1], get_n_threads()))
    return quantiles


def _even_quantiles(ordered: Vector, n_quantiles: int) -> Vector:
    # Places in whole numbers: a rounded place would turn a quantile of 2 into 2.0000000001, no longer
    # equal to the values it came from.
    steps = max(1, n_quantiles - 1)
    place, rest = np.divmod(np.arange(n_quantiles) * (len(ordered) - 1), steps)
    low, high = ordered[place], ordered[np.minimum(place + 1, len(ordered) - 1)]
    quantiles: Vector = np.minimum(low + rest / steps * (high - low), high)
    return quantiles
