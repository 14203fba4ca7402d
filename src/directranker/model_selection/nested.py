"""Nested search, the paper's protocol: search on each fold's training split, then test once.

Section "Grid search and LETOR Evaluation" of the paper. All inner fits of all rankers and folds run first,
then all final fits, so that workers wait only once.

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
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from directranker.arrays import FloatArray
from directranker.data.folds import Fold
from directranker.model_selection.candidates import Grid
from directranker.model_selection.cross_validation import ScoreTable
from directranker.model_selection.nested_result import FoldResult, NestedResult
from directranker.model_selection.plan import InnerFolds, InnerSearch, Plan, RankerGrid
from directranker.model_selection.progress import ProgressCallback, ProgressTracker
from directranker.model_selection.running import Runner
from directranker.model_selection.search import StoreLike, open_store
from directranker.model_selection.search_result import select_best_candidate

__all__ = ["nested_grid_search", "nested_searches", "run_plan"]


def nested_grid_search(
    ranker: BaseEstimator,
    grid: Grid,
    folds: Iterable[Fold],
    *,
    metrics: str | Sequence[str] = ("ndcg@10", "map"),
    inner_folds: InnerFolds = 5,
    seeds: int = 1,
    convention: str = "paper",
    split_by: str | None = None,
    store: StoreLike = None,
    workers: int | None = None,
    cluster: str | None = None,
    progress: ProgressCallback | None = None,
) -> NestedResult:
    """Search on each fold's training split, fit the best candidate on all of it, and test it once.

    Parameters
    ----------
    ranker, grid
        See `grid_search`.
    folds
        Their validation splits are passed to each fit as `eval_set`, for early stopping.
    metrics
        Candidates are selected, and test scores reported, for each metric separately.
    inner_folds
        The number of inner folds to select candidates by, or `"validation"` to use the validation split.
    seeds
        The number of final fits per fold, with the seeds 0, 1, …; candidates are evaluated with seed 0.
    split_by
        The column of time that the folds were cut by. Inner folds are then cut by it too; folds whose
        training is not before validation, or validation not before test, raise.
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
        split_by=split_by,
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
    split_by: str | None = None,
    store: StoreLike = None,
    workers: int | None = None,
    cluster: str | None = None,
    progress: ProgressCallback | None = None,
) -> dict[str, NestedResult]:
    """Run `nested_grid_search` for several rankers on the same folds; return the results by name."""
    plan = Plan(
        entries,
        folds,
        metrics,
        inner_folds=inner_folds,
        seeds=seeds,
        convention=convention,
        split_by=split_by,
    )
    return run_plan(plan, store=store, workers=workers, cluster=cluster, progress=progress)


def run_plan(
    plan: Plan,
    *,
    store: StoreLike = None,
    workers: int | None = None,
    cluster: str | None = None,
    progress: ProgressCallback | None = None,
) -> dict[str, NestedResult]:
    """Run the jobs of a plan that the store does not have; return the result of each entry by name."""
    with open_store(store) as opened:
        runner = Runner(plan.data, opened, workers=workers, cluster=cluster, keys=plan.keys)
        choices = _run_searches(plan, runner, progress)
        return {name: _build_result(plan, name, choices, runner) for name in plan.candidates}


class _Choice(NamedTuple):
    candidate: int
    means: FloatArray


def _run_searches(
    plan: Plan, runner: Runner, progress: ProgressCallback | None
) -> dict[InnerSearch, _Choice]:
    """Run all inner fits, then all final fits; return the choice of each inner search."""
    inner = [fit for search in plan.searches for fits in plan.inner_fits(search) for fit in fits]
    n_jobs = len(runner.job_keys(inner)) + len(plan.searches) * len(plan.seeds)
    tracker = ProgressTracker(n_jobs, progress)
    runner.run(inner, tracker)
    choices = {search: _select_candidate(plan, search, runner) for search in plan.searches}
    final = [fit for search in plan.searches for fit in plan.final_fits(search, choices[search].candidate)]
    runner.run(final, tracker)
    return choices


def _select_candidate(plan: Plan, search: InnerSearch, runner: Runner) -> _Choice:
    fits = plan.inner_fits(search)
    if not fits:  # there is only one candidate
        return _Choice(0, np.empty(0))
    table = ScoreTable.empty(len(fits), len(fits[0]))
    for index, of_candidate in enumerate(fits):
        table.fill(index, [by_metric[search.metric] for by_metric in runner.results(of_candidate)])
    what = f"{search.metric} of {search.entry} on {search.fold}"
    return _Choice(select_best_candidate(table.means, what), table.means)


def _build_result(
    plan: Plan, name: str, choices: Mapping[InnerSearch, _Choice], runner: Runner
) -> NestedResult:
    folds: dict[str, list[FoldResult]] = {metric: [] for metric in plan.metrics}
    for search, choice in choices.items():
        if search.entry == name:
            results = runner.results(plan.final_fits(search, choice.candidate))
            folds[search.metric].append(
                FoldResult(
                    fold=search.fold,
                    metric=search.metric,
                    parameters=plan.candidates[name][choice.candidate],
                    inner_scores=choice.means,
                    job_results=tuple(by_metric[search.metric] for by_metric in results),
                    query_ids=plan.folds[search.fold].test.query_ids,
                )
            )
    per_metric = {metric: tuple(results) for metric, results in folds.items()}
    return NestedResult(name, plan.metrics, plan.candidates[name], per_metric)
