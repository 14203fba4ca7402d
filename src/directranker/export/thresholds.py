"""Thresholds of trees as other programs compare with them, for features that are float32.

LightGBM asks x ≤ t with t in float64. For a float32 x that is the same as x ≤ t rounded down to float32.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["ZERO", "above_float32", "at_most_float32", "before_slack"]

Floats = NDArray[np.float32]
SOLR_SLACK = np.float32(1e-6)
ZERO = 1e-35
"""What LightGBM takes for 0; its thresholds between 0 and the next number on either side lie here."""
BELOW_ZERO = np.nextafter(-SOLR_SLACK, np.float32(-np.inf), dtype=np.float32) + SOLR_SLACK
"""The highest number below 0, −10⁻¹³, that Solr's slack lets it compare with."""


def at_most_float32(threshold: NDArray[np.float64]) -> Floats:
    """The largest float32 that is not above each threshold.

    >>> at_most_float32(np.array([0.1])).item() <= 0.1, at_most_float32(np.array([np.inf])).item()
    (True, inf)
    """
    with np.errstate(over="ignore"):
        nearest = threshold.astype(np.float32)
    down = np.nextafter(nearest, np.float32(-np.inf), dtype=np.float32)
    return np.where(nearest > threshold, down, nearest).astype(np.float32)


def above_float32(threshold: NDArray[np.float64]) -> Floats:
    """The smallest float32 above each threshold: x < it asks the same as x ≤ threshold.

    >>> above_float32(np.array([2.0])).item() > 2
    True
    """
    return np.nextafter(at_most_float32(threshold), np.float32(np.inf), dtype=np.float32)


def before_slack(threshold: NDArray[np.float64]) -> tuple[Floats, NDArray[np.bool_]]:
    """What Solr, which adds 10⁻⁶ to a threshold, must be given, and where that is exact.

    Nearer to 0 than the slack's own rounding, not every threshold can be reached; 0 can, and below it the
    next one that can stands for all that LightGBM takes for 0.

    >>> given, exact = before_slack(np.array([0.5, 1e-35, -1e-35, 1e-12]))
    >>> (given + SOLR_SLACK).tolist(), exact.tolist()
    ([0.5, 0.0, -1.1368683772161603e-13, 1.0231815394945443e-12], [True, True, True, False])
    """
    beside_zero = np.where(threshold < 0, BELOW_ZERO, 0.0)
    wanted = at_most_float32(np.where(np.abs(threshold) <= 2 * ZERO, beside_zero, threshold))
    given = wanted - SOLR_SLACK
    for direction in (np.inf, -np.inf):
        for _ in range(2):
            other = np.nextafter(given, np.float32(direction), dtype=np.float32)
            nearer = np.abs(other + SOLR_SLACK - wanted) < np.abs(given + SOLR_SLACK - wanted)
            given = np.where(nearer, other, given)
    return given, given + SOLR_SLACK == wanted
