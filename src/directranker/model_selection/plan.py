"""The plan of a nested search: all fits that each ranker needs on each fold for each metric.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import RankSVM
>>> fold = Fold("Fold1", *example_dataset().split(0.3, 0.2, random_state=0))
>>> plan = Plan([RankerGrid("SVM", RankSVM(), {"alpha": [0.1, 1]})], [fold], "map", inner_folds=3, seeds=2)
>>> plan.searches
[InnerSearch(entry='SVM', fold='Fold1', metric='map')]
>>> len(plan.inner_fits(plan.searches[0])), len(plan.final_fits(plan.searches[0], 1))
(2, 2)
>>> [len(keys) for keys in plan.job_keys()["SVM"]]  # two candidates on three folds, and two seeds
[1, 1, 1, 1, 1, 1, 2, 2]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Literal, NamedTuple, TypeVar

from directranker.data.dataset import RankingDataset
from directranker.data.folds import SPLITS, Fold
from directranker.data.splitting import check_chronological
from directranker.model_selection.candidates import Grid, expand_grid
from directranker.model_selection.cross_validation import CrossValidation, Split, split_queries
from directranker.model_selection.diagnostics import MAX_EXAMPLES, select_example_queries
from directranker.model_selection.fingerprints import data_fingerprint
from directranker.model_selection.jobs import Fit, JobKeys, QuerySubset
from directranker.model_selection.metric_targets import adapt_to_metrics
from directranker.model_selection.search import check_metrics_not_constant, validate_metrics

__all__ = ["InnerFolds", "InnerSearch", "Plan", "RankerGrid"]

T = TypeVar("T")
InnerFolds = int | Literal["validation"]
"""The number of inner folds, or `"validation"`: one fit per candidate, evaluated on the validation split."""


@dataclass(frozen=True)
class RankerGrid:
    """A ranker of a comparison: its name in results, and the grid to search."""

    name: str
    ranker: Any
    grid: Grid


class InnerSearch(NamedTuple):
    """One search for the best candidate: of which ranker, on which fold, by which metric."""

    entry: str
    fold: str
    metric: str


class Plan:
    """The fits of some rankers on some folds."""

    def __init__(
        self,
        entries: Sequence[RankerGrid],
        folds: Iterable[Fold],
        metrics: str | Sequence[str],
        *,
        inner_folds: InnerFolds,
        seeds: int,
        convention: str = "paper",
        split_by: str | None = None,
    ) -> None:
        if seeds < 1:
            raise ValueError(f"seeds is {seeds}; pass an integer of at least 1")
        self.metrics = validate_metrics(metrics, convention)
        self.seeds = range(seeds)
        self.folds = _index_by_name("fold", [(fold.name, fold) for fold in folds])
        check_metrics_not_constant(self.metrics, convention, [fold.test for fold in self.folds.values()])
        n_examples = -(-MAX_EXAMPLES // len(self.folds))
        self.example_queries = {
            name: select_example_queries(fold.test, n_examples) for name, fold in self.folds.items()
        }
        self.entries = named = _index_by_name("ranker", [(entry.name, entry) for entry in entries])
        self.candidates = {
            name: tuple(expand_grid(entry.ranker, entry.grid)) for name, entry in named.items()
        }
        # Rankers alternate: each has a first score early, and workers that start together compile different
        # kernels.
        interleaved = product(self.folds, self.metrics, named)
        self.searches = [InnerSearch(entry, fold, metric) for fold, metric, entry in interleaved]
        if split_by is not None:
            for fold in self.folds.values():
                check_chronological({f"{fold.name} {name}": getattr(fold, name) for name in SPLITS}, split_by)
        inner = {name: _split_training_data(fold, inner_folds, split_by) for name, fold in self.folds.items()}
        rankers = {
            name: adapt_to_metrics(entry.ranker, self.metrics, convention) for name, entry in named.items()
        }
        self._validations = {
            (name, fold.name): CrossValidation(
                rankers=rankers[name],
                name=name,
                splits=inner[fold.name],
                validation=_validation_subset(fold),
                convention=convention,
                seed=0,
                fold=fold.name,
            )
            for name, fold in product(named, self.folds.values())
        }

    @property
    def data(self) -> dict[str, RankingDataset]:
        """All splits of all folds by name."""
        return {
            _data_name(fold, split): getattr(fold, split)
            for fold, split in product(self.folds.values(), SPLITS)
        }

    @cached_property
    def fingerprints(self) -> dict[str, str]:
        """The checksum of each split of each fold by name; computed once, as it reads all data."""
        return {name: data_fingerprint(dataset) for name, dataset in self.data.items()}

    @cached_property
    def keys(self) -> JobKeys:
        """The keys of this plan's jobs."""
        return JobKeys(self.fingerprints)

    def inner_fits(self, search: InnerSearch) -> list[list[Fit]]:
        """Return the fits of each candidate on each inner fold; empty if there is only one candidate."""
        validation, candidates = self._validations[search.entry, search.fold], self.candidates[search.entry]
        if len(candidates) == 1:
            return []
        return [validation.fits(candidate, search.metric) for candidate in candidates]

    def final_fits(self, search: InnerSearch, candidate: int) -> list[Fit]:
        """Return the fits on the whole training split, one per seed, whose test scores are reported."""
        fold = self.folds[search.fold]
        split = (QuerySubset(_data_name(fold, "train")), QuerySubset(_data_name(fold, "test")))
        validation = replace(self._validations[search.entry, search.fold], splits=[split])
        (fit,) = validation.fits(self.candidates[search.entry][candidate], search.metric)
        # Only the first seed has examples: other seeds' rankers differ little.
        examples = {self.seeds[0]: self.example_queries[search.fold]}
        return [
            replace(
                fit, seed=seed, inner_fold=None, keep_per_query=True, example_queries=examples.get(seed, ())
            )
            for seed in self.seeds
        ]

    def job_keys(self) -> dict[str, list[list[str]]]:
        """Return, by entry and planned job, the keys any of which completes the job.

        An inner job has one key. A final job has one per candidate, as the best candidate is not yet known.
        """
        planned: dict[str, list[list[str]]] = {name: [] for name in self.candidates}
        for search in self.searches:
            inner = [fit for fits in self.inner_fits(search) for fit in fits]
            candidates = range(len(self.candidates[search.entry]))
            final = zip(*(self.final_fits(search, candidate) for candidate in candidates), strict=True)
            for fits in [*([fit] for fit in inner), *final]:
                planned[search.entry].append([self.keys.keys_by_metric(fit)[search.metric] for fit in fits])
        return planned


def _index_by_name(kind: str, named: Sequence[tuple[str, T]]) -> dict[str, T]:
    indexed: dict[str, T] = {}
    for name, value in named:
        if name in indexed:
            raise ValueError(f"two {kind}s are called {name!r}; give each its own name")
        indexed[name] = value
    if not indexed:
        raise ValueError(f"there is no {kind}; pass at least one")
    return indexed


def _validation_subset(fold: Fold) -> QuerySubset | None:
    return QuerySubset(_data_name(fold, "validation")) if fold.validation.n_queries else None


def _data_name(fold: Fold, split: str) -> str:
    return f"{fold.name} {split}"


def _split_training_data(fold: Fold, inner_folds: InnerFolds, split_by: str | None) -> list[Split]:
    if inner_folds == "validation":
        return [(QuerySubset(_data_name(fold, "train")), QuerySubset(_data_name(fold, "validation")))]
    if isinstance(inner_folds, str):
        raise ValueError(f"inner_folds is {inner_folds!r}; pass an integer of at least 2, or 'validation'")
    return split_queries(_data_name(fold, "train"), fold.train, inner_folds, split_by)
