"""Is this r an order? The laws of the DirectRanker paper, checked on given points.

For r: (I) r(x, x) = 0, (II) r(x, y) = −r(y, x), (III) r(x, y) ≥ 0 and r(y, z) ≥ 0 give r(x, z) ≥ 0. And
for x ⪰ y, which is r(x, y) ≥ 0: (B) of two points at least one is at least the other. All are exact, to
the last bit; r(x, y) = τ(g(x) − g(y)) of a `RankingHead` fulfils them by construction.

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
from numpy.typing import NDArray

from directranker.order.relations import Comparison, Floats, Relation, comparison_matrix

__all__ = [
    "OrderReport",
    "Violation",
    "check_comparisons",
    "check_order",
    "misrepresented",
    "sort_by_comparator",
]

Bits = NDArray[np.bool_]

ROWS_AT_ONCE = 512


@dataclass(frozen=True)
class Violation:
    """Points that break a law: their places, and r of each pair that the law speaks of.

    >>> print(Violation("reflexive", (2,), (0.5,)))
    reflexive fails: r(x2, x2) = 0.5
    """

    law: str
    points: tuple[int, ...]
    values: tuple[float, ...]

    def __str__(self) -> str:
        *given, last = [
            f"r(x{i}, x{j}) = {r:.6g}" for (i, j), r in zip(_pairs(self.points), self.values, strict=True)
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
        """Law (B), the paper's antisymmetry of ⪰: x ⋡ y gives y ⪰ x."""
        return self._holds("complete")

    @property
    def transitive(self) -> bool:
        """Law (III): x ⪰ y and y ⪰ z give x ⪰ z."""
        return self._holds("transitive")

    def __str__(self) -> str:
        where = f"an order on these {self.n_points} points"
        return "\n".join([f"not {where}:", *map(str, self.violations)]) if self.violations else where

    def _holds(self, law: str) -> bool:
        return all(violation.law != law for violation in self.violations)


def check_order(r: Comparison, points: Any, *, batched: bool = False) -> OrderReport:
    """Check all laws on all pairs and triples of the points.

    `r` takes two points and gives a number, or a truth value for x ⪰ y. With `batched` it takes two arrays
    and answers row by row, as a ranker's `compare`. A net may score a document differently in the last
    bit from call to call; to check its order, score the points once and give the scores as points.

    >>> import torch
    >>> from directranker.nn import RankingHead
    >>> check_order(RankingHead(4, "tanh").compare, torch.randn(100), batched=True).is_order
    True
    """
    return check_comparisons(comparison_matrix(r, points, batched=batched))


def check_comparisons(r: Floats) -> OrderReport:
    """Check all laws on the matrix r[i, j] = r(x_i, x_j).

    In O(n²): in an order x ⪰ y exactly if x has at least as many points under it as y, and otherwise the
    counts lead to a counterexample. Only where points are not comparable a matrix product decides (III).

    >>> check_comparisons(np.array([[0.0, 1.0], [-1.0, 0.0]])).is_order
    True
    """
    if r.ndim != 2 or r.shape[0] != r.shape[1]:
        raise ValueError(f"comparisons have shape {r.shape}; give r of all pairs, as many rows as columns")
    at_least: Bits = r >= 0  # nan is not at least 0
    found = {
        "reflexive": _first((r.diagonal() != 0)[:, None]),
        "antisymmetric": _first(r != -r.T),
        "complete": _first(~at_least & ~at_least.T),
        "transitive": _intransitive(at_least),
    }
    places = {law: place[:1] if law == "reflexive" else place for law, place in found.items() if place}
    violations = [
        Violation(law, place, tuple(float(r[pair]) for pair in _pairs(place)))
        for law, place in places.items()
    ]
    return OrderReport(len(r), tuple(violations))


def sort_by_comparator(points: Sequence[Any], r: Comparison) -> list[int]:
    """The places of the points, best first, found with comparisons alone; ties stay in the given order.

    With r(x, y) = τ(g(x) − g(y)) it is the same as sorting by g.

    >>> sort_by_comparator([1.0, 3.0, 2.0, 3.0], lambda x, y: x - y)
    [1, 3, 2, 0]
    """

    def lower_first(i: int, j: int) -> int:
        value = float(r(points[i], points[j]))
        if np.isnan(value):
            raise ValueError(f"r(x{i}, x{j}) is not a number; such points cannot be sorted")
        return int(value < 0) - int(value > 0)

    return sorted(range(len(points)), key=cmp_to_key(lower_first))


def misrepresented(
    scores: Sequence[Any], points: Any, at_least: Relation, *, batched: bool = False
) -> tuple[int, int] | None:
    """Two places i, j where x_i ⪰ x_j and g(x_i) ≥ g(x_j) are not the same, or None if g represents ⪰.

    >>> misrepresented([1, 2], ["a", "b"], lambda x, y: x >= y)
    >>> misrepresented([1, 1], ["a", "b"], lambda x, y: x >= y)
    (0, 1)
    """
    if len(scores) != len(points):
        raise ValueError(f"{len(scores)} scores for {len(points)} points; give one score per point")
    relation = comparison_matrix(at_least, points, batched=batched) >= 0
    exact = np.array(scores, dtype=object)  # fractions stay fractions
    by_scores = (exact[:, None] >= exact[None, :]).astype(np.bool_)
    place = _first(relation != by_scores)
    return (place[0], place[1]) if place else None


def _pairs(points: tuple[int, ...]) -> list[tuple[int, int]]:
    """The pairs that a law of one, two or three points speaks of."""
    if len(points) == 1:
        return [(points[0], points[0])]
    if len(points) == 2:
        return [(points[0], points[1]), (points[1], points[0])]
    x, y, z = points
    return [(x, y), (y, z), (x, z)]


def _first(wrong: Bits) -> tuple[int, ...]:
    """The place of the first True, or nothing."""
    flat = int(wrong.argmax()) if wrong.size else 0
    place = tuple(int(one) for one in np.unravel_index(flat, wrong.shape)) if wrong.size else ()
    return place if place and wrong[place] else ()


def _intransitive(at_least: Bits) -> tuple[int, ...]:
    """Places x, y, z with x ⪰ y and y ⪰ z but not x ⪰ z, or nothing."""
    under = at_least.sum(axis=1)
    expected = under[:, None] >= under[None, :]
    if np.array_equal(at_least, expected):
        return ()
    if (at_least | at_least.T).all():
        # Then somewhere x ⪰ y though y has more points under it, or x ≻ y though it has as many.
        more, as_many = under[:, None] < under[None, :], under[:, None] == under[None, :]
        x, y = _first(at_least & (more | (as_many & ~at_least.T)))
        return x, y, int((at_least[y] & ~at_least[x]).argmax())
    return _intransitive_by_product(at_least)


def _intransitive_by_product(at_least: Bits) -> tuple[int, ...]:
    """The same for a relation where some points are not comparable, which counting cannot decide."""
    steps = at_least.astype(np.float32)
    for start in range(0, len(steps), ROWS_AT_ONCE):
        block = slice(start, start + ROWS_AT_ONCE)
        place = _first((steps[block] @ steps > 0) & ~at_least[block])
        if place:
            x, z = start + place[0], place[1]
            return x, int((at_least[x] & at_least[:, z]).argmax()), z
    return ()
