"""Array types, and the query of each row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BoolArray", "Features", "Float32Array", "FloatArray", "IntArray", "Relevance", "query_of_rows"]

IntArray = NDArray[np.int64]
"""Indices, counts and query offsets."""
FloatArray = NDArray[np.float64]
Float32Array = NDArray[np.float32]
BoolArray = NDArray[np.bool_]
Features = NDArray[np.float32]
"""(n_documents, n_features), NaN where a value is missing."""
Relevance = NDArray[np.float64]
"""(n_documents,), finite."""


def query_of_rows(offsets: NDArray[np.integer[Any]]) -> IntArray:
    """Return the query index of each row, where the rows of query q are `offsets[q]:offsets[q + 1]`.

    >>> query_of_rows(np.array([0, 2, 3])).tolist()
    [0, 0, 1]
    """
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))
