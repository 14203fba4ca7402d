"""The results of a folder as figures for papers and slides: SVG and PNG of each."""

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
from directranker.figures.style import ENDINGS
from directranker.report.contents import build_page_data
from directranker.report.discovery import FoundResults, find_results

__all__ = ["write_figures"]


def write_figures(folder: str | Path, out: str | Path) -> list[Path]:
    """Draw all that a folder of results holds into another folder, which is made where there is none."""
    found = find_results(folder)
    Path(out).mkdir(parents=True, exist_ok=True)
    return [
        save_figure(figure, Path(out) / f"{_as_name(name)}{ending}")
        for name, figure in _figures(found)
        for ending in ENDINGS
    ]


def _figures(found: FoundResults) -> Iterator[tuple[str, Any]]:
    for one in found.comparisons:
        is_timed = any(ranker.timing for ranker in one.comparison.rankers)
        for metric in one.comparison.metrics if is_timed else ():
            yield f"{one.place}-{metric}-against-time", draw_score_against_time(one.comparison, metric)
        for ranker, trainings in (one.histories or {"histories": {}})["histories"].items():
            yield f"{one.place}-{ranker}-learning", draw_learning_curves(trainings, title=ranker)
    for place, study in found.studies:
        yield f"{place}-sensitivity", draw_studies(study["points"])
    for place, neighbours in found.neighbours:
        for one in neighbours["lists"]:
            yield f"{place}-neighbours-{one['query']}", draw_neighbours([one])
    for training in build_page_data(FoundResults(models=found.models))["trainings"]:
        yield f"{training['name']}-learning", draw_learning_curves({training["name"]: training["records"]})


def _as_name(text: str) -> str:
    """A file's name that is one everywhere.

    >>> _as_name("MQ2008-ndcg@10/../x")
    'MQ2008-ndcg-10----x'
    """
    return "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in text)
