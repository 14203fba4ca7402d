"""What the page is made of: plain data for its tables, and for the charts that its script draws.

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
from directranker.experiments.table_values import legend, describe_protocol, score_cell
from directranker.report.discovery import FoundResults, FoundComparison
from directranker.report.verdicts import verdict

__all__ = ["PAPER_N_TRAIN", "build_comparison_view", "list_origins", "build_page_data", "build_study_views"]

PAPER_N_TRAIN = 100_000
"""Training documents that the paper claims it of, as `Setting` has them; its module would load torch."""


def build_page_data(found: FoundResults) -> dict[str, Any]:
    """For the script: all numbers that its charts and pickers need."""
    return {
        "comparisons": [_comparison(one) for one in found.comparisons],
        "studies": [{"points": of["points"], "claims": of["claims"]} for _, of in found.studies],
        "neighbours": [{"ranker": of["ranker"], "lists": of["lists"]} for _, of in found.neighbours],
        "trainings": [one for name, header in found.models for one in _trainings(name, header["ranker"])],
    }


def _comparison(found: FoundComparison) -> dict[str, Any]:
    comparison = found.comparison
    return {
        "metrics": list(comparison.metrics),
        "rankers": [_ranker(comparison, one) for one in comparison.rankers],
        "tests": [asdict(test) for test in comparison.tests],
        "perQuery": {values.metric: _query_values(values) for values in comparison.per_query},
        "examples": found.examples,
        "histories": None if found.histories is None else found.histories["histories"],
    }


def _ranker(comparison: Comparison, result: RankerResult) -> dict[str, Any]:
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
                "standing": _standing(comparison, result, one.metric),
            }
            for one in result.measured
        },
    }


def _standing(comparison: Comparison, result: RankerResult, metric: str) -> str:
    cell = score_cell(comparison, result, metric)
    return "best" if cell.is_best else "level" if cell.is_tied else "worse"


def _query_values(values: QueryValues) -> dict[str, Any]:
    def short(column: Sequence[float | None]) -> list[float | None]:
        return [None if value is None else float(f"{value:.6g}") for value in column]

    return {
        "folds": list(values.folds),
        "queries": [str(query) for query in values.queries],
        "values": {ranker: short(column) for ranker, column in values.values.items()},
    }


def _rows(comparison: Comparison) -> list[dict[str, Any]]:
    """The rows of the table of all rankers: a cell per metric, and the times."""
    rows = []
    for result in comparison.rankers:
        timing = result.timing
        rows.append(
            {
                "ranker": result.ranker,
                "description": result.description,
                "cells": [_cell(comparison, result, metric) for metric in comparison.metrics],
                "seconds": timing and timing.fit_seconds,
                "microseconds": timing and timing.score_microseconds_per_document,
                "published_seconds": timing and timing.published,
            }
        )
    return rows


def _cell(comparison: Comparison, result: RankerResult, metric: str) -> dict[str, Any]:
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
    """What the template writes of a comparison, so that the answer is there before any script runs."""
    comparison = found.comparison
    with_published = [
        metric for metric in comparison.metrics if any(one.by(metric).published for one in comparison.rankers)
    ]
    return {
        "name": comparison.request.get("name", found.place),
        "metrics": comparison.metrics,
        "verdicts": [verdict(comparison, metric) for metric in comparison.metrics],
        "rows": _rows(comparison),
        "with_published": with_published,
        "has_times": any(one.timing for one in comparison.rankers),
        "has_published_seconds": any(one.timing and one.timing.published for one in comparison.rankers),
        "legend": legend(comparison),
        "protocol": describe_protocol(comparison),
        "has_queries": bool(comparison.per_query) and len(comparison.rankers) > 1,
        "n_folds": comparison.request.get("n_folds", 0),
        "examples": found.examples,
        "histories": bool(found.histories and found.histories["histories"]),
        "chosen": _chosen(comparison),
    }


def build_study_views(found: FoundResults) -> list[dict[str, Any]]:
    """What the template writes of each of the studies; where there are several, which of them it is."""
    views = []
    for place, study in found.studies:
        n_train = study.get("request", {}).get("n_train", PAPER_N_TRAIN)
        here = f"The paper claims it of {PAPER_N_TRAIN:,} training documents; here were {n_train:,}."
        views.append(
            {
                "place": place if len(found.studies) > 1 else None,
                "claims": study["claims"],
                "note": here if n_train < PAPER_N_TRAIN else None,
            }
        )
    return views


def _chosen(comparison: Comparison) -> list[tuple[str, str, str, str]]:
    """Ranker, metric, fold and parameters, where a search chose any."""
    return [
        (result.ranker, one.metric, fold.fold, ", ".join(f"{k} = {v}" for k, v in fold.parameters.items()))
        for result in comparison.rankers
        for one in result.measured
        for fold in one.folds
        if fold.parameters
    ]


def list_origins(found: FoundResults) -> list[dict[str, Any]]:
    """Where each of the results comes from: the command, the machine, versions and seeds."""
    made = [
        _origin(one.place, one.comparison.request, one.comparison.environment) for one in found.comparisons
    ]
    for place, content in (*found.studies, *found.neighbours):
        made.append(_origin(place, content.get("request", {}), content.get("environment", {})))
    return made + [_origin_of_model(place, header) for place, header in found.models]


def _origin_of_model(place: str, header: Mapping[str, Any]) -> dict[str, Any]:
    origin = header.get("origin", {})
    asked = {"ranker": header["ranker"].get("class"), **origin.get("request", {})}
    return _origin(place, asked, origin.get("environment", {"versions": header.get("versions", {})}))


def _origin(place: str, request: Mapping[str, Any], environment: Mapping[str, Any]) -> dict[str, Any]:
    flat = {name: value for name, value in environment.items() if name != "versions" and value is not None}
    asked = {
        name: ", ".join(map(str, value)) if isinstance(value, list) else value
        for name, value in request.items()
        if name != "command" and value is not None
    }
    return {
        "place": place,
        "command": request.get("command", ""),
        "asked": asked,
        "environment": flat,
        "versions": environment.get("versions", {}),
    }


def _trainings(name: str, words: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The learning curves in the header of a saved ranker; an ensemble has one per member."""
    fitted = words.get("fitted", {})
    members = fitted.get("rankers_", {}).get("rankers", [])
    found = [
        one for number, member in enumerate(members, 1) for one in _trainings(f"{name} {number}", member)
    ]
    history = fitted.get("history_", {})
    if not history.get("history"):
        return found
    fields = HISTORY_FIELDS[history.get("of", "EpochRecord")]
    records = [
        {key: None if value == "nan" else value for key, value in zip(fields, row, strict=False)}
        for row in history["history"]
    ]
    return [*found, {"name": name, "records": records}]


# As `EpochRecord` and `RoundRecord` have them; importing those would load torch to show a page.
HISTORY_FIELDS = {
    "EpochRecord": ("epoch", "cost", "metric", "learning_rate", "seconds"),
    "RoundRecord": ("round", "fitness", "metric", "seconds"),
}
