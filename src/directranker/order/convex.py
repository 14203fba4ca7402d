"""Theorem 4 as running code: scores g for an order on a convex set, as distances between its classes.

The proof takes a point x₀ and sets g(x) = ±d(∂x₀, ∂x), where ∂x is the class of all points equal to x and
d the smallest distance between two classes: + above x₀, − below. Its main step is that a segment from
below a class to above it meets the class. Here that step is a bisection, on many fixed segments.

>>> points = np.random.default_rng(0).normal(size=(100, 2))
>>> farther = lambda x, y: np.hypot(*x) >= np.hypot(*y)  # from the origin
>>> g = distance_construction(farther, points, base=[0.0, 1.0])
>>> g([[1.5, 0.0], [0.0, -1.0], [0.6, 0.0]]).round(1).tolist()
[0.5, 0.0, -0.4]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from directranker.order.laws import sort_by_comparator
from directranker.order.relations import Floats, Relation, as_points, row_by_row

__all__ = ["distance_construction"]

RowRelation = Callable[[Any, Any], NDArray[Any]]

SCAN_STEPS = 16
HALVINGS = 44


def distance_construction(
    at_least: Relation,
    samples: ArrayLike,
    *,
    base: ArrayLike | None = None,
    n_segments: int = 200,
    batched: bool = False,
    random_state: int | None = 0,
) -> Callable[[ArrayLike], Floats]:
    """A g that represents the order ⪰ between the lowest and the highest of the samples.

    `at_least(x, y)` says x ⪰ y for two points, or row by row for two arrays with `batched`. The samples
    must lie in the convex set; `base` is x₀, by default the middle one of them. Segments lead from samples
    below x₀ to samples above it. Each meets ∂x₀ and, if x is not too far up or down, ∂x; g(x) is the
    smallest distance of the two places over all segments, with its sign. It maps (n, n_features) to (n,).

    What holds: x ⪰ y gives g(x) ≥ g(y) always, exactly, for any order. That g(x) ≥ g(y) gives x ⪰ y needs
    the conditions of the theorem (the sets above and below each x are open, and d is a metric) and classes
    that lie farther apart than some 2⁻⁴⁸ of a segment; `misrepresented` checks it on points of one's
    choice. |g| is never below the paper's distance, up to rounding, and nears it with more segments.

    >>> g = distance_construction(lambda x, y: x[0] ** 3 >= y[0] ** 3, [[-1.0], [0.5], [4.0]])
    >>> g([[3.0], [0.5], [-0.25]]).round(9).tolist()
    [2.5, 0.0, -0.75]
    """
    relation = row_by_row(at_least, batched=batched)
    ranked = _ranked(as_points(samples), relation)
    x0 = ranked[len(ranked) // 2] if base is None else as_points(np.atleast_2d(base), ranked.shape[1])[0]
    starts, ends = _segments(ranked, x0, relation, n_segments, np.random.default_rng(random_state))
    lengths = np.linalg.norm(ends - starts, axis=1)
    base_met = _meeting(x0, starts, ends, relation)

    def score(x: Floats) -> float:
        distances = (_meeting(x, starts, ends, relation) - base_met) * lengths
        return _smallest(distances, x, above=bool(relation(x[None], x0[None])[0]))

    return lambda X: np.array([score(x) for x in as_points(X, len(x0))])


def _smallest(distances: Floats, x: Floats, *, above: bool) -> float:
    """The distance nearest to 0, of the segments that meet the class of x."""
    met = distances[np.isfinite(distances)]
    if not len(met):
        raise ValueError(f"{x.tolist()} is above or below all samples; give samples on both sides of it")
    return float(met.min() if above else met.max())


def _segments(
    ranked: Floats, x0: Floats, relation: RowRelation, n_segments: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    """Pairs of a sample below x₀ and one above, among them the lowest and the highest of all."""
    base = np.broadcast_to(x0, ranked.shape)
    above, below = ranked[~relation(base, ranked)], ranked[~relation(ranked, base)]
    if not len(above) or not len(below):
        side = "below" if len(above) else "above"
        raise ValueError(f"no sample lies {side} the base {x0.tolist()}; give samples on both sides of it")
    n_pairs = len(above) * len(below)
    chosen = generator.choice(n_pairs, size=min(n_segments, n_pairs), replace=False)
    # Samples come highest first: the first above with the last below meets every class in between.
    pairs = np.append(chosen, len(below) - 1)
    return below[pairs % len(below)], above[pairs // len(below)]


def _meeting(x: Floats, starts: Floats, ends: Floats, relation: RowRelation) -> Floats:
    """Where on each segment, from 0 to 1, the points become at least x; ∓∞ where all are above x or below.

    For y ⪯ x each question that is true for x is true for y, so y is met at the same place or before.
    """

    def reached(t: Floats, which: NDArray[np.intp]) -> NDArray[np.bool_]:
        # In this form the ends of a segment are exact.
        points = (1 - t)[:, None] * starts[which] + t[:, None] * ends[which]
        return relation(points, np.broadcast_to(x, points.shape)).astype(np.bool_)

    high = np.full(len(starts), np.inf)
    waiting = np.arange(len(starts))
    for step in range(SCAN_STEPS + 1):
        now = reached(np.full(len(waiting), step / SCAN_STEPS), waiting)
        high[waiting[now]] = step / SCAN_STEPS
        waiting = waiting[~now]
    beyond = (high == 0) & ~relation(np.broadcast_to(x, starts.shape), starts).astype(np.bool_)
    high[beyond] = -np.inf
    crossed = np.flatnonzero((high > 0) & np.isfinite(high))
    width = 1 / SCAN_STEPS
    for _ in range(HALVINGS):
        width /= 2
        high[crossed] -= width * reached(high[crossed] - width, crossed)
    return high


def _ranked(points: Floats, relation: RowRelation) -> Floats:
    def r(x: Floats, y: Floats) -> int:
        return int(relation(x[None], y[None])[0]) - int(relation(y[None], x[None])[0])

    return points[sort_by_comparator(list(points), r)]
