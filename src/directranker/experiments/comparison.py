"""Comparison of rankers as in the paper: same folds, parameters selected within each, significance tests.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.experiments.protocol import apply_protocol, make_folds
>>> folds = [apply_protocol(fold, 2) for fold in make_folds(example_dataset(), n_folds=3)]
>>> quick = {"inner_folds": "validation", "seeds": 1, "workers": 1}
>>> comparison = compare_rankers(folds, rankers="RankSVM,AdaRank", metrics=["map"], **quick)
>>> [result.ranker for result in comparison.rankers], comparison.best("map").ranker
(['RankSVM', 'AdaRank'], 'RankSVM')
>>> [(test.first, test.second, test.p_corrected < 0.01) for test in comparison.tests]
[('RankSVM', 'AdaRank', True)]
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from directranker.arrays import FloatArray
from directranker.data.folds import Fold
from directranker.experiments.environment import environment
from directranker.experiments.examples import write_examples
from directranker.experiments.folder import JOBS, Request, write_job_keys, write_request
from directranker.experiments.grids import resolve_grid
from directranker.experiments.paired_tests import paired_tests
from directranker.experiments.protocol import FoldedData, open_folds
from directranker.experiments.published import PublishedValue, published_seconds, published_value
from directranker.experiments.results import (
    Comparison,
    FoldScore,
    MetricResult,
    QueryValues,
    RankerResult,
    Timing,
    write_results,
)
from directranker.experiments.tables import write_tables
from directranker.model_selection.fitting import to_json
from directranker.model_selection.nested import run_plan
from directranker.model_selection.nested_result import FoldResult, NestedResult
from directranker.model_selection.plan import Plan, RankerGrid
from directranker.model_selection.progress import ProgressCallback
from directranker.model_selection.search import validate_metrics
from directranker.model_selection.store import JobResult
from directranker.rankers.registry import ALL, find_ranker, load_registry, select_rankers

__all__ = ["build_ranker_grids", "compare_rankers", "run_request"]


def compare_rankers(
    folds: FoldedData | Iterable[Fold],
    *,
    rankers: str | Iterable[str] | Mapping[str, Any] = ALL,
    grid: str | Path | Mapping[str, Any] = "quick",
    metrics: Sequence[str] = ("ndcg@10", "map"),
    inner_folds: int | Literal["validation"] = 5,
    seeds: int = 3,
    convention: str = "paper",
    split_by: str | None = None,
    out: str | Path | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    progress: ProgressCallback | None = None,
) -> Comparison:
    """Compare rankers on the same folds.

    Parameters
    ----------
    folds
        Data as returned by `open_folds`, or folds; labels of folds are used as they are.
    rankers
        Registered names, as a list or separated by commas, or `"all"`; or a mapping from names in the results
        to estimators, such as pipelines that end with a ranker, or to registered names. All steps of a
        pipeline are fitted within the folds, on the training queries only.
    grid
        `"quick"`, `"paper"`, a TOML or YAML file, or a mapping from ranker to parameters to values. Named
        grids have no parameters for estimators; a mapping may, such as `{"mine": {"scale__with_mean": […]}}`.
    metrics, inner_folds, seeds, convention, split_by, workers, cluster, progress
        See `nested_grid_search`; `split_by` is by default the column that `open_folds` has cut the folds by.
    out
        A folder for job results and for the comparison in all formats; created if missing. The same call with
        the same folder resumes an interrupted comparison.

    """
    data = folds if isinstance(folds, FoldedData) else FoldedData("data", tuple(folds), None, "given")
    if split_by is not None and data.split_by is None:
        data = replace(data, split_by=split_by, origin=f"{data.origin}, split by {split_by}")
    protocol: dict[str, Any] = {
        "metrics": metrics,
        "inner_folds": inner_folds,
        "seeds": seeds,
        "convention": convention,
        "split_by": split_by or data.split_by,
    }
    plan = Plan(build_ranker_grids(rankers, grid), data.folds, **protocol)
    settings = {**protocol, "grid_name": str(grid) if isinstance(grid, str | Path) else "given"}
    return _run(plan, data, settings, out=out, workers=workers, cluster=cluster, progress=progress)


def run_request(
    request: Request,
    folder: str | Path,
    *,
    digest: str = "",
    command: str = "",
    workers: int | None = None,
    cluster: str | None = None,
    progress: ProgressCallback | None = None,
) -> Comparison:
    """Run the jobs of a request that its folder lacks, and write the results there."""
    validate_metrics(request.metrics, request.convention)  # before an hour of reading data
    entries = build_ranker_grids(request.rankers, request.grid)
    protocol: dict[str, Any] = {
        "metrics": request.metrics,
        "inner_folds": _parse_inner_folds(request.inner_folds),
        "seeds": request.seeds,
        "convention": request.convention,
        "split_by": request.split_by,
    }
    threshold = None if request.threshold == "none" else request.threshold
    data = open_folds(request.data, threshold=threshold, n_folds=request.folds, split_by=request.split_by)
    plan = Plan(entries, data.folds, **protocol)
    Path(folder).mkdir(parents=True, exist_ok=True)
    write_request(request, folder, command=command)
    source = {"data": str(Path(request.data).resolve()), "command": command}
    settings = {**protocol, "grid_name": request.grid, **source}
    return _run(
        plan, data, settings, out=folder, digest=digest, workers=workers, cluster=cluster, progress=progress
    )


def _run(
    plan: Plan,
    data: FoldedData,
    settings: Mapping[str, Any],
    *,
    out: str | Path | None,
    digest: str = "",
    workers: int | None,
    cluster: str | None,
    progress: ProgressCallback | None,
) -> Comparison:
    folder = None if out is None else Path(out)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        write_job_keys(plan.job_keys(), folder)
    store = None if folder is None else folder / JOBS
    searches = run_plan(plan, store=store, workers=workers, cluster=cluster, progress=progress)
    fingerprint = hashlib.sha256("\n".join(plan.fingerprints.values()).encode()).hexdigest()
    settings = {**settings, "metrics": list(plan.metrics), "data_fingerprint": fingerprint}
    machine = {**environment(workers=workers), "cluster": cluster}
    descriptions = {name: _describe_ranker(name, entry.ranker) for name, entry in plan.entries.items()}
    comparison = _assemble(data, searches, descriptions, settings, machine, digest)
    if folder is not None:
        write_examples(data, searches, comparison, folder)
        write_tables(comparison, folder)
        write_results(comparison, folder)
    return comparison


def _parse_inner_folds(text: str) -> int | Literal["validation"]:
    if text == "validation":
        return "validation"
    if not text.isdigit():
        raise ValueError(f"inner_folds is {text!r}; pass an integer of at least 2, or 'validation'")
    return int(text)


def build_ranker_grids(
    rankers: str | Iterable[str] | Mapping[str, Any], grid: str | Path | Mapping[str, Any]
) -> list[RankerGrid]:
    """Build the entries of the search: each ranker with its grid."""
    if isinstance(rankers, Mapping):
        estimators = resolve_estimators(rankers)
        own = {name: one for name, one in estimators.items() if not isinstance(rankers[name], str)}
        grids = resolve_grid(grid, own)
        return [RankerGrid(name, one, grids[name]) for name, one in estimators.items()]
    grids = resolve_grid(grid)
    return [RankerGrid(one.name, one.make(), grids[one.name]) for one in select_rankers(rankers)]


def resolve_estimators(rankers: Mapping[str, Any]) -> dict[str, BaseEstimator]:
    """Return the estimator of each name: the given one, or the ranker registered under the name."""
    resolved = {}
    for name, estimator in rankers.items():
        if isinstance(estimator, str):
            if estimator != name:
                raise ValueError(f"{name!r} stands for the ranker {estimator!r}; use its own name in results")
            resolved[name] = find_ranker(name).make()
        elif isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
            raise TypeError(f"ranker {name!r} is {estimator!r}; give an estimator with fit and predict")
        elif name in load_registry():
            raise ValueError(f"{name!r} is the name of a registered ranker; give yours another name")
        else:
            resolved[name] = estimator
    return resolved


def _describe_ranker(name: str, estimator: BaseEstimator) -> str:
    """Describe a ranker in one line: the registered description, or the steps of an estimator."""
    if name in load_registry():
        return load_registry()[name].description
    steps = [one for _, one in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    return " → ".join(one if isinstance(one, str) else type(one).__name__ for one in steps if one is not None)


def _assemble(
    data: FoldedData,
    searches: Mapping[str, NestedResult],
    descriptions: Mapping[str, str],
    settings: Mapping[str, Any],
    machine: Mapping[str, Any],
    digest: str,
) -> Comparison:
    metrics = settings["metrics"]
    published_as = data.published_as if settings["convention"] == "paper" else None
    results = tuple(
        _build_ranker_result(search, descriptions[name], published_as) for name, search in searches.items()
    )
    values = {metric: _collect_query_values(metric, searches) for metric in metrics}
    return Comparison(
        request={
            "name": data.name,
            "n_folds": len(data.folds),
            "origin": data.origin,
            "threshold": data.threshold,
            "rankers": list(searches),
            **settings,
        },
        rankers=results,
        tests=tuple(test for metric in metrics for test in paired_tests(results, values[metric])),
        environment={
            **machine,
            "threads": max(job.threads for search in searches.values() for job in _list_jobs(search)),
        },
        digest=digest,
        per_query=tuple(values.values()),
    )


def _build_ranker_result(search: NestedResult, description: str, published_as: str | None) -> RankerResult:
    measured = [_build_metric_result(search, metric) for metric in search.metrics]
    if published_as is not None:
        measured = [
            replace(one, published=published_value(search.name, published_as, one.metric)) for one in measured
        ]
    return RankerResult(
        ranker=search.name,
        description=description,
        n_candidates=len(search.candidates),
        measured=tuple(measured),
        timing=_average_times(search, published_seconds(search.name, published_as or "")),
    )


def _build_metric_result(search: NestedResult, metric: str) -> MetricResult:
    return MetricResult(
        metric=metric,
        mean=_none_if_nan(search.mean(metric)),
        error=_none_if_nan(search.standard_error(metric)),
        folds=tuple(_build_fold_score(fold) for fold in search.fold_results(metric)),
    )


def _build_fold_score(fold: FoldResult) -> FoldScore:
    parameters = {name: to_json(value) for name, value in fold.parameters.items()}
    scores = fold.scores
    return FoldScore(fold.fold, _none_if_nan(scores.mean()), tuple(map(_none_if_nan, scores)), parameters)


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _list_jobs(search: NestedResult) -> list[JobResult]:
    """List the results of all final fits."""
    folds = [fold for metric in search.metrics for fold in search.fold_results(metric)]
    return [job for fold in folds for job in fold.job_results]


def _average_times(search: NestedResult, published: PublishedValue | None) -> Timing:
    """Average the times of the final fits over seeds and metrics, then over folds."""
    fit, score = (
        np.mean([[times.mean() for times in seconds(metric)] for metric in search.metrics], axis=0)
        for seconds in (search.fit_seconds, search.score_seconds)
    )
    jobs = _list_jobs(search)
    return Timing(
        fit_seconds=float(fit.mean()),
        fit_error=_standard_error(fit),
        score_seconds=float(score.mean()),
        score_error=_standard_error(score),
        n_train=float(np.mean([job.n_train for job in jobs])),
        n_test=float(np.mean([job.n_test for job in jobs])),
        published=published,
    )


def _standard_error(values: FloatArray) -> float | None:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def _collect_query_values(metric: str, searches: Mapping[str, NestedResult]) -> QueryValues:
    folds = next(iter(searches.values())).fold_results(metric)
    return QueryValues(
        metric=metric,
        folds=tuple(fold.fold for fold in folds for _ in fold.query_ids),
        queries=tuple(query for fold in folds for query in fold.query_ids.tolist()),
        values={
            name: tuple(
                _none_if_nan(value) for fold in search.fold_results(metric) for value in fold.per_query
            )
            for name, search in searches.items()
        },
    )
