"""Does the other side score as we do? The largest difference, and the order of every query.

Differences are relative to the largest score. Sums in float32 depend on their order in the last bits, so
documents whose scores lie within 2⁻²⁰ of the largest score are a near tie, which may come out in either order
and is counted; any other pair that changes its order is an error.

>>> parity = check_parity(np.array([2.0, 1.0]), np.array([2.0, 1.0 + 1e-6]), np.array([0, 2]), by="hand")
>>> parity.n_documents, round(parity.largest_difference * 1e6, 3), parity.swapped_near_ties
(2, 0.5, 0)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from directranker.compilation import IntArray
from directranker.errors import ExportError

__all__ = ["Parity", "check_parity"]

MOST = 1e-5
NEAR_TIE = 2.0**-20


@dataclass(frozen=True)
class Parity:
    """What was found when an export was compared with the ranker itself."""

    checked_by: str
    n_documents: int
    n_queries: int
    largest_difference: float
    """Relative to the largest score."""
    swapped_near_ties: int
    """Documents that come before another one whose score is the same but for rounding."""


def check_parity(
    expected: NDArray[np.floating], found: NDArray[np.floating], offsets: IntArray, *, by: str
) -> Parity:
    """Compare scores, query by query; an `ExportError` where they differ by more than rounding."""
    ours, theirs = expected.astype(np.float64), found.astype(np.float64)
    scale = float(np.abs(ours).max(initial=0.0)) or 1.0
    difference = float(np.abs(ours - theirs).max(initial=0.0)) / scale
    if not difference <= MOST:  # so for NaN
        row = int(np.argmax(~(np.abs(ours - theirs) <= MOST * scale)))
        raise ExportError(
            f"the export is not exact: row {row} scores {theirs[row]:.9g} by {by} and {ours[row]:.9g} here "
            f"({difference:.1e} of the largest score; {MOST:g} is allowed); nothing is written"
        )
    ties = 0
    for number, (start, stop) in enumerate(pairwise(offsets)):
        rows = slice(start, stop)
        if _n_swapped(ours[rows], theirs[rows], NEAR_TIE * scale):
            raise ExportError(f"the export ranks query {number} otherwise by {by}; nothing is written")
        ties += _n_swapped(ours[rows], theirs[rows], 0.0)
    return Parity(by, len(ours), len(offsets) - 1, difference, ties)


def _n_swapped(ours: NDArray[np.float64], theirs: NDArray[np.float64], gap: float) -> int:
    """How many documents now come before one that was better by more than the gap."""
    order = np.argsort(-ours, kind="stable")
    ours, theirs = ours[order], theirs[order]
    lowest_so_far = np.minimum.accumulate(np.concatenate([[np.inf], theirs]))
    n_better = np.searchsorted(-ours, -ours - gap)  # documents with a score above this one by the gap
    return int(np.sum(theirs > lowest_so_far[n_better]))
