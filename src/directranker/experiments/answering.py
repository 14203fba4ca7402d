"""Requests answered: the data opened, the rankers compared, everything kept in one folder.

| file | holds |
|---|---|
| `request.json` | what was asked for |
| `planned.json` | the keys of all cells, by which others see how far it is |
| `cells.sqlite` | every finished training |
| `results.json`, `per_query.json` | the comparison, once it is finished |
| `results.csv`, `results.md`, `results.tex` | its tables |

Another request with the same folder shares the cells that both need; the results are those of the last.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from directranker.data.files import write_atomically
from directranker.experiments.comparison import compare_rankers, entries_of
from directranker.experiments.files import PLANNED
from directranker.experiments.protocol import open_folds
from directranker.experiments.request import Request, write_request
from directranker.experiments.results import Comparison, write_results
from directranker.model_selection.nested import planned_cells
from directranker.model_selection.progress import Report
from directranker.model_selection.search import checked_metrics

__all__ = ["answer"]


def answer(
    request: Request,
    folder: str | Path,
    *,
    digest: str = "",
    command: str = "",
    workers: int | None = None,
    cluster: str | None = None,
    progress: Report | None = None,
) -> Comparison:
    """Run what is missing of a comparison, and write its results."""
    folder = Path(folder)
    checked_metrics(request.metrics, request.convention)  # better known before an hour of reading
    entries = entries_of(request.rankers, request.grid)
    protocol: dict[str, Any] = {
        "metrics": request.metrics,
        "inner_folds": _inner_folds(request.inner_folds),
        "seeds": request.seeds,
        "convention": request.convention,
    }
    threshold = None if request.threshold == "none" else request.threshold
    data = open_folds(request.data, threshold=threshold, n_folds=request.folds)
    planned = planned_cells(entries, data.folds, **protocol)
    folder.mkdir(parents=True, exist_ok=True)
    write_request(request, folder, command=command)
    with write_atomically(folder / PLANNED) as temporary:
        temporary.write_text(json.dumps(planned))
    comparison = compare_rankers(
        data,
        rankers=request.rankers,
        grid=request.grid,
        **protocol,
        out=folder,
        workers=workers,
        cluster=cluster,
        progress=progress,
    )
    asked = {**comparison.request, "data": str(Path(request.data).resolve()), "command": command}
    comparison = replace(comparison, request=asked, digest=digest)
    write_results(comparison, folder)
    return comparison


def _inner_folds(text: str) -> int | Literal["vali"]:
    if text == "vali":
        return "vali"
    if not text.isdigit():
        raise ValueError(f"inner folds are {text!r}; give a number from 2 on, or 'vali'")
    return int(text)
