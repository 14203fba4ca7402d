"""Find class boundaries without labels: peaks of r between neighbours are valleys in the density of scores.

A ranker's output r(d_n, d_{n+1}) = τ(g(d_n) − g(d_{n+1})) peaks where relevance classes change (section
"Comparing Neighbors in a Sorted List" of the paper). τ increases with the gap, so peaks are wide gaps. In a
dense or noisy list the widest gaps are in the thin tails and not between classes. So here a boundary is where
scores are less dense than on *both* sides, over one gap or over many, by more than chance explains
(`valleys`).

>>> rng = np.random.default_rng(0)
>>> scores = np.concatenate([rng.normal(0, 1, 300), rng.normal(7, 1, 100), rng.normal(20, 3, 99)])
>>> boundaries = class_boundaries(scores)
>>> boundaries.n_classes, np.bincount(boundaries.classes_of(scores)).tolist()
(3, [301, 101, 97])
>>> class_boundaries(scores, 2).thresholds.round().tolist()
[4.0]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from directranker.arrays import FloatArray, IntArray
from directranker.classification.valleys import compute_valley_log_probability, find_clearest_valley

__all__ = ["Boundaries", "class_boundaries"]

RESOLUTION = 2.0**-32  # of the range; scores that differ by less are treated as equal
# Most of the n² pairs of a gap and a side overlap. Simulated with uniform scores, which look like valleys
# more often than other smooth unimodal scores: with this fraction, false positives are as frequent as they
# should be.
INDEPENDENT_FRACTION = 1 / 9


@dataclass(frozen=True, eq=False)
class Boundaries:
    """Thresholds between classes of scores.

    >>> Boundaries(np.array([0.5]), np.array([0.99])).n_classes
    2
    """

    thresholds: FloatArray
    """Ascending; one fewer than there are classes."""
    confidences: FloatArray
    """Per threshold, about 1 − the probability of such scores if there were one class fewer; at least 0."""

    @property
    def n_classes(self) -> int:
        """The number of classes that the thresholds separate.

        >>> Boundaries(np.empty(0), np.empty(0)).n_classes
        1
        """
        return len(self.thresholds) + 1

    def classes_of(self, scores: ArrayLike) -> IntArray:
        """Return the class of each score, from 0 for the lowest.

        >>> Boundaries(np.array([0.5]), np.array([0.99])).classes_of([0.7, 0.5]).tolist()
        [1, 0]
        """
        return np.searchsorted(self.thresholds, np.asarray(scores, dtype=np.float64)).astype(np.int64)


def class_boundaries(
    scores: ArrayLike, n_classes: int | None = None, *, confidence: float = 0.95
) -> Boundaries:
    """Find the boundaries between classes of documents from their scores alone, given in any order.

    Without `n_classes` the number of classes is detected: unimodal scores (uniform, normal, skewed or
    heavy-tailed) are split with a probability of at most about 1 − `confidence`, or up to four times that if
    a sharp peak is at the edge of a broad plateau. With `n_classes` there are exactly that many classes, and
    `confidences` tell which boundaries to trust.

    Equal scores are treated as rounded and spread over the smallest difference between any two scores.

    >>> class_boundaries(np.random.default_rng(0).normal(size=1000)).n_classes
    1
    """
    ascending = _validate_scores(scores, n_classes, confidence)
    search = _ValleySearch(ascending)
    if n_classes is not None:
        search.split_while(lambda _: len(search.valleys) < n_classes - 1)
        return search.get_boundaries()
    max_log_probability = math.log(1 - confidence) - _log_n_independent(len(ascending))
    search.split_while(lambda log_probability: log_probability < max_log_probability)
    search.drop_unclear(max_log_probability)
    return search.get_boundaries()


@dataclass(frozen=True, order=True)
class _Valley:
    log_probability: float
    width: float
    """Negative, so that the widest of equally probable valleys sorts first."""
    start: int
    stop: int
    first: int
    last: int
    """The documents of the segment that contains the valley."""


class _ValleySearch:
    """Split the sorted scores at the clearest valley, then the segments at theirs."""

    def __init__(self, ascending: FloatArray) -> None:
        self.ascending = ascending
        self.on_grid = _round_to_grid(ascending)
        self.spread = _separate_ties(self.on_grid)
        self.valleys: list[_Valley] = []

    def split_while(self, condition: Callable[[float], bool]) -> None:
        """Split at the clearest remaining valley while the condition holds for its log probability."""
        candidates = self._find_clearest(0, len(self.spread) - 1)
        while candidates and condition(min(candidates).log_probability):
            valley = min(candidates)
            candidates.remove(valley)
            self.valleys.append(valley)
            below = int(np.searchsorted(self.ascending, self._compute_threshold(valley), side="right"))
            candidates += self._find_clearest(valley.first, below - 1)
            candidates += self._find_clearest(below, valley.last)

    def drop_unclear(self, max_log_probability: float) -> None:
        """Drop valleys that are unclear once windows end at the neighbouring valleys, the worst first."""
        while self.valleys:
            log_probabilities = self._compute_log_probabilities()
            worst = int(np.argmax(log_probabilities))
            if log_probabilities[worst] < max_log_probability:
                return
            del self.valleys[worst]

    def get_boundaries(self) -> Boundaries:
        log_probabilities = self._compute_log_probabilities() + _log_n_independent(len(self.spread))
        thresholds = np.array([self._compute_threshold(valley) for valley in self.valleys])
        return Boundaries(thresholds, np.abs(np.expm1(np.minimum(0.0, log_probabilities))))

    def _find_clearest(self, first: int, last: int) -> list[_Valley]:
        """Find the clearest valley of a segment, else its widest gap; none if all its scores are equal."""
        if last <= first or self.on_grid[first] == self.on_grid[last]:
            return []
        start, stop, log_probability = find_clearest_valley(self.spread, first, last)
        if self.on_grid[start] == self.on_grid[stop]:
            start = first + int(np.argmax(np.diff(self.on_grid[first : last + 1])))
            stop, log_probability = start + 1, 0.0
        width = float(self.spread[start] - self.spread[stop])
        return [_Valley(log_probability, width, start, stop, first, last)]

    def _compute_log_probabilities(self) -> FloatArray:
        """Compute each valley's log probability with windows between the neighbouring thresholds."""
        self.valleys.sort(key=lambda valley: valley.start)
        thresholds = [self._compute_threshold(valley) for valley in self.valleys]
        cuts = [0, *np.searchsorted(self.ascending, thresholds, side="right").tolist(), len(self.spread)]
        return np.array(
            [
                # A neighbour's threshold may be inside the valley; then there is no window on that side.
                compute_valley_log_probability(
                    self.spread, min(low, valley.start), valley.start, valley.stop, max(high - 1, valley.stop)
                )
                for low, valley, high in zip(cuts[:-2], self.valleys, cuts[2:], strict=True)
            ]
        )

    def _compute_threshold(self, valley: _Valley) -> float:
        return float(self.ascending[valley.start] / 2 + self.ascending[valley.stop] / 2)


def _log_n_independent(n: int) -> float:
    """Return the logarithm of the number of independent windows that may look like a valley by chance."""
    return max(0.0, 2 * math.log(n) + math.log(INDEPENDENT_FRACTION))


def _validate_scores(scores: ArrayLike, n_classes: int | None, confidence: float) -> FloatArray:
    """Validate the arguments and return the scores in ascending order."""
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"scores have shape {array.shape}; give one number per document, at least one")
    if not np.isfinite(array).all():
        document = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"score {array[document]} of document {document}; give finite numbers")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; give a number between 0 and 1")
    ascending = np.sort(array)
    if n_classes is not None:
        n_distinct = len(np.unique(_round_to_grid(ascending)))
        if n_classes != int(n_classes) or not 1 <= n_classes <= n_distinct:
            raise ValueError(
                f"n_classes is {n_classes}; give a whole number from 1 to {n_distinct}, "
                "the number of distinct scores"
            )
    return ascending


def _round_to_grid(ascending: FloatArray) -> FloatArray:
    """Rescale scores to [0, 1] and round them to multiples of `RESOLUTION`."""
    halves = ascending / 2  # the range of very large scores would overflow
    width = halves[-1] - halves[0]
    unit = (halves - halves[0]) / width if width > 0 else np.zeros_like(halves)
    on_grid: FloatArray = np.rint(unit / RESOLUTION) * RESOLUTION
    return on_grid


def _separate_ties(on_grid: FloatArray) -> FloatArray:
    """Spread equal scores evenly over the smallest difference between any two scores."""
    values, number, count = np.unique(on_grid, return_inverse=True, return_counts=True)
    smallest = np.diff(values).min() if len(values) > 1 else 1.0
    position = np.arange(len(on_grid)) - (np.cumsum(count) - count)[number]
    spread: FloatArray = values[number] + smallest * ((position + 0.5) / count[number] - 0.5)
    return spread
