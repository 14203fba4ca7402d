"""Theorem 3: the construction of g on discrete sets and its continuous extension."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import count, islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from directranker.arrays import FloatArray
from directranker.order import (
    BUMP_NARROWNESS,
    DiscreteOrder,
    bump_extension,
    construct_scores,
    find_misrepresented_pair,
)


def literal_scores(points: list[int]) -> list[Fraction]:
    """Return scores by steps p1.1 to p1.3 literally, for the order of the integers' last digits."""
    g: list[Fraction] = []
    for i, x in enumerate(points):
        before = range(i)
        equal = [j for j in before if last_digit_order(x, points[j]) and last_digit_order(points[j], x)]
        if not g:
            g.append(Fraction(0))
        elif equal:
            g.append(g[equal[0]])
        elif all(last_digit_order(x, points[j]) for j in before):
            g.append(max(g) + 1)
        elif all(last_digit_order(points[j], x) for j in before):
            g.append(min(g) - 1)
        else:
            smaller = max(g[j] for j in before if not last_digit_order(points[j], x))
            larger = min(g[j] for j in before if not last_digit_order(x, points[j]))
            g.append((smaller + larger) / 2)
    return g


def last_digit_order(x: int, y: int) -> bool:
    return x % 10 >= y % 10


@given(st.lists(st.integers(0, 1000), max_size=40))
def test_scores_match_the_steps_of_the_proof(points: list[int]) -> None:
    scores = construct_scores(points, last_digit_order)
    assert scores == literal_scores(points)
    assert find_misrepresented_pair(scores, points, last_digit_order) is None


@given(st.lists(st.tuples(st.integers(-5, 5), st.text(max_size=3)), max_size=25))
def test_g_represents_any_order_in_any_enumeration(points: list[tuple[int, str]]) -> None:
    def at_least(x: tuple[int, str], y: tuple[int, str]) -> bool:
        return (len(x[1]), -x[0]) >= (len(y[1]), -y[0])

    assert find_misrepresented_pair(construct_scores(points, at_least), points, at_least) is None


def test_values_of_an_infinite_stream_never_change() -> None:
    order = DiscreteOrder(lambda x, y: x % 97 >= y % 97)
    points = list(islice((n * n for n in count()), 500))
    scores = list(map(order.add, points))
    assert [order.score(x) for x in points] == scores
    assert order.values == sorted(set(scores))
    assert [order.score(x) for x in order.representatives] == order.values
    assert len(order) == len({x % 97 for x in points})


def test_adding_an_element_takes_a_logarithmic_number_of_comparisons() -> None:
    calls = []

    def at_least(x: float, y: float) -> bool:
        calls.append((x, y))
        return x >= y

    order = DiscreteOrder(at_least)
    for x in np.random.default_rng(0).normal(size=1000).tolist():
        before = len(calls)
        order.add(x)
        assert len(calls) - before <= 2 + np.log2(len(order) + 1)


def test_fractions_are_exact_where_floats_are_not() -> None:
    """Each element is between the two before: 60 halvings, eight more than a float can represent."""
    points = [0.0, 1.0]
    for _ in range(60):
        points.append((Fraction(points[-1]) + Fraction(points[-2])) / 2)  # type: ignore[arg-type]
    scores = construct_scores(points, lambda x, y: x >= y)
    assert find_misrepresented_pair(scores, points, lambda x, y: x >= y) is None
    assert (
        find_misrepresented_pair([float(score) for score in scores], points, lambda x, y: x >= y) is not None
    )
    assert len({float(score) for score in scores}) < len(set(scores))


def test_the_score_of_an_unknown_element_raises() -> None:
    with pytest.raises(KeyError, match="no element equal to 3 was added"):
        DiscreteOrder(lambda x, y: x >= y).score(3)


def literal_bumps(x: FloatArray, points: FloatArray, values: Sequence[float], delta: float) -> float:
    distances = [float(np.linalg.norm(x - point)) for point in points]
    return sum(g * max(0.0, 1 - 42 * d / delta) for g, d in zip(values, distances, strict=True))


grids = st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=2, max_size=12, unique=True)


@given(grids, st.data())
def test_bump_extension_matches_the_literal_sum(grid: list[tuple[int, int]], data: st.DataObject) -> None:
    points = np.array(grid, dtype=float) * 0.37
    values = data.draw(st.lists(st.integers(-9, 9), min_size=len(points), max_size=len(points)))
    g = bump_extension(points, values)
    assert g(points).tolist() == values  # exactly
    pairs = [np.linalg.norm(a - b) for i, a in enumerate(points) for b in points[:i]]
    delta = float(min(pairs))
    near = data.draw(arrays(np.float64, (5, 2), elements=st.floats(-1.5, 1.5)))
    for x in np.concatenate([near, points[:5] + near[: len(points[:5])] * delta / BUMP_NARROWNESS]):
        assert g(x[None])[0] == pytest.approx(literal_bumps(x, points, values, delta), abs=1e-9)


def test_extension_has_no_jumps() -> None:
    points = np.array([[0.0], [1.0], [3.0]])
    line = np.linspace(-0.1, 3.1, 200_001)[:, None]
    steps = np.abs(np.diff(bump_extension(points, [5.0, -2.0, 7.0])(line)))
    steepest = 7 * BUMP_NARROWNESS / 1.0  # the slope of the highest bump, with δ = 1
    assert steps.max() <= steepest * (line[1] - line[0]).item() * 1.001


def test_both_steps_together_represent_the_order_on_the_set() -> None:
    points = np.random.default_rng(0).normal(size=(60, 3))

    def at_least(x: FloatArray, y: FloatArray) -> bool:
        return bool(np.round(x[0] * x[1], 1) >= np.round(y[0] * y[1], 1))

    g = bump_extension(points, construct_scores(points, at_least))
    assert find_misrepresented_pair(g(points).tolist(), points, at_least) is None


def test_delta_may_be_smaller_but_not_larger() -> None:
    points = [[0.0], [1.0]]
    assert bump_extension(points, [1, 2], delta=0.5)([[0.25 / 42]])[0] == pytest.approx(0.5)
    for delta in (1.5, 0.0, -1.0):
        with pytest.raises(ValueError, match="pass at most the distance of the closest points, 1"):
            bump_extension(points, [1, 2], delta=delta)


def test_one_point_and_repeated_points() -> None:
    assert bump_extension([[3.0]], [2])([[3.0], [4.0]]).tolist() == [2.0, 0.0]
    assert bump_extension([[3.0], [3.0], [5.0]], [2, 2, 1])([[3.0], [5.0]]).tolist() == [2.0, 1.0]


def test_invalid_points_and_values_raise() -> None:
    with pytest.raises(ValueError, match="points 0 and 2 are equal but have the values 1 and 2"):
        bump_extension([[3.0], [4.0], [3.0]], [1, 0, 2])
    with pytest.raises(ValueError, match="equal in float64; pass their ranks"):
        bump_extension([[0.0], [1.0]], [Fraction(1), 1 + Fraction(1, 2**60)])
    with pytest.raises(ValueError, match="1 values for 2 points"):
        bump_extension([[0.0], [1.0]], [1])
    with pytest.raises(ValueError, match="so close that their distance is 0"):
        bump_extension([[0.0], [1e-200]], [1, 2])
    with pytest.raises(ValueError, match=r"shape \(1, 2\); pass finite numbers, \(n_points, 1\)"):
        bump_extension([[0.0], [1.0]], [1, 2])([[0.0, 1.0]])
