"""Theorem 3 as code: scores g for any order on a discrete set, and their continuous extension.

The proof enumerates the set and assigns each element a value: the value of an equal one (p1.1), one more
than all before (p1.2), one less, or the mean of its two neighbours (p1.3). Values are exact fractions, since
floats run out of digits after about 52 halvings. Then each value becomes the top of a narrow cone ("bump"),
and their sum is continuous everywhere.

>>> construct_scores(["pear", "fig", "plum", "apple", "nut"], lambda x, y: len(x) >= len(y))
[Fraction(0, 1), Fraction(-1, 1), Fraction(0, 1), Fraction(1, 1), Fraction(-1, 1)]
>>> g = bump_extension([[0.0], [2.0], [6.0]], values=[5.0, -1.0, 3.0])
>>> g([[0.0], [2.0], [6.0], [4.0]]).tolist()
[5.0, -1.0, 3.0, 0.0]
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from directranker.arrays import FloatArray
from directranker.order.relations import Relation, as_points

__all__ = ["BUMP_NARROWNESS", "DiscreteOrder", "bump_extension", "construct_scores"]

BUMP_NARROWNESS = 42
"""The proof's constant: a bump is 42 times narrower than the distance of the closest points."""


class DiscreteOrder:
    """The scores of a stream of elements, each computed with O(log n) comparisons and then fixed.

    `at_least(x, y)` returns whether x ⪰ y and must be an order (reflexive, complete, transitive). Then x ⪰ y
    exactly if g(x) ≥ g(y). The stream may be infinite: `map(order.add, stream)`.

    >>> order = DiscreteOrder(lambda x, y: x >= y)
    >>> [str(order.add(x)) for x in (5, 9, 1, 7, 6, 7)]
    ['0', '1', '-1', '1/2', '1/4', '1/2']
    >>> order.representatives
    [1, 5, 6, 7, 9]
    """

    def __init__(self, at_least: Relation) -> None:
        self._at_least = at_least
        self._representatives: list[Any] = []
        self._values: list[Fraction] = []

    @property
    def representatives(self) -> list[Any]:
        """The first element of each class, lowest class first."""
        return list(self._representatives)

    @property
    def values(self) -> list[Fraction]:
        """The value of each class, in increasing order."""
        return list(self._values)

    def add(self, x: Any) -> Fraction:
        """Add an element and return its value g(x), by steps p1.1 to p1.3 of the proof.

        >>> DiscreteOrder(lambda x, y: x >= y).add("the first")
        Fraction(0, 1)
        """
        index, is_known = self._locate(x)
        if not is_known:
            self._values.insert(index, self._choose_value(index))
            self._representatives.insert(index, x)
        return self._values[index]

    def score(self, x: Any) -> Fraction:
        """Return the value of an element whose class is known, without adding it.

        >>> order = DiscreteOrder(lambda x, y: len(x) >= len(y))
        >>> _ = order.add("fig")
        >>> order.score("nut")
        Fraction(0, 1)
        """
        index, is_known = self._locate(x)
        if not is_known:
            raise KeyError(f"no element equal to {x!r} was added; add it first")
        return self._values[index]

    def __len__(self) -> int:
        return len(self._values)

    def _locate(self, x: Any) -> tuple[int, bool]:
        """Return how many classes are below x, and whether the next one is that of x."""
        index = bisect_left(self._representatives, True, key=lambda other: bool(self._at_least(other, x)))
        is_known = index < len(self) and bool(self._at_least(x, self._representatives[index]))
        return index, is_known

    def _choose_value(self, index: int) -> Fraction:
        if not self._values:
            return Fraction(0)
        if index == len(self._values):
            return self._values[-1] + 1
        if index == 0:
            return self._values[0] - 1
        return (self._values[index - 1] + self._values[index]) / 2


def construct_scores(points: Iterable[Any], at_least: Relation) -> list[Fraction]:
    """Return the scores of the elements of a finite set, in input order.

    >>> construct_scores([5, 9, 7], lambda x, y: x >= y)
    [Fraction(0, 1), Fraction(1, 1), Fraction(1, 2)]
    """
    order = DiscreteOrder(at_least)
    return [order.add(x) for x in points]


def bump_extension(
    points: ArrayLike, values: Sequence[Any], *, delta: float | None = None
) -> Callable[[ArrayLike], FloatArray]:
    """Return a continuous g on ℝⁿ with these values on the points: Σ g(x_i)·max(0, 1 − 42‖x − x_i‖/δ).

    `points` is (n_points, n_features); `delta` is at most the distance of the closest two, which is the
    default. The result maps (n, n_features) to (n,). Different values must differ as float64 too; if they do
    not, pass their ranks, which represent the same order.

    >>> g = bump_extension([[0.0], [42.0]], values=[1, 2])
    >>> g([[0.0], [0.25], [1.0], [41.5]]).tolist()
    [1.0, 0.75, 0.0, 1.0]
    """
    distinct, heights = _deduplicate(as_points(points), values)
    tree = cKDTree(distinct)
    closest_distance = _resolve_delta(tree, delta)

    def evaluate(X: ArrayLike) -> FloatArray:
        # Bumps do not overlap, so the sum has one term: that of the nearest point.
        distance, nearest = tree.query(as_points(X, distinct.shape[1]))
        bumps: FloatArray = heights[nearest] * np.maximum(
            0.0, 1.0 - BUMP_NARROWNESS * distance / closest_distance
        )
        return bumps + 0.0  # a negative value times a bump of 0 is −0.0

    return evaluate


def _deduplicate(points: FloatArray, values: Sequence[Any]) -> tuple[FloatArray, FloatArray]:
    """Return the distinct points, with their values as floats."""
    if len(points) != len(values) or not len(points):
        raise ValueError(f"{len(values)} values for {len(points)} points; pass one value per point")
    heights = np.array([float(value) for value in values])
    if len(set(heights.tolist())) != len(set(values)):
        raise ValueError("some values differ but are equal in float64; pass their ranks as values")
    distinct, first, index = np.unique(points + 0.0, axis=0, return_index=True, return_inverse=True)
    clash = np.flatnonzero(heights != heights[first][index.ravel()])
    if len(clash):
        row, other = int(clash[0]), int(first[index.ravel()[clash[0]]])
        raise ValueError(
            f"points {other} and {row} are equal but have the values {heights[other]:g} and "
            f"{heights[row]:g}; pass one value per distinct point"
        )
    return distinct, heights[first]


def _resolve_delta(tree: cKDTree, delta: float | None) -> float:
    closest = float(tree.query(tree.data, k=2)[0][:, 1].min())  # infinite for a single point
    if closest == 0:
        raise ValueError("two points are so close that their distance is 0 in float64; scale the points up")
    if delta is None:
        return closest if np.isfinite(closest) else 1.0
    if not 0 < delta <= closest:
        raise ValueError(f"delta is {delta:g}; pass at most the distance of the closest points, {closest:g}")
    return float(delta)
