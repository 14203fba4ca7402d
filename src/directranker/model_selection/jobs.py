"""What a search consists of: a `Fit` is one training and its evaluation, a `JobResult` one finished value.

A cell has a key, a checksum of all that determines its value: the data and which queries of it, the
estimator with all its parameters, seed, metric, convention, code and versions. What only people need, the
names of ranker and fold, is not in it.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.model_selection.fingerprints import data_fingerprint
>>> from directranker.rankers import AdaRank
>>> fit = Fit(AdaRank(), "AdaRank", {"max_iter": 9}, 0, Part("a", (0, 1)), None, Part("a", (2,)), ("map",))
>>> keys = fit.keys({"a": data_fingerprint(example_dataset())})
>>> len(keys["map"])
64
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from directranker.data.dataset import RankingDataset
from directranker.metrics import Metric
from directranker.model_selection.digests import describe, digest_of
from directranker.model_selection.fingerprints import environment_fingerprint

__all__ = ["Fit", "Keys", "Part", "configured"]


@dataclass(frozen=True)
class Part:
    """Queries of a data set, by its name in the data that is handed to `run_fits`."""

    data: str
    queries: tuple[int, ...] | None = None
    """Their numbers; None for all."""

    @cached_property
    def digest(self) -> str:
        """A checksum of the queries."""
        if self.queries is None:
            return "all"
        return hashlib.sha256(np.asarray(self.queries, dtype="<i8").tobytes()).hexdigest()

    def of(self, data: Mapping[str, RankingDataset]) -> RankingDataset:
        """The documents of these queries."""
        whole = data[self.data]
        return whole if self.queries is None else whole.select(np.asarray(self.queries, dtype=np.int64))


@dataclass(frozen=True)
class Fit:
    """One training: what is fitted on what, and what is measured on what with which metrics."""

    ranker: Any
    """An unfitted estimator with `fit(X, y, qid=…)` and `predict`; a Pipeline may be one."""
    name: str
    """How results call it."""
    parameters: Mapping[str, Any]
    """Set on a clone."""
    seed: int
    """Set as every `random_state` of the clone."""
    train: Part
    validation: Part | None
    """Handed as `eval_set` where `fit` takes one."""
    test: Part
    metrics: tuple[str, ...]
    """Such as `"ndcg@10"`; each becomes a cell."""
    convention: str = "paper"
    fold: str = ""
    inner_fold: int | None = None
    """None for a training on the whole training part."""
    keep_queries: bool = False
    """Keep the value of every test query too."""
    shown: tuple[int, ...] = ()
    """The test queries that are looked at closely; see `diagnostics`."""

    def keys(self, fingerprints: Mapping[str, str]) -> dict[str, str]:
        """The key of each metric's cell; `fingerprints` are those of the data by name."""
        return Keys(fingerprints).of_cells(self)

    def __str__(self) -> str:
        words = [self.name, *(f"{key}={value!r}" for key, value in self.parameters.items())]
        place = [self.fold or self.train.data]
        if self.inner_fold is not None:
            place.append(f"inner fold {self.inner_fold + 1}")
        return f"{', '.join(words)} ({', '.join(place)}, seed {self.seed})"


class Keys:
    """Keys of many fits; what several of them share is described only once."""

    def __init__(self, fingerprints: Mapping[str, str]) -> None:
        self._fingerprints = fingerprints
        # An id means something only as long as its object lives, so what it is of is kept beside it.
        self._estimators: dict[tuple[int, str, int], tuple[Any, str]] = {}
        self._trainings: dict[int, tuple[Fit, str]] = {}

    def of_training(self, fit: Fit) -> str:
        """The same for fits that train the same on the same; what is measured does not matter."""
        if id(fit) not in self._trainings:
            words = {
                "estimator": self._estimator(fit),
                "seed": fit.seed,
                "train": self._part(fit.train),
                "validation": None if fit.validation is None else self._part(fit.validation),
                "environment": environment_fingerprint(),
            }
            self._trainings[id(fit)] = (fit, digest_of(words))
        return self._trainings[id(fit)][1]

    def of_cells(self, fit: Fit) -> dict[str, str]:
        """The key of the cell of each metric."""
        words: dict[str, Any] = {
            "training": self.of_training(fit),
            "test": self._part(fit.test),
            "queries": fit.keep_queries,
            "shown": list(fit.shown),
        }
        return {
            metric: digest_of({**words, "metric": _metric_digest(metric, fit.convention)})
            for metric in fit.metrics
        }

    def _estimator(self, fit: Fit) -> str:
        parameters = digest_of(describe(fit.parameters, f"the parameters of {fit.name}"))
        shared = (id(fit.ranker), parameters, fit.seed)
        if shared not in self._estimators:
            estimator = configured(fit.ranker, fit.parameters, fit.seed)
            self._estimators[shared] = (fit.ranker, digest_of(describe(estimator, fit.name)))
        return self._estimators[shared][1]

    def _part(self, part: Part) -> list[str]:
        if part.data not in self._fingerprints:
            known = ", ".join(map(repr, self._fingerprints))
            raise ValueError(f"no data set is called {part.data!r}; choose from {known}")
        return [self._fingerprints[part.data], part.digest]


@cache
def _metric_digest(metric: str, convention: str) -> str:
    return digest_of(describe(Metric.parse(metric, convention=convention)))


def configured(ranker: Any, parameters: Mapping[str, Any], seed: int) -> Any:
    """A clone with these parameters, whose every `random_state` is the seed.

    >>> from directranker.rankers import Ensemble, RankSVM
    >>> configured(Ensemble(RankSVM()), {"ranker__alpha": 0.5}, 3)
    Ensemble(random_state=3, ranker=RankSVM(alpha=0.5, random_state=3))
    """
    estimator = clone(ranker)
    # A value may be an estimator itself, which must not be shared between fits.
    estimator.set_params(**{name: clone(value, safe=False) for name, value in parameters.items()})
    names = [name for name in estimator.get_params() if name.rpartition("__")[2] == "random_state"]
    return estimator.set_params(**dict.fromkeys(names, seed))
