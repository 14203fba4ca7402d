"""Some queries of a comparison as every ranker sees them, and how the trainings went: for people to look at.

`examples.json` has the documents of a dozen test queries with each ranker's scores, r between neighbours and
what each feature adds between documents. `histories.json` has the learning curve of each ranker on each fold.
Both are of the first seed and of the trainings for the first metric.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from directranker.classification import class_boundaries
from directranker.data.dataset import RankingDataset
from directranker.data.folds import Fold
from directranker.experiments.folder import EXAMPLES, HISTORIES
from directranker.experiments.protocol import FoldedData
from directranker.experiments.results import Comparison, write_json
from directranker.model_selection.diagnostics import select_explained_rows
from directranker.model_selection.nested_result import NestedResult

__all__ = ["write_examples"]

Looks = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""By ranker and by fold."""


def write_examples(
    data: FoldedData, searches: Mapping[str, NestedResult], comparison: Comparison, folder: Path
) -> None:
    """Write what the trainings kept of themselves, with the documents that it is about."""
    looks: Looks = {
        name: {one.fold: one.cells[0].look for one in search.of() if one.cells[0].look is not None}
        for name, search in searches.items()
    }
    about = {
        # By which a reader sees that the files belong to the results beside them.
        "data_fingerprint": comparison.request["data_fingerprint"],
        "metric": comparison.metrics[0],
    }
    histories = {
        name: {fold: look["history"] for fold, look in by_fold.items() if look["history"]}
        for name, by_fold in looks.items()
    }
    write_json({**about, "histories": {n: h for n, h in histories.items() if h}}, folder / HISTORIES)
    queries = [query for fold in data.folds for query in _queries(fold, looks)]
    names = list(data.folds[0].test.feature_names)
    write_json({**about, "features": names, "queries": queries}, folder / EXAMPLES)


def _queries(fold: Fold, looks: Looks) -> list[dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    for ranker, by_fold in looks.items():
        for shown in by_fold.get(fold.name, {"queries": []})["queries"]:
            number = shown["number"]
            if number not in found:
                found[number] = {"fold": fold.name, **_documents(fold.test.select([number])), "by": {}}
            found[number]["by"][ranker] = _by_ranker(shown)
    return list(found.values())


def _documents(query: RankingDataset) -> dict[str, Any]:
    rows = select_explained_rows(query.relevance)
    ids = query.document_ids
    names = [f"row {row + 1}" for row in range(query.n_documents)] if ids is None else list(map(str, ids))
    return {
        "query": str(query.query_ids[0]),
        "documents": names,
        "grades": query.relevance.tolist(),
        "explained": rows,
        "values": [[float(f"{value:.5g}") if np.isfinite(value) else None for value in row]
                   for row in query.features[rows].tolist()],
    }  # fmt: skip


def _by_ranker(shown: Mapping[str, Any]) -> dict[str, Any]:
    boundaries = class_boundaries(shown["scores"])
    return {
        **{name: shown[name] for name in ("scores", "r", "why") if name in shown},
        "thresholds": boundaries.thresholds.tolist(),
        "confidences": boundaries.confidences.tolist(),
    }
