"""The content of the report: plain data for its tables, and for the charts that its scripts draw.

>>> curve = {"fitted": {"history_": {"of": "RoundRecord", "history": [[1, 0.5, "nan", 0.1]]}}}
>>> data = build_page_data(FoundResults(models=[("model", {"ranker": curve})]))
>>> data["trainings"]
[{'name': 'model', 'records': [{'round': 1, 'fitness': 0.5, 'metric': None, 'seconds': 0.1}]}]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from directranker.experiments.results import Comparison, QueryValues, RankerResult
from directranker.experiments.table_values import describe_protocol, legend, score_cell
from directranker.report.discovery import FoundComparison, FoundResults
from directranker.report.verdicts import build_verdict

__all__ = ["PAPER_N_TRAIN", "build_comparison_view", "build_page_data", "build_study_views", "list_origins"]

PAPER_N_TRAIN = 100_000
"""The number of training documents in the paper's studies, as in `Setting`, which would import torch."""


def build_page_data(found: FoundResults) -> dict[str, Any]:
    """Build the data for the scripts: all numbers that charts and pickers need."""
    return {
        "comparisons": [_build_comparison(one) for one in found.comparisons],
        "studies": [{"points": of["points"], "claims": of["claims"]} for _, of in found.studies],
        "neighbours": [{"ranker": of["ranker"], "lists": of["lists"]} for _, of in found.neighbours],
        "trainings": [
            one for name, header in found.models for one in _list_trainings(name, header["ranker"])
        ],
    }


def _build_comparison(found: FoundComparison) -> dict[str, Any]:
    comparison = found.comparison
    return {
        "metrics": list(comparison.metrics),
        "rankers": [_build_ranker(comparison, one) for one in comparison.rankers],
        "tests": [asdict(test) for test in comparison.tests],
        "perQuery": {values.metric: _build_query_values(values) for values in comparison.per_query},
        "examples": found.examples,
        "histories": None if found.histories is None else found.histories["histories"],
    }


def _build_ranker(comparison: Comparison, result: RankerResult) -> dict[str, Any]:
    return {
        "name": result.ranker,
        "seconds": result.timing and result.timing.fit_seconds,
        "secondsError": result.timing and result.timing.fit_error,
        "by": {
            one.metric: {
                "mean": one.mean,
                "error": one.error,
                "folds": {fold.fold: fold.score for fold in one.folds},
                "published": None if one.published is None else asdict(one.published),
                "standing": _classify(comparison, result, one.metric),
            }
            for one in result.measured
        },
    }


def _classify(comparison: Comparison, result: RankerResult, metric: str) -> str:
    cell = score_cell(comparison, result, metric)
    return "best" if cell.is_best else "tied" if cell.is_tied else "worse"


def _build_query_values(values: QueryValues) -> dict[str, object]:
    def round_values(column: Sequence[float | None]) -> list[float | None]:
        return [None if value is None else float(f"{value:.6g}") for value in column]

    return {
        "folds": list(values.folds),
        "queries": [str(query) for query in values.queries],
        "values": {ranker: round_values(column) for ranker, column in values.values.items()},
    }


def _build_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Build the rows of the table of all rankers: a cell per metric, and the times."""
    rows = []
    for result in comparison.rankers:
        timing = result.timing
        rows.append(
            {
                "ranker": result.ranker,
                "description": result.description,
                "cells": [_build_cell(comparison, result, metric) for metric in comparison.metrics],
                "seconds": timing and timing.fit_seconds,
                "microseconds": timing and timing.score_microseconds_per_document,
                "published_seconds": timing and timing.published,
            }
        )
    return rows


def _build_cell(comparison: Comparison, result: RankerResult, metric: str) -> dict[str, object]:
    cell = score_cell(comparison, result, metric)
    best = comparison.best(metric)
    test = None if best is None else comparison.test(metric, result.ranker, best.ranker)
    measured = result.by(metric)
    return {
        "metric": metric,
        "cell": cell,
        "mean": measured.mean,
        "published": None if measured.published is None else measured.published.mean,
        "p": None if test is None else test.p_corrected,
    }


def build_comparison_view(found: FoundComparison) -> dict[str, Any]:
    """Build the template's data of a comparison, which is visible before any script runs."""
    comparison = found.comparison
    with_published = [
        metric for metric in comparison.metrics if any(one.by(metric).published for one in comparison.rankers)
    ]
    return {
        "name": comparison.request.get("name", found.folder),
        "metrics": comparison.metrics,
        "verdicts": [build_verdict(comparison, metric) for metric in comparison.metrics],
        "rows": _build_rows(comparison),
        "with_published": with_published,
        "has_times": any(one.timing for one in comparison.rankers),
        "has_published_seconds": any(one.timing and one.timing.published for one in comparison.rankers),
        "legend": legend(comparison, best="★"),
        "protocol": describe_protocol(comparison),
        "has_queries": bool(comparison.per_query) and len(comparison.rankers) > 1,
        "n_folds": comparison.request.get("n_folds", 0),
        "examples": found.examples,
        "histories": bool(found.histories and found.histories["histories"]),
        "selected": _list_parameters(comparison),
    }


def build_study_views(found: FoundResults) -> list[dict[str, Any]]:
    """Build the template's data of each study; with its folder if there are several."""
    views = []
    for folder, study in found.studies:
        n_train = study.get("request", {}).get("n_train", PAPER_N_TRAIN)
        note = f"The paper claims this for {PAPER_N_TRAIN:,} training documents; this study has {n_train:,}."
        views.append(
            {
                "folder": folder if len(found.studies) > 1 else None,
                "claims": study["claims"],
                "note": note if n_train < PAPER_N_TRAIN else None,
            }
        )
    return views


def _list_parameters(comparison: Comparison) -> list[tuple[str, str, str, str]]:
    """List ranker, metric, fold and parameters of all folds with selected parameters."""
    return [
        (result.ranker, one.metric, fold.fold, ", ".join(f"{k} = {v}" for k, v in fold.parameters.items()))
        for result in comparison.rankers
        for one in result.measured
        for fold in one.folds
        if fold.parameters
    ]


def list_origins(found: FoundResults) -> list[dict[str, Any]]:
    """List the origin of each result: the command, the machine, versions and seeds."""
    listed = [
        _build_origin(one.folder, one.comparison.request, one.comparison.environment)
        for one in found.comparisons
    ]
    for folder, content in (*found.studies, *found.neighbours):
        listed.append(_build_origin(folder, content.get("request", {}), content.get("environment", {})))
    return listed + [_build_model_origin(folder, header) for folder, header in found.models]


def _build_model_origin(folder: str, header: Mapping[str, Any]) -> dict[str, Any]:
    origin = header.get("origin", {})
    request = {"ranker": header["ranker"].get("class"), **origin.get("request", {})}
    return _build_origin(folder, request, origin.get("environment", {"versions": header.get("versions", {})}))


def _build_origin(folder: str, request: Mapping[str, Any], environment: Mapping[str, Any]) -> dict[str, Any]:
    machine = {name: value for name, value in environment.items() if name != "versions" and value is not None}
    settings = {
        name: ", ".join(map(str, value)) if isinstance(value, list) else value
        for name, value in request.items()
        if name != "command" and value is not None
    }
    return {
        "folder": folder,
        "command": request.get("command", ""),
        "request": settings,
        "environment": machine,
        "versions": environment.get("versions", {}),
    }


def _list_trainings(name: str, state: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the learning curves in the header of a saved ranker; an ensemble has one per member."""
    fitted = state.get("fitted", {})
    members = fitted.get("rankers_", {}).get("rankers", [])
    trainings = [
        one for number, member in enumerate(members, 1) for one in _list_trainings(f"{name} {number}", member)
    ]
    history = fitted.get("history_", {})
    if not history.get("history"):
        return trainings
    fields = HISTORY_FIELDS[history.get("of", "EpochRecord")]
    records = [
        {key: None if value == "nan" else value for key, value in zip(fields, row, strict=False)}
        for row in history["history"]
    ]
    return [*trainings, {"name": name, "records": records}]


# The fields of `EpochRecord` and `RoundRecord`, whose modules would import torch.
HISTORY_FIELDS = {
    "EpochRecord": ("epoch", "cost", "metric", "learning_rate", "seconds"),
    "RoundRecord": ("round", "fitness", "metric", "seconds"),
}
