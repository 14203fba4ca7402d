"""Estimators that log their fits, fail or kill their process; and data for them."""

from __future__ import annotations

import json
import os
import signal
import time
import warnings
from pathlib import Path
from typing import Any, Self

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_info

from directranker import Fold, RankingDataset, TrainingWarning

__all__ = ["CountingRanker", "Fatal", "count_threads", "make_data", "make_folds"]


class CountingRanker(BaseEstimator):  # type: ignore[misc]
    """Weighs features by their correlation with the label; writes a line to `log` for each fit."""

    def __init__(self, log: str = "", power: float = 1.0, seconds: float = 0.0, random_state: Any = None):
        self.log = log
        self.power = power
        self.seconds = seconds
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, qid: Any, eval_set: Any = None) -> Self:
        """Wait, fit, and write a line."""
        assert len(qid) == len(y)
        time.sleep(self.seconds)
        self.coef_ = np.array([np.corrcoef(column, y)[0, 1] for column in np.asarray(X, np.float64).T])
        line = f"{os.getpid()} {len(y)} {self.power} {self.random_state} {eval_set is not None}\n"
        with Path(self.log).open("a") as file:
            file.write(line)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the weighted sum of the features, plus noise from the seed."""
        noise = np.random.default_rng(self.random_state).normal(scale=0.1, size=len(X))
        scores: NDArray[np.float64] = X @ (np.sign(self.coef_) * np.abs(self.coef_) ** self.power) + noise
        return scores


class Fatal(BaseEstimator):  # type: ignore[misc]
    """Kills its process, raises, or logs its number of threads in the middle of a search."""

    def __init__(self, how: str = "", n: int = 0, folder: str = "") -> None:
        self.how = how
        self.n = n
        self.folder = folder

    def fit(self, X: Any, y: Any, qid: Any) -> Self:
        """Do what `how` says, at the third fit."""
        assert len(X) == len(y) == len(qid)
        if self.how == "killed" and self.n == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "wrong" and self.n == 3:
            raise RuntimeError("failed on purpose")
        if self.how == "threads":
            (Path(self.folder) / f"threads-{self.n}.json").write_text(json.dumps(count_threads()))
            time.sleep(0.3)  # so that both workers get one
        warnings.warn("ended early", TrainingWarning, stacklevel=2)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the first feature."""
        return np.asarray(X)[:, 0].astype(float)


def count_threads() -> dict[str, Any]:
    """Return how many threads each library would use in this process."""
    return {
        "pid": os.getpid(),
        "torch": torch.get_num_threads(),
        "numba": numba.get_num_threads(),
        "pools": max(pool["num_threads"] for pool in threadpool_info()),
        "environment": [os.environ.get(name) for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")],
    }


def make_data(n_queries: int = 30, *, seed: int = 0) -> RankingDataset:
    """Make queries of about ten documents, with three features, two of which are informative."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(6, 14, n_queries))])
    relevance = rng.integers(0, 3, offsets[-1]).astype(float)
    features = rng.normal(size=(offsets[-1], 3)).astype(np.float32)
    features[:, :2] += np.outer(relevance, [0.5, -0.3])
    return RankingDataset(features, relevance, offsets, np.arange(n_queries) + 100)


def make_folds(data: RankingDataset, n: int = 2) -> list[Fold]:
    """Split the data at random into train, validation and test, `n` times."""
    return [Fold(f"Fold{k}", *data.split(0.5, 0.2, random_state=k)) for k in range(1, n + 1)]
