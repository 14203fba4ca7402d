"""The paper's protocol: on each given fold a search on its training part, then the test part, once.

Section "Grid search and LETOR Evaluation" of the paper. All inner trainings of all rankers and folds run
together, then all final ones, so that workers wait only once.

>>> from directranker.data.folds import Fold
>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import RankSVM
>>> data = example_dataset()
>>> folds = [Fold(f"Fold{n}", *data.split(0.3, 0.2, random_state=n)) for n in (1, 2)]
>>> found = nested_grid_search(RankSVM(), {"alpha": [0.01, 1.0]}, folds, inner_folds=3, workers=1)
>>> found.test_scores("map").shape, found.mean("map") > 0.5
((2, 1), True)
>>> [sorted(parameters) for parameters in found.parameters("ndcg@10")]
[['alpha'], ['alpha']]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from directranker.data.folds import Fold
from directranker.model_selection.candidates import Grid
from directranker.model_selection.cross_validation import Table
from directranker.model_selection.nested_result import FoldResult, NestedResult
from directranker.model_selection.plan import InnerFolds, Place, Plan, RankerGrid
from directranker.model_selection.progress import Report, Tally
from directranker.model_selection.running import Runner
from directranker.model_selection.search import StorePlace, opened_store
from directranker.model_selection.search_result import best_candidate

__all__ = ["nested_grid_search", "nested_searches", "run_plan"]


def nested_grid_search(
    ranker: Any,
    grid: Grid,
    folds: Iterable[Fold],
    *,
    metrics: str | Sequence[str] = ("ndcg@10", "map"),
    inner_folds: InnerFolds = 5,
    seeds: int = 1,
    convention: str = "paper",
    store: StorePlace = None,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Report | None = None,
) -> NestedResult:
    """Search on each fold's training part, train the best on all of it, and measure it on the test part.

    Parameters
    ----------
    ranker, grid
        See `grid_search`.
    folds
        Their validation parts are handed to each fit as `eval_set`, for early stopping.
    metrics
        Each chooses for itself and is reported for its own choice.
    inner_folds
        The number of inner folds that candidates are chosen by, or `"validation"`: by the validation split.
    seeds
        How many final trainings there are per fold, with the seeds 0, 1, …; candidates are tried with seed 0.
    convention, store, workers, cluster, progress
        See `grid_search`.

    """
    name = type(ranker).__name__
    return nested_searches(
        [RankerGrid(name, ranker, grid)],
        folds,
        metrics=metrics,
        inner_folds=inner_folds,
        seeds=seeds,
        convention=convention,
        store=store,
        workers=workers,
        cluster=cluster,
        progress=progress,
    )[name]


def nested_searches(
    entries: Sequence[RankerGrid],
    folds: Iterable[Fold],
    *,
    metrics: str | Sequence[str] = ("ndcg@10", "map"),
    inner_folds: InnerFolds = 5,
    seeds: int = 1,
    convention: str = "paper",
    store: StorePlace = None,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Report | None = None,
) -> dict[str, NestedResult]:
    """The same for several rankers on the same folds → the result of each by name."""
    plan = Plan(entries, folds, metrics, inner_folds=inner_folds, seeds=seeds, convention=convention)
    return run_plan(plan, store=store, workers=workers, cluster=cluster, progress=progress)


def run_plan(
    plan: Plan,
    *,
    store: StorePlace = None,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Report | None = None,
) -> dict[str, NestedResult]:
    """Run the jobs of a plan that the store does not have → the result of each entry by name."""
    with opened_store(store) as cells:
        runner = Runner(plan.data, cells, workers=workers, cluster=cluster, keys=plan.keys)
        chosen = _run(plan, runner, progress)
        return {name: _result(plan, name, chosen, runner) for name in plan.candidates}


class _Choice(NamedTuple):
    candidate: int
    means: NDArray[np.float64]


def _run(plan: Plan, runner: Runner, progress: Report | None) -> dict[Place, _Choice]:
    """All inner trainings, then all final ones → what was chosen at each place."""
    inner = [fit for place in plan.places for fits in plan.inner_fits(place) for fit in fits]
    tally = Tally(len(runner.job_keys(inner)) + len(plan.places) * len(plan.seeds), progress)
    runner.run(inner, tally)
    chosen = {place: _chosen(plan, place, runner) for place in plan.places}
    final = [fit for place in plan.places for fit in plan.final_fits(place, chosen[place].candidate)]
    runner.run(final, tally)
    return chosen


def _chosen(plan: Plan, place: Place, runner: Runner) -> _Choice:
    fits = plan.inner_fits(place)
    if not fits:  # one candidate is no choice
        return _Choice(0, np.empty(0))
    table = Table.empty(len(fits), len(fits[0]))
    for number, of_candidate in enumerate(fits):
        table.fill(number, [cell[place.metric] for cell in runner.cells(of_candidate)])
    what = f"{place.metric} of {place.entry} on {place.fold}"
    return _Choice(best_candidate(table.means, what), table.means)


def _result(plan: Plan, name: str, chosen: Mapping[Place, _Choice], runner: Runner) -> NestedResult:
    folds: dict[str, list[FoldResult]] = {metric: [] for metric in plan.metrics}
    for place, choice in chosen.items():
        if place.entry == name:
            cells = runner.cells(plan.final_fits(place, choice.candidate))
            folds[place.metric].append(
                FoldResult(
                    fold=place.fold,
                    metric=place.metric,
                    parameters=plan.candidates[name][choice.candidate],
                    inner_scores=choice.means,
                    cells=tuple(cell[place.metric] for cell in cells),
                    query_ids=plan.folds[place.fold].test.query_ids,
                )
            )
    per_metric = {metric: tuple(results) for metric, results in folds.items()}
    return NestedResult(name, plan.metrics, plan.candidates[name], per_metric)
