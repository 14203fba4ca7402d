"""Theorem 4: g as the distance between classes, for orders that meet its conditions and one that does not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from directranker.order import distance_construction, misrepresented

Floats = NDArray[np.float64]
Level = Callable[[Floats], Floats]
Relation = Callable[[Floats, Floats], NDArray[np.bool_]]

LEVELS: dict[str, Level] = {
    "linear": lambda X: X @ np.array([2.0, -1.0]),
    "monotone of linear": lambda X: np.exp(X @ np.array([0.5, 1.0])),
    "radial": lambda X: np.hypot(X[:, 0], X[:, 1]),
    "radial, nearer is higher": lambda X: -np.hypot(X[:, 0], X[:, 1]),
    "city block": lambda X: np.abs(X).sum(axis=1),
}
TRUE_DISTANCES: dict[str, Level] = {
    "linear": lambda X: X @ np.array([2.0, -1.0]) / np.sqrt(5),
    "monotone of linear": lambda X: X @ np.array([0.5, 1.0]) / np.sqrt(1.25),
    "radial": LEVELS["radial"],
    "radial, nearer is higher": LEVELS["radial, nearer is higher"],
    "city block": lambda X: np.abs(X).sum(axis=1) / np.sqrt(2),
}


def by_level(level: Level) -> Relation:
    return lambda X, Y: level(X) >= level(Y)


def cloud(n: int, seed: int, n_features: int = 2) -> Floats:
    return np.random.default_rng(seed).uniform(-3, 3, size=(n, n_features))


def inner(points: Floats, samples: Floats, level: Level) -> Floats:
    """The points that lie between the lowest and the highest sample."""
    values, known = level(points), level(samples)
    chosen: Floats = points[(values >= known.min()) & (values <= known.max())]
    return chosen


@pytest.mark.parametrize("name", LEVELS)
def test_g_represents_the_order(name: str) -> None:
    level, samples = LEVELS[name], cloud(80, seed=0)
    g = distance_construction(by_level(level), samples, batched=True)
    points = np.concatenate([inner(cloud(60, seed=1), samples, level), samples])
    assert misrepresented(g(points).tolist(), points, by_level(level), batched=True) is None


@pytest.mark.parametrize("name", LEVELS)
def test_g_is_the_distance_between_classes(name: str) -> None:
    level, samples, base = LEVELS[name], cloud(200, seed=0), np.array([0.9, 0.8])
    g = distance_construction(by_level(level), samples, base=base, n_segments=2000, batched=True)
    points = inner(cloud(30, seed=2), cloud(20, seed=0), level)
    true = TRUE_DISTANCES[name](points) - TRUE_DISTANCES[name](base[None])
    assert np.array_equal(np.sign(g(points)), np.sign(true))
    assert (np.abs(g(points)) >= np.abs(true) * (1 - 1e-9)).all()
    assert np.median(np.abs(g(points)) / np.abs(true)) < 1.1


def test_more_segments_come_nearer_to_the_distance() -> None:
    samples, points = cloud(200, seed=0), np.array([[1.5, 0.5], [-1.0, 0.3]])
    relation = by_level(LEVELS["radial"])
    few, many = (
        distance_construction(relation, samples, base=[1.0, 0.5], n_segments=n, batched=True)(points)
        for n in (5, 3000)
    )
    assert (np.abs(many) <= np.abs(few) + 1e-12).all()


@settings(max_examples=25)
@given(
    weights=st.tuples(st.floats(-2, 2), st.floats(-2, 2), st.floats(0.1, 2)),
    power=st.sampled_from([1, 3]),
    seed=st.integers(0, 1000),
)
@example(
    weights=(0.34375, 0.125, 0.125), power=1, seed=265
)  # the end of a segment, rounded, is below the end
def test_law_holds_for_random_orders_in_three_dimensions(
    weights: tuple[float, float, float], power: int, seed: int
) -> None:
    def level(X: Floats) -> Floats:
        values: Floats = (X @ np.array(weights)) ** power
        return values

    samples = cloud(25, seed, n_features=3)
    g = distance_construction(by_level(level), samples, n_segments=40, batched=True, random_state=seed)
    points = inner(cloud(15, seed + 1, n_features=3), samples, level)
    assert misrepresented(g(points).tolist(), points, by_level(level), batched=True) is None


@pytest.mark.parametrize("curve", [np.cbrt, np.sinh, np.arctan, lambda x: x + np.sin(x)])
def test_in_one_dimension_g_is_the_signed_distance(curve: Callable[[float], float]) -> None:
    samples = np.linspace(-4, 5, 10)[:, None]
    g = distance_construction(lambda x, y: curve(x[0]) >= curve(y[0]), samples, base=[0.5])
    points = np.array([-3.7, -1.0, 0.5, 0.6, 4.9])[:, None]
    assert g(points) == pytest.approx(points[:, 0] - 0.5, abs=1e-6)


def test_a_plateau_is_one_class() -> None:
    """Points within the unit disc are equal, ∂x is thick there; P and N stay open."""

    def level(X: Floats) -> Floats:
        return np.maximum(1.0, LEVELS["radial"](X))

    samples = cloud(80, seed=0)
    g = distance_construction(by_level(level), samples, batched=True)
    points = inner(
        np.concatenate([cloud(40, seed=1), [[0.1, 0.2], [0.0, 0.0]]]), samples, lambda X: level(X) + 0
    )
    scores = g(points)
    assert misrepresented(scores.tolist(), points, by_level(level), batched=True) is None


def lexicographic(X: Floats, Y: Floats) -> NDArray[np.bool_]:
    at_least: NDArray[np.bool_] = (X[:, 0] > Y[:, 0]) | ((X[:, 0] == Y[:, 0]) & (X[:, 1] >= Y[:, 1]))
    return at_least


def test_lexicographic_order_has_no_g_and_it_shows() -> None:
    """Its sets above a point are not open: the theorem does not speak of it, and no continuous g exists."""
    g = distance_construction(lexicographic, cloud(80, seed=0), batched=True)
    points = np.array([[0.25, 0.0], [0.25, 1.0], [0.25, 2.0], [1.0, 0.0]])
    scores = g(points)
    assert (np.diff(scores) >= 0).all()  # x ⪰ y gives g(x) ≥ g(y) for any order
    assert misrepresented(scores.tolist(), points, lexicographic, batched=True) is not None


@given(st.integers(0, 1000))
@settings(max_examples=15)
def test_half_of_the_law_holds_exactly_for_any_order(seed: int) -> None:
    """Also where the order wobbles along the segments."""

    def level(X: Floats) -> Floats:
        return np.round(np.sin(3 * X[:, 0]) + np.cos(2 * X[:, 1]), 1)

    samples = cloud(30, seed)
    g = distance_construction(by_level(level), samples, n_segments=30, batched=True)
    points = inner(cloud(25, seed + 1), samples, level)
    scores, levels = g(points), level(points)
    above = levels[:, None] >= levels
    assert (scores[:, None] >= scores)[above].all()


def test_base_has_the_score_zero_and_default_is_in_the_middle() -> None:
    samples = cloud(41, seed=0)
    g = distance_construction(by_level(LEVELS["linear"]), samples, batched=True)
    assert np.count_nonzero(g(samples) > 0) == np.count_nonzero(g(samples) < 0) == 20
    middle = samples[np.argsort(LEVELS["linear"](samples))[20]]
    assert g([middle]).tolist() == [0.0]


def test_what_cannot_be_constructed_is_told() -> None:
    def higher(x: Floats, y: Floats) -> bool:
        return bool(x[0] >= y[0])

    with pytest.raises(ValueError, match="no sample lies above the base"):
        distance_construction(higher, [[0.0], [1.0]], base=[2.0])
    with pytest.raises(ValueError, match="no sample lies below the base"):
        distance_construction(higher, [[0.0], [1.0]], base=[-1.0])
    with pytest.raises(ValueError, match=r"\[9.0\] is above or below all samples"):
        distance_construction(higher, [[0.0], [1.0], [2.0]])([[9.0]])
    with pytest.raises(ValueError, match="give finite numbers"):
        distance_construction(higher, [0.0, 1.0])
