"""Cross-validation of candidates over queries, for several metrics at once.

>>> from directranker.data.synthetic import example_dataset
>>> [(len(train.queries), len(test.queries)) for train, test in split_queries("all", example_dataset(), 3)]
[(194, 97), (194, 97), (194, 97)]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold

from directranker.arrays import FloatArray, IntArray, query_of_rows
from directranker.data.dataset import RankingDataset
from directranker.data.splitting import partition_forward, read_query_values
from directranker.model_selection.jobs import Fit, QuerySubset
from directranker.model_selection.progress import ProgressTracker
from directranker.model_selection.running import Runner
from directranker.model_selection.store import JobResult
from directranker.parameters import integer

__all__ = ["CrossValidation", "ScoreTable", "Split", "evaluate_candidates", "split_queries"]

Split = tuple[QuerySubset, QuerySubset]
"""The queries that a candidate is trained on, and those that it is evaluated on."""


def split_queries(name: str, data: RankingDataset, n_folds: int, split_by: str | None = None) -> list[Split]:
    """Split the queries of the data set called `name` with scikit-learn's `GroupKFold`.

    With `split_by`, the column of a time, the later half of the queries is cut into `n_folds` blocks; each is
    evaluated after training on all queries before it.
    """
    if not integer(2, data.n_queries).accepts(n_folds):
        raise ValueError(
            f"cannot make {n_folds} folds of {data.n_queries} queries; pass a number from 2 to "
            f"{data.n_queries}"
        )
    if split_by is not None:
        blocks = partition_forward(read_query_values(data, split_by), n_folds, split_by)
        return [
            (_make_subset(name, np.concatenate(blocks[:number])), _make_subset(name, blocks[number]))
            for number in range(1, n_folds + 1)
        ]
    rows = GroupKFold(n_folds).split(np.empty(data.n_documents), groups=data.qid)
    queries = query_of_rows(data.offsets)
    return [(_make_subset(name, queries[train]), _make_subset(name, queries[test])) for train, test in rows]


def _make_subset(name: str, queries: IntArray) -> QuerySubset:
    return QuerySubset(name, tuple(np.unique(queries).tolist()))


@dataclass(frozen=True)
class CrossValidation:
    """The settings that all fits of a search share."""

    rankers: Mapping[str, Any]
    """The ranker for each metric."""
    name: str
    splits: Sequence[Split]
    validation: QuerySubset | None
    convention: str
    seed: int
    fold: str = ""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that candidates are evaluated by."""
        return tuple(self.rankers)

    def fits(self, parameters: Mapping[str, object], metric: str) -> list[Fit]:
        """Return the fit of a candidate on each split."""
        return [
            Fit(
                ranker=self.rankers[metric],
                name=self.name,
                parameters=parameters,
                seed=self.seed,
                train=train,
                validation=self.validation,
                test=test,
                metrics=(metric,),
                convention=self.convention,
                fold=self.fold,
                inner_fold=number,
            )
            for number, (train, test) in enumerate(self.splits)
        ]

    def limit_queries(self, max_queries: int) -> CrossValidation:
        """Return a copy with at most `max_queries` training queries per split, sampled at random."""
        return replace(
            self, splits=[(self._subsample(train, max_queries), test) for train, test in self.splits]
        )

    def _subsample(self, subset: QuerySubset, max_queries: int) -> QuerySubset:
        assert subset.queries is not None  # noqa: S101 - the queries of a fold are listed
        order = np.random.default_rng((self.seed, 19)).permutation(len(subset.queries))
        selected = np.sort(order[:max_queries])
        return QuerySubset(subset.data, tuple(subset.queries[index] for index in selected.tolist()))


@dataclass(frozen=True)
class ScoreTable:
    """Scores and times of each candidate by one metric, (n_candidates, n_splits); nan where not computed."""

    scores: FloatArray
    fit_seconds: FloatArray
    score_seconds: FloatArray

    @classmethod
    def empty(cls, n_candidates: int, n_splits: int) -> ScoreTable:
        """Create a table of nan."""
        return cls(*(np.full((n_candidates, n_splits), np.nan) for _ in range(3)))

    def fill(self, candidate: int, results: Sequence[JobResult]) -> None:
        """Write the results of a candidate, one per split."""
        self.scores[candidate] = [result.score for result in results]
        self.fit_seconds[candidate] = [result.fit_seconds for result in results]
        self.score_seconds[candidate] = [result.score_seconds for result in results]

    def copy_rows(self, candidates: Sequence[int], other: ScoreTable) -> None:
        """Copy the rows of these candidates from another table."""
        for mine, theirs in zip(self._columns, other._columns, strict=True):
            mine[list(candidates)] = theirs[list(candidates)]

    @property
    def _columns(self) -> tuple[FloatArray, ...]:
        return self.scores, self.fit_seconds, self.score_seconds

    @property
    def means(self) -> FloatArray:
        """The mean of each candidate over the splits that have a score; nan if none has.

        >>> ScoreTable(np.array([[1.0, np.nan], [np.nan, np.nan]]), np.zeros(1), np.zeros(1)).means.tolist()
        [1.0, nan]
        """
        has_score = ~np.isnan(self.scores)
        sums = np.where(has_score, self.scores, 0.0).sum(axis=1)
        n = has_score.sum(axis=1)
        means: FloatArray = np.divide(sums, n, out=np.full(len(sums), np.nan), where=n > 0)
        return means


def evaluate_candidates(
    validation: CrossValidation,
    candidates: Sequence[Mapping[str, object]],
    indices: Mapping[str, Sequence[int]],
    runner: Runner,
    tracker: ProgressTracker,
) -> dict[str, ScoreTable]:
    """Train the candidates with these indices for each metric; return a table per metric, nan for others."""
    wanted = [(metric, index) for metric, of_metric in indices.items() for index in of_metric]
    fits = [fit for metric, index in wanted for fit in validation.fits(candidates[index], metric)]
    runner.run(fits, tracker)
    results = runner.results(fits)
    n_splits = len(validation.splits)
    tables = {metric: ScoreTable.empty(len(candidates), n_splits) for metric in validation.metrics}
    for number, (metric, index) in enumerate(wanted):
        of_candidate = results[number * n_splits : (number + 1) * n_splits]
        tables[metric].fill(index, [by_metric[metric] for by_metric in of_candidate])
    return tables
