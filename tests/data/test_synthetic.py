"""Gaussian classes, label noise and queries against the exact distributions."""

from __future__ import annotations

import time
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from threadpoolctl import threadpool_limits

from directranker.data.synthetic import GaussianClasses, example_dataset, make_synthetic, noisy_labels


def test_parameters_are_uniform_over_the_papers_ranges() -> None:
    classes = GaussianClasses.draw(n_classes=50, n_features=400, random_state=0)
    assert classes.means.shape == classes.deviations.shape == (50, 400)
    for drawn, low, high in ((classes.means, 0, 100), (classes.deviations, 50, 100)):
        assert drawn.min() >= low
        assert drawn.max() <= high
        counts, _ = np.histogram(drawn, bins=10, range=(low, high))
        np.testing.assert_allclose(counts / drawn.size, 0.1, atol=0.01)


def test_each_class_follows_its_gaussian() -> None:
    classes = GaussianClasses.draw(n_classes=3, n_features=4, random_state=1)
    sample = classes.sample(60_000, random_state=2)
    for label in range(3):
        rows = sample.data.features[sample.data.relevance == label].astype(np.float64)
        assert len(rows) == pytest.approx(20_000, abs=500)
        standardised = (rows - classes.means[label]) / classes.deviations[label]
        np.testing.assert_allclose(standardised.mean(axis=0), 0, atol=0.03)
        np.testing.assert_allclose(np.cov(standardised.T), np.eye(4), atol=0.03)
        for edge in (-1.0, 0.0, 2.0):
            expected = NormalDist().cdf(edge)
            np.testing.assert_allclose((standardised < edge).mean(axis=0), expected, atol=0.015)


def test_class_weights_are_class_probabilities() -> None:
    classes = GaussianClasses.draw(n_classes=3, n_features=1, random_state=0)
    labels = classes.sample(50_000, class_weights=[6, 3, 1], random_state=0).true_labels
    np.testing.assert_allclose(np.bincount(labels) / 50_000, [0.6, 0.3, 0.1], atol=0.01)


def probability(label: int, noisy: int, sigma: float, n_classes: int) -> float:
    around = NormalDist(label, sigma)
    below = 0.0 if noisy == 0 else around.cdf(noisy - 0.5)
    above = 1.0 if noisy == n_classes - 1 else around.cdf(noisy + 0.5)
    return above - below


@pytest.mark.parametrize("sigma", [0.1, 0.25, 0.5, 0.75, 2.0])
@pytest.mark.parametrize("n_classes", [2, 5, 7])
def test_noise_has_the_exact_probabilities(sigma: float, n_classes: int) -> None:
    n = 100_000
    for label in range(n_classes):
        noisy = noisy_labels(np.full(n, label), sigma=sigma, n_classes=n_classes, random_state=label)
        frequencies = np.bincount(noisy, minlength=n_classes) / n
        expected = [probability(label, other, sigma, n_classes) for other in range(n_classes)]
        np.testing.assert_allclose(frequencies, expected, atol=4.5 * 0.5 / np.sqrt(n))


def test_fraction_of_changed_inner_labels_is_as_documented() -> None:
    inner = np.full(200_000, 2)
    for sigma, fraction in ((0.25, 0.0455), (0.75, 0.505)):
        changed = np.mean(noisy_labels(inner, sigma=sigma, n_classes=5, random_state=0) != inner)
        assert changed == pytest.approx(fraction, abs=0.004)
        assert fraction == pytest.approx(2 * NormalDist().cdf(-0.5 / sigma), abs=0.001)


def test_noise_of_zero_changes_nothing() -> None:
    made = make_synthetic(n_train=500, n_test=50)
    assert made.mislabelled == 0.0


def test_mislabelled_is_the_fraction_of_changed_training_labels() -> None:
    clean = make_synthetic(n_features=3, n_train=20_000, n_test=500, random_state=3)
    noisy = make_synthetic(n_features=3, n_train=20_000, n_test=500, noise=0.5, random_state=3)
    np.testing.assert_array_equal(noisy.train.features, clean.train.features)
    assert noisy.mislabelled == np.mean(noisy.train.relevance != clean.train.relevance)
    inner, outer = 2 * NormalDist().cdf(-1), NormalDist().cdf(-1)
    assert noisy.mislabelled == pytest.approx((3 * inner + 2 * outer) / 5, abs=0.01)


def test_test_labels_are_true_unless_noisy_test() -> None:
    clean = make_synthetic(n_features=2, n_train=100, n_test=2000)
    noisy = make_synthetic(n_features=2, n_train=300, n_test=2000, noise=1.0)
    np.testing.assert_array_equal(noisy.test.relevance, clean.test.relevance)
    np.testing.assert_array_equal(noisy.test.features, clean.test.features)
    both = make_synthetic(n_features=2, n_train=100, n_test=2000, noise=1.0, noisy_test=True)
    assert np.mean(both.test.relevance != clean.test.relevance) > 0.3


def test_training_and_test_set_are_different_documents_of_the_same_classes() -> None:
    made = make_synthetic(n_classes=2, n_features=3, n_train=20_000, n_test=20_000)
    assert not np.array_equal(made.train.features, made.test.features)
    for split in (made.train, made.test):
        for label in range(2):
            means = split.features[split.relevance == label].mean(axis=0)
            np.testing.assert_allclose(means, made.classes.means[label], atol=4)


def test_defaults_are_the_papers() -> None:
    made = make_synthetic()
    assert (made.train.n_documents, made.test.n_documents, made.train.n_features) == (100_000, 10_000, 70)
    assert np.unique(made.train.relevance).tolist() == [0, 1, 2, 3, 4]
    assert made.train.features.dtype == np.float32


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 300), low=st.integers(1, 40), spread=st.integers(0, 40), seed=st.integers(0, 99))
def test_query_sizes_are_in_the_requested_range(n: int, low: int, spread: int, seed: int) -> None:
    classes = GaussianClasses.draw(n_classes=2, n_features=1, random_state=0)
    data = classes.sample(n, query_size=(low, low + spread), random_state=seed).data
    sizes = np.diff(data.offsets)
    assert sizes.sum() == n
    assert ((sizes[:-1] >= low) & (sizes[:-1] <= low + spread)).all()
    assert 1 <= sizes[-1] <= low + spread
    assert data.query_ids.tolist() == list(range(len(sizes)))


def test_query_sizes_and_classes_are_uniform() -> None:
    classes = GaussianClasses.draw(n_classes=4, n_features=1, random_state=0)
    data = classes.sample(100_000, query_size=(5, 14), random_state=0).data
    frequencies = np.bincount(np.diff(data.offsets)[:-1], minlength=15)[5:] / (data.n_queries - 1)
    np.testing.assert_allclose(frequencies, 0.1, atol=0.015)
    first_of_query = data.relevance[data.offsets[:-1]].astype(int)
    np.testing.assert_allclose(np.bincount(first_of_query) / data.n_queries, 0.25, atol=0.02)


def test_the_last_query_takes_the_rest() -> None:
    data = GaussianClasses.draw(random_state=0).sample(25, query_size=10, random_state=0).data
    assert data.offsets.tolist() == [0, 10, 20, 25]


def test_without_query_size_there_is_one_query() -> None:
    data = GaussianClasses.draw(random_state=0).sample(25, random_state=0).data
    assert data.offsets.tolist() == [0, 25]
    assert data.query_ids.tolist() == [0]


def test_queries_and_noise_do_not_change_the_documents() -> None:
    classes = GaussianClasses.draw(n_features=3, random_state=0)
    plain = classes.sample(9000, random_state=4)
    other = classes.sample(9000, noise=1.0, query_size=(2, 9), random_state=4)
    np.testing.assert_array_equal(plain.data.features, other.data.features)
    np.testing.assert_array_equal(plain.true_labels, other.true_labels)
    assert other.mislabelled == np.mean(other.data.relevance != other.true_labels) > 0.3


def test_random_state_determines_the_data() -> None:
    def features(state: Any) -> Any:
        return make_synthetic(n_features=2, n_train=50, n_test=10, random_state=state).train.features

    np.testing.assert_array_equal(features(5), features(5))
    np.testing.assert_array_equal(features(np.random.default_rng(5)), features(5))
    assert not np.array_equal(features(5), features(6))
    assert not np.array_equal(features(None), features(None))
    generator = np.random.default_rng(5)
    assert not np.array_equal(features(generator), features(generator))


def test_the_global_random_state_is_unchanged() -> None:
    before = np.random.get_state()[1].copy()  # type: ignore[index] # noqa: NPY002
    make_synthetic(n_features=2, n_train=50, n_test=10, noise=0.5, query_size=5, random_state=None)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # type: ignore[index] # noqa: NPY002


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_classes": 0}, "n_classes is 0; give a whole number of at least 1"),
        ({"n_features": -1}, "n_features is -1"),
        ({"n_train": 0}, "n_documents is 0"),
        ({"noise": -1.0}, "the noise has σ = -1.0; give a number of at least 0"),
        ({"query_size": 0}, "query_size is 0; give a whole number of at least 1"),
        ({"query_size": 2.5}, "query_size is 2.5"),
        ({"query_size": (5, 4)}, r"query_size is \(5, 4\)"),
        ({"query_size": (1, 2, 3)}, r"query_size is \(1, 2, 3\)"),
        ({"class_weights": [1, 2]}, r"class_weights are \[1, 2\]; give 5 numbers"),
        ({"class_weights": [0] * 5}, "not all 0"),
    ],
)
def test_invalid_options_raise(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_synthetic(**{"n_train": 10, "n_test": 10, **options})


def test_invalid_labels_and_parameters_raise() -> None:
    for labels, message in (([0, 5], "label 5 in row 1"), ([0.5], "label 0.5"), ([np.nan], "label nan")):
        with pytest.raises(ValueError, match=f"{message}.* whole numbers from 0 to 4"):
            noisy_labels(labels, sigma=1.0, n_classes=5)
    with pytest.raises(ValueError, match=r"means have shape \(1, 2\) and deviations \(1, 1\)"):
        GaussianClasses(np.zeros((1, 2)), np.ones((1, 1)))
    with pytest.raises(ValueError, match="deviations not negative"):
        GaussianClasses(np.zeros((1, 1)), -np.ones((1, 1)))


def test_example_dataset_is_deterministic_and_fast() -> None:
    first = example_dataset()
    start = time.perf_counter()
    second = example_dataset()
    assert time.perf_counter() - start < 0.2
    for array in ("features", "relevance", "offsets", "query_ids"):
        assert getattr(first, array).tobytes() == getattr(second, array).tobytes()
    sizes = np.diff(first.offsets)
    assert sizes[:-1].min() == 10
    assert sizes.max() == 40
    # Detects a change of the generation or of NumPy's random streams.
    np.testing.assert_allclose(first.features[0, :3], [-36.991226, 105.2384, 305.69992], rtol=1e-5)


def ndcg_at_10(relevance: Any, scores: Any, offsets: Any) -> float:
    discounts = 1 / np.log2(np.arange(2, 12))
    values = []
    for start, stop in pairwise(offsets):
        gains = 2.0 ** relevance[start:stop] - 1
        found = gains[np.argsort(-scores[start:stop])][:10]
        best = np.sort(gains)[::-1][:10]
        if best[0] > 0:
            values.append((found @ discounts[: len(found)]) / (best @ discounts[: len(best)]))
    return float(np.mean(values))


def test_rankers_differ_on_the_example_dataset() -> None:
    data = example_dataset()
    cut = data.offsets[200]
    X, y = data.features[:cut], data.relevance[:cut]
    others, offsets = data.features[cut:], data.offsets[200:] - cut

    def compute_ndcg(scores: Any) -> float:
        return ndcg_at_10(data.relevance[cut:], scores, offsets)

    single = max(compute_ndcg(sign * column) for column in others.T for sign in (-1, 1))
    assert compute_ndcg(np.random.default_rng(0).random(len(others))) == pytest.approx(0.39, abs=0.03)
    assert single == pytest.approx(0.56, abs=0.01)
    assert compute_ndcg(LinearRegression().fit(X, y).predict(others)) == pytest.approx(0.70, abs=0.01)
    with threadpool_limits(1):  # on a busy machine its threads wait long for each other
        trees = HistGradientBoostingRegressor(random_state=0).fit(X, y)
    assert compute_ndcg(trees.predict(others)) == pytest.approx(0.77, abs=0.015)
