"""Check that an export scores and ranks as the ranker does.

A document's difference is relative to its score, or to the median magnitude of all scores where that is
larger: a score near 0 may be the difference of large terms. A huge score does not loosen the tolerance of
other documents. The last bits of a float32 sum depend on the order of its terms, so two documents whose
scores differ by less than 2⁻¹⁸ of that scale are a near tie. A near tie may change its order, and is counted;
any other pair that does is an error.

>>> parity = check_parity(np.array([2.0, 1.0]), np.array([2.0, 1.0 + 3e-6]), np.array([0, 2]), by="hand")
>>> parity.n_documents, round(parity.largest_difference * 1e6, 3), parity.swapped_near_ties
(2, 2.0, 0)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import FloatArray, IntArray
from directranker.errors import ExportError

__all__ = ["Parity", "check_parity"]

MAX_DIFFERENCE = 1e-5
NEAR_TIE = 2.0**-18


@dataclass(frozen=True)
class Parity:
    """The result of comparing the scores of an export with those of the ranker."""

    checked_by: str
    n_documents: int
    n_queries: int
    largest_difference: float
    """Relative to a document's score, or to the median magnitude of all scores where that is larger."""
    swapped_near_ties: int
    """Documents that swapped with one whose score is equal except for rounding."""


def check_parity(
    expected: NDArray[np.floating], found: NDArray[np.floating], offsets: IntArray, *, by: str
) -> Parity:
    """Compare scores query by query; raise `ExportError` if they differ by more than rounding."""
    ours, theirs = expected.astype(np.float64), found.astype(np.float64)
    if ours.shape != theirs.shape:
        raise ExportError(f"the export returns scores of shape {theirs.shape} by {by}, expected {ours.shape}")
    scales = _compute_scales(ours)
    differences = np.abs(ours - theirs) / scales
    if not (differences <= MAX_DIFFERENCE).all():  # True also for NaN
        row = int(np.argmax(~(differences <= MAX_DIFFERENCE)))
        raise ExportError(
            f"the export is not exact: row {row} scores {theirs[row]:.9g} by {by} and {ours[row]:.9g} here, "
            f"more than the tolerance of {MAX_DIFFERENCE * scales[row]:.1e}; nothing is written"
        )
    ties = 0
    for number, (start, stop) in enumerate(pairwise(offsets)):
        rows = slice(start, stop)
        if _count_swapped(ours[rows], theirs[rows], NEAR_TIE / 2 * scales[rows]):
            raise ExportError(f"the export ranks query {number} differently by {by}; nothing is written")
        ties += _count_swapped(ours[rows], theirs[rows], np.zeros(stop - start))
    return Parity(by, len(ours), len(offsets) - 1, float(differences.max(initial=0.0)), ties)


def _compute_scales(scores: FloatArray) -> FloatArray:
    """Compute the scale that each document's difference is relative to.

    >>> _compute_scales(np.array([0.0, 0.1, -2.0, 3.0, 1e9])).tolist()
    [2.5, 2.5, 2.5, 3.0, 1000000000.0]
    """
    sizes = np.abs(scores)
    typical = float(np.median(sizes[sizes > 0])) if sizes.any() else 1.0
    return np.maximum(sizes, typical)


def _count_swapped(ours: FloatArray, theirs: FloatArray, slack: FloatArray) -> int:
    """Count the documents that now precede one that was better by more than the slack of both.

    The slack must grow more slowly than the score, so that score ± slack keep the order of the scores.
    """
    order = np.argsort(-ours, kind="stable")
    ours, theirs, slack = ours[order], theirs[order], slack[order]
    lowest_so_far = np.minimum.accumulate(np.concatenate([[np.inf], theirs]))
    n_better = np.searchsorted(slack - ours, -ours - slack)  # documents above this one beyond the slack
    return int(np.sum(theirs > lowest_so_far[n_better]))
