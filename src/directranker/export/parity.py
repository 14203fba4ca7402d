"""Does the other side score as we do? The largest difference, and the order of every query.

A document's difference is relative to its score, or to the median size of all scores where that is larger:
a score near 0 is what large parts leave over, so it is no measure of them. A document with a huge score
loosens nothing for the others. Sums in float32 depend on their order in the last bits, so documents whose
scores lie within 2⁻¹⁸ of that measure are a near tie, which may come out in either order and is counted; any
other pair that changes its order is an error.

>>> parity = check_parity(np.array([2.0, 1.0]), np.array([2.0, 1.0 + 3e-6]), np.array([0, 2]), by="hand")
>>> parity.n_documents, round(parity.largest_difference * 1e6, 3), parity.swapped_near_ties
(2, 2.0, 0)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import IntArray
from directranker.errors import ExportError

__all__ = ["Parity", "check_parity"]

MOST = 1e-5
NEAR_TIE = 2.0**-18


@dataclass(frozen=True)
class Parity:
    """What was found when an export was compared with the ranker itself."""

    checked_by: str
    n_documents: int
    n_queries: int
    largest_difference: float
    """Relative to a document's score, or to the median size of all scores where that is larger."""
    swapped_near_ties: int
    """Documents that come before another one whose score is the same but for rounding."""


def check_parity(
    expected: NDArray[np.floating], found: NDArray[np.floating], offsets: IntArray, *, by: str
) -> Parity:
    """Compare scores, query by query; an `ExportError` where they differ by more than rounding."""
    ours, theirs = expected.astype(np.float64), found.astype(np.float64)
    if ours.shape != theirs.shape:
        raise ExportError(f"the export gives scores of shape {theirs.shape} by {by}, not {ours.shape}")
    sizes = _sizes(ours)
    differences = np.abs(ours - theirs) / sizes
    if not (differences <= MOST).all():  # so for NaN
        row = int(np.argmax(~(differences <= MOST)))
        raise ExportError(
            f"the export is not exact: row {row} scores {theirs[row]:.9g} by {by} and {ours[row]:.9g} here, "
            f"where a difference of {MOST * sizes[row]:.1e} is allowed; nothing is written"
        )
    ties = 0
    for number, (start, stop) in enumerate(pairwise(offsets)):
        rows = slice(start, stop)
        if _n_swapped(ours[rows], theirs[rows], NEAR_TIE / 2 * sizes[rows]):
            raise ExportError(f"the export ranks query {number} otherwise by {by}; nothing is written")
        ties += _n_swapped(ours[rows], theirs[rows], np.zeros(stop - start))
    return Parity(by, len(ours), len(offsets) - 1, float(differences.max(initial=0.0)), ties)


def _sizes(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the difference of each document is measured by.

    >>> _sizes(np.array([0.0, 0.1, -2.0, 3.0, 1e9])).tolist()
    [2.5, 2.5, 2.5, 3.0, 1000000000.0]
    """
    sizes = np.abs(scores)
    typical = float(np.median(sizes[sizes > 0])) if sizes.any() else 1.0
    return np.maximum(sizes, typical)


def _n_swapped(ours: NDArray[np.float64], theirs: NDArray[np.float64], slack: NDArray[np.float64]) -> int:
    """How many documents now come before one that was better by more than the slack of both.

    The slack must not grow faster than the score does, so that both ends of it have the order of the scores.
    """
    order = np.argsort(-ours, kind="stable")
    ours, theirs, slack = ours[order], theirs[order], slack[order]
    lowest_so_far = np.minimum.accumulate(np.concatenate([[np.inf], theirs]))
    n_better = np.searchsorted(slack - ours, -ours - slack)  # documents that are surely above this one
    return int(np.sum(theirs > lowest_so_far[n_better]))
