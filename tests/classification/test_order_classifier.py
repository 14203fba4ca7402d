"""OrderClassifier: scikit-learn's checks, its laws, and its accuracy on known classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

from directranker import DataError, DirectRanker, GaussianClasses, OrderClassifier, TrainingWarning
from directranker.classification.adjacent_category import AdjacentCategoryModel
from directranker.classification.held_out import score_held_out

QUICK: dict[str, Any] = {
    "hidden_layers": (16,),
    "dropout": 0.0,
    "learning_rate": 0.05,
    "early_stopping": False,
    "random_state": 0,
}


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [OrderClassifier(DirectRanker(max_epochs=40, **QUICK), random_state=0)]
)
def test_checks_of_scikit_learn(estimator: OrderClassifier, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def ordered() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Sample three classes of unequal sizes along a line in six dimensions."""
    classes = GaussianClasses(np.outer([0.0, 1.5, 3.0], np.ones(6)), np.ones((3, 6)))
    sample = classes.sample(900, class_weights=(0.5, 0.3, 0.2), random_state=0)
    return sample.data.features, sample.true_labels


def make_classifier(**parameters: Any) -> OrderClassifier:
    return OrderClassifier(DirectRanker(max_epochs=15, **QUICK), random_state=0, **parameters)


@pytest.mark.filterwarnings("ignore:thresholds='peaks' may be arbitrary.*0.74")
@pytest.mark.parametrize("thresholds", ["labels", "peaks"])
def test_ordered_classes_are_found(ordered: tuple[Any, Any], thresholds: str) -> None:
    X, y = ordered
    fitted = make_classifier(thresholds=thresholds).fit(X[:600], y[:600])
    assert fitted.score(X[600:], y[600:]) > 0.9
    probabilities = fitted.predict_proba(X[600:])
    assert (fitted.classes_[probabilities.argmax(axis=1)] == fitted.predict(X[600:])).all()
    assert log_loss(y[600:], probabilities) < 0.35


def test_probabilities_are_calibrated(ordered: tuple[Any, Any]) -> None:
    X, y = ordered
    # With one feature of six the classes overlap widely.
    fitted = make_classifier().fit(X[:600, :1], y[:600])
    assert fitted.predict_proba(X[600:, :1]).mean(axis=0) == pytest.approx(
        np.bincount(y[600:]) / 300, abs=0.07
    )


def test_string_labels_with_a_class_order(ordered: tuple[Any, Any]) -> None:
    X, y = ordered
    names = np.array(["low", "medium", "high"])
    fitted = make_classifier(class_order=names.tolist()).fit(X, names[y])
    numbers = make_classifier().fit(X, y)
    assert fitted.classes_.tolist() == ["high", "low", "medium"]
    assert fitted.ordered_classes_.tolist() == names.tolist()
    assert (fitted.predict(X) == names[numbers.predict(X)]).all()
    columns = [2, 0, 1]
    np.testing.assert_array_equal(fitted.predict_proba(X), numbers.predict_proba(X)[:, columns])
    decision = fitted.decision_function(X)
    assert (fitted.classes_[decision.argmax(axis=1)] == fitted.predict(X)).all()
    assert ((decision > 0).sum(axis=1) == 1).all()


def test_two_classes_in_reverse_order(ordered: tuple[Any, Any]) -> None:
    X, y = ordered
    fitted = make_classifier(class_order=[1, 0]).fit(X, y > 1)
    assert ((fitted.decision_function(X) > 0) == fitted.predict(X)).all()
    assert fitted.score(X, y > 1) > 0.9


def test_find_thresholds_moves_to_the_peaks_of_unlabelled_rows(ordered: tuple[Any, Any]) -> None:
    X, y = ordered
    fitted = make_classifier().fit(X, y)
    before = fitted.predict_proba(X)
    moved = fitted.find_thresholds(X[300:])
    assert moved is fitted
    assert fitted.score(X, y) > 0.9
    assert not np.array_equal(fitted.predict_proba(X), before)
    assert (fitted.predict_proba(X).argmax(axis=1) == fitted.predict(X)).all()


def test_thresholds_do_not_move_to_unclear_peaks(ordered: tuple[Any, Any]) -> None:
    X, y = ordered
    fitted = make_classifier().fit(X, y)
    before = fitted.thresholds_.copy()
    one_class = X[y == 1]
    with pytest.warns(TrainingWarning, match=r"were not moved: .* all 3 classes \(confidences 0\..*, 0\."):
        assert fitted.find_thresholds(one_class) is fitted
    np.testing.assert_array_equal(fitted.thresholds_, before)
    assert not np.array_equal(fitted.find_thresholds(one_class, confidence=0).thresholds_, before)
    with pytest.raises(ValueError, match=r"confidence is 1\.5; give a number from 0"):
        fitted.find_thresholds(X, confidence=1.5)
    noise = np.random.default_rng(0).normal(size=(80, 2))
    with pytest.warns(TrainingWarning, match="thresholds='peaks' may be arbitrary: .* thresholds='labels'"):
        make_classifier(thresholds="peaks").fit(noise, np.arange(80) % 2)


def test_peaks_need_distinct_scores(ordered: tuple[Any, Any]) -> None:
    X, y = ordered
    fitted = make_classifier().fit(X, y)
    before = fitted.thresholds_.tolist()
    with pytest.raises(
        ValueError, match=r"^9 rows have fewer distinct scores than . classes need; give more"
    ):
        fitted.find_thresholds(np.repeat(X[:1], 9, axis=0))
    assert fitted.thresholds_.tolist() == before


def test_a_single_class_raises_with_its_label(ordered: tuple[Any, Any]) -> None:
    X, y = ordered
    with pytest.raises(ValueError, match=r"^y has 1 class, 2\.0; give rows"):
        make_classifier().fit(X, np.full(len(y), 2.0))


def test_class_weights_move_thresholds_towards_the_frequent_class(ordered: tuple[Any, Any]) -> None:
    X, y = ordered
    rare = y > 1
    unweighted, balanced = (
        make_classifier(class_weight=weight).fit(X[:, :1], rare) for weight in (None, "balanced")
    )
    assert balanced.predict(X[:, :1]).mean() > unweighted.predict(X[:, :1]).mean()


def test_the_seed_is_passed_to_a_ranker_without_one(ordered: tuple[Any, Any]) -> None:
    X, y = ordered
    unseeded = DirectRanker(max_epochs=2, hidden_layers=(8,), progress=False)
    first, again, other = (
        OrderClassifier(unseeded, random_state=seed).fit(X[:200], y[:200]).decision_function(X)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert unseeded.random_state is None
    seeded = OrderClassifier(DirectRanker(max_epochs=2, random_state=7), random_state=1).fit(X[:200], y[:200])
    assert seeded.ranker_.random_state == 7


def test_the_same_seed_gives_the_same_classifier(ordered: tuple[Any, Any]) -> None:
    X, y = ordered
    first, second = make_classifier().fit(X, y), clone(make_classifier()).fit(X, y)
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"thresholds": "peak"}, "did you mean 'peaks'"),
        ({"calibration_fraction": 1.0}, "calibration_fraction is 1.0"),
        ({"calibration_fraction": "x"}, "calibration_fraction is 'x'; give a number between 0 and 1"),
        ({"class_order": 5}, "class_order is 5; give a list of the classes, or None"),
        ({"class_order": [0, 1]}, "name each of"),
        ({"class_order": [0, 1, 2, 2]}, "name each of"),
    ],
)
def test_invalid_parameters_raise(ordered: tuple[Any, Any], parameters: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        make_classifier(**parameters).fit(*ordered)


def test_an_invalid_ranker_raises() -> None:
    with pytest.raises(ValueError, match=r"ranker is 'RankSVM'; give a ranker, such as DirectRanker\(\), or"):
        OrderClassifier("RankSVM").fit([[0.0], [1.0]], [0, 1])


def test_the_model_maximises_the_literal_likelihood() -> None:
    """Compare the fit with a gradient-free search over the formula."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 3, 200)
    scores = classes * 2.0 + rng.normal(size=200) + 5
    model = AdjacentCategoryModel.fit(scores, classes, 3)

    def literal(parameters: NDArray[np.float64]) -> float:
        slope, low, high = parameters
        total = 0.0
        for score, true_class in zip(scores, classes, strict=True):
            odds = [1.0, np.exp(slope * (score - low)), np.exp(slope * (2 * score - low - high))]
            total -= np.log(odds[true_class] / sum(odds))
        return float(total / 200 + 1e-3 * (slope * scores.std()) ** 2)

    best = minimize(literal, [1.0, 6.0, 8.0], method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-10})
    assert [model.slope, *model.thresholds] == pytest.approx(best.x, rel=1e-3)
    np.testing.assert_allclose(model.predict_proba(scores).sum(axis=1), 1)


def test_given_thresholds_are_kept_and_only_the_slope_is_fitted() -> None:
    scores, classes = np.arange(10.0), np.array([0, 0, 0, 1, 0, 1, 0, 1, 1, 1])
    model = AdjacentCategoryModel.fit(scores, classes, 2, thresholds=np.array([4.5]))
    assert model.thresholds.tolist() == [4.5]
    assert model.slope > 0


class Memory(BaseEstimator):  # type: ignore[misc]
    """Score training rows by their label and other rows by 0.5, times the number of training rows."""

    def fit(self, X: Any, y: Any) -> Memory:
        """Store the labels."""
        self.labels_ = {row.tobytes(): label for row, label in zip(X, y, strict=True)}
        return self

    def predict(self, X: Any) -> Any:
        """Return the stored labels."""
        return len(self.labels_) * np.array([self.labels_.get(row.tobytes(), 0.5) for row in X])


class Rescaling(BaseEstimator):  # type: ignore[misc]
    """Score rows by their feature, on a scale that depends on the number of training rows."""

    def fit(self, X: Any, y: Any) -> Rescaling:
        """Count the rows."""
        del y
        self.n_rows_ = len(X)
        return self

    def predict(self, X: Any) -> Any:
        """Return the rescaled feature."""
        return self.n_rows_ * (X[:, 0] - 7)


def test_cross_validated_scores_are_on_the_scale_of_the_ranker() -> None:
    X, codes = np.arange(40, dtype=np.float32)[:, None], np.repeat([0, 1], [36, 4])
    held_out = score_held_out(lambda _: Rescaling(), X, codes, calibration_fraction=0.2, seed=0)
    np.testing.assert_allclose(held_out.scores, held_out.ranker.predict(X), rtol=1e-4)


@pytest.mark.parametrize(("n_rare", "train_fraction"), [(2, 1.0), (49, 1.0), (50, 0.8)])
def test_all_rows_of_a_rare_class_are_trained_on_and_held_out(n_rare: int, train_fraction: float) -> None:
    X = np.random.default_rng(0).normal(size=(100 + n_rare, 2)).astype(np.float32)
    codes = np.repeat([0, 1], [100, n_rare])
    held_out = score_held_out(lambda _: Memory(), X, codes, calibration_fraction=0.2, seed=0)
    assert len(held_out.ranker.labels_) == train_fraction * len(X)
    assert len(held_out.rows) == (len(X) if train_fraction == 1 else 0.2 * len(X))
    # No row is scored by a ranker that was trained on its label, so rows of both classes have the same
    # scores.
    of_class = [set(held_out.scores[codes[held_out.rows] == code].round(6)) for code in (0, 1)]
    assert of_class[1] <= of_class[0]
    assert len(of_class[0]) <= 5


@pytest.mark.parametrize(("n_rare", "calibration_fraction"), [(1, 0.2), (15, 0.95)])
def test_a_class_too_small_to_split_uses_all_rows_for_both(n_rare: int, calibration_fraction: float) -> None:
    X = np.arange(30, dtype=np.float32)[:, None]
    codes = (X[:, 0] >= 30 - n_rare).astype(np.int64)
    held_out = score_held_out(lambda _: Memory(), X, codes, calibration_fraction=calibration_fraction, seed=0)
    assert held_out.scores.tolist() == held_out.ranker.predict(X).tolist()


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_class_is_reported_with_its_row(missing: float | None) -> None:
    with pytest.raises(DataError, match=r"^label (nan|None) in row 2; give each row a class"):
        OrderClassifier().fit(np.eye(4), np.array(["a", "b", missing, "a"], dtype=object))
    with pytest.raises(DataError, match=r"^label (nan|None) in row 1"):
        OrderClassifier().fit(np.eye(4), np.array([0, missing, 1, 1], dtype=object))
