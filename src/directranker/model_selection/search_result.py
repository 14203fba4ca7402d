"""The result of a search: the best parameters for each metric, and the scores of all candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.ma import MaskedArray
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator

from directranker.arrays import FloatArray
from directranker.model_selection.cross_validation import ScoreTable
from directranker.suggestions import describe_unknown_name

__all__ = ["SearchResult", "build_cv_results", "select_best_candidate"]


@dataclass(frozen=True)
class SearchResult:
    """The result of `grid_search`; its methods use the first metric unless one is passed."""

    candidates: Sequence[Mapping[str, object]]
    metrics: tuple[str, ...]
    best_indices: Mapping[str, int]
    """The index of each metric's best candidate."""
    cv_results_: Mapping[str, Any]
    """The columns of scikit-learn's `GridSearchCV` with several metrics, one row per candidate."""
    rankers: Mapping[str, Any] | None
    """By metric, the best ranker fitted on all of the data; None without `refit`."""

    def best_parameters(self, metric: str | None = None) -> dict[str, object]:
        """Return the parameters with the best mean; ties go to the first in the grid."""
        return dict(self.candidates[self.best_indices[self._resolve_metric(metric)]])

    def best_score(self, metric: str | None = None) -> float:
        """Return the best mean score over the folds."""
        name = self._resolve_metric(metric)
        return float(self.cv_results_[f"mean_test_{name}"][self.best_indices[name]])

    def best_ranker(self, metric: str | None = None) -> BaseEstimator:
        """Return the ranker with the best parameters, fitted on all of the data."""
        if self.rankers is None:
            raise ValueError("no ranker was fitted on all of the data; search with refit=True")
        return self.rankers[self._resolve_metric(metric)]

    def _resolve_metric(self, metric: str | None) -> str:
        if metric is None:
            return self.metrics[0]
        if metric not in self.metrics:
            raise ValueError(describe_unknown_name("metric of this search", metric, self.metrics))
        return metric


def select_best_candidate(means: FloatArray, metric: str) -> int:
    """Return the index of the highest mean; ties go to the first, and nan is ignored.

    >>> select_best_candidate(np.array([np.nan, 0.5, 0.7, 0.7]), "map")
    2
    """
    if np.isnan(means).all():
        raise ValueError(
            f"no candidate has a {metric}: the convention leaves out every query; check the labels, "
            "or pass another convention"
        )
    return int(np.nanargmax(means))


def build_cv_results(
    candidates: Sequence[Mapping[str, object]],
    tables: Mapping[str, ScoreTable],
    extra_columns: Mapping[str, NDArray[np.generic]] | None = None,
) -> dict[str, object]:
    """Build the columns of scikit-learn's `cv_results_`, followed by `extra_columns`.

    A mean is over the folds in which any query counts. Fit times are those of the first metric.
    """
    first = next(iter(tables.values()))
    columns: dict[str, Any] = {}
    for name, seconds in (("fit", first.fit_seconds), ("score", first.score_seconds)):
        columns[f"mean_{name}_time"], columns[f"std_{name}_time"] = seconds.mean(axis=1), seconds.std(axis=1)
    columns |= _build_parameter_columns(candidates)
    columns["params"] = [dict(candidate) for candidate in candidates]
    for metric, table in tables.items():
        means = table.means
        for number, scores in enumerate(table.scores.T):
            columns[f"split{number}_test_{metric}"] = scores
        columns[f"mean_test_{metric}"] = means
        squares = (table.scores - means[:, None]) ** 2
        variances = ScoreTable(squares, table.fit_seconds, table.score_seconds).means
        columns[f"std_test_{metric}"] = np.sqrt(variances)
        columns[f"rank_test_{metric}"] = rankdata(-np.nan_to_num(means, nan=-np.inf), "min").astype(np.int32)
    return {**columns, **(extra_columns or {})}


def _build_parameter_columns(candidates: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Build a column per parameter, masked for candidates that do not have it."""
    columns: dict[str, Any] = {}
    for index, candidate in enumerate(candidates):
        for name, value in candidate.items():
            masked = MaskedArray(np.empty(len(candidates), dtype=object), mask=True)
            column = columns.setdefault(f"param_{name}", masked)
            column[index] = value
    return columns
