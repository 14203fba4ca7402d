"""Theorem 4: g as the distance between classes, for orders with and without its conditions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from directranker.arrays import BoolArray, FloatArray
from directranker.order import distance_construction, find_misrepresented_pair

Level = Callable[[FloatArray], FloatArray]
Relation = Callable[[FloatArray, FloatArray], BoolArray]

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


def make_relation(level: Level) -> Relation:
    return lambda X, Y: level(X) >= level(Y)


def sample_points(n: int, seed: int, n_features: int = 2) -> FloatArray:
    return np.random.default_rng(seed).uniform(-3, 3, size=(n, n_features))


def select_inner(points: FloatArray, samples: FloatArray, level: Level) -> FloatArray:
    """Return the points between the lowest and the highest sample."""
    values, known = level(points), level(samples)
    selected: FloatArray = points[(values >= known.min()) & (values <= known.max())]
    return selected


@pytest.mark.parametrize("name", LEVELS)
def test_g_represents_the_order(name: str) -> None:
    level, samples = LEVELS[name], sample_points(80, seed=0)
    g = distance_construction(make_relation(level), samples, batched=True)
    points = np.concatenate([select_inner(sample_points(60, seed=1), samples, level), samples])
    assert find_misrepresented_pair(g(points).tolist(), points, make_relation(level), batched=True) is None


@pytest.mark.parametrize("name", LEVELS)
def test_g_is_the_distance_between_classes(name: str) -> None:
    level, samples, base = LEVELS[name], sample_points(200, seed=0), np.array([0.9, 0.8])
    g = distance_construction(make_relation(level), samples, base=base, n_segments=2000, batched=True)
    points = select_inner(sample_points(30, seed=2), sample_points(20, seed=0), level)
    true = TRUE_DISTANCES[name](points) - TRUE_DISTANCES[name](base[None])
    assert np.array_equal(np.sign(g(points)), np.sign(true))
    assert (np.abs(g(points)) >= np.abs(true) * (1 - 1e-9)).all()
    assert np.median(np.abs(g(points)) / np.abs(true)) < 1.1


def test_more_segments_approximate_the_distance_better() -> None:
    samples, points = sample_points(200, seed=0), np.array([[1.5, 0.5], [-1.0, 0.3]])
    relation = make_relation(LEVELS["radial"])
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
)  # a segment's end, if rounded, is below the exact end
def test_g_represents_random_orders_in_three_dimensions(
    weights: tuple[float, float, float], power: int, seed: int
) -> None:
    def level(X: FloatArray) -> FloatArray:
        values: FloatArray = (X @ np.array(weights)) ** power
        return values

    samples = sample_points(25, seed, n_features=3)
    g = distance_construction(make_relation(level), samples, n_segments=40, batched=True, random_state=seed)
    points = select_inner(sample_points(15, seed + 1, n_features=3), samples, level)
    assert find_misrepresented_pair(g(points).tolist(), points, make_relation(level), batched=True) is None


@pytest.mark.parametrize("curve", [np.cbrt, np.sinh, np.arctan, lambda x: x + np.sin(x)])
def test_in_one_dimension_g_is_the_signed_distance(curve: Callable[[float], float]) -> None:
    samples = np.linspace(-4, 5, 10)[:, None]
    g = distance_construction(lambda x, y: curve(x[0]) >= curve(y[0]), samples, base=[0.5])
    points = np.array([-3.7, -1.0, 0.5, 0.6, 4.9])[:, None]
    assert g(points) == pytest.approx(points[:, 0] - 0.5, abs=1e-6)


def test_a_plateau_is_one_class() -> None:
    """Points in the unit disc are equal, so ∂x has an interior; the sets above and below stay open."""

    def level(X: FloatArray) -> FloatArray:
        return np.maximum(1.0, LEVELS["radial"](X))

    samples = sample_points(80, seed=0)
    g = distance_construction(make_relation(level), samples, batched=True)
    points = select_inner(
        np.concatenate([sample_points(40, seed=1), [[0.1, 0.2], [0.0, 0.0]]]), samples, lambda X: level(X) + 0
    )
    scores = g(points)
    assert find_misrepresented_pair(scores.tolist(), points, make_relation(level), batched=True) is None


def lexicographic(X: FloatArray, Y: FloatArray) -> BoolArray:
    at_least: BoolArray = (X[:, 0] > Y[:, 0]) | ((X[:, 0] == Y[:, 0]) & (X[:, 1] >= Y[:, 1]))
    return at_least


def test_lexicographic_order_is_misrepresented() -> None:
    """The sets above a point are not open: the theorem does not apply, and no continuous g exists."""
    g = distance_construction(lexicographic, sample_points(80, seed=0), batched=True)
    points = np.array([[0.25, 0.0], [0.25, 1.0], [0.25, 2.0], [1.0, 0.0]])
    scores = g(points)
    assert (np.diff(scores) >= 0).all()  # x ⪰ y implies g(x) ≥ g(y) for any order
    assert find_misrepresented_pair(scores.tolist(), points, lexicographic, batched=True) is not None


@given(st.integers(0, 1000))
@settings(max_examples=15)
def test_x_at_least_y_implies_g_at_least_for_any_order(seed: int) -> None:
    """Even where the order is not monotone along the segments."""

    def level(X: FloatArray) -> FloatArray:
        return np.round(np.sin(3 * X[:, 0]) + np.cos(2 * X[:, 1]), 1)

    samples = sample_points(30, seed)
    g = distance_construction(make_relation(level), samples, n_segments=30, batched=True)
    points = select_inner(sample_points(25, seed + 1), samples, level)
    scores, levels = g(points), level(points)
    above = levels[:, None] >= levels
    assert (scores[:, None] >= scores)[above].all()


def test_base_has_the_score_zero_and_defaults_to_the_median() -> None:
    samples = sample_points(41, seed=0)
    g = distance_construction(make_relation(LEVELS["linear"]), samples, batched=True)
    assert np.count_nonzero(g(samples) > 0) == np.count_nonzero(g(samples) < 0) == 20
    middle = samples[np.argsort(LEVELS["linear"](samples))[20]]
    assert g([middle]).tolist() == [0.0]


def test_invalid_samples_raise() -> None:
    def higher(x: FloatArray, y: FloatArray) -> bool:
        return bool(x[0] >= y[0])

    with pytest.raises(ValueError, match="no sample is above the base"):
        distance_construction(higher, [[0.0], [1.0]], base=[2.0])
    with pytest.raises(ValueError, match="no sample is below the base"):
        distance_construction(higher, [[0.0], [1.0]], base=[-1.0])
    with pytest.raises(ValueError, match=r"\[9.0\] is above or below all samples"):
        distance_construction(higher, [[0.0], [1.0], [2.0]])([[9.0]])
    with pytest.raises(ValueError, match="pass finite numbers"):
        distance_construction(higher, [0.0, 1.0])
