"""Classify ordered classes with a ranker trained on pairs, and thresholds on its score.

The outlook of the paper: train a classifier as the feature part on pairs of instances, then connect o₁
directly to nn₁. That gives one score g per instance. Thresholds between the classes come from labels, or from
the peaks between neighbours in a sorted list, which needs no labels.

>>> from sklearn.datasets import load_iris
>>> X, y = load_iris(return_X_y=True)
>>> classifier = OrderClassifier(random_state=0).fit(X[::2], y[::2])
>>> classifier.score(X[1::2], y[1::2]) > 0.85
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from directranker.arrays import Features, FloatArray, IntArray
from directranker.classification.adjacent_category import AdjacentCategoryModel
from directranker.classification.boundaries import Boundaries, class_boundaries
from directranker.classification.held_out import score_held_out
from directranker.data.checking import check_class_labels, check_finite, locate_non_numeric_column
from directranker.data.dataset import RankingDataset
from directranker.errors import DataError, TrainingWarning, warn_caller
from directranker.parameters import Constraint, between, check_parameters, instance_of, or_none
from directranker.rankers import DirectRanker
from directranker.rankers.base import as_seed
from directranker.suggestions import describe_unknown_name

__all__ = ["OrderClassifier", "make_default_ranker"]

THRESHOLDS = ("labels", "peaks")
RULES: dict[str, Constraint] = {
    "ranker": or_none(instance_of("a ranker, such as DirectRanker()", BaseEstimator)),
    "thresholds": instance_of("'labels' or 'peaks'", str),
    "class_order": or_none(instance_of("a list of the classes", Sequence, np.ndarray)),
    "calibration_fraction": between(0, 1),
}
# On few rows an epoch is only a few steps, and a validation split has hardly a row of a rare class, so early
# stopping stops too soon. On 200 tumours with 7 malignant ones, average precision is .90 with early stopping
# and .98 after 500 steps.
MIN_ROWS_FOR_EARLY_STOPPING, MAX_STEPS = 10_000, 500
MIN_CONFIDENCE = 0.95  # of each peak; with less, a fit with thresholds="peaks" warns


class OrderClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify two or more ordered classes by the score of a ranker that is trained on pairs.

    Parameters
    ----------
    ranker
        The ranker that is trained on the order of the classes. Default: a `DirectRanker`, trained for 500
        steps if there are fewer than 10,000 rows, else with early stopping.
    thresholds
        `"labels"`: where the held-out rows make both adjacent classes equally likely. `"peaks"`: where the
        density of their scores has valleys (`class_boundaries`), independent of the labels, with a
        warning if they are unclear.
    class_order
        The classes from lowest to highest. Default: sorted.
    class_weight
        Weights of the classes when thresholds and probabilities are fitted: None, `"balanced"`, or a
        dictionary from class to weight. The ranker's training on pairs is not weighted.
    calibration_fraction
        The fraction of rows of each class that is held out from the ranker, and on which thresholds and
        probabilities are fitted. If that is fewer than 10 rows of a class, the ranker is trained on all rows,
        and thresholds and probabilities are fitted on cross-validated scores of up to five further rankers.
        If a class has only one row, all rows are used for both, and the probabilities are overconfident.
    random_state
        Seed of the splits, and of the ranker unless the ranker has its own.

    Attributes
    ----------
    classes_
        The classes, sorted.
    ranker_
        The fitted ranker.
    thresholds_
        The ascending scores between adjacent classes, in the order of `ordered_classes_`.
    ordered_classes_
        The classes from lowest to highest.

    """

    def __init__(
        self,
        ranker: BaseEstimator = None,
        *,
        thresholds: str = "labels",
        class_order: Sequence[Any] | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        calibration_fraction: float = 0.2,
        random_state: Any = None,
    ) -> None:
        self.ranker = ranker
        self.thresholds = thresholds
        self.class_order = class_order
        self.class_weight = class_weight
        self.calibration_fraction = calibration_fraction
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the ranker, then the thresholds and probabilities on scores of held-out rows."""
        check_parameters(self, RULES)
        if self.thresholds not in THRESHOLDS:
            raise ValueError(describe_unknown_name("thresholds", self.thresholds, THRESHOLDS))
        table, labels = self._validate_training(X, y)
        codes = self._encode_labels(labels)
        seed = as_seed(self.random_state)
        held_out = score_held_out(
            partial(self._new_ranker, seed),
            table,
            codes,
            calibration_fraction=self.calibration_fraction,
            seed=seed,
        )
        self.ranker_, scores = held_out.ranker, held_out.scores
        weights = compute_sample_weight(self.class_weight, labels[held_out.rows])
        n_classes = len(self.classes_)
        peaks = self._fit_peaks(scores) if self.thresholds == "peaks" else None
        self._model = AdjacentCategoryModel.fit(
            scores, codes[held_out.rows], n_classes, weights=weights, thresholds=peaks
        )
        self.thresholds_ = self._model.thresholds
        return self

    def find_thresholds(self, X: ArrayLike, *, confidence: float = 0.95) -> Self:
        """Move the thresholds to the peaks of unlabelled rows, such as those to be classified.

        If a peak has less than this confidence (see `class_boundaries`), for example because all rows are of
        one class, all thresholds are kept, with a warning. With `confidence=0` they always move.

        >>> X = np.concatenate([np.zeros(50), np.full(50, 9.0)])[:, None] + np.linspace(0, 1, 100)[:, None]
        >>> classifier = OrderClassifier(DirectRanker(transform="standard", random_state=0), random_state=0)
        >>> classifier.fit(X, X[:, 0] > 5).find_thresholds(X[20:]).predict(X[[20, -1]]).tolist()
        [False, True]
        """
        check_is_fitted(self)
        if not 0 <= confidence < 1:
            raise ValueError(f"confidence is {confidence}; give a number from 0 up to, but not including, 1")
        scores = self._score_rows(X)
        boundaries = _find_peaks(scores, len(self.classes_))
        if (boundaries.confidences < confidence).any():
            warn_caller(
                f"the thresholds were not moved: {_format_unclear(boundaries, scores)}, and confidence is "
                f"{confidence:g}. Give more rows, and rows of all classes, or a lower confidence",
                TrainingWarning,
            )
            return self
        self.thresholds_ = boundaries.thresholds
        self._model = AdjacentCategoryModel(self._model.slope, self.thresholds_)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the most likely class of each row, the one whose thresholds enclose the score."""
        check_is_fitted(self)
        predicted: NDArray[Any] = self.ordered_classes_[
            np.searchsorted(self.thresholds_, self._score_rows(X))
        ]
        return predicted

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return how far the score is inside each class's interval, columns as `classes_`; negative outside.

        For two classes, one number per row: how far the score is above the threshold, positive for
        `classes_[1]`.
        """
        check_is_fitted(self)
        scores = self._score_rows(X)
        edges = np.concatenate([[-np.inf], self.thresholds_, [np.inf]])
        by_order = np.minimum(scores[:, None] - edges[:-1], edges[1:] - scores[:, None])
        by_class: FloatArray = by_order[:, self._positions_in_order()]
        return by_class[:, 1] if len(self.classes_) == 2 else by_class

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Predict the probability of each class, columns as `classes_`: (n_rows, n_classes)."""
        check_is_fitted(self)
        return self._model.predict_proba(self._score_rows(X))[:, self._positions_in_order()]

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write the fitted classifier to a folder that `load_classifier` reads."""
        from directranker.classification.saving import save_classifier  # noqa: PLC0415 - import cycle

        check_is_fitted(self)
        save_classifier(self, folder, overwrite=overwrite)

    def _validate_training(self, X: ArrayLike, y: ArrayLike) -> tuple[Features, NDArray[Any]]:
        check_class_labels(y)
        _refuse_categories(X)
        with locate_non_numeric_column(X), np.errstate(over="ignore"):
            table, labels = validate_data(self, X, y, dtype=np.float32, ensure_all_finite=False, order="C")
        check_finite(table, X, names=getattr(self, "feature_names_in_", None))
        labels = column_or_1d(labels, warn=True)
        check_classification_targets(labels)
        return table, labels

    def _encode_labels(self, labels: NDArray[Any]) -> IntArray:
        """Set `classes_` and `ordered_classes_`, and return each label's position in the class order."""
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
        return self._positions_in_order()[codes]

    def _positions_in_order(self) -> IntArray:
        """Return the position of each of `classes_` in the class order."""
        indices = np.searchsorted(self.classes_, self.ordered_classes_)
        return np.argsort(indices).astype(np.int64)

    def _new_ranker(self, seed: int, n_rows: int) -> BaseEstimator:
        if self.ranker is None:
            return make_default_ranker(seed, n_rows)
        ranker = clone(self.ranker)
        # Keep the ranker's own seed; without one, use the classifier's.
        names = [name for name in ranker.get_params() if name.rpartition("__")[2] == "random_state"]
        return ranker.set_params(**{name: seed for name in names if ranker.get_params()[name] is None})

    def _fit_peaks(self, scores: FloatArray) -> FloatArray:
        boundaries = _find_peaks(scores, len(self.classes_))
        if (boundaries.confidences < MIN_CONFIDENCE).any():
            warn_caller(
                f"thresholds='peaks' may be arbitrary: {_format_unclear(boundaries, scores)}. Use "
                "thresholds='labels', or give more rows",
                TrainingWarning,
            )
        return boundaries.thresholds

    def _score_rows(self, X: ArrayLike) -> FloatArray:
        _refuse_categories(X)
        with locate_non_numeric_column(X), np.errstate(over="ignore"):
            table: Features = validate_data(
                self, X, reset=False, dtype=np.float32, ensure_all_finite=False, order="C"
            )
        check_finite(table, X, names=getattr(self, "feature_names_in_", None))
        scores: FloatArray = self.ranker_.predict(table).astype(np.float64)
        return scores

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _refuse_categories(X: Any) -> None:
    """Raise for a categorical column, which would be taken as numbers where its categories are numbers."""
    if isinstance(X, RankingDataset):
        raise TypeError("X is a RankingDataset; OrderClassifier takes an array or a table of numbers")
    dtypes = getattr(X, "dtypes", ())
    for name, dtype in zip(getattr(X, "columns", ()), dtypes, strict=False):
        if str(dtype).lower().startswith(("categor", "enum")):
            raise DataError(
                f"column {str(name)!r} is categorical, and OrderClassifier takes numbers; encode it, or "
                "leave it out"
            )


def _find_peaks(scores: FloatArray, n_classes: int) -> Boundaries:
    """Find the boundaries between `n_classes` classes from scores alone."""
    try:
        return class_boundaries(scores, n_classes)
    except ValueError:
        raise ValueError(
            f"{len(scores)} rows have fewer distinct scores than {n_classes} classes need; give more rows, "
            "or use thresholds='labels'"
        ) from None


def _format_unclear(boundaries: Boundaries, scores: FloatArray) -> str:
    confidences = ", ".join(f"{confidence:.2f}" for confidence in boundaries.confidences)
    return (
        f"the scores of {len(scores)} rows have no clear valleys between all {boundaries.n_classes} classes "
        f"(confidences {confidences})"
    )


def make_default_ranker(seed: int, n_rows: int) -> DirectRanker:
    """Make the ranker that is used for `n_rows` rows if none is given.

    >>> make_default_ranker(0, 200).max_steps
    500
    """
    # Five hundred steps are enough for a net of this width.
    ranker = DirectRanker(hidden_layers=(128,), random_state=seed, progress=False)
    if n_rows < MIN_ROWS_FOR_EARLY_STOPPING:
        ranker.set_params(early_stopping=False, max_epochs=MAX_STEPS, max_steps=MAX_STEPS)
    else:
        # All rows are one query: NDCG of the whole ranking says more of their order than that of the top ten.
        ranker.set_params(metric="ndcg:sklearn")
    return ranker
