"""Comparisons of points: a function r(x, y), or a relation x ⪰ y, evaluated on all pairs or row by row.

x ⪰ y reads "x is at least y" and is equivalent to r(x, y) ≥ 0.

>>> comparison_matrix(lambda x, y: x - y, [3, 1])
array([[ 0.,  2.],
       [-2.,  0.]])
>>> comparison_matrix(lambda x, y: x >= y, [3, 1])
array([[ 0.,  1.],
       [-1.,  0.]])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from directranker.arrays import BoolArray, FloatArray, IntArray

__all__ = ["Comparison", "Relation", "RowComparison", "as_points", "comparison_matrix", "make_row_comparison"]

Comparison = Callable[[Any, Any], Any]
"""r(x, y) as a number, or x ⪰ y as a bool."""
Relation = Callable[[Any, Any], Any]
"""x ⪰ y as a bool."""
RowComparison = Callable[[Any, Any], NDArray[Any]]
"""A comparison of two equally long sequences of points, one value per row."""

MAX_POINTS = 5000
ROWS_PER_CALL = 65_536


def as_points(X: ArrayLike, n_features: int | None = None) -> FloatArray:
    """Return points as finite float64 rows.

    >>> as_points([1, 2])
    Traceback (most recent call last):
    ValueError: points have shape (2,); pass finite numbers, (n_points, n_features)
    """
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or n_features not in (None, points.shape[1]) or not np.isfinite(points).all():
        wanted = "n_features" if n_features is None else n_features
        raise ValueError(f"points have shape {points.shape}; pass finite numbers, (n_points, {wanted})")
    return points


def make_row_comparison(compare: Comparison, *, batched: bool) -> RowComparison:
    """Return a row-wise comparison, made from one of two points unless it is `batched` already.

    >>> make_row_comparison(lambda x, y: x >= y, batched=False)([1, 2], [2, 1]).tolist()
    [False, True]
    """
    if not batched:
        return lambda xs, ys: np.array([_to_scalar(compare(x, y)) for x, y in zip(xs, ys, strict=True)])

    def compare_rows(xs: Any, ys: Any) -> NDArray[Any]:
        values = compare(xs, ys)
        values = np.asarray(values.detach() if hasattr(values, "detach") else values)
        if values.shape != (len(xs),):
            raise ValueError(
                f"the batched comparison returned shape {values.shape} for {len(xs)} pairs; "
                "return one value per pair"
            )
        return values

    return compare_rows


def comparison_matrix(compare: Comparison, points: Any, *, batched: bool = False) -> FloatArray:
    """Return r(x_i, x_j) for all pairs; of a relation 0 if both ways hold, 1, −1, or nan if none does.

    With `batched` the comparison takes two arrays (or tensors) of points and compares row by row, as a
    ranker's `compare`; otherwise it takes two points.
    """
    n = len(points)
    if n > MAX_POINTS:
        raise ValueError(f"{n} points make {n * n} pairs; pass a sample of at most {MAX_POINTS}")
    compare_rows = make_row_comparison(compare, batched=batched)
    columns = np.arange(n)
    rows_per_block = max(1, ROWS_PER_CALL // max(n, 1))
    blocks = []
    for start in range(0, n, rows_per_block):
        rows = np.arange(start, min(start + rows_per_block, n))
        xs, ys = _take(points, np.repeat(rows, n)), _take(points, np.tile(columns, len(rows)))
        blocks.append(compare_rows(xs, ys).reshape(len(rows), n))
    matrix: NDArray[Any] = np.concatenate(blocks) if blocks else np.zeros((0, 0))
    return _to_comparisons(matrix) if matrix.dtype == np.bool_ else matrix.astype(np.float64)


def _to_comparisons(at_least: BoolArray) -> FloatArray:
    r = at_least.astype(np.float64) - at_least.T
    r[~at_least & ~at_least.T] = np.nan
    return r


def _take(points: Any, indices: IntArray) -> Any:
    if hasattr(points, "shape"):  # an array or a tensor
        return points[indices]
    return [points[index] for index in indices]


def _to_scalar(value: Any) -> Any:
    """Return the number in a one-element tensor or array, so that r may be the output of a net."""
    return value.item() if hasattr(value, "item") else value
