"""Checks of the DirectRanker paper's order laws on given points.

For r: (I) r(x, x) = 0, (II) r(x, y) = −r(y, x), (III) r(x, y) ≥ 0 and r(y, z) ≥ 0 imply r(x, z) ≥ 0.
For x ⪰ y, defined as r(x, y) ≥ 0: (B) x ⪰ y or y ⪰ x. All checks are exact, to the last bit;
r(x, y) = τ(g(x) − g(y)) of a `RankingHead` satisfies the laws by construction.

>>> print(check_order(lambda x, y: x - y, [3, 1, 2]))
an order on these 3 points
>>> beats = {("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")}
>>> report = check_order(lambda x, y: ((x, y) in beats) - ((y, x) in beats), ["rock", "paper", "scissors"])
>>> print(report)
not an order on these 3 points:
transitive fails: r(x0, x2) = 1, r(x2, x1) = 1, but r(x0, x1) = -1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any

import numpy as np

from directranker.arrays import BoolArray, FloatArray
from directranker.order.relations import Comparison, Relation, comparison_matrix

__all__ = [
    "OrderReport",
    "Violation",
    "check_comparisons",
    "check_order",
    "find_misrepresented_pair",
    "sort_by_comparator",
]

BLOCK_ROWS = 512


@dataclass(frozen=True)
class Violation:
    """Points that violate a law: their indices, and r of each pair in the law.

    >>> print(Violation("reflexive", (2,), (0.5,)))
    reflexive fails: r(x2, x2) = 0.5
    """

    law: str
    points: tuple[int, ...]
    values: tuple[float, ...]

    def __str__(self) -> str:
        *given, last = [
            f"r(x{i}, x{j}) = {r:.6g}"
            for (i, j), r in zip(_list_pairs(self.points), self.values, strict=True)
        ]
        return f"{self.law} fails: {', '.join(given)}{', but ' if given else ''}{last}"


@dataclass(frozen=True)
class OrderReport:
    """Which laws hold on the points, and a counterexample for each that fails.

    >>> report = check_order(lambda x, y: x - y + 1, [5, 7])
    >>> report.is_order, report.reflexive, report.complete
    (False, False, True)
    >>> print(report.violations[0])
    reflexive fails: r(x0, x0) = 1
    """

    n_points: int
    violations: tuple[Violation, ...]

    @property
    def is_order(self) -> bool:
        """Whether all laws hold."""
        return not self.violations

    @property
    def reflexive(self) -> bool:
        """Law (I): r(x, x) = 0."""
        return self._holds("reflexive")

    @property
    def antisymmetric(self) -> bool:
        """Law (II): r(x, y) = −r(y, x)."""
        return self._holds("antisymmetric")

    @property
    def complete(self) -> bool:
        """Law (B), the paper's antisymmetry of ⪰: x ⋡ y implies y ⪰ x."""
        return self._holds("complete")

    @property
    def transitive(self) -> bool:
        """Law (III): x ⪰ y and y ⪰ z imply x ⪰ z."""
        return self._holds("transitive")

    def __str__(self) -> str:
        where = f"an order on these {self.n_points} points"
        return "\n".join([f"not {where}:", *map(str, self.violations)]) if self.violations else where

    def _holds(self, law: str) -> bool:
        return all(violation.law != law for violation in self.violations)


def check_order(r: Comparison, points: Any, *, batched: bool = False) -> OrderReport:
    """Check all laws on all pairs and triples of the points.

    `r` takes two points and returns a number, or a bool for x ⪰ y. With `batched` it takes two arrays and
    compares row by row, as a ranker's `compare`. The scores of a net may differ in the last bit from call to
    call; to check its order, score the points once and pass the scores as points.

    >>> import torch
    >>> from directranker.nn import RankingHead
    >>> check_order(RankingHead(4, "tanh").compare, torch.randn(100), batched=True).is_order
    True
    """
    return check_comparisons(comparison_matrix(r, points, batched=batched))


def check_comparisons(r: FloatArray) -> OrderReport:
    """Check all laws on the matrix r[i, j] = r(x_i, x_j).

    It takes O(n²): in an order x ⪰ y exactly if at least as many points are below x as below y, and otherwise
    the counts give a counterexample. Only where points are incomparable, (III) needs a matrix product.

    >>> check_comparisons(np.array([[0.0, 1.0], [-1.0, 0.0]])).is_order
    True
    """
    if r.ndim != 2 or r.shape[0] != r.shape[1]:
        raise ValueError(f"comparisons have shape {r.shape}; pass r of all pairs as a square matrix")
    at_least: BoolArray = r >= 0  # false for nan
    first_violations = {
        "reflexive": _find_first((r.diagonal() != 0)[:, None]),
        "antisymmetric": _find_first(r != -r.T),
        "complete": _find_first(~at_least & ~at_least.T),
        "transitive": _find_intransitive(at_least),
    }
    points_of_law = {
        law: points[:1] if law == "reflexive" else points
        for law, points in first_violations.items()
        if points
    }
    violations = [
        Violation(law, points, tuple(float(r[pair]) for pair in _list_pairs(points)))
        for law, points in points_of_law.items()
    ]
    return OrderReport(len(r), tuple(violations))


def sort_by_comparator(points: Sequence[Any], r: Comparison) -> list[int]:
    """Return the indices of the points, best first, sorted by comparisons alone; ties keep their order.

    With r(x, y) = τ(g(x) − g(y)) the result is that of sorting by g.

    >>> sort_by_comparator([1.0, 3.0, 2.0, 3.0], lambda x, y: x - y)
    [1, 3, 2, 0]
    """

    def compare(i: int, j: int) -> int:
        value = float(r(points[i], points[j]))
        if np.isnan(value):
            raise ValueError(f"r(x{i}, x{j}) is not a number; pass points that can be compared")
        return int(value < 0) - int(value > 0)

    return sorted(range(len(points)), key=cmp_to_key(compare))


def find_misrepresented_pair(
    scores: Sequence[Any], points: Any, at_least: Relation, *, batched: bool = False
) -> tuple[int, int] | None:
    """Return i, j where x_i ⪰ x_j and g(x_i) ≥ g(x_j) disagree, or None if g represents ⪰.

    >>> find_misrepresented_pair([1, 2], ["a", "b"], lambda x, y: x >= y)
    >>> find_misrepresented_pair([1, 1], ["a", "b"], lambda x, y: x >= y)
    (0, 1)
    """
    if len(scores) != len(points):
        raise ValueError(f"{len(scores)} scores for {len(points)} points; pass one score per point")
    relation = comparison_matrix(at_least, points, batched=batched) >= 0
    exact = np.array(scores, dtype=object)  # keeps fractions exact
    by_scores = (exact[:, None] >= exact[None, :]).astype(np.bool_)
    index = _find_first(relation != by_scores)
    return (index[0], index[1]) if index else None


def _list_pairs(points: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return the pairs in a law of one, two or three points."""
    if len(points) == 1:
        return [(points[0], points[0])]
    if len(points) == 2:
        return [(points[0], points[1]), (points[1], points[0])]
    x, y, z = points
    return [(x, y), (y, z), (x, z)]


def _find_first(is_wrong: BoolArray) -> tuple[int, ...]:
    """Return the index of the first True, or an empty tuple."""
    flat = int(is_wrong.argmax()) if is_wrong.size else 0
    index = tuple(int(i) for i in np.unravel_index(flat, is_wrong.shape)) if is_wrong.size else ()
    return index if index and is_wrong[index] else ()


def _find_intransitive(at_least: BoolArray) -> tuple[int, ...]:
    """Return x, y, z with x ⪰ y and y ⪰ z but not x ⪰ z, or an empty tuple."""
    n_below = at_least.sum(axis=1)
    expected = n_below[:, None] >= n_below[None, :]
    if np.array_equal(at_least, expected):
        return ()
    if (at_least | at_least.T).all():
        # Then some x ⪰ y though y has more points below, or some x ≻ y though both have as many.
        is_more, is_equal = n_below[:, None] < n_below[None, :], n_below[:, None] == n_below[None, :]
        x, y = _find_first(at_least & (is_more | (is_equal & ~at_least.T)))
        return x, y, int((at_least[y] & ~at_least[x]).argmax())
    return _find_intransitive_by_product(at_least)


def _find_intransitive_by_product(at_least: BoolArray) -> tuple[int, ...]:
    """Return the same for a relation with incomparable points, where counts are not enough."""
    steps = at_least.astype(np.float32)
    for start in range(0, len(steps), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        index = _find_first((steps[block] @ steps > 0) & ~at_least[block])
        if index:
            x, z = start + index[0], index[1]
            return x, int((at_least[x] & at_least[:, z]).argmax()), z
    return ()
