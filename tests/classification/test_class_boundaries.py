"""Boundaries from scores alone: against the literal search, by law, and on lists whose classes are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from directranker.classification import Boundaries, class_boundaries
from directranker.classification.valleys import clearest_valley, log_chance_of_share

Scores = NDArray[np.float64]


def sizes(most: int) -> list[int]:
    return [size for size in (1, 2, 3, 4, 6, 9, 13, 19, 28, 42) if size <= most]


def literal_chance(scores: Scores, start: int, stop: int) -> float:
    """Every window of every size on each side, by the formula with Kullback and Leibler's divergence."""
    per_side = []
    for side in (scores[: start + 1], scores[stop:]):
        chances = [0.0]
        for n in sizes(len(side) - 1):
            for place in range(len(side) - n):
                width, other = scores[stop] - scores[start], side[place + n] - side[place]
                v, x = stop - start, width / (width + other)
                q = (v - 1) / (v + n - 1)
                divergence = (q * math.log(q / x) if q else 0.0) + (1 - q) * math.log((1 - q) / (1 - x))
                chances.append(-(v + n - 1) * divergence if x > q else 0.0)
        per_side.append(min(chances))
    return max(per_side)


@given(st.integers(0, 10**6), st.integers(3, 40))
def test_the_search_is_the_literal_one(seed: int, n: int) -> None:
    scores = np.sort(np.random.default_rng(seed).standard_cauchy(n))
    start, stop, log_chance = clearest_valley(scores, 0, n - 1)
    chances = {
        (first, first + v): literal_chance(scores, first, first + v)
        for v in sizes(n - 1)
        for first in range(n - v)
    }
    assert log_chance == pytest.approx(min(chances.values()))
    if log_chance < 0:
        assert chances[start, stop] == pytest.approx(log_chance)


@pytest.mark.parametrize(("v", "n_others"), [(1, 1), (1, 16), (4, 8), (16, 4), (64, 128)])
@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.0, 6.0])
def test_the_bound_is_one_and_exact_for_a_single_gap(v: int, n_others: int, ratio: float) -> None:
    """Of equally dense windows the ratio of mean gaps has Fisher's distribution."""
    bound = math.exp(log_chance_of_share(v, ratio * v, n_others, float(n_others)))
    exact = stats.f.sf(ratio, 2 * v, 2 * n_others)
    assert bound == pytest.approx(exact) if v == 1 else exact <= bound <= 1


UNIMODAL = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.uniform(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "heavy tails": lambda rng, n: rng.standard_cauchy(size=n),
    "rounded": lambda rng, n: np.round(rng.normal(size=n), 1),
    # One side is free: all documents on the step are less dense than those on the tip.
    "a tip on a step": lambda rng, n: np.where(
        rng.uniform(size=n) < 0.1, -1e-4 * rng.uniform(size=n), rng.uniform(size=n)
    ),
}


@pytest.mark.parametrize("form", UNIMODAL)
@pytest.mark.parametrize("n", [5, 30, 400])
def test_one_crowd_of_any_form_is_one_class(form: str, n: int) -> None:
    rng = np.random.default_rng(0)
    found = [class_boundaries(UNIMODAL[form](rng, n), confidence=0.9).n_classes for _ in range(100)]
    level = 0.4 if form == "a tip on a step" else 0.1
    assert np.mean(np.array(found) > 1) <= level


@pytest.mark.parametrize(
    ("n", "apart", "rates"),
    [
        # How often at least so many classes, 2 to 5, are all found and no other, with normal crowds `apart`.
        (30, 12.0, (0.95, 0.95, 0.6, 0.0)),
        (100, 8.0, (0.95, 0.95, 0.95, 0.9)),
        (1000, 5.0, (1.0, 1.0, 1.0, 1.0)),
    ],
)
def test_classes_are_recovered(n: int, apart: float, rates: tuple[float, ...]) -> None:
    rng = np.random.default_rng(0)
    for n_classes, least in zip((2, 3, 4, 5), rates, strict=True):
        classes = np.sort(np.arange(n) % n_classes)
        found = [
            class_boundaries(rng.normal(size=n) + apart * classes).n_classes == n_classes
            for _ in range(40 if n < 1000 else 5)
        ]
        assert np.mean(found) >= least, n_classes


def crowds(rng: np.random.Generator, *places: float, n: int = 200) -> tuple[Scores, NDArray[np.int64]]:
    return np.concatenate([rng.normal(place, 1, n) for place in places]), np.repeat(range(len(places)), n)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_classes", [None, 4])
def test_crowds_apart_are_found_in_dense_lists(seed: int, n_classes: int | None) -> None:
    scores, classes = crowds(np.random.default_rng(seed), 0, 5, 10, 15, n=1000)
    found = class_boundaries(scores, n_classes)
    assert found.n_classes == 4
    assert np.mean(found.classes_of(scores) == classes) > 0.98
    assert (found.confidences > 0.99).all()


def test_documents_strewn_over_the_valley_do_not_hide_it() -> None:
    rng = np.random.default_rng(0)
    scores, _ = crowds(rng, 0, 8)
    found = class_boundaries(np.concatenate([scores, rng.uniform(-3, 11, 40)]))
    assert found.n_classes == 2
    assert 2 < found.thresholds[0] < 6


def test_wide_gaps_of_the_tails_are_no_boundaries() -> None:
    scores = np.concatenate([crowds(np.random.default_rng(0), 0, 6)[0], [-40.0, 60.0]])
    found = class_boundaries(scores, 2)
    assert 1 < found.thresholds[0] < 5  # the widest gaps by far are those of 40 and 60


def test_the_small_case_by_hand() -> None:
    scores = [0, 1, 2, 3, 40, 41, 42, 43, 44]
    found = class_boundaries(scores, 2)
    assert found.thresholds.tolist() == [21.5]
    chance = 9**2 / 9 * (3 / (37 + 3)) ** 3  # three gaps of 1 beside one of 37, as nine tries might
    assert found.confidences.tolist() == pytest.approx([1 - chance])


@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=60),
    st.randoms(),
    st.integers(-100, 100),
    st.sampled_from([0.25, 1.0, 8.0]),
)
def test_order_place_and_scale_do_not_matter(
    values: list[int], shuffler: object, shift: int, scale: float
) -> None:
    scores = np.array(values, dtype=float)
    shuffled = list(values)
    shuffler.shuffle(shuffled)  # type: ignore[attr-defined]
    n_classes = min(3, len(set(values)))
    found = class_boundaries(scores, n_classes)
    moved = class_boundaries(np.array(shuffled) * scale + shift, n_classes)
    assert moved.thresholds.tolist() == (found.thresholds * scale + shift).tolist()
    assert moved.confidences.tolist() == found.confidences.tolist()
    assert len(np.unique(found.classes_of(scores))) == n_classes
    assert ((found.confidences >= 0) & (found.confidences <= 1)).all()


@given(st.integers(0, 10**6))
def test_turned_round_the_boundaries_turn_round(seed: int) -> None:
    scores, _ = crowds(np.random.default_rng(seed), 0, 6, 15, n=30)
    there, back = class_boundaries(scores), class_boundaries(-scores)
    np.testing.assert_allclose(there.thresholds, -back.thresholds[::-1])


def test_scores_of_any_size_and_equal_ones() -> None:
    assert class_boundaries([5.0] * 100).n_classes == 1
    assert class_boundaries([1.0]).n_classes == 1
    assert class_boundaries([-1.7e308] * 20 + [1.7e308] * 20, 2).thresholds.tolist() == [0.0]
    three_values = class_boundaries([0.0] * 50 + [1.0] * 50 + [30.0] * 50)
    assert three_values.thresholds.tolist() == [15.5]  # 0 and 1 are as near as any two scores are


@pytest.mark.parametrize(
    ("scores", "options", "problem"),
    [
        ([], {}, "at least one"),
        ([[1.0]], {}, "shape"),
        ([0.0, np.nan], {}, "score nan of document 1"),
        ([0.0, 0.0, 1.0], {"n_classes": 3}, "from 1 to 2"),
        ([0.0, 1.0], {"n_classes": 0}, "n_classes is 0"),
        ([0.0, 1.0], {"confidence": 1.0}, "confidence is 1.0"),
    ],
)
def test_wrong_input_is_told(scores: list[float], options: dict[str, float], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        class_boundaries(scores, **options)  # type: ignore[arg-type]


def test_a_boundary_without_any_sign_has_confidence_0() -> None:
    confidences = class_boundaries([1.0, 2.0, 3.0], 3).confidences
    assert [f"{one:g}" for one in confidences] == ["0", "0"]  # and not -0


def test_a_score_on_the_threshold_belongs_to_the_class_below() -> None:
    found = Boundaries(np.array([1.0, 2.0]), np.ones(2))
    assert found.classes_of([0.0, 1.0, 1.5, 2.0, 2.5]).tolist() == [0, 0, 1, 1, 2]
