"""An estimator that writes a line for each fit that it really makes, so that tests can count them."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from directranker import Fold, RankingDataset

__all__ = ["CountingRanker", "folds_of", "made_up"]


class CountingRanker(BaseEstimator):  # type: ignore[misc]
    """Scores by the correlation of each feature with the label, to some power; fits are lines of `log`."""

    def __init__(self, log: str = "", power: float = 1.0, seconds: float = 0.0, random_state: Any = None):
        self.log = log
        self.power = power
        self.seconds = seconds
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, qid: Any, eval_set: Any = None) -> Self:
        """Wait, learn, and write a line."""
        assert len(qid) == len(y)
        time.sleep(self.seconds)
        self.coef_ = np.array([np.corrcoef(column, y)[0, 1] for column in np.asarray(X, np.float64).T])
        line = f"{os.getpid()} {len(y)} {self.power} {self.random_state} {eval_set is not None}\n"
        with Path(self.log).open("a") as file:
            file.write(line)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Correlations times features, and some noise by the seed."""
        noise = np.random.default_rng(self.random_state).normal(scale=0.1, size=len(X))
        scores: NDArray[np.float64] = X @ (np.sign(self.coef_) * np.abs(self.coef_) ** self.power) + noise
        return scores


def made_up(n_queries: int = 30, *, seed: int = 0) -> RankingDataset:
    """Queries of some ten documents, with three features of which two tell something."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(6, 14, n_queries))])
    relevance = rng.integers(0, 3, offsets[-1]).astype(float)
    features = rng.normal(size=(offsets[-1], 3)).astype(np.float32)
    features[:, :2] += np.outer(relevance, [0.5, -0.3])
    return RankingDataset(features, relevance, offsets, np.arange(n_queries) + 100)


def folds_of(data: RankingDataset, n: int = 2) -> list[Fold]:
    """Some folds, cut at random."""
    return [Fold(f"Fold{k}", *data.split(0.5, 0.2, random_state=k)) for k in range(1, n + 1)]
