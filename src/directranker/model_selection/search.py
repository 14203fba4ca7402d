"""Hyperparameter search for one ranker on one data set, cross-validated by query.

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

from sklearn.base import BaseEstimator

from directranker.arrays import IntArray
from directranker.data.dataset import RankingDataset
from directranker.errors import DataError
from directranker.metrics import Metric
from directranker.metrics.constant_metrics import explain_constant_metric
from directranker.model_selection.candidates import Grid, expand_grid, sample_candidates, validate_grids
from directranker.model_selection.cross_validation import CrossValidation, evaluate_candidates, split_queries
from directranker.model_selection.digests import compute_digest, describe
from directranker.model_selection.halving import search_by_halving
from directranker.model_selection.jobs import QuerySubset, configure_ranker
from directranker.model_selection.metric_targets import adapt_to_metrics
from directranker.model_selection.optuna_search import search_with_optuna
from directranker.model_selection.progress import ProgressCallback, ProgressTracker
from directranker.model_selection.running import Runner
from directranker.model_selection.search_result import SearchResult, build_cv_results, select_best_candidate
from directranker.model_selection.store import JobStore
from directranker.parameters import instance_of, integer, or_none
from directranker.rankers.pipelines import fit_by_query
from directranker.suggestions import describe_unknown_name
from directranker.training.interrupts import raise_interrupts

__all__ = [
    "Method",
    "StoreLike",
    "check_metrics_not_constant",
    "grid_search",
    "open_store",
    "validate_metrics",
]

Method = Literal["grid", "halving", "optuna"]
METHODS: tuple[Method, ...] = ("grid", "halving", "optuna")
StoreLike = str | Path | JobStore | None
"""Where job results are stored: a file, an open store, or None for a temporary one."""
OPTUNA_CANDIDATES = 30


def grid_search(
    ranker: BaseEstimator,
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
    store: StoreLike = None,
    validation: RankingDataset | None = None,
    random_state: int = 0,
    convention: str = "paper",
    split_by: str | None = None,
    progress: ProgressCallback | None = None,
) -> SearchResult:
    """Evaluate parameters by cross-validation over queries, and fit the best on all of the data.

    The best parameters are selected for each metric separately. Rankers that use a metric in training use the
    one that they are evaluated by; other rankers are trained once for all metrics. All steps of a pipeline
    are fitted on the training queries of a fold only.

    Parameters
    ----------
    ranker
        A ranker, or a pipeline that ends with one; it is cloned, not fitted itself.
    grid
        Values per parameter, or several such grids; for halving and Optuna also distributions of `scipy`.
    data
        The data to search on, and to fit the best ranker on.
    metrics
        Metric names such as `"ndcg@10"` and `"map"`.
    folds
        The number of cross-validation folds; queries are split by scikit-learn's `GroupKFold`.
    method
        `"grid"`: all points. `"halving"`: successive halving over all points, or over `n_candidates` random
        ones. `"optuna"`: `n_candidates` (default 30) points that Optuna suggests, for each metric.
    n_candidates
        How many points to sample.
    refit
        Whether to fit the best ranker on all of the data. Rankers are not stored, so each call fits it again.
    workers, cluster, progress
        See `run_fits`.
    store
        The file of job results; a later call with the same file resumes the search.
    validation
        Passed to each fit as `eval_set`; not used to select parameters.
    random_state
        The seed of every fit and of sampled candidates.
    convention
        The convention of the metrics.
    split_by
        A kept column or numeric feature, such as a date, to cut the folds by: the later half of the queries
        is cut into `folds` blocks, and each is evaluated after training on all queries before it.

    """
    or_none(integer(1)).check("n_candidates", n_candidates)
    names = validate_metrics(metrics, convention)
    if method not in METHODS:
        raise ValueError(describe_unknown_name("method", method, METHODS))
    if method == "grid" and n_candidates is not None:
        raise ValueError("method='grid' uses all points; omit n_candidates, or pass another method")
    datasets = {"data": data} if validation is None else {"data": data, "validation": validation}
    is_dataset = instance_of("a RankingDataset, such as RankingDataset.from_arrays makes", RankingDataset)
    for name, dataset in datasets.items():
        is_dataset.check(name, dataset)
    check_metrics_not_constant(names, convention, [data])
    plan = CrossValidation(
        rankers=adapt_to_metrics(ranker, names, convention),
        name=type(ranker).__name__,
        splits=split_queries("data", data, folds, split_by),
        validation=None if validation is None else QuerySubset("validation"),
        convention=convention,
        seed=random_state,
    )
    with open_store(store) as opened:
        runner = Runner(datasets, opened, workers=workers, cluster=cluster)
        result = _search(plan, ranker, grid, method, n_candidates, runner, progress)
    if not refit:
        return result
    return replace(result, rankers=_refit_best(result, plan, data, validation))


def _search(
    plan: CrossValidation,
    ranker: BaseEstimator,
    grid: Grid,
    method: Method,
    n_candidates: int | None,
    runner: Runner,
    progress: ProgressCallback | None,
) -> SearchResult:
    extra_columns: dict[str, IntArray] = {}
    candidates: Sequence[dict[str, Any]]
    if method == "optuna":
        n = OPTUNA_CANDIDATES if n_candidates is None else n_candidates
        grids = validate_grids(ranker, grid)
        candidates, tables, best = search_with_optuna(plan, grids, n, runner, progress)
    elif method == "halving":
        candidates = sample_candidates(ranker, grid, n_candidates, plan.seed)
        tables, best, extra_columns = search_by_halving(plan, candidates, runner, progress)
    else:
        candidates = expand_grid(ranker, grid)
        indices = {metric: range(len(candidates)) for metric in plan.metrics}
        fits = [fit for one in candidates for metric in plan.metrics for fit in plan.fits(one, metric)]
        tracker = ProgressTracker(len(runner.job_keys(fits)), progress)
        tables = evaluate_candidates(plan, candidates, indices, runner, tracker)
        best = {metric: select_best_candidate(table.means, metric) for metric, table in tables.items()}
    return SearchResult(
        candidates=candidates,
        metrics=plan.metrics,
        best_indices=best,
        cv_results_=build_cv_results(candidates, tables, extra_columns),
        rankers=None,
    )


def _refit_best(
    result: SearchResult, plan: CrossValidation, data: RankingDataset, validation: RankingDataset | None
) -> dict[str, object]:
    """Fit the best ranker of each metric on all of the data; metrics with the same best ranker share it."""
    fitted: dict[str, Any] = {}
    rankers = {}
    for metric in plan.metrics:
        ranker = configure_ranker(plan.rankers[metric], result.best_parameters(metric), plan.seed)
        digest = compute_digest(describe(ranker))
        if digest not in fitted:
            with raise_interrupts():
                fitted[digest] = fit_by_query(ranker, data, validation)
        rankers[metric] = fitted[digest]
    return rankers


def validate_metrics(metrics: str | Sequence[str], convention: str) -> tuple[str, ...]:
    """Return the metric names as a tuple; raise if one is unknown or listed twice.

    >>> validate_metrics("map", "paper")
    ('map',)
    """
    if not isinstance(metrics, Iterable):
        raise TypeError(f"metrics is {metrics!r}; pass names, such as ('ndcg@10', 'map')")
    names = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    if not names:
        raise ValueError("metrics is empty; pass at least one, such as 'ndcg@10'")
    parsed = [Metric.parse(name, convention=convention) for name in names]
    for number, metric in enumerate(parsed):
        if metric in parsed[:number]:
            raise ValueError(f"metric {names[number]!r} is listed twice; list each once")
    return names


def check_metrics_not_constant(
    metrics: Sequence[str], convention: str, evaluated_on: Sequence[RankingDataset]
) -> None:
    """Raise if a metric would score all candidates the same, before hours of training."""
    for name in metrics:
        metric = Metric.parse(name, convention=convention)
        reasons = [
            explain_constant_metric(metric, data.relevance, offsets=data.offsets) for data in evaluated_on
        ]
        if all(reasons):
            raise DataError(f"{name} cannot select a candidate: {reasons[0]}")


@contextmanager
def open_store(store: StoreLike) -> Iterator[JobStore]:
    """Yield an open store: the given one, one opened from a path, or a temporary one."""
    if isinstance(store, JobStore):
        yield store
    elif store is not None:
        with JobStore(store) as opened:
            yield opened
    else:
        with tempfile.TemporaryDirectory() as folder, JobStore(Path(folder) / "jobs.sqlite") as opened:
            yield opened
