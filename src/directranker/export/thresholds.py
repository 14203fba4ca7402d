"""Tree thresholds as other programs compare with them, for float32 features.

LightGBM tests x ≤ t with t in float64. For a float32 x that equals x ≤ t rounded down to float32.
"""

from __future__ import annotations

import numpy as np

from directranker.arrays import BoolArray, Float32Array, FloatArray

__all__ = ["ZERO", "next_above_float32", "round_down_float32", "subtract_slack"]

SOLR_SLACK = np.float32(1e-6)
ZERO = 1e-35
"""LightGBM's threshold between 0 and the next feature value on either side, up to its sign."""
BELOW_ZERO = np.nextafter(-SOLR_SLACK, np.float32(-np.inf), dtype=np.float32) + SOLR_SLACK
"""The highest negative threshold, −10⁻¹³, that Solr can compare with, because it adds a slack."""


def round_down_float32(threshold: FloatArray) -> Float32Array:
    """Round each threshold down to a float32.

    >>> round_down_float32(np.array([0.1])).item() <= 0.1, round_down_float32(np.array([np.inf])).item()
    (True, inf)
    """
    with np.errstate(over="ignore"):
        nearest = threshold.astype(np.float32)
    down = np.nextafter(nearest, np.float32(-np.inf), dtype=np.float32)
    return np.where(nearest > threshold, down, nearest).astype(np.float32)


def next_above_float32(threshold: FloatArray) -> Float32Array:
    """Return the smallest float32 above each threshold t: x < it equals x ≤ t.

    >>> next_above_float32(np.array([2.0])).item() > 2
    True
    """
    return np.nextafter(round_down_float32(threshold), np.float32(np.inf), dtype=np.float32)


def subtract_slack(threshold: FloatArray) -> tuple[Float32Array, BoolArray]:
    """Return the thresholds to give to Solr, which adds 10⁻⁶ to each, and where they are exact.

    Very near to 0, rounding makes some thresholds unreachable. 0 is reachable; for thresholds that LightGBM
    treats as just below 0, the highest reachable negative number is used.

    >>> given, exact = subtract_slack(np.array([0.5, 1e-35, -1e-35, 1e-12]))
    >>> (given + SOLR_SLACK).tolist(), exact.tolist()
    ([0.5, 0.0, -1.1368683772161603e-13, 1.0231815394945443e-12], [True, True, True, False])
    """
    beside_zero = np.where(threshold < 0, BELOW_ZERO, 0.0)
    wanted = round_down_float32(np.where(np.abs(threshold) <= 2 * ZERO, beside_zero, threshold))
    given = wanted - SOLR_SLACK
    for direction in (np.inf, -np.inf):
        for _ in range(2):
            other = np.nextafter(given, np.float32(direction), dtype=np.float32)
            nearer = np.abs(other + SOLR_SLACK - wanted) < np.abs(given + SOLR_SLACK - wanted)
            given = np.where(nearer, other, given)
    return given, given + SOLR_SLACK == wanted
