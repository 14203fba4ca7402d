"""The result of a nested search: the selected parameters and the test scores of each fold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from directranker.arrays import FloatArray
from directranker.data.grouping import QueryIds
from directranker.model_selection.store import JobResult
from directranker.suggestions import describe_unknown_name

__all__ = ["FoldResult", "NestedResult"]


@dataclass(frozen=True)
class FoldResult:
    """One metric on one fold: the selected parameters, and a final fit per seed."""

    fold: str
    metric: str
    parameters: Mapping[str, object]
    inner_scores: FloatArray
    """The mean of each candidate over the inner folds; empty if there was one candidate."""
    job_results: tuple[JobResult, ...]
    """One per seed, with the value of each test query and the times."""
    query_ids: QueryIds
    """The ids of the test queries, in the order of the values per query."""

    @property
    def scores(self) -> FloatArray:
        """The test score of each seed."""
        return np.array([result.score for result in self.job_results])

    @property
    def per_query(self) -> FloatArray:
        """The value of each test query, averaged over seeds; nan if the query does not count."""
        values = np.array([result.per_query for result in self.job_results], dtype=np.float64)
        mean: FloatArray = values.mean(axis=0)
        return mean

    @property
    def fit_seconds(self) -> FloatArray:
        """The training time of each seed's final fit."""
        return np.array([result.fit_seconds for result in self.job_results])

    @property
    def score_seconds(self) -> FloatArray:
        """The time that each seed's ranker takes to score the test split."""
        return np.array([result.score_seconds for result in self.job_results])


@dataclass(frozen=True)
class NestedResult:
    """The results of one ranker over all folds; its methods use the first metric unless one is passed."""

    name: str
    metrics: tuple[str, ...]
    candidates: tuple[Mapping[str, object], ...]
    folds: Mapping[str, tuple[FoldResult, ...]]
    """By metric, in the order of the folds."""

    def fold_results(self, metric: str | None = None) -> tuple[FoldResult, ...]:
        """Return the result of each fold."""
        name = self.metrics[0] if metric is None else metric
        if name not in self.folds:
            raise ValueError(describe_unknown_name("metric of this search", name, self.metrics))
        return self.folds[name]

    def parameters(self, metric: str | None = None) -> list[dict[str, object]]:
        """Return the selected parameters of each fold."""
        return [dict(fold.parameters) for fold in self.fold_results(metric)]

    def test_scores(self, metric: str | None = None) -> FloatArray:
        """Return the test scores, (n_folds, n_seeds)."""
        return np.array([fold.scores for fold in self.fold_results(metric)])

    def mean(self, metric: str | None = None) -> float:
        """Return the mean over folds of the mean over seeds; folds without a score are left out."""
        of_folds = self._fold_means(metric)
        return float(of_folds.mean()) if len(of_folds) else float("nan")

    def standard_error(self, metric: str | None = None) -> float:
        """Return the standard error of `mean` over folds; nan for fewer than two folds."""
        of_folds = self._fold_means(metric)
        return float(of_folds.std(ddof=1) / np.sqrt(len(of_folds))) if len(of_folds) > 1 else float("nan")

    def fit_seconds(self, metric: str | None = None) -> FloatArray:
        """Return the training times of the final fits, (n_folds, n_seeds)."""
        return np.array([fold.fit_seconds for fold in self.fold_results(metric)])

    def score_seconds(self, metric: str | None = None) -> FloatArray:
        """Return the times to score the test splits, (n_folds, n_seeds)."""
        return np.array([fold.score_seconds for fold in self.fold_results(metric)])

    def _fold_means(self, metric: str | None) -> FloatArray:
        means: FloatArray = self.test_scores(metric).mean(axis=1)
        return means[~np.isnan(means)]
