"""Several rankers of one kind, of different seeds, as one: their scores standardised per query and averaged.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers.direct_ranker import DirectRanker
>>> data = example_dataset().select(range(40))
>>> ensemble = Ensemble(DirectRanker(max_epochs=2), 3, random_state=0).fit(data)
>>> len(ensemble.rankers_)
3
"""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from directranker.compilation import IntArray
from directranker.data.checking import Features
from directranker.rankers.base import Ranker, TrainingData, as_seed

__all__ = ["Ensemble"]


class Ensemble(Ranker):
    """The mean of `n` rankers that differ in their seed.

    Parameters
    ----------
    ranker
        Any ranker with a `random_state`; it is cloned, never fitted itself.
    n
        How many.
    random_state
        The seed that theirs come from.
    n_jobs
        How many are trained at the same time, in processes of their own; None for one after another.

    """

    def __init__(
        self, ranker: Any = None, n: int = 5, *, random_state: Any = None, n_jobs: int | None = None
    ) -> None:
        self.ranker = ranker
        self.n = n
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learn(self, data: TrainingData, validation: TrainingData | None) -> None:
        if not isinstance(self.ranker, Ranker):
            raise TypeError(f"ranker is {self.ranker!r}; give a ranker such as DirectRanker()")
        if self.n < 1:
            raise ValueError(f"n is {self.n}; an ensemble has at least one ranker")
        seeds = np.random.default_rng(as_seed(self.random_state)).integers(2**31, size=self.n)
        members = [clone(self.ranker).set_params(random_state=int(seed)) for seed in seeds]
        for member in members:
            self._share_input_with(member)
        self.rankers_ = Parallel(n_jobs=self.n_jobs)(
            delayed(_fitted)(member, data, validation) for member in members
        )

    def _share_input_with(self, member: Ranker) -> None:
        for name in ("n_features_in_", "feature_names_in_", "input_shape_"):
            if hasattr(self, name):
                setattr(member, name, getattr(self, name))

    def compare(self, A: Any, B: Any) -> NDArray[np.float64]:
        """The ranking function r(a, b), row by row, with all rows standardised as one list."""
        check_is_fitted(self)
        first, second = self._table(A, reset=False), self._table(B, reset=False)
        if len(first) != len(second):
            raise ValueError(f"{len(first)} rows against {len(second)}; rows are compared one by one")
        one_list = np.zeros(len(first), dtype=np.int64)
        total = np.zeros(len(first))
        for ranker in self.rankers_:
            one, other = (ranker._scores(table, one_list).astype(np.float64) for table in (first, second))
            width = np.sort(np.concatenate([one, other])).std()  # sorted, so that A and B may change places
            total += (one - other) / width if width > 0 else 0.0
        return total / len(self.rankers_)

    def _scores(self, table: Features, query: IntArray) -> NDArray[np.float32]:
        total = np.zeros(len(table))
        for ranker in self.rankers_:
            total += standardised(ranker._scores(table, query), query)
        return (total / len(self.rankers_)).astype(np.float32)


def _fitted(ranker: Ranker, data: TrainingData, validation: TrainingData | None) -> Ranker:
    ranker._learn(data, validation)
    return ranker


def standardised(scores: NDArray[Any], query: IntArray) -> NDArray[np.float64]:
    """Scores less their query's mean, divided by its deviation; 0 where all are equal.

    >>> standardised(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1])).tolist()
    [-1.0, 1.0, 0.0]
    """
    values = scores.astype(np.float64)
    counts = np.maximum(np.bincount(query), 1)
    values = values - (np.bincount(query, values) / counts)[query]
    deviation = np.sqrt(np.bincount(query, values**2) / counts)[query]
    return np.divide(values, deviation, out=np.zeros_like(values), where=deviation > 0)
