"""Probabilities of ordered classes from one score, by the adjacent-category logit model.

log P(class k + 1 | score) / P(class k | score) = slope · (score − threshold_k), with one positive slope and
ascending thresholds. The most likely class is then always the one whose thresholds enclose the score. With
two classes this is Platt's calibration. The thresholds are fitted, or given, in which case only the slope is
fitted.

>>> scores, classes = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), np.array([0, 0, 1, 0, 1, 1])
>>> model = AdjacentCategoryModel.fit(scores, classes, 2)
>>> model.thresholds.round(2).tolist()
[2.5]
>>> model.predict_proba(np.array([2.5])).round(2).tolist()
[[0.5, 0.5]]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from directranker.arrays import FloatArray, IntArray

__all__ = ["AdjacentCategoryModel"]

RIDGE = 1e-3  # on the slope of standardised scores, which is unbounded if classes do not overlap
MIN_PROBABILITY = 1e-12  # inside the logarithm
MAX_LOGARITHM = 50.0  # of the slope and the distances, to avoid overflow


@dataclass(frozen=True, eq=False)
class AdjacentCategoryModel:
    """The slope, and the thresholds between adjacent classes."""

    slope: float
    thresholds: FloatArray

    @classmethod
    def fit(
        cls,
        scores: FloatArray,
        classes: IntArray,
        n_classes: int,
        *,
        weights: FloatArray | None = None,
        thresholds: FloatArray | None = None,
    ) -> AdjacentCategoryModel:
        """Maximise the likelihood of the classes 0 to `n_classes` − 1, each of which must occur."""
        weights = np.ones(len(scores)) if weights is None else weights
        centre, unit = float(scores.mean()), float(scores.std()) or 1.0
        standardised = (scores - centre) / unit
        given = None if thresholds is None else (thresholds - centre) / unit
        start = np.zeros(1) if given is not None else _compute_start(standardised, classes, n_classes)
        result = minimize(
            _compute_cost,
            start,
            args=(standardised, classes, weights / weights.sum(), given),
            method="L-BFGS-B",
            bounds=[(-MAX_LOGARITHM, MAX_LOGARITHM)] * len(start),
        )
        slope, fitted = _unpack(result.x, given)
        return cls(slope / unit, fitted * unit + centre if thresholds is None else thresholds)

    def predict_proba(self, scores: FloatArray) -> FloatArray:
        """Predict the probability of each class for each score, (n_scores, n_classes)."""
        return _compute_probabilities(scores, self.slope, self.thresholds)


def _compute_probabilities(scores: FloatArray, slope: float, thresholds: FloatArray) -> FloatArray:
    sums = np.concatenate([[0.0], np.cumsum(thresholds)])
    logits = slope * (scores[:, None] * np.arange(len(sums)) - sums)  # (n_scores, n_classes)
    probabilities: FloatArray = softmax(logits, axis=1)
    return probabilities


def _compute_start(scores: FloatArray, classes: IntArray, n_classes: int) -> FloatArray:
    """Compute initial parameters: log slope, the lowest threshold, the log distances between thresholds."""
    fractions = np.cumsum(np.bincount(classes, minlength=n_classes))[:-1] / len(classes)
    thresholds = np.quantile(scores, fractions)
    return np.concatenate([[0.0], thresholds[:1], np.log(np.maximum(np.diff(thresholds), 1e-3))])


def _unpack(parameters: FloatArray, given: FloatArray | None) -> tuple[float, FloatArray]:
    """Return the slope and the thresholds."""
    slope = float(np.exp(parameters[0]))
    if given is not None:
        return slope, given
    return slope, parameters[1] + np.concatenate([[0.0], np.cumsum(np.exp(parameters[2:]))])


def _compute_cost(
    parameters: FloatArray,
    scores: FloatArray,
    classes: IntArray,
    weights: FloatArray,
    given: FloatArray | None,
) -> float:
    slope, thresholds = _unpack(parameters, given)
    of_true_class = _compute_probabilities(scores, slope, thresholds)[np.arange(len(scores)), classes]
    return float(-weights @ np.log(np.maximum(of_true_class, MIN_PROBABILITY)) + RIDGE * slope**2)
