"""The jobs of a search: a `Fit` is one training and its evaluation; each of its metrics is a job.

A job has a key: a checksum of everything that determines its score, namely the data and its queries, the
estimator with all its parameters, the seed, the metric, the convention, our code and the package versions.
The names of ranker and fold are for display only and are not part of the key.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.model_selection.fingerprints import data_fingerprint
>>> from directranker.rankers import AdaRank
>>> train, test = QuerySubset("a", (0, 1)), QuerySubset("a", (2,))
>>> fit = Fit(AdaRank(), "AdaRank", {"max_iter": 9}, 0, train, None, test, ("map",))
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
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import KFold

from directranker.data.dataset import RankingDataset
from directranker.metrics import Metric
from directranker.model_selection.digests import compute_digest, describe
from directranker.model_selection.fingerprints import environment_fingerprint

__all__ = ["Fit", "JobKeys", "QuerySubset", "configure_ranker"]

DEPRECATED = "deprecated"  # scikit-learn's default of a parameter that it will remove


@dataclass(frozen=True)
class QuerySubset:
    """Queries of a data set, which is named as in the `data` argument of `run_fits`."""

    data: str
    queries: tuple[int, ...] | None = None
    """Query indices; None for all queries."""

    @cached_property
    def digest(self) -> str:
        """A checksum of the query indices."""
        if self.queries is None:
            return "all"
        return hashlib.sha256(np.asarray(self.queries, dtype="<i8").tobytes()).hexdigest()

    def select(self, data: Mapping[str, RankingDataset]) -> RankingDataset:
        """Return the documents of these queries."""
        dataset = data[self.data]
        return dataset if self.queries is None else dataset.select(np.asarray(self.queries, dtype=np.int64))


@dataclass(frozen=True)
class Fit:
    """One training and its evaluation."""

    ranker: Any
    """An unfitted estimator with `fit(X, y, qid=…)` and `predict`, or a Pipeline."""
    name: str
    """The name of the ranker in results."""
    parameters: Mapping[str, object]
    """Set on a clone of the ranker."""
    seed: int
    """Set as every `random_state` of the clone."""
    train: QuerySubset
    validation: QuerySubset | None
    """Passed as `eval_set` if `fit` takes one."""
    test: QuerySubset
    metrics: tuple[str, ...]
    """Metric names such as `"ndcg@10"`; each is a job."""
    convention: str = "paper"
    fold: str = ""
    inner_fold: int | None = None
    """None for a training on the whole training split."""
    keep_per_query: bool = False
    """Whether to store the value of every test query."""
    example_queries: tuple[int, ...] = ()
    """Indices of the test queries to store diagnostics of; see `diagnostics`."""

    def keys(self, fingerprints: Mapping[str, str]) -> dict[str, str]:
        """Return the job key of each metric; `fingerprints` maps data set names to checksums."""
        return JobKeys(fingerprints).keys_by_metric(self)

    def __str__(self) -> str:
        settings = [self.name, *(f"{key}={value!r}" for key, value in self.parameters.items())]
        location = [self.fold or self.train.data]
        if self.inner_fold is not None:
            location.append(f"inner fold {self.inner_fold + 1}")
        return f"{', '.join(settings)} ({', '.join(location)}, seed {self.seed})"


class JobKeys:
    """Computes the keys of many fits; descriptions that fits share are computed once."""

    def __init__(self, fingerprints: Mapping[str, str]) -> None:
        self._fingerprints = fingerprints
        # An id is valid only while its object lives, so the object is kept beside its digest.
        self._estimators: dict[tuple[int, str, int], tuple[object, str]] = {}
        self._trainings: dict[int, tuple[Fit, str]] = {}

    def training_key(self, fit: Fit) -> str:
        """Return a key that is equal for fits with identical training; the evaluation is not part of it."""
        if id(fit) not in self._trainings:
            description = {
                "estimator": self._estimator_digest(fit),
                "seed": fit.seed,
                "train": self._subset_digests(fit.train),
                "validation": None if fit.validation is None else self._subset_digests(fit.validation),
                "environment": environment_fingerprint(),
            }
            self._trainings[id(fit)] = (fit, compute_digest(description))
        return self._trainings[id(fit)][1]

    def keys_by_metric(self, fit: Fit) -> dict[str, str]:
        """Return the job key of each metric."""
        description: dict[str, object] = {
            "training": self.training_key(fit),
            "test": self._subset_digests(fit.test),
            "queries": fit.keep_per_query,
            "examples": list(fit.example_queries),
        }
        return {
            metric: compute_digest({**description, "metric": _metric_digest(metric, fit.convention)})
            for metric in fit.metrics
        }

    def _estimator_digest(self, fit: Fit) -> str:
        parameters = compute_digest(describe(fit.parameters, f"the parameters of {fit.name}"))
        shared = (id(fit.ranker), parameters, fit.seed)
        if shared not in self._estimators:
            estimator = configure_ranker(fit.ranker, fit.parameters, fit.seed)
            self._estimators[shared] = (fit.ranker, compute_digest(describe(estimator, fit.name)))
        return self._estimators[shared][1]

    def _subset_digests(self, subset: QuerySubset) -> list[str]:
        if subset.data not in self._fingerprints:
            known = ", ".join(map(repr, self._fingerprints))
            raise ValueError(f"no data set is called {subset.data!r}; choose from {known}")
        return [self._fingerprints[subset.data], subset.digest]


@cache
def _metric_digest(metric: str, convention: str) -> str:
    return compute_digest(describe(Metric.parse(metric, convention=convention)))


def configure_ranker(ranker: BaseEstimator, parameters: Mapping[str, object], seed: int) -> BaseEstimator:
    """Return a clone with these parameters, whose every `random_state` is the seed.

    >>> from directranker.rankers import Ensemble, RankSVM
    >>> configure_ranker(Ensemble(RankSVM()), {"ranker__alpha": 0.5}, 3)
    Ensemble(random_state=3, ranker=RankSVM(alpha=0.5, random_state=3))
    """
    estimator = clone(ranker)
    # A value may be an estimator itself, which fits must not share.
    estimator.set_params(**{name: clone(value, safe=False) for name, value in parameters.items()})
    for name, value in estimator.get_params().items():
        owner, _, last = name.rpartition("__")
        if last == "random_state" and value != DEPRECATED:
            estimator.set_params(**{name: seed})
        elif last == "random_state":  # scikit-learn's TargetEncoder shuffles by its `cv` instead
            folds = f"{owner}__cv" if owner else "cv"
            n_folds = estimator.get_params()[folds]
            if isinstance(n_folds, int):
                estimator.set_params(**{folds: KFold(n_folds, shuffle=True, random_state=seed)})
    return estimator
