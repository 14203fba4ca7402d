"""Example queries and learning curves of a comparison, for the report.

`examples.json` has the documents of a dozen test queries with each ranker's scores, r between neighbours and
explanations of score differences. `histories.json` has the learning curve of each ranker on each fold. Both
are from the fits with the first seed for the first metric.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from directranker.classification import class_boundaries
from directranker.data.dataset import RankingDataset
from directranker.data.feature_groups import FeatureGroups, FeatureValue, read_values
from directranker.data.folds import Fold
from directranker.experiments.folder import EXAMPLES, HISTORIES
from directranker.experiments.protocol import FoldedData
from directranker.experiments.results import Comparison, write_json
from directranker.model_selection.diagnostics import select_explained_rows
from directranker.model_selection.nested_result import NestedResult

__all__ = ["write_examples"]

Diagnostics = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""By ranker and by fold."""


def write_examples(
    data: FoldedData, searches: Mapping[str, NestedResult], comparison: Comparison, folder: Path
) -> None:
    """Write the diagnostics of the final fits, with the documents of the example queries."""
    diagnostics: Diagnostics = {
        name: {
            one.fold: one.job_results[0].diagnostics
            for one in search.fold_results()
            if one.job_results[0].diagnostics is not None
        }
        for name, search in searches.items()
    }
    origin = {
        # Shows that the files belong to the results beside them.
        "data_fingerprint": comparison.request["data_fingerprint"],
        "metric": comparison.metrics[0],
    }
    histories = {
        name: {fold: one["history"] for fold, one in by_fold.items() if one["history"]}
        for name, by_fold in diagnostics.items()
    }
    write_json({**origin, "histories": {n: h for n, h in histories.items() if h}}, folder / HISTORIES)
    queries = [query for fold in data.folds for query in _collect_queries(fold, diagnostics)]
    names = list(FeatureGroups.of(data.folds[0].test.feature_names).names)
    write_json({**origin, "features": names, "queries": queries}, folder / EXAMPLES)


def _collect_queries(fold: Fold, diagnostics: Diagnostics) -> list[dict[str, Any]]:
    queries: dict[int, dict[str, Any]] = {}
    for ranker, by_fold in diagnostics.items():
        for query in by_fold.get(fold.name, {"queries": []})["queries"]:
            index = query["number"]
            if index not in queries:
                queries[index] = {"fold": fold.name, **_describe_query(fold.test.select([index])), "by": {}}
            queries[index]["by"][ranker] = _add_boundaries(query)
    return list(queries.values())


def _describe_query(query: RankingDataset) -> dict[str, Any]:
    rows = select_explained_rows(query.relevance)
    ids = query.document_ids
    names = [f"row {row + 1}" for row in range(query.n_documents)] if ids is None else list(map(str, ids))
    return {
        "query": str(query.query_ids[0]),
        "documents": names,
        "grades": query.relevance.tolist(),
        "explained": rows,
        "values": [list(map(_to_json, read_values(query, row, query.feature_names))) for row in rows],
    }


def _to_json(value: FeatureValue) -> FeatureValue:
    if value is None or isinstance(value, str):
        return value
    return float(f"{value:.5g}") if np.isfinite(value) else None


def _add_boundaries(query: Mapping[str, Any]) -> dict[str, Any]:
    boundaries = class_boundaries(query["scores"])
    return {
        **{name: query[name] for name in ("scores", "r", "why") if name in query},
        "thresholds": boundaries.thresholds.tolist(),
        "confidences": boundaries.confidences.tolist(),
    }
