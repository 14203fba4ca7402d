"""Probabilities of ordered classes from one score: odds of neighbouring classes that grow with the score.

log P(class k + 1 | score) / P(class k | score) = slope · (score − threshold_k), with one slope above 0 and
ascending thresholds: the adjacent-category model of ordered classes. The likeliest class is then always the
one between whose thresholds the score lies. With two classes it is Platt's calibration. Thresholds are
fitted, or given and only the slope is fitted.

>>> model = NeighbouringOdds.fit(np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), np.array([0, 0, 1, 0, 1, 1]), 2)
>>> model.thresholds.round(2).tolist()
[2.5]
>>> model.probabilities(np.array([2.5])).round(2).tolist()
[[0.5, 0.5]]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax

from directranker.arrays import IntArray

__all__ = ["NeighbouringOdds"]

FloatArray = NDArray[np.float64]

RIDGE = 1e-3  # on the slope of standardised scores, which has no limit where classes do not overlap
LEAST = 1e-12  # of a probability, whose logarithm is taken
REACH = 50.0  # of logarithms of slope and distances, beyond which numbers overflow


@dataclass(frozen=True, eq=False)
class NeighbouringOdds:
    """The slope and the thresholds between neighbouring classes."""

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
    ) -> NeighbouringOdds:
        """Maximise the likelihood of the classes, from 0 to `n_classes` − 1, each of which occurs."""
        weights = np.ones(len(scores)) if weights is None else weights
        centre, unit = float(scores.mean()), float(scores.std()) or 1.0
        standard = (scores - centre) / unit
        given = None if thresholds is None else (thresholds - centre) / unit
        start = np.zeros(1) if given is not None else _first_guess(standard, classes, n_classes)
        found = minimize(
            _cost,
            start,
            args=(standard, classes, weights / weights.sum(), given),
            method="L-BFGS-B",
            bounds=[(-REACH, REACH)] * len(start),
        )
        slope, between = _unpacked(found.x, given)
        return cls(slope / unit, between * unit + centre if thresholds is None else thresholds)

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """The probability of each class, per score: (n_scores, n_classes)."""
        return _class_probabilities(scores, self.slope, self.thresholds)


def _class_probabilities(scores: FloatArray, slope: float, thresholds: FloatArray) -> FloatArray:
    sums = np.concatenate([[0.0], np.cumsum(thresholds)])
    logits = slope * (scores[:, None] * np.arange(len(sums)) - sums)  # (n_scores, n_classes)
    probabilities: FloatArray = softmax(logits, axis=1)
    return probabilities


def _first_guess(scores: FloatArray, classes: IntArray, n_classes: int) -> FloatArray:
    """The slope's logarithm, the lowest threshold, and the logarithms of the distances to the next."""
    shares = np.cumsum(np.bincount(classes, minlength=n_classes))[:-1] / len(classes)
    thresholds = np.quantile(scores, shares)
    return np.concatenate([[0.0], thresholds[:1], np.log(np.maximum(np.diff(thresholds), 1e-3))])


def _unpacked(parameters: FloatArray, given: FloatArray | None) -> tuple[float, FloatArray]:
    slope = float(np.exp(parameters[0]))
    if given is not None:
        return slope, given
    return slope, parameters[1] + np.concatenate([[0.0], np.cumsum(np.exp(parameters[2:]))])


def _cost(
    parameters: FloatArray,
    scores: FloatArray,
    classes: IntArray,
    weights: FloatArray,
    given: FloatArray | None,
) -> float:
    slope, thresholds = _unpacked(parameters, given)
    of_own = _class_probabilities(scores, slope, thresholds)[np.arange(len(scores)), classes]
    return float(-weights @ np.log(np.maximum(of_own, LEAST)) + RIDGE * slope**2)
