"""Scores are finite: too large scores are clipped to float32, and NaN raises.

>>> saturate(np.array([1e300, -2.0])).tolist()
[3.4028234663852886e+38, -2.0]
>>> check_scores(np.array([0.5, np.nan]), np.array([[1.0], [np.nan]]), ["price"])
Traceback (most recent call last):
directranker.errors.DataError: the score of row 1 is nan: feature 'price' is missing (nan) there, and the
ranker's transform does not fill it in; fit with one that does, such as 'auto' or 'standard', or fill it in
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import Features, Float32Array
from directranker.encoding.moments import FLOAT32_MAX
from directranker.errors import DataError

__all__ = ["check_scores", "saturate"]


def saturate(scores: NDArray[np.generic]) -> Float32Array:
    """Convert scores to float32; scores beyond its range become its largest number."""
    if scores.dtype == np.float32:
        return np.asarray(scores, dtype=np.float32)
    clipped: Float32Array = np.clip(scores, -FLOAT32_MAX, FLOAT32_MAX).astype(np.float32)
    return clipped


def check_scores(scores: NDArray[np.generic], table: Features, names: Sequence[object] | None) -> None:
    """Raise for the first score that is not finite, with its row and the feature that causes it."""
    finite = np.isfinite(scores)
    if finite.all():
        return
    row = int(np.argmin(finite))
    features, score = np.asarray(table[row]), f"the score of row {row} is {scores[row]}"
    if np.isnan(features).any():
        name = _format_name(int(np.isnan(features).argmax()), names)
        raise DataError(
            f"{score}: feature {name} is missing (nan) there, and the ranker's transform does not fill it "
            "in; fit with one that does, such as 'auto' or 'standard', or fill it in"
        )
    largest = int(np.abs(features).argmax())
    raise DataError(
        f"{score}: its features are too large for the ranker; the largest is {features[largest]:g} in "
        f"feature {_format_name(largest, names)}. Give nan where that means a missing value, or fit with a "
        "transform that limits features, such as 'auto'"
    )


def _format_name(feature: int, names: Sequence[object] | None) -> str:
    return str(feature) if names is None else repr(names[feature])
