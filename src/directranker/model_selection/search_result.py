"""What a search found: the best parameters for each metric, and the table that they were chosen from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.ma import MaskedArray
from numpy.typing import NDArray
from scipy.stats import rankdata

from directranker.model_selection.cross_validation import Table
from directranker.suggestions import describe_unknown_name

__all__ = ["SearchResult", "best_candidate", "cv_results"]


@dataclass(frozen=True)
class SearchResult:
    """The outcome of `grid_search`; without a metric, its methods speak of the first one."""

    candidates: Sequence[Mapping[str, Any]]
    metrics: tuple[str, ...]
    best_indices: Mapping[str, int]
    """The number of each metric's best candidate."""
    cv_results_: Mapping[str, Any]
    """The columns of scikit-learn's `GridSearchCV` for several metrics, one row per candidate."""
    rankers: Mapping[str, Any] | None
    """Fitted on all of the data, per metric; None without `refit`."""

    def best_parameters(self, metric: str | None = None) -> dict[str, Any]:
        """The parameters with the best mean; of equals, the first in the grid."""
        return dict(self.candidates[self.best_indices[self._known(metric)]])

    def best_score(self, metric: str | None = None) -> float:
        """Their mean over the inner folds."""
        name = self._known(metric)
        return float(self.cv_results_[f"mean_test_{name}"][self.best_indices[name]])

    def best_ranker(self, metric: str | None = None) -> Any:
        """The ranker with them, fitted on all of the data."""
        if self.rankers is None:
            raise ValueError("no ranker was fitted on all of the data; search with refit=True")
        return self.rankers[self._known(metric)]

    def _known(self, metric: str | None) -> str:
        if metric is None:
            return self.metrics[0]
        if metric not in self.metrics:
            raise ValueError(describe_unknown_name("metric of this search", metric, self.metrics))
        return metric


def best_candidate(means: NDArray[np.float64], metric: str) -> int:
    """The first of the best; those without a score are never it.

    >>> best_candidate(np.array([np.nan, 0.5, 0.7, 0.7]), "map")
    2
    """
    if np.isnan(means).all():
        raise ValueError(
            f"no candidate has a {metric}: no query that was measured counts; look at the labels, or take "
            "another convention"
        )
    return int(np.nanargmax(means))


def cv_results(
    candidates: Sequence[Mapping[str, Any]],
    tables: Mapping[str, Table],
    more: Mapping[str, NDArray[Any]] | None = None,
) -> dict[str, Any]:
    """The columns of scikit-learn's `cv_results_`; `more` goes behind them.

    A mean is over the folds in which any query counts. Fit times are those of the first metric.
    """
    first = next(iter(tables.values()))
    columns: dict[str, Any] = {}
    for name, seconds in (("fit", first.fit_seconds), ("score", first.score_seconds)):
        columns[f"mean_{name}_time"], columns[f"std_{name}_time"] = seconds.mean(axis=1), seconds.std(axis=1)
    columns |= _parameter_columns(candidates)
    columns["params"] = [dict(candidate) for candidate in candidates]
    for metric, table in tables.items():
        means = table.means
        for number, scores in enumerate(table.scores.T):
            columns[f"split{number}_test_{metric}"] = scores
        columns[f"mean_test_{metric}"] = means
        squares = Table((table.scores - means[:, None]) ** 2, table.fit_seconds, table.score_seconds).means
        columns[f"std_test_{metric}"] = np.sqrt(squares)
        columns[f"rank_test_{metric}"] = rankdata(-np.nan_to_num(means, nan=-np.inf), "min").astype(np.int32)
    return {**columns, **(more or {})}


def _parameter_columns(candidates: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A column per parameter, masked for candidates that do not have it."""
    columns: dict[str, Any] = {}
    for number, candidate in enumerate(candidates):
        for name, value in candidate.items():
            absent = MaskedArray(np.empty(len(candidates), dtype=object), mask=True)
            column = columns.setdefault(f"param_{name}", absent)
            column[number] = value
    return columns
