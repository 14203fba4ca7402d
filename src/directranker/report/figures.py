"""Figures of all results of a folder, as SVG and PNG, for papers and slides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from directranker.figures import (
    draw_learning_curves,
    draw_neighbours,
    draw_score_against_time,
    draw_studies,
    save_figure,
)
from directranker.figures.style import SUFFIXES
from directranker.report.contents import build_page_data
from directranker.report.discovery import FoundResults, find_results

__all__ = ["write_figures"]


def write_figures(folder: str | Path, out: str | Path) -> list[Path]:
    """Draw all results of a folder into another folder, which is created if missing; return the paths."""
    found = find_results(folder)
    Path(out).mkdir(parents=True, exist_ok=True)
    return [
        save_figure(figure, Path(out) / f"{_to_file_name(name)}{suffix}")
        for name, figure in _draw_figures(found)
        for suffix in SUFFIXES
    ]


def _draw_figures(found: FoundResults) -> Iterator[tuple[str, Any]]:
    for one in found.comparisons:
        is_timed = any(ranker.timing for ranker in one.comparison.rankers)
        for metric in one.comparison.metrics if is_timed else ():
            yield f"{one.folder}-{metric}-against-time", draw_score_against_time(one.comparison, metric)
        for ranker, trainings in (one.histories or {"histories": {}})["histories"].items():
            yield f"{one.folder}-{ranker}-learning", draw_learning_curves(trainings, title=ranker)
    for folder, study in found.studies:
        yield f"{folder}-sensitivity", draw_studies(study["points"])
    for folder, neighbours in found.neighbours:
        for one in neighbours["lists"]:
            yield f"{folder}-neighbours-{one['query']}", draw_neighbours([one])
    for training in build_page_data(FoundResults(models=found.models))["trainings"]:
        yield f"{training['name']}-learning", draw_learning_curves({training["name"]: training["records"]})


def _to_file_name(text: str) -> str:
    """Convert a text to a file name that is valid on all systems.

    >>> _to_file_name("MQ2008-ndcg@10/../x")
    'MQ2008-ndcg-10----x'
    """
    return "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in text)
