"""Theorem 4 as code: scores g for an order on a convex set, as distances between its classes.

The proof takes a point x₀ and sets g(x) = ±d(∂x₀, ∂x), where ∂x is the class of all points equal to x and d
the smallest distance between two classes: + above x₀, − below. Its main step is that a segment from below a
class to above it crosses the class. Here that step is a bisection on many fixed segments.

>>> points = np.random.default_rng(0).normal(size=(100, 2))
>>> farther = lambda x, y: np.hypot(*x) >= np.hypot(*y)  # from the origin
>>> g = distance_construction(farther, points, base=[0.0, 1.0])
>>> g([[1.5, 0.0], [0.0, -1.0], [0.6, 0.0]]).round(1).tolist()
[0.5, 0.0, -0.4]
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from directranker.arrays import BoolArray, FloatArray
from directranker.order.laws import sort_by_comparator
from directranker.order.relations import Relation, RowComparison, as_points, make_row_comparison

__all__ = ["distance_construction"]

SCAN_STEPS = 16
BISECTION_STEPS = 44


def distance_construction(
    at_least: Relation,
    samples: ArrayLike,
    *,
    base: ArrayLike | None = None,
    n_segments: int = 200,
    batched: bool = False,
    random_state: int | None = 0,
) -> Callable[[ArrayLike], FloatArray]:
    """Return a g that represents the order ⪰ between the lowest and the highest of the samples.

    `at_least(x, y)` returns whether x ⪰ y for two points, or row by row for two arrays with `batched`. The
    samples must be in the convex set; `base` is x₀, by default their median. Segments go from samples below
    x₀ to samples above it. Each crosses ∂x₀ and, if x is not too high or too low, ∂x; g(x) is the smallest
    distance of the two crossings over all segments, with its sign. It maps (n, n_features) to (n,).

    x ⪰ y implies g(x) ≥ g(y) exactly, for any order. The converse needs the conditions of the theorem (the
    sets above and below each x are open, and d is a metric) and classes that are farther apart than about
    2⁻⁴⁸ of a segment; `find_misrepresented_pair` checks it on given points. |g| is never below the paper's
    distance, up to rounding, and converges to it with more segments.

    >>> g = distance_construction(lambda x, y: x[0] ** 3 >= y[0] ** 3, [[-1.0], [0.5], [4.0]])
    >>> g([[3.0], [0.5], [-0.25]]).round(9).tolist()
    [2.5, 0.0, -0.75]
    """
    relation = make_row_comparison(at_least, batched=batched)
    ranked = _sort_points(as_points(samples), relation)
    x0 = ranked[len(ranked) // 2] if base is None else as_points(np.atleast_2d(base), ranked.shape[1])[0]
    starts, ends = _choose_segments(ranked, x0, relation, n_segments, np.random.default_rng(random_state))
    lengths = np.linalg.norm(ends - starts, axis=1)
    base_crossings = _find_crossings(x0, starts, ends, relation)

    def score(x: FloatArray) -> float:
        distances = (_find_crossings(x, starts, ends, relation) - base_crossings) * lengths
        return _select_nearest(distances, x, above=bool(relation(x[None], x0[None])[0]))

    return lambda X: np.array([score(x) for x in as_points(X, len(x0))])


def _select_nearest(distances: FloatArray, x: FloatArray, *, above: bool) -> float:
    """Return the distance nearest to 0 among the segments that cross the class of x."""
    finite = distances[np.isfinite(distances)]
    if not len(finite):
        raise ValueError(f"{x.tolist()} is above or below all samples; pass samples on both sides of it")
    return float(finite.min() if above else finite.max())


def _choose_segments(
    ranked: FloatArray,
    x0: FloatArray,
    relation: RowComparison,
    n_segments: int,
    generator: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Return segments from samples below x₀ to samples above, including the longest in the order."""
    base = np.broadcast_to(x0, ranked.shape)
    above, below = ranked[~relation(base, ranked)], ranked[~relation(ranked, base)]
    if not len(above) or not len(below):
        side = "below" if len(above) else "above"
        raise ValueError(f"no sample is {side} the base {x0.tolist()}; pass samples on both sides of it")
    n_pairs = len(above) * len(below)
    chosen = generator.choice(n_pairs, size=min(n_segments, n_pairs), replace=False)
    # Samples are sorted, the highest first: this segment crosses every class in between.
    pairs = np.append(chosen, len(below) - 1)
    return below[pairs % len(below)], above[pairs // len(below)]


def _find_crossings(
    x: FloatArray, starts: FloatArray, ends: FloatArray, relation: RowComparison
) -> FloatArray:
    """Return where on each segment, from 0 to 1, points become at least x; ∓∞ where all are above or below x.

    For y ⪯ x each comparison that is true for x is true for y, so y is crossed at the same point or before.
    """

    def has_reached(t: FloatArray, which: NDArray[np.intp]) -> BoolArray:
        # This form is exact at the ends of a segment.
        points = (1 - t)[:, None] * starts[which] + t[:, None] * ends[which]
        return relation(points, np.broadcast_to(x, points.shape)).astype(np.bool_)

    high = np.full(len(starts), np.inf)
    waiting = np.arange(len(starts))
    for step in range(SCAN_STEPS + 1):
        is_reached = has_reached(np.full(len(waiting), step / SCAN_STEPS), waiting)
        high[waiting[is_reached]] = step / SCAN_STEPS
        waiting = waiting[~is_reached]
    is_below = (high == 0) & ~relation(np.broadcast_to(x, starts.shape), starts).astype(np.bool_)
    high[is_below] = -np.inf
    crossed = np.flatnonzero((high > 0) & np.isfinite(high))
    width = 1 / SCAN_STEPS
    for _ in range(BISECTION_STEPS):
        width /= 2
        high[crossed] -= width * has_reached(high[crossed] - width, crossed)
    return high


def _sort_points(points: FloatArray, relation: RowComparison) -> FloatArray:
    def r(x: FloatArray, y: FloatArray) -> int:
        return int(relation(x[None], y[None])[0]) - int(relation(y[None], x[None])[0])

    return points[sort_by_comparator(list(points), r)]
