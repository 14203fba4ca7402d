"""Theorem 3 as running code: scores g for any order on a discrete set, and their continuous extension.

The proof walks through the set and gives each element a value: the value of an equal one (p1.1), one more
than all before (p1.2), one less, or the middle between its two neighbours (p1.3). Values are exact
fractions, since the middle of two floats runs out of digits after some 52 halvings. Then each value
becomes the top of a narrow cone ("bump"), and their sum is continuous everywhere.

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

from directranker.order.relations import Floats, Relation, as_points

__all__ = ["BUMP_NARROWNESS", "DiscreteOrder", "bump_extension", "construct_scores"]

BUMP_NARROWNESS = 42
"""The proof's number: a bump is 42 times narrower than the distance of the closest points."""


class DiscreteOrder:
    """The scores of a stream of elements, each found with O(log n) comparisons and never changed again.

    `at_least(x, y)` says x ⪰ y and must be an order (reflexive, complete, transitive). Then x ⪰ y exactly
    if g(x) ≥ g(y). The stream may be endless: `map(order.add, stream)`.

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
        """The value of each class, growing."""
        return list(self._values)

    def add(self, x: Any) -> Fraction:
        """The value g(x), after steps p1.1 to p1.3 of the proof.

        >>> DiscreteOrder(lambda x, y: x >= y).add("the first")
        Fraction(0, 1)
        """
        place, known = self._place(x)
        if not known:
            self._values.insert(place, self._new_value(place))
            self._representatives.insert(place, x)
        return self._values[place]

    def score(self, x: Any) -> Fraction:
        """The value of an element whose class is known, without adding it.

        >>> order = DiscreteOrder(lambda x, y: len(x) >= len(y))
        >>> _ = order.add("fig")
        >>> order.score("nut")
        Fraction(0, 1)
        """
        place, known = self._place(x)
        if not known:
            raise KeyError(f"nothing equal to {x!r} was added; add it to give it a value")
        return self._values[place]

    def __len__(self) -> int:
        return len(self._values)

    def _place(self, x: Any) -> tuple[int, bool]:
        """How many classes are below x, and whether the next one is x's own."""
        place = bisect_left(self._representatives, True, key=lambda other: bool(self._at_least(other, x)))
        known = place < len(self) and bool(self._at_least(x, self._representatives[place]))
        return place, known

    def _new_value(self, place: int) -> Fraction:
        if not self._values:
            return Fraction(0)
        if place == len(self._values):
            return self._values[-1] + 1
        if place == 0:
            return self._values[0] - 1
        return (self._values[place - 1] + self._values[place]) / 2


def construct_scores(points: Iterable[Any], at_least: Relation) -> list[Fraction]:
    """The scores of a finite set in the order of its enumeration.

    >>> construct_scores([5, 9, 7], lambda x, y: x >= y)
    [Fraction(0, 1), Fraction(1, 1), Fraction(1, 2)]
    """
    order = DiscreteOrder(at_least)
    return [order.add(x) for x in points]


def bump_extension(
    points: ArrayLike, values: Sequence[Any], *, delta: float | None = None
) -> Callable[[ArrayLike], Floats]:
    """A continuous g on all of ℝⁿ with the given values on the points, Σ g(x_i)·max(0, 1 − 42‖x − x_i‖/δ).

    `points` is (n_points, n_features) and `delta` at most the distance of the closest two, which it is
    without being given. The result takes (n, n_features) and gives (n,). Values that differ must differ as
    float64 too; if they do not, their ranks represent the same order.

    >>> g = bump_extension([[0.0], [42.0]], values=[1, 2])
    >>> g([[0.0], [0.25], [1.0], [41.5]]).tolist()
    [1.0, 0.75, 0.0, 1.0]
    """
    places, heights = _distinct(as_points(points), values)
    tree = cKDTree(places)
    distance_between = _checked_delta(tree, delta)

    def extended(X: ArrayLike) -> Floats:
        # Bumps do not meet, so the sum has one term: that of the nearest point.
        distance, nearest = tree.query(as_points(X, places.shape[1]))
        bumps: Floats = heights[nearest] * np.maximum(
            0.0, 1.0 - BUMP_NARROWNESS * distance / distance_between
        )
        return bumps + 0.0  # a value below 0 times a bump of 0 is −0.0

    return extended


def _distinct(points: Floats, values: Sequence[Any]) -> tuple[Floats, Floats]:
    """Each point once, with its value as a float."""
    if len(points) != len(values) or not len(points):
        raise ValueError(f"{len(values)} values for {len(points)} points; give one value per point")
    heights = np.array([float(value) for value in values])
    if len(set(heights.tolist())) != len(set(values)):
        raise ValueError("some values differ but are the same in float64; give their ranks as values")
    places, first, place = np.unique(points + 0.0, axis=0, return_index=True, return_inverse=True)
    clash = np.flatnonzero(heights != heights[first][place.ravel()])
    if len(clash):
        row, other = int(clash[0]), int(first[place.ravel()[clash[0]]])
        raise ValueError(
            f"points {other} and {row} are the same but have the values {heights[other]:g} and "
            f"{heights[row]:g}; no function has both"
        )
    return places, heights[first]


def _checked_delta(tree: Any, delta: float | None) -> float:
    closest = float(tree.query(tree.data, k=2)[0][:, 1].min())  # infinite for a single point
    if closest == 0:
        raise ValueError("two points are too close for float64 to tell their distance from 0; scale them up")
    if delta is None:
        return closest if np.isfinite(closest) else 1.0
    if not 0 < delta <= closest:
        raise ValueError(f"delta is {delta:g}; give at most the distance of the closest points, {closest:g}")
    return float(delta)
