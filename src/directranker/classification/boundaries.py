"""Classes without labels: the peaks of r between neighbours in a sorted list, found as valleys of the scores.

A ranker's output r(d_n, d_{n+1}) = τ(g(d_n) − g(d_{n+1})) peaks where relevance classes change (section
"Comparing Neighbors in a Sorted List" of the paper). τ only grows with the gap, so peaks are wide gaps. In a
dense or noisy list the widest gaps lie in the thin tails and not between classes; so here a boundary is where
scores are thinner than on *both* sides, over one gap or over many, by more than chance explains (`valleys`).

>>> rng = np.random.default_rng(0)
>>> scores = np.concatenate([rng.normal(0, 1, 300), rng.normal(7, 1, 100), rng.normal(20, 3, 99)])
>>> found = class_boundaries(scores)
>>> found.n_classes, np.bincount(found.classes_of(scores)).tolist()
(3, [301, 101, 97])
>>> class_boundaries(scores, 2).thresholds.round().tolist()
[4.0]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from directranker.arrays import IntArray
from directranker.classification.valleys import clearest_valley, log_chance_of_valley

__all__ = ["Boundaries", "class_boundaries"]

Scores = NDArray[np.float64]

RESOLUTION = 2.0**-32  # of the range; scores that differ by less are taken as equal
# Of the n² pairs of a gap and a side most overlap. Simulated: scores spread evenly, which look like valleys
# more often than those of other smooth crowds do, then have one by chance as often as they should.
SHARE_OF_PAIRS = 1 / 9


@dataclass(frozen=True, eq=False)
class Boundaries:
    """Thresholds between classes of scores.

    >>> Boundaries(np.array([0.5]), np.array([0.99])).n_classes
    2
    """

    thresholds: Scores
    """Ascending; one less than there are classes."""
    confidences: Scores
    """For each threshold about 1 − the chance that scores with one crowd less look like this; from 0."""

    @property
    def n_classes(self) -> int:
        """How many classes the thresholds separate.

        >>> Boundaries(np.empty(0), np.empty(0)).n_classes
        1
        """
        return len(self.thresholds) + 1

    def classes_of(self, scores: ArrayLike) -> IntArray:
        """The class of each score, from 0 for the lowest.

        >>> Boundaries(np.array([0.5]), np.array([0.99])).classes_of([0.7, 0.5]).tolist()
        [1, 0]
        """
        return np.searchsorted(self.thresholds, np.asarray(scores, dtype=np.float64)).astype(np.int64)


def class_boundaries(
    scores: ArrayLike, n_classes: int | None = None, *, confidence: float = 0.95
) -> Boundaries:
    """Find where classes of documents meet, from their scores alone, in any order.

    Without `n_classes` there are as many as can be told apart: in a single crowd, be it even, normal, skewed
    or with heavy tails, a boundary is found with a chance of about 1 − `confidence` at most; where a sharp
    tip stands on a broad step, up to four times as often. With it, there are exactly so many, and
    `confidences` say which of them to believe.

    Equal scores are taken for rounded ones, and spread over the smallest difference between any two scores.

    >>> class_boundaries(np.random.default_rng(0).normal(size=1000)).n_classes
    1
    """
    ascending = _checked(scores, n_classes, confidence)
    search = _Search(ascending)
    if n_classes is not None:
        search.split_while(lambda _: len(search.valleys) < n_classes - 1)
        return search.boundaries()
    allowed = math.log(1 - confidence) - _log_tries(len(ascending))
    search.split_while(lambda log_chance: log_chance < allowed)
    search.drop_above(allowed)
    return search.boundaries()


@dataclass(frozen=True, order=True)
class _Valley:
    log_chance: float
    width: float
    """Negative, so that of equally likely valleys the widest comes first."""
    start: int
    stop: int
    first: int
    last: int
    """The documents of the segment that it lies in."""


class _Search:
    """Splits the list at its clearest valley, then the parts at theirs."""

    def __init__(self, ascending: Scores) -> None:
        self.ascending = ascending
        self.on_grid = _on_grid(ascending)
        self.spread = _spread(self.on_grid)
        self.valleys: list[_Valley] = []

    def split_while(self, wanted: Callable[[float], bool]) -> None:
        open_valleys = self._clearest(0, len(self.spread) - 1)
        while open_valleys and wanted(min(open_valleys).log_chance):
            valley = min(open_valleys)
            open_valleys.remove(valley)
            self.valleys.append(valley)
            below = int(np.searchsorted(self.ascending, self._threshold(valley), side="right"))
            open_valleys += self._clearest(valley.first, below - 1) + self._clearest(below, valley.last)

    def drop_above(self, allowed: float) -> None:
        """Drop valleys that are no longer clear where windows may not reach beyond the neighbouring ones."""
        while self.valleys:
            chances = self._chances()
            worst = int(np.argmax(chances))
            if chances[worst] < allowed:
                return
            del self.valleys[worst]

    def boundaries(self) -> Boundaries:
        log_chances = self._chances() + _log_tries(len(self.spread))
        thresholds = np.array([self._threshold(valley) for valley in self.valleys])
        return Boundaries(thresholds, np.abs(np.expm1(np.minimum(0.0, log_chances))))

    def _clearest(self, first: int, last: int) -> list[_Valley]:
        """The clearest valley of a segment, else its widest gap; none where all its scores are equal."""
        if last <= first or self.on_grid[first] == self.on_grid[last]:
            return []
        start, stop, log_chance = clearest_valley(self.spread, first, last)
        if self.on_grid[start] == self.on_grid[stop]:
            start = first + int(np.argmax(np.diff(self.on_grid[first : last + 1])))
            stop, log_chance = start + 1, 0.0
        width = float(self.spread[start] - self.spread[stop])
        return [_Valley(log_chance, width, start, stop, first, last)]

    def _chances(self) -> Scores:
        """The logarithm of each valley's chance, its windows between the neighbouring thresholds."""
        self.valleys.sort(key=lambda valley: valley.start)
        thresholds = [self._threshold(valley) for valley in self.valleys]
        cuts = [0, *np.searchsorted(self.ascending, thresholds, side="right").tolist(), len(self.spread)]
        return np.array(
            [
                # A neighbour's threshold may lie within the valley; then there is no window on that side.
                log_chance_of_valley(
                    self.spread, min(low, valley.start), valley.start, valley.stop, max(high - 1, valley.stop)
                )
                for low, valley, high in zip(cuts[:-2], self.valleys, cuts[2:], strict=True)
            ]
        )

    def _threshold(self, valley: _Valley) -> float:
        return float(self.ascending[valley.start] / 2 + self.ascending[valley.stop] / 2)


def _log_tries(n: int) -> float:
    """The logarithm of how many independent windows there are that may look like a valley by chance."""
    return max(0.0, 2 * math.log(n) + math.log(SHARE_OF_PAIRS))


def _checked(scores: ArrayLike, n_classes: int | None, confidence: float) -> Scores:
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"scores have shape {array.shape}; give one number per document, at least one")
    if not np.isfinite(array).all():
        place = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"score {array[place]} of document {place}; give finite numbers")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; give a number between 0 and 1")
    ascending = np.sort(array)
    if n_classes is not None:
        n_different = len(np.unique(_on_grid(ascending)))
        if n_classes != int(n_classes) or not 1 <= n_classes <= n_different:
            raise ValueError(
                f"n_classes is {n_classes}; give a whole number from 1 to {n_different}, "
                "which is how many different scores there are"
            )
    return ascending


def _on_grid(ascending: Scores) -> Scores:
    """Scores from 0 to 1 on a grid so fine that only differences below `RESOLUTION` go."""
    halves = ascending / 2  # the range of the largest numbers is none
    reach = halves[-1] - halves[0]
    unit = (halves - halves[0]) / reach if reach > 0 else np.zeros_like(halves)
    on_grid: Scores = np.rint(unit / RESOLUTION) * RESOLUTION
    return on_grid


def _spread(on_grid: Scores) -> Scores:
    """Equal scores apart: evenly over the smallest difference of any two."""
    values, number, count = np.unique(on_grid, return_inverse=True, return_counts=True)
    smallest = np.diff(values).min() if len(values) > 1 else 1.0
    place = np.arange(len(on_grid)) - (np.cumsum(count) - count)[number]
    spread: Scores = values[number] + smallest * ((place + 0.5) / count[number] - 0.5)
    return spread
