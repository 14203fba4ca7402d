"""Candidates measured by cross-validation over queries, for several metrics at once.

>>> from directranker.data.synthetic import example_dataset
>>> [(len(train.queries), len(test.queries)) for train, test in query_folds("all", example_dataset(), 3)]
[(194, 97), (194, 97), (194, 97)]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold

from directranker.data.dataset import RankingDataset
from directranker.model_selection.jobs import Fit, Part
from directranker.model_selection.progress import Tally
from directranker.model_selection.running import Runner
from directranker.model_selection.store import JobResult
from directranker.parameters import integer

__all__ = ["CrossValidation", "Split", "Table", "measure", "query_folds"]

Split = tuple[Part, Part]
"""What a candidate is trained on and what it is measured on."""


def query_folds(name: str, data: RankingDataset, n_folds: int) -> list[Split]:
    """The splits of scikit-learn's `GroupKFold` over queries; `name` is the data's."""
    if not integer(2, data.n_queries).accepts(n_folds):
        raise ValueError(
            f"{n_folds} folds of {data.n_queries} queries cannot be made; give a number from 2 to "
            f"{data.n_queries}"
        )
    rows = GroupKFold(n_folds).split(np.empty(data.n_documents), groups=data.qid)
    query_of_row = np.repeat(np.arange(data.n_queries), np.diff(data.offsets))
    return [(_part(name, query_of_row[train]), _part(name, query_of_row[test])) for train, test in rows]


def _part(name: str, query_of_row: NDArray[np.int64]) -> Part:
    return Part(name, tuple(np.unique(query_of_row).tolist()))


@dataclass(frozen=True)
class CrossValidation:
    """What all trainings of a search share."""

    rankers: Mapping[str, Any]
    """The ranker for each metric."""
    name: str
    splits: Sequence[Split]
    validation: Part | None
    convention: str
    seed: int
    fold: str = ""

    @property
    def metrics(self) -> tuple[str, ...]:
        """What candidates are measured by."""
        return tuple(self.rankers)

    def fits(self, parameters: Mapping[str, Any], metric: str) -> list[Fit]:
        """The training of a candidate on each split."""
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

    def with_queries(self, most: int) -> CrossValidation:
        """The same with at most so many queries to learn from in each split, drawn at random."""
        return replace(self, splits=[(self._fewer(train, most), test) for train, test in self.splits])

    def _fewer(self, part: Part, most: int) -> Part:
        assert part.queries is not None  # noqa: S101 - those of a fold are listed
        order = np.random.default_rng((self.seed, 19)).permutation(len(part.queries))
        chosen = np.sort(order[:most])
        return Part(part.data, tuple(part.queries[number] for number in chosen.tolist()))


@dataclass(frozen=True)
class Table:
    """What came out for each candidate of one metric, (n_candidates, n_splits); nan where nothing did."""

    scores: NDArray[np.float64]
    fit_seconds: NDArray[np.float64]
    score_seconds: NDArray[np.float64]

    @classmethod
    def empty(cls, n_candidates: int, n_splits: int) -> Table:
        """One to be filled."""
        return cls(*(np.full((n_candidates, n_splits), np.nan) for _ in range(3)))

    def fill(self, candidate: int, cells: Sequence[JobResult]) -> None:
        """Write the cells of a candidate's splits."""
        self.scores[candidate] = [cell.score for cell in cells]
        self.fit_seconds[candidate] = [cell.fit_seconds for cell in cells]
        self.score_seconds[candidate] = [cell.score_seconds for cell in cells]

    def take_rows(self, candidates: Sequence[int], other: Table) -> None:
        """Take over the rows of these candidates."""
        for mine, theirs in zip(self._columns, other._columns, strict=True):
            mine[list(candidates)] = theirs[list(candidates)]

    @property
    def _columns(self) -> tuple[NDArray[np.float64], ...]:
        return self.scores, self.fit_seconds, self.score_seconds

    @property
    def means(self) -> NDArray[np.float64]:
        """Of each candidate over the splits that have a score; nan where none has.

        >>> Table(np.array([[1.0, np.nan], [np.nan, np.nan]]), np.zeros(1), np.zeros(1)).means.tolist()
        [1.0, nan]
        """
        counted = ~np.isnan(self.scores)
        sums = np.where(counted, self.scores, 0.0).sum(axis=1)
        n = counted.sum(axis=1)
        means: NDArray[np.float64] = np.divide(sums, n, out=np.full(len(sums), np.nan), where=n > 0)
        return means


def measure(
    validation: CrossValidation,
    candidates: Sequence[Mapping[str, Any]],
    numbers: Mapping[str, Sequence[int]],
    runner: Runner,
    tally: Tally,
) -> dict[str, Table]:
    """Train the candidates of these numbers for each metric → a table per metric, nan for all others."""
    wanted = [(metric, number) for metric, some in numbers.items() for number in some]
    fits = [fit for metric, number in wanted for fit in validation.fits(candidates[number], metric)]
    runner.run(fits, tally)
    cells = runner.cells(fits)
    n_splits = len(validation.splits)
    tables = {metric: Table.empty(len(candidates), n_splits) for metric in validation.metrics}
    for place, (metric, number) in enumerate(wanted):
        of_candidate = cells[place * n_splits : (place + 1) * n_splits]
        tables[metric].fill(number, [cell[metric] for cell in of_candidate])
    return tables
