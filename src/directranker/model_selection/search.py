"""Searches over the parameters of one ranker on one data set, cross-validated by query.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import RankSVM
>>> data = example_dataset().select(range(60))
>>> found = grid_search(RankSVM(), {"alpha": [0.01, 1.0]}, data, metrics=["ndcg@10", "map"], folds=3)
>>> sorted(found.best_parameters("map"))
['alpha']
>>> found.cv_results_["split2_test_map"].shape
(2,)
>>> found.best_ranker("map").predict(data).shape == (data.n_documents,)
True
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from directranker.data.dataset import RankingDataset
from directranker.errors import DataError
from directranker.metrics import Metric
from directranker.metrics.constant_metrics import explain_constant_metric
from directranker.model_selection.candidates import Grid, as_grids, drawn_candidates, grid_candidates
from directranker.model_selection.cross_validation import CrossValidation, measure, query_folds
from directranker.model_selection.digests import describe, digest_of
from directranker.model_selection.fitting import fit_by_query
from directranker.model_selection.halving import halve
from directranker.model_selection.jobs import Part, configured
from directranker.model_selection.metric_targets import rankers_for
from directranker.model_selection.optuna_search import search_with_optuna
from directranker.model_selection.progress import Report, Tally
from directranker.model_selection.running import Runner
from directranker.model_selection.search_result import SearchResult, best_candidate, cv_results
from directranker.model_selection.store import JobStore
from directranker.parameters import instance_of, integer, or_none
from directranker.suggestions import describe_unknown_name
from directranker.training.interrupts import raise_interrupts

__all__ = [
    "Method",
    "StorePlace",
    "check_metrics_not_constant",
    "checked_metrics",
    "grid_search",
    "opened_store",
]

Method = Literal["grid", "halving", "optuna"]
METHODS: tuple[Method, ...] = ("grid", "halving", "optuna")
StorePlace = str | Path | JobStore | None
"""Where finished cells are kept: a file, an open store, or None for a temporary one."""
OPTUNA_CANDIDATES = 30


def grid_search(
    ranker: Any,
    grid: Grid,
    data: RankingDataset,
    *,
    metrics: str | Sequence[str] = ("ndcg@10",),
    folds: int = 5,
    method: Method = "grid",
    n_candidates: int | None = None,
    refit: bool = True,
    workers: int | None = None,
    cluster: str | None = None,
    store: StorePlace = None,
    validation: RankingDataset | None = None,
    random_state: int = 0,
    convention: str = "paper",
    progress: Report | None = None,
) -> SearchResult:
    """Try parameters by cross-validation over queries, and fit the best on all of the data.

    Each metric chooses for itself. Rankers that look at a metric in training look at the one that they are
    measured by; others are trained once for all metrics. Whatever a pipeline holds is fitted on the training
    part of a fold alone.

    Parameters
    ----------
    ranker
        A ranker, or a pipeline that ends with one; never fitted itself.
    grid
        Values per parameter, or several such grids; for halving and Optuna also distributions of `scipy`.
    data
        What is searched and learnt on.
    metrics
        Such as `"ndcg@10"` and `"map"`.
    folds
        How many parts the queries are divided into, by scikit-learn's `GroupKFold`.
    method
        `"grid"`: all points. `"halving"`: all, or `n_candidates` at random, first on few queries. `"optuna"`:
        `n_candidates` (30) that a model suggests, for each metric.
    n_candidates
        How many points to draw.
    refit
        Whether `best_ranker` shall be there. It is trained in each call: a ranker is no cell.
    workers, cluster, progress
        See `run_fits`.
    store
        The file of finished cells, with which the same call goes on where another one ended.
    validation
        Handed to each fit as `eval_set`; nothing is chosen by it.
    random_state
        The seed of every training and of what is drawn.
    convention
        The rules of the metrics.

    """
    or_none(integer(1)).check("n_candidates", n_candidates)
    names = checked_metrics(metrics, convention)
    if method not in METHODS:
        raise ValueError(describe_unknown_name("method", method, METHODS))
    if method == "grid" and n_candidates is not None:
        raise ValueError("a grid takes all its points; leave out n_candidates, or search by another method")
    parts = {"data": data} if validation is None else {"data": data, "validation": validation}
    for name, part in parts.items():
        instance_of("a RankingDataset, such as RankingDataset.from_arrays makes", RankingDataset).check(
            name, part
        )
    check_metrics_not_constant(names, convention, [data])
    plan = CrossValidation(
        rankers=rankers_for(ranker, names, convention),
        name=type(ranker).__name__,
        splits=query_folds("data", data, folds),
        validation=None if validation is None else Part("validation"),
        convention=convention,
        seed=random_state,
    )
    with opened_store(store) as cells:
        runner = Runner(parts, cells, workers=workers, cluster=cluster)
        result = _searched(plan, ranker, grid, method, n_candidates, runner, progress)
    if not refit:
        return result
    return replace(result, rankers=_refitted(result, plan, data, validation))


def _searched(
    plan: CrossValidation,
    ranker: Any,
    grid: Grid,
    method: Method,
    n_candidates: int | None,
    runner: Runner,
    progress: Report | None,
) -> SearchResult:
    more: dict[str, Any] = {}
    candidates: Sequence[dict[str, Any]]
    if method == "optuna":
        n = OPTUNA_CANDIDATES if n_candidates is None else n_candidates
        grids = as_grids(ranker, grid)
        candidates, tables, best = search_with_optuna(plan, grids, n, runner, progress)
    elif method == "halving":
        candidates = drawn_candidates(ranker, grid, n_candidates, plan.seed)
        tables, best, more = halve(plan, candidates, runner, progress)
    else:
        candidates = grid_candidates(ranker, grid)
        numbers = {metric: range(len(candidates)) for metric in plan.metrics}
        fits = [fit for one in candidates for metric in plan.metrics for fit in plan.fits(one, metric)]
        tables = measure(plan, candidates, numbers, runner, Tally(len(runner.job_keys(fits)), progress))
        best = {metric: best_candidate(table.means, metric) for metric, table in tables.items()}
    return SearchResult(
        candidates=candidates,
        metrics=plan.metrics,
        best_indices=best,
        cv_results_=cv_results(candidates, tables, more),
        rankers=None,
    )


def _refitted(
    result: SearchResult, plan: CrossValidation, data: RankingDataset, validation: RankingDataset | None
) -> dict[str, Any]:
    """The best ranker of each metric, trained on all of the data; one where several metrics share it."""
    fitted: dict[str, Any] = {}
    rankers = {}
    for metric in plan.metrics:
        ranker = configured(plan.rankers[metric], result.best_parameters(metric), plan.seed)
        words = digest_of(describe(ranker))
        if words not in fitted:
            with raise_interrupts():
                fitted[words] = fit_by_query(ranker, data, validation)
        rankers[metric] = fitted[words]
    return rankers


def checked_metrics(metrics: str | Sequence[str], convention: str) -> tuple[str, ...]:
    """Metrics by name, each once and known.

    >>> checked_metrics("map", "paper")
    ('map',)
    """
    if not isinstance(metrics, Iterable):
        raise TypeError(f"metrics is {metrics!r}; give names, such as ('ndcg@10', 'map')")
    names = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    if not names:
        raise ValueError("no metric is asked for; give at least one, such as 'ndcg@10'")
    parsed = [Metric.parse(name, convention=convention) for name in names]
    for number, metric in enumerate(parsed):
        if metric in parsed[:number]:
            raise ValueError(f"metric {names[number]!r} is asked for twice; name each once")
    return names


def check_metrics_not_constant(
    metrics: Sequence[str], convention: str, measured_on: Sequence[RankingDataset]
) -> None:
    """Refuse metrics by which every candidate would be as good as any other, before hours of training."""
    for name in metrics:
        metric = Metric.parse(name, convention=convention)
        reasons = [
            explain_constant_metric(metric, data.relevance, offsets=data.offsets) for data in measured_on
        ]
        if all(reasons):
            raise DataError(f"there is nothing to choose by: {reasons[0]}")


@contextmanager
def opened_store(store: StorePlace) -> Iterator[JobStore]:
    """The store itself, one opened for the while, or a temporary one."""
    if isinstance(store, JobStore):
        yield store
    elif store is not None:
        with JobStore(store) as opened:
            yield opened
    else:
        with tempfile.TemporaryDirectory() as folder, JobStore(Path(folder) / "jobs.sqlite") as opened:
            yield opened
