"""A classifier that learns from pairs: a DirectRanker, and thresholds on its score.

The outlook of the paper: put a classifier into the feature part, compare pairs of instances in training, and
afterwards connect o₁ directly to nn₁. That gives one score g per instance. Thresholds between the classes
come from labels, or from the peaks between neighbours in a sorted list, which needs none.

>>> from sklearn.datasets import load_iris
>>> X, y = load_iris(return_X_y=True)
>>> classifier = OrderClassifier(random_state=0).fit(X[::2], y[::2])
>>> classifier.score(X[1::2], y[1::2]) > 0.85
True
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from directranker.arrays import Features, IntArray
from directranker.classification.boundaries import Boundaries, class_boundaries
from directranker.classification.held_out import score_held_out
from directranker.classification.neighbouring_odds import NeighbouringOdds
from directranker.data.checking import check_class_labels, check_finite, locate_non_numeric_column
from directranker.errors import TrainingWarning, warn_caller
from directranker.parameters import Constraint, between, check_parameters, instance_of, or_none
from directranker.rankers import DirectRanker
from directranker.rankers.base import as_seed
from directranker.suggestions import describe_unknown_name

__all__ = ["OrderClassifier", "default_ranker"]

THRESHOLDS = ("labels", "peaks")
RULES: dict[str, Constraint] = {
    "ranker": or_none(instance_of("a ranker, such as DirectRanker()", BaseEstimator)),
    "thresholds": instance_of("'labels' or 'peaks'", str),
    "class_order": or_none(instance_of("a list of the classes", Sequence, np.ndarray)),
    "calibration_fraction": between(0, 1),
}
# Of few rows an epoch is a step or some, and a part held out has hardly a row of a rare class: early stopping
# ends too soon. On 200 tumours with 7 malignant ones average precision is .98 after 500 steps, .90 with it.
FEW_ROWS, N_STEPS = 10_000, 500
CONFIDENCE = 0.95  # of each peak, below which a fit with thresholds="peaks" warns


class OrderClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify into two or more ordered classes by the score of a ranker that is trained on pairs.

    Parameters
    ----------
    ranker
        What learns the order; unless given a `DirectRanker`, trained for 500 steps where there are fewer than
        10,000 rows, else with early stopping.
    thresholds
        `"labels"`: where the held-out rows make both neighbouring classes equally likely; `"peaks"`: where
        their scores thin out (`class_boundaries`), independent of their labels, with a warning where that is
        not clear.
    class_order
        The classes from lowest to highest; else as they sort.
    class_weight
        How much rows of each class count for thresholds and probabilities: None, `"balanced"`, or a
        dictionary. Pairs always meet in the numbers that the classes have.
    calibration_fraction
        The share of rows of each class that the ranker does not see, and that thresholds and probabilities
        come from. Where that would be fewer than 10 rows of a class, the ranker learns from all rows, and
        thresholds and probabilities come from up to five further rankers, each without another part. Where a
        class has but one row, all rows serve both, and probabilities are too sure.
    random_state
        The same number gives the same classifier.

    Attributes
    ----------
    classes_
        The classes, sorted.
    ranker_
        The fitted ranker.
    thresholds_
        Scores between neighbouring classes, ascending, in the order of `ordered_classes_`.
    ordered_classes_
        The classes from lowest to highest.

    """

    def __init__(
        self,
        ranker: Any = None,
        *,
        thresholds: str = "labels",
        class_order: Sequence[Any] | None = None,
        class_weight: Any = None,
        calibration_fraction: float = 0.2,
        random_state: Any = None,
    ) -> None:
        self.ranker = ranker
        self.thresholds = thresholds
        self.class_order = class_order
        self.class_weight = class_weight
        self.calibration_fraction = calibration_fraction
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn the order, and thresholds and probabilities from scores of rows that were held out."""
        check_parameters(self, RULES)
        if self.thresholds not in THRESHOLDS:
            raise ValueError(describe_unknown_name("thresholds", self.thresholds, THRESHOLDS))
        table, labels = self._checked(X, y)
        codes = self._codes(labels)
        seed = as_seed(self.random_state)
        new_ranker = partial(self._new_ranker, seed)
        held_out = score_held_out(
            new_ranker, table, codes, calibration_fraction=self.calibration_fraction, seed=seed
        )
        self.ranker_, scores = held_out.ranker, held_out.scores
        weights = compute_sample_weight(self.class_weight, labels[held_out.rows])
        n_classes = len(self.classes_)
        peaks = self._fitted_peaks(scores) if self.thresholds == "peaks" else None
        self._model = NeighbouringOdds.fit(
            scores, codes[held_out.rows], n_classes, weights=weights, thresholds=peaks
        )
        self.thresholds_ = self._model.thresholds
        return self

    def find_thresholds(self, X: Any, *, confidence: float = 0.95) -> Self:
        """Move the thresholds to the peaks of these unlabelled rows, such as those to be classified.

        Where one of the peaks has less than this confidence (see `class_boundaries`), as in rows of one class
        only, all thresholds stay as they are, with a warning. With `confidence=0` they always move.

        >>> X = np.concatenate([np.zeros(50), np.full(50, 9.0)])[:, None] + np.linspace(0, 1, 100)[:, None]
        >>> classifier = OrderClassifier(DirectRanker(transform="standard", random_state=0), random_state=0)
        >>> classifier.fit(X, X[:, 0] > 5).find_thresholds(X[20:]).predict(X[[20, -1]]).tolist()
        [False, True]
        """
        check_is_fitted(self)
        if not 0 <= confidence < 1:
            raise ValueError(f"confidence is {confidence}; give a number from 0 up to, but not including, 1")
        scores = self._scores(self._table(X))
        found = _peaks(scores, len(self.classes_))
        if (found.confidences < confidence).any():
            warn_caller(
                f"the thresholds stay as they were: {_unclear(found, scores)}, and confidence is "
                f"{confidence:g}. Give more rows, and rows of all classes, or a lower confidence",
                TrainingWarning,
            )
            return self
        self.thresholds_ = found.thresholds
        self._model = NeighbouringOdds(self._model.slope, self.thresholds_)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row: the likeliest, between whose thresholds the score lies."""
        check_is_fitted(self)
        scores = self._scores(self._table(X))
        predicted: NDArray[Any] = self.ordered_classes_[np.searchsorted(self.thresholds_, scores)]
        return predicted

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """How far the score lies within each class's interval, columns as `classes_`; outside negative.

        For two classes one number: how far it lies above the threshold, positive for `classes_[1]`.
        """
        check_is_fitted(self)
        scores = self._scores(self._table(X))
        edges = np.concatenate([[-np.inf], self.thresholds_, [np.inf]])
        by_order = np.minimum(scores[:, None] - edges[:-1], edges[1:] - scores[:, None])
        inside: NDArray[np.float64] = by_order[:, self._columns()]
        return inside[:, 1] if len(self.classes_) == 2 else inside

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class, columns as `classes_`: (n_rows, n_classes)."""
        check_is_fitted(self)
        return self._model.probabilities(self._scores(self._table(X)))[:, self._columns()]

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write the fitted classifier to a folder that `load_classifier` reads."""
        from directranker.classification.saving import save_classifier  # noqa: PLC0415 - it reads this class

        check_is_fitted(self)
        save_classifier(self, folder, overwrite=overwrite)

    def _checked(self, X: Any, y: ArrayLike) -> tuple[Features, NDArray[Any]]:
        check_class_labels(y)
        with locate_non_numeric_column(X), np.errstate(over="ignore"):
            table, labels = validate_data(self, X, y, dtype=np.float32, ensure_all_finite=False, order="C")
        check_finite(table, X, names=getattr(self, "feature_names_in_", None))
        labels = column_or_1d(labels, warn=True)
        check_classification_targets(labels)
        return table, labels

    def _codes(self, labels: NDArray[Any]) -> IntArray:
        """Places of the labels in the order of the classes, which is set."""
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has 1 class, {self.classes_.tolist()[0]!r}; give rows of at least two classes"
            )
        if self.class_order is None:
            self.ordered_classes_ = self.classes_
            return codes.astype(np.int64)
        order = list(self.class_order)
        if len(order) != len(self.classes_) or set(order) != set(self.classes_.tolist()):
            raise ValueError(f"class_order is {order}; name each of {self.classes_.tolist()} once")
        self.ordered_classes_ = np.array(order, dtype=self.classes_.dtype)
        return np.argsort(self._columns_of_order())[codes].astype(np.int64)

    def _columns_of_order(self) -> IntArray:
        """The place among `classes_` of each ordered class."""
        return np.searchsorted(self.classes_, self.ordered_classes_).astype(np.int64)

    def _columns(self) -> IntArray:
        """The place in the order of each of `classes_`."""
        return np.argsort(self._columns_of_order()).astype(np.int64)

    def _new_ranker(self, seed: int, n_rows: int) -> Any:
        if self.ranker is None:
            return default_ranker(seed, n_rows)
        ranker = clone(self.ranker)
        # A seed that the ranker has of its own stays; without one the classifier's decides.
        names = [name for name in ranker.get_params() if name.rpartition("__")[2] == "random_state"]
        return ranker.set_params(**{name: seed for name in names if ranker.get_params()[name] is None})

    def _fitted_peaks(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        found = _peaks(scores, len(self.classes_))
        if (found.confidences < CONFIDENCE).any():
            warn_caller(
                f"thresholds='peaks' may be arbitrary: {_unclear(found, scores)}. Take "
                "thresholds='labels', or give more rows",
                TrainingWarning,
            )
        return found.thresholds

    def _table(self, X: Any) -> Features:
        with locate_non_numeric_column(X), np.errstate(over="ignore"):
            table: Features = validate_data(
                self, X, reset=False, dtype=np.float32, ensure_all_finite=False, order="C"
            )
        check_finite(table, X, names=getattr(self, "feature_names_in_", None))
        return table

    def _scores(self, table: Features) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = self.ranker_.predict(table).astype(np.float64)
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _peaks(scores: NDArray[np.float64], n_classes: int) -> Boundaries:
    """Thresholds between so many classes, from scores alone, and how clear they are."""
    try:
        return class_boundaries(scores, n_classes)
    except ValueError:
        raise ValueError(
            f"{len(scores)} rows have fewer different scores than {n_classes} classes need; give more rows, "
            "or take thresholds from labels"
        ) from None


def _unclear(found: Boundaries, scores: NDArray[np.float64]) -> str:
    confidences = ", ".join(f"{confidence:.2f}" for confidence in found.confidences)
    return (
        f"the scores of {len(scores)} rows do not thin out clearly between all {found.n_classes} classes "
        f"(confidences {confidences})"
    )


def default_ranker(seed: int, n_rows: int) -> DirectRanker:
    """What learns the order of so many rows where no ranker is given.

    >>> default_ranker(0, 200).max_steps
    500
    """
    # Five hundred steps are enough for a net of this width.
    ranker = DirectRanker(hidden_layers=(128,), random_state=seed, progress=False)
    if n_rows < FEW_ROWS:
        ranker.set_params(early_stopping=False, max_epochs=N_STEPS, max_steps=N_STEPS)
    else:
        # The top ten of thousands of rows say little of the order of all; the whole list's NDCG does.
        ranker.set_params(metric="ndcg:sklearn")
    return ranker
