"""class_boundaries: compared with a literal search, by law, and on scores of known classes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from directranker.arrays import FloatArray, IntArray
from directranker.classification import Boundaries, class_boundaries
from directranker.classification.valleys import bound_log_probability, find_clearest_valley


def list_sizes(max_size: int) -> list[int]:
    return [size for size in (1, 2, 3, 4, 6, 9, 13, 19, 28, 42) if size <= max_size]


def compute_literal_log_probability(scores: FloatArray, start: int, stop: int) -> float:
    """Try every window of every size on each side, by the formula with the Kullback-Leibler divergence."""
    per_side = []
    for side in (scores[: start + 1], scores[stop:]):
        log_probabilities = [0.0]
        for n in list_sizes(len(side) - 1):
            for index in range(len(side) - n):
                width, other = scores[stop] - scores[start], side[index + n] - side[index]
                v, x = stop - start, width / (width + other)
                q = (v - 1) / (v + n - 1)
                divergence = (q * math.log(q / x) if q else 0.0) + (1 - q) * math.log((1 - q) / (1 - x))
                log_probabilities.append(-(v + n - 1) * divergence if x > q else 0.0)
        per_side.append(min(log_probabilities))
    return max(per_side)


@given(st.integers(0, 10**6), st.integers(3, 40))
def test_the_search_equals_the_literal_one(seed: int, n: int) -> None:
    scores = np.sort(np.random.default_rng(seed).standard_cauchy(n))
    start, stop, log_probability = find_clearest_valley(scores, 0, n - 1)
    log_probabilities = {
        (first, first + v): compute_literal_log_probability(scores, first, first + v)
        for v in list_sizes(n - 1)
        for first in range(n - v)
    }
    assert log_probability == pytest.approx(min(log_probabilities.values()))
    if log_probability < 0:
        assert log_probabilities[start, stop] == pytest.approx(log_probability)


@pytest.mark.parametrize(("v", "n_others"), [(1, 1), (1, 16), (4, 8), (16, 4), (64, 128)])
@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.0, 6.0])
def test_the_bound_holds_and_is_exact_for_a_single_gap(v: int, n_others: int, ratio: float) -> None:
    """The ratio of mean gaps of equally dense windows is F-distributed."""
    bound = math.exp(bound_log_probability(v, ratio * v, n_others, float(n_others)))
    exact = stats.f.sf(ratio, 2 * v, 2 * n_others)
    assert bound == pytest.approx(exact) if v == 1 else exact <= bound <= 1


UNIMODAL = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.uniform(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "heavy tails": lambda rng, n: rng.standard_cauchy(size=n),
    "rounded": lambda rng, n: np.round(rng.normal(size=n), 1),
    # All documents on the plateau are less dense than those on the peak, so one side is always denser.
    "a peak on a plateau": lambda rng, n: np.where(
        rng.uniform(size=n) < 0.1, -1e-4 * rng.uniform(size=n), rng.uniform(size=n)
    ),
}


@pytest.mark.parametrize("shape", UNIMODAL)
@pytest.mark.parametrize("n", [5, 30, 400])
def test_unimodal_scores_of_any_shape_are_one_class(shape: str, n: int) -> None:
    rng = np.random.default_rng(0)
    n_classes = [class_boundaries(UNIMODAL[shape](rng, n), confidence=0.9).n_classes for _ in range(100)]
    level = 0.4 if shape == "a peak on a plateau" else 0.1
    assert np.mean(np.array(n_classes) > 1) <= level


@pytest.mark.parametrize(
    ("n", "apart", "rates"),
    [
        # The minimum rate at which exactly 2 to 5 normal classes with means `apart` are boundaries.
        (30, 12.0, (0.95, 0.95, 0.6, 0.0)),
        (100, 8.0, (0.95, 0.95, 0.95, 0.9)),
        (1000, 5.0, (1.0, 1.0, 1.0, 1.0)),
    ],
)
def test_classes_are_recovered(n: int, apart: float, rates: tuple[float, ...]) -> None:
    rng = np.random.default_rng(0)
    for n_classes, min_rate in zip((2, 3, 4, 5), rates, strict=True):
        classes = np.sort(np.arange(n) % n_classes)
        is_correct = [
            class_boundaries(rng.normal(size=n) + apart * classes).n_classes == n_classes
            for _ in range(40 if n < 1000 else 5)
        ]
        assert np.mean(is_correct) >= min_rate, n_classes


def sample_normal_classes(
    rng: np.random.Generator, *means: float, n: int = 200
) -> tuple[FloatArray, IntArray]:
    return np.concatenate([rng.normal(mean, 1, n) for mean in means]), np.repeat(range(len(means)), n)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_classes", [None, 4])
def test_separate_classes_are_found_in_dense_scores(seed: int, n_classes: int | None) -> None:
    scores, classes = sample_normal_classes(np.random.default_rng(seed), 0, 5, 10, 15, n=1000)
    boundaries = class_boundaries(scores, n_classes)
    assert boundaries.n_classes == 4
    assert np.mean(boundaries.classes_of(scores) == classes) > 0.98
    assert (boundaries.confidences > 0.99).all()


def test_documents_scattered_over_the_valley_do_not_hide_it() -> None:
    rng = np.random.default_rng(0)
    scores, _ = sample_normal_classes(rng, 0, 8)
    boundaries = class_boundaries(np.concatenate([scores, rng.uniform(-3, 11, 40)]))
    assert boundaries.n_classes == 2
    assert 2 < boundaries.thresholds[0] < 6


def test_wide_gaps_in_the_tails_are_not_boundaries() -> None:
    scores = np.concatenate([sample_normal_classes(np.random.default_rng(0), 0, 6)[0], [-40.0, 60.0]])
    boundaries = class_boundaries(scores, 2)
    assert 1 < boundaries.thresholds[0] < 5  # the widest gaps by far are those of 40 and 60


def test_a_small_case_by_hand() -> None:
    scores = [0, 1, 2, 3, 40, 41, 42, 43, 44]
    boundaries = class_boundaries(scores, 2)
    assert boundaries.thresholds.tolist() == [21.5]
    probability = 9**2 / 9 * (3 / (37 + 3)) ** 3  # three gaps of 1 beside one of 37, in nine tries
    assert boundaries.confidences.tolist() == pytest.approx([1 - probability])


@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=60),
    st.randoms(),
    st.integers(-100, 100),
    st.sampled_from([0.25, 1.0, 8.0]),
)
def test_order_shift_and_scale_do_not_matter(
    values: list[int], shuffler: object, shift: int, scale: float
) -> None:
    scores = np.array(values, dtype=float)
    shuffled = list(values)
    shuffler.shuffle(shuffled)  # type: ignore[attr-defined]
    n_classes = min(3, len(set(values)))
    boundaries = class_boundaries(scores, n_classes)
    moved = class_boundaries(np.array(shuffled) * scale + shift, n_classes)
    assert moved.thresholds.tolist() == (boundaries.thresholds * scale + shift).tolist()
    assert moved.confidences.tolist() == boundaries.confidences.tolist()
    assert len(np.unique(boundaries.classes_of(scores))) == n_classes
    assert ((boundaries.confidences >= 0) & (boundaries.confidences <= 1)).all()


@given(st.integers(0, 10**6))
def test_negated_scores_have_negated_boundaries(seed: int) -> None:
    scores, _ = sample_normal_classes(np.random.default_rng(seed), 0, 6, 15, n=30)
    boundaries, negated = class_boundaries(scores), class_boundaries(-scores)
    np.testing.assert_allclose(boundaries.thresholds, -negated.thresholds[::-1])


def test_scores_of_any_size_and_equal_scores() -> None:
    assert class_boundaries([5.0] * 100).n_classes == 1
    assert class_boundaries([1.0]).n_classes == 1
    assert class_boundaries([-1.7e308] * 20 + [1.7e308] * 20, 2).thresholds.tolist() == [0.0]
    three_values = class_boundaries([0.0] * 50 + [1.0] * 50 + [30.0] * 50)
    assert three_values.thresholds.tolist() == [15.5]  # 0 and 1 are as close as any two scores


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
def test_invalid_input_raises(scores: list[float], options: dict[str, float], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        class_boundaries(scores, **options)  # type: ignore[arg-type]


def test_a_boundary_without_evidence_has_confidence_0() -> None:
    confidences = class_boundaries([1.0, 2.0, 3.0], 3).confidences
    assert [f"{confidence:g}" for confidence in confidences] == ["0", "0"]  # and not -0


def test_a_score_on_the_threshold_belongs_to_the_class_below() -> None:
    boundaries = Boundaries(np.array([1.0, 2.0]), np.ones(2))
    assert boundaries.classes_of([0.0, 1.0, 1.5, 2.0, 2.5]).tolist() == [0, 0, 1, 1, 2]
