"""One finished value of a search, as `store` keeps it; apart, so that reading a store loads little else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Cell"]


@dataclass(frozen=True)
class Cell:
    """A finished value: what was trained where, how good it is, and how long it took."""

    key: str
    data: str
    fold: str
    ranker: str
    parameters: Mapping[str, Any]
    """For people: what JSON cannot hold is in words."""
    inner_fold: int | None
    metric: str
    seed: int
    score: float
    per_query: NDArray[np.float64] | None
    fit_seconds: float
    score_seconds: float
    n_train: int
    """Documents learnt from."""
    n_test: int
    threads: int
    finished: str
    """When, as ISO 8601."""
    look: Mapping[str, Any] | None = None
    """How the training went and how it ranks some queries; see `closer_look`."""
