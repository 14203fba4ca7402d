"""What a nested search found: per fold what was chosen and how good it is on the test part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker.data.grouping import QueryIds
from directranker.model_selection.store import JobResult
from directranker.suggestions import describe_unknown_name

__all__ = ["FoldResult", "NestedResult"]


@dataclass(frozen=True)
class FoldResult:
    """One metric on one fold: the parameters that were chosen, and a final training per seed."""

    fold: str
    metric: str
    parameters: Mapping[str, Any]
    inner_scores: NDArray[np.float64]
    """The mean of each candidate over the inner folds; empty where there was one candidate."""
    cells: tuple[JobResult, ...]
    """One per seed, with the value of each test query and the times."""
    query_ids: QueryIds
    """Of the test part, in the order of the values per query."""

    @property
    def scores(self) -> NDArray[np.float64]:
        """On the test part, one per seed."""
        return np.array([cell.score for cell in self.cells])

    @property
    def per_query(self) -> NDArray[np.float64]:
        """The value of each test query, the mean over the seeds; nan where the query does not count."""
        values = np.array([cell.per_query for cell in self.cells], dtype=np.float64)
        mean: NDArray[np.float64] = values.mean(axis=0)
        return mean

    @property
    def fit_seconds(self) -> NDArray[np.float64]:
        """Of the final trainings, one per seed."""
        return np.array([cell.fit_seconds for cell in self.cells])

    @property
    def score_seconds(self) -> NDArray[np.float64]:
        """Of scoring the test part, one per seed."""
        return np.array([cell.score_seconds for cell in self.cells])


@dataclass(frozen=True)
class NestedResult:
    """A ranker over all folds; without a metric, its methods speak of the first one."""

    name: str
    metrics: tuple[str, ...]
    candidates: tuple[Mapping[str, Any], ...]
    folds: Mapping[str, tuple[FoldResult, ...]]
    """Per metric, in the order of the folds."""

    def of(self, metric: str | None = None) -> tuple[FoldResult, ...]:
        """The folds' results for a metric."""
        name = self.metrics[0] if metric is None else metric
        if name not in self.folds:
            raise ValueError(describe_unknown_name("metric of this search", name, self.metrics))
        return self.folds[name]

    def parameters(self, metric: str | None = None) -> list[dict[str, Any]]:
        """What was chosen, per fold."""
        return [dict(fold.parameters) for fold in self.of(metric)]

    def test_scores(self, metric: str | None = None) -> NDArray[np.float64]:
        """On the test parts, (n_folds, n_seeds)."""
        return np.array([fold.scores for fold in self.of(metric)])

    def mean(self, metric: str | None = None) -> float:
        """Over the folds that have a score, each the mean of its seeds; nan where none has one."""
        of_folds = self._of_folds(metric)
        return float(of_folds.mean()) if len(of_folds) else float("nan")

    def standard_error(self, metric: str | None = None) -> float:
        """Of that mean; nan of less than two folds."""
        of_folds = self._of_folds(metric)
        return float(of_folds.std(ddof=1) / np.sqrt(len(of_folds))) if len(of_folds) > 1 else float("nan")

    def fit_seconds(self, metric: str | None = None) -> NDArray[np.float64]:
        """Of the final trainings, (n_folds, n_seeds)."""
        return np.array([fold.fit_seconds for fold in self.of(metric)])

    def score_seconds(self, metric: str | None = None) -> NDArray[np.float64]:
        """Of scoring the test parts, (n_folds, n_seeds)."""
        return np.array([fold.score_seconds for fold in self.of(metric)])

    def _of_folds(self, metric: str | None) -> NDArray[np.float64]:
        means: NDArray[np.float64] = self.test_scores(metric).mean(axis=1)
        return means[~np.isnan(means)]
