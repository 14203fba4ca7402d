"""The content of a comparison's tables, independent of their format.

The best ranker of each metric is emphasised, rankers that are not significantly worse are marked, and
published values that are not comparable refer to a note.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from directranker.experiments.published import PublishedValue
from directranker.experiments.results import Comparison, RankerResult, Timing

__all__ = [
    "SIGNIFICANCE_LEVEL",
    "SYMBOL",
    "ScoreCell",
    "describe_protocol",
    "format_mean",
    "legend",
    "published_notes",
    "score_cell",
    "score_table",
    "time_table",
]

Formatted = TypeVar("Formatted")
SIGNIFICANCE_LEVEL = 0.05
SYMBOL = "≈"


@dataclass(frozen=True)
class ScoreCell:
    """A table cell: a ranker's mean by a metric, and whether it is the best or tied with the best."""

    text: str
    is_best: bool
    is_tied: bool
    """Whether it is not the best, but not significantly worse."""
    published: str
    """The published value; empty if there is none."""
    letter: str
    """The letter of the note that says why the published value is not comparable."""


def score_cell(comparison: Comparison, result: RankerResult, metric: str) -> ScoreCell:
    """Build the table cell of one ranker by one metric."""
    measured = result.by(metric)
    best = comparison.best(metric)
    is_best = best is not None and best.ranker == result.ranker
    test = None if best is None else comparison.test(metric, result.ranker, best.ranker)
    published = measured.published
    return ScoreCell(
        text=format_mean(measured.mean, measured.error),
        is_best=is_best,
        is_tied=test is not None and test.p_corrected >= SIGNIFICANCE_LEVEL,
        published="" if published is None else format_mean(published.mean, published.error),
        letter="" if published is None else published_notes(comparison).get(published.note, ""),
    )


def format_mean(mean: float | None, error: float | None, *, digits: int = 3) -> str:
    """Format a mean with its standard error.

    >>> format_mean(0.7381, 0.0112), format_mean(0.507, None), format_mean(None, None)
    ('0.738 ± 0.011', '0.507', '–')
    """
    if mean is None:
        return "–"
    return f"{mean:.{digits}f}" if error is None else f"{mean:.{digits}f} ± {error:.{digits}f}"


def score_table(
    comparison: Comparison,
    format_name: Callable[[str], Formatted],
    format_score: Callable[[ScoreCell], Formatted],
    format_published: Callable[[ScoreCell], Formatted],
) -> tuple[list[str], list[list[Formatted]]]:
    """Build header and rows of the table of scores; with published values if there are any."""
    header, columns = [""], [[format_name(result.ranker) for result in comparison.rankers]]
    for metric in comparison.metrics:
        cells = [score_cell(comparison, result, metric) for result in comparison.rankers]
        header.append(metric.upper())
        columns.append([format_score(cell) for cell in cells])
        if any(cell.published for cell in cells):
            header.append("published")
            columns.append([format_published(cell) for cell in cells])
    return header, [list(row) for row in zip(*columns, strict=True)]


def time_table(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Build header and rows of the table of times; with published times if there are any."""
    header = ["", "training, s", "scoring, ms", "training, ms/document", "scoring, µs/document"]
    timed = [(result.ranker, result.timing) for result in comparison.rankers if result.timing is not None]
    rows = [[ranker, *_format_times(timing)] for ranker, timing in timed]
    published = [timing.published for _, timing in timed]
    if any(published):
        letters = published_notes(comparison)
        header.append("published, s")
        for row, value in zip(rows, published, strict=True):
            row.append("" if value is None else f"{_format_rounded(value)} ({letters[value.note]})")
    return header, rows


def _format_times(timing: Timing) -> list[str]:
    return [
        format_mean(timing.fit_seconds, timing.fit_error, digits=2),
        format_mean(1e3 * timing.score_seconds, _scale(1e3, timing.score_error), digits=1),
        f"{timing.fit_milliseconds_per_document:.3f}",
        f"{timing.score_microseconds_per_document:.2f}",
    ]


def _format_rounded(value: PublishedValue) -> str:
    return format_mean(value.mean, value.error, digits=0)


def _scale(factor: float, value: float | None) -> float | None:
    return None if value is None else factor * value


def published_notes(comparison: Comparison) -> dict[str, str]:
    """Assign a letter to each note on published values, in the order of the table."""
    values = [
        value
        for result in comparison.rankers
        for value in (*(one.published for one in result.measured), _get_published_seconds(result))
        if value is not None and value.note
    ]
    notes = dict.fromkeys(value.note for value in values)
    return {note: chr(ord("a") + number) for number, note in enumerate(notes)}


def _get_published_seconds(result: RankerResult) -> PublishedValue | None:
    return None if result.timing is None else result.timing.published


def describe_protocol(comparison: Comparison) -> str:
    """Describe how the values were computed, in a sentence or two."""
    request = comparison.request
    if "protocol" in request:
        return str(request["protocol"])
    labels = (
        "labels unchanged"
        if request["threshold"] is None
        else f"labels ≥ {request['threshold']:g} are relevant, queries without relevant documents left out"
    )
    seeds = request["seeds"]
    selection = (
        "on the validation split"
        if request["inner_folds"] == "validation"
        else f"by {request['inner_folds']}-fold cross-validation on each training split"
    )
    if request.get("split_by") is not None and request["inner_folds"] != "validation":
        selection += f", split by {request['split_by']} too"
    n_folds = request["n_folds"]
    return (
        f"{request['name']}: {n_folds} fold{'s' if n_folds > 1 else ''} ({request['origin']}); {labels}; "
        f"convention {request['convention']}; grid {request['grid_name']}, parameters selected {selection}; "
        f"{seeds} seed{'s' if seeds > 1 else ''}; mean ± standard error over the folds."
    )


def legend(comparison: Comparison, *, best: str = "Bold") -> list[str]:
    """Explain the marks of a table; `best` is how the best ranker is emphasised."""
    lines = [
        f"{best} is the best, {SYMBOL} is not significantly worse: p ≥ {SIGNIFICANCE_LEVEL:g} in a "
        "randomisation test over queries, Holm-corrected for all pairs."
    ]
    return [*lines, *(f"({letter}) {note}." for note, letter in published_notes(comparison).items())]
