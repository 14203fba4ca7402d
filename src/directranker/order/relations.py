"""Comparisons of points: a function r(x, y), or a relation x ⪰ y, evaluated on all pairs or row by row.

x ⪰ y is read "x is at least y" and is the same as r(x, y) ≥ 0.

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

__all__ = ["Comparison", "Floats", "Relation", "as_points", "comparison_matrix", "row_by_row"]

Comparison = Callable[[Any, Any], Any]
"""r(x, y) as a number, or x ⪰ y as a truth value."""
Relation = Callable[[Any, Any], Any]
"""x ⪰ y as a truth value."""
Floats = NDArray[np.float64]

MAX_POINTS = 5000
ROWS_PER_CALL = 65_536


def as_points(X: ArrayLike, n_features: int | None = None) -> Floats:
    """Points as finite numbers, one row each.

    >>> as_points([1, 2])
    Traceback (most recent call last):
    ValueError: points have shape (2,); give finite numbers, (n_points, n_features)
    """
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or n_features not in (None, points.shape[1]) or not np.isfinite(points).all():
        wanted = "n_features" if n_features is None else n_features
        raise ValueError(f"points have shape {points.shape}; give finite numbers, (n_points, {wanted})")
    return points


def row_by_row(compare: Comparison, *, batched: bool) -> Callable[[Any, Any], NDArray[Any]]:
    """A comparison of two lists of points, from one of two points unless it takes lists already.

    >>> row_by_row(lambda x, y: x >= y, batched=False)([1, 2], [2, 1]).tolist()
    [False, True]
    """
    if not batched:
        return lambda xs, ys: np.array([_single(compare(x, y)) for x, y in zip(xs, ys, strict=True)])

    def compared(xs: Any, ys: Any) -> NDArray[Any]:
        values = compare(xs, ys)
        values = np.asarray(values.detach() if hasattr(values, "detach") else values)
        if values.shape != (len(xs),):
            raise ValueError(
                f"the batched comparison gave shape {values.shape} for {len(xs)} pairs; give a value per pair"
            )
        return values

    return compared


def comparison_matrix(compare: Comparison, points: Any, *, batched: bool = False) -> Floats:
    """r(x_i, x_j) for all pairs; a relation x ⪰ y becomes 0 both ways, 1, −1, or nan for neither way.

    With `batched` the comparison takes two arrays (or tensors) of points and answers row by row, which is
    the form of a ranker's `compare`; otherwise it takes two points.
    """
    n = len(points)
    if n > MAX_POINTS:
        raise ValueError(f"{n} points make {n * n} pairs; give a sample of at most {MAX_POINTS}")
    compared = row_by_row(compare, batched=batched)
    columns = np.arange(n)
    rows_at_once = max(1, ROWS_PER_CALL // max(n, 1))
    blocks = []
    for start in range(0, n, rows_at_once):
        rows = np.arange(start, min(start + rows_at_once, n))
        xs, ys = _chosen(points, np.repeat(rows, n)), _chosen(points, np.tile(columns, len(rows)))
        blocks.append(compared(xs, ys).reshape(len(rows), n))
    matrix: NDArray[Any] = np.concatenate(blocks) if blocks else np.zeros((0, 0))
    return _of_relation(matrix) if matrix.dtype == np.bool_ else matrix.astype(np.float64)


def _of_relation(at_least: NDArray[np.bool_]) -> Floats:
    r = at_least.astype(np.float64) - at_least.T
    r[~at_least & ~at_least.T] = np.nan
    return r


def _chosen(points: Any, places: NDArray[np.int64]) -> Any:
    if hasattr(points, "shape"):  # an array or a tensor
        return points[places]
    return [points[place] for place in places]


def _single(value: Any) -> Any:
    """The number in a tensor or array of one, so that r may be a net's output for two rows."""
    return value.item() if hasattr(value, "item") else value
