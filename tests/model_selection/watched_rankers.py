"""Estimators that tell what is done with them, or die of it; and data for them."""

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

__all__ = ["CountingRanker", "Fatal", "folds_of", "made_up", "threads_here"]


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


class Fatal(BaseEstimator):  # type: ignore[misc]
    """Dies, fails or tells of its threads in the middle of a search."""

    def __init__(self, how: str = "", n: int = 0) -> None:
        self.how = how
        self.n = n

    def fit(self, X: Any, y: Any, qid: Any) -> Self:
        """End in the way that was asked for, at the third training."""
        assert len(X) == len(y) == len(qid)
        if self.how == "killed" and self.n == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "wrong" and self.n == 3:
            raise RuntimeError("no such luck")
        if self.how == "threads":
            Path(f"threads-{self.n}.json").write_text(json.dumps(threads_here()))
            time.sleep(0.3)  # so that both workers get one
        warnings.warn("ended otherwise", TrainingWarning, stacklevel=2)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The first feature."""
        return np.asarray(X)[:, 0].astype(float)


def threads_here() -> dict[str, Any]:
    """How many threads everybody who starts some would use in this process."""
    return {
        "pid": os.getpid(),
        "torch": torch.get_num_threads(),
        "numba": numba.get_num_threads(),
        "pools": max(pool["num_threads"] for pool in threadpool_info()),
        "environment": [os.environ.get(name) for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")],
    }


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
