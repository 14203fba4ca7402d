"""All trainings of a nested search, before any is run: which entry, fold and metric needs what.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import RankSVM
>>> fold = Fold("Fold1", *example_dataset().split(0.3, 0.2, random_state=0))
>>> plan = Plan([RankerGrid("SVM", RankSVM(), {"alpha": [0.1, 1]})], [fold], "map", inner_folds=3, seeds=2)
>>> plan.places
[Place(entry='SVM', fold='Fold1', metric='map')]
>>> len(plan.inner_fits(plan.places[0])), len(plan.final_fits(plan.places[0], 1))
(2, 2)
>>> [len(keys) for keys in plan.job_keys()["SVM"]]  # two candidates on three folds, and two seeds
[1, 1, 1, 1, 1, 1, 2, 2]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Literal, NamedTuple

from directranker.data.dataset import RankingDataset
from directranker.data.folds import SPLITS, Fold
from directranker.model_selection.candidates import Grid, grid_candidates
from directranker.model_selection.cross_validation import CrossValidation, Split, query_folds
from directranker.model_selection.diagnostics import MAX_SHOWN, shown_queries
from directranker.model_selection.fingerprints import data_fingerprint
from directranker.model_selection.jobs import Fit, Keys, Part
from directranker.model_selection.metric_targets import rankers_for
from directranker.model_selection.search import check_metrics_not_constant, checked_metrics

__all__ = ["InnerFolds", "Place", "Plan", "RankerGrid"]

InnerFolds = int | Literal["validation"]
"""How many inner folds, or `"validation"`: one fit per candidate, measured on the validation part."""


@dataclass(frozen=True)
class RankerGrid:
    """A ranker that takes part: what results call it, and the grid that it is searched in."""

    name: str
    ranker: Any
    grid: Grid


class Place(NamedTuple):
    """Where one choice is made: which entry, on which fold, for which metric."""

    entry: str
    fold: str
    metric: str


class Plan:
    """The trainings of some entries on some folds."""

    def __init__(
        self,
        entries: Sequence[RankerGrid],
        folds: Iterable[Fold],
        metrics: str | Sequence[str],
        *,
        inner_folds: InnerFolds,
        seeds: int,
        convention: str = "paper",
    ) -> None:
        if seeds < 1:
            raise ValueError(f"seeds is {seeds}; give a whole number from 1 on")
        self.metrics = checked_metrics(metrics, convention)
        self.seeds = range(seeds)
        self.folds = _by_name("fold", [(fold.name, fold) for fold in folds])
        check_metrics_not_constant(self.metrics, convention, [fold.test for fold in self.folds.values()])
        n_shown = -(-MAX_SHOWN // len(self.folds))
        self.shown = {name: shown_queries(fold.test, n_shown) for name, fold in self.folds.items()}
        named = _by_name("ranker", [(entry.name, entry) for entry in entries])
        self.candidates = {
            name: tuple(grid_candidates(entry.ranker, entry.grid)) for name, entry in named.items()
        }
        # Rankers take turns: all show a first score early, and workers that start together compile different
        # kernels instead of each the same.
        turns = product(self.folds, self.metrics, named)
        self.places = [Place(entry, fold, metric) for fold, metric, entry in turns]
        inner = {name: _inner_splits(fold, inner_folds) for name, fold in self.folds.items()}
        rankers = {name: rankers_for(entry.ranker, self.metrics, convention) for name, entry in named.items()}
        self._searches = {
            (name, fold.name): CrossValidation(
                rankers=rankers[name],
                name=name,
                splits=inner[fold.name],
                validation=Part(_name(fold, "validation")) if fold.validation.n_queries else None,
                convention=convention,
                seed=0,
                fold=fold.name,
            )
            for name, fold in product(named, self.folds.values())
        }

    @property
    def data(self) -> dict[str, RankingDataset]:
        """All parts of all folds by name."""
        return {_name(fold, part): getattr(fold, part) for fold, part in product(self.folds.values(), SPLITS)}

    @cached_property
    def fingerprints(self) -> dict[str, str]:
        """The checksum of each part of each fold by name; computed once, as it reads all data."""
        return {name: data_fingerprint(dataset) for name, dataset in self.data.items()}

    @cached_property
    def keys(self) -> Keys:
        """The keys of this plan's jobs."""
        return Keys(self.fingerprints)

    def inner_fits(self, place: Place) -> list[list[Fit]]:
        """Of each candidate on each inner fold; none where there is nothing to choose."""
        search, candidates = self._searches[place.entry, place.fold], self.candidates[place.entry]
        if len(candidates) == 1:
            return []
        return [search.fits(candidate, place.metric) for candidate in candidates]

    def final_fits(self, place: Place, candidate: int) -> list[Fit]:
        """The trainings on the whole training part, whose test scores are reported; one per seed."""
        fold = self.folds[place.fold]
        whole = (Part(_name(fold, "train")), Part(_name(fold, "test")))
        search = replace(self._searches[place.entry, place.fold], splits=[whole])
        (fit,) = search.fits(self.candidates[place.entry][candidate], place.metric)
        shown = {self.seeds[0]: self.shown[place.fold]}  # the other seeds' rankers would say much the same
        return [
            replace(fit, seed=seed, inner_fold=None, keep_queries=True, shown=shown.get(seed, ()))
            for seed in self.seeds
        ]

    def job_keys(self) -> dict[str, list[list[str]]]:
        """Per entry and planned cell the keys, any of which fills it.

        An inner cell has one. A final one has one for each candidate, as the choice is made on the way.
        """
        planned: dict[str, list[list[str]]] = {name: [] for name in self.candidates}
        for place in self.places:
            inner = [fit for fits in self.inner_fits(place) for fit in fits]
            numbers = range(len(self.candidates[place.entry]))
            final = zip(*(self.final_fits(place, number) for number in numbers), strict=True)
            for fits in [*([fit] for fit in inner), *final]:
                planned[place.entry].append([self.keys.of_cells(fit)[place.metric] for fit in fits])
        return planned


def _by_name(kind: str, named: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in named:
        if name in found:
            raise ValueError(f"two {kind}s are called {name!r}; give each a name of its own")
        found[name] = value
    if not found:
        raise ValueError(f"there is no {kind}; give at least one")
    return found


def _name(fold: Fold, part: str) -> str:
    return f"{fold.name} {part}"


def _inner_splits(fold: Fold, inner_folds: InnerFolds) -> list[Split]:
    if inner_folds == "validation":
        return [(Part(_name(fold, "train")), Part(_name(fold, "validation")))]
    if isinstance(inner_folds, str):
        raise ValueError(f"inner_folds is {inner_folds!r}; give a number from 2 on, or 'validation'")
    return query_folds(_name(fold, "train"), fold.train, inner_folds)
