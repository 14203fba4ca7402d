"""A comparison as tables: what stands in each cell, and the same in CSV, Markdown and LaTeX.

The best ranker of each metric is bold, those that the test cannot tell from it are marked ≈, and published
figures that are not comparable refer to a note.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from directranker.data.files import write_atomically
from directranker.experiments.published import PublishedValue
from directranker.experiments.results import Comparison, RankerResult

__all__ = [
    "LEVEL",
    "SYMBOL",
    "TABLE_FORMATS",
    "ScoreCell",
    "as_csv",
    "as_latex",
    "as_markdown",
    "legend",
    "protocol_of",
    "published_notes",
    "score_cell",
    "time_cells",
    "with_error",
    "write_tables",
]

LEVEL = 0.05
SYMBOL = "≈"
TIME_COLUMNS = ("training, s", "scoring, s", "training, ms/document", "scoring, µs/document")


@dataclass(frozen=True)
class ScoreCell:
    """A ranker's mean by a metric, and how it stands to the best one's."""

    text: str
    is_best: bool
    is_level: bool
    """Not the best, but not significantly worse than it."""
    published: str
    """The paper's figure, empty where there is none."""
    note: str
    """Why that is not comparable."""


def score_cell(comparison: Comparison, result: RankerResult, metric: str) -> ScoreCell:
    """What a table says about one ranker by one metric."""
    measured = result.by(metric)
    best = comparison.best(metric)
    is_best = best is not None and best.ranker == result.ranker
    test = None if best is None else comparison.test(metric, result.ranker, best.ranker)
    published = measured.published
    return ScoreCell(
        text=with_error(measured.mean, measured.error),
        is_best=is_best,
        is_level=test is not None and test.p_corrected >= LEVEL,
        published="" if published is None else with_error(published.mean, published.error),
        note="" if published is None else published.note,
    )


def with_error(mean: float | None, error: float | None, *, digits: int = 3) -> str:
    """A mean with its standard error.

    >>> with_error(0.7381, 0.0112), with_error(0.507, None), with_error(None, None)
    ('0.738 ± 0.011', '0.507', '–')
    """
    if mean is None:
        return "–"
    return f"{mean:.{digits}f}" if error is None else f"{mean:.{digits}f} ± {error:.{digits}f}"


def time_cells(result: RankerResult) -> tuple[str, ...]:
    """Seconds of training and scoring, and both by document: the columns `TIME_COLUMNS`."""
    timing = result.timing
    return (
        with_error(timing.fit_seconds, timing.fit_error, digits=2),
        with_error(timing.score_seconds, timing.score_error, digits=4),
        f"{timing.fit_milliseconds_per_document:.3f}",
        f"{timing.score_microseconds_per_document:.2f}",
    )


def published_notes(comparison: Comparison) -> dict[str, str]:
    """A letter for each note on published figures, in the order of the table."""
    values = [
        value
        for result in comparison.rankers
        for value in (*(one.published for one in result.measured), result.timing.published)
        if value is not None and value.note
    ]
    notes = dict.fromkeys(value.note for value in values)
    return {note: chr(ord("a") + number) for number, note in enumerate(notes)}


def protocol_of(comparison: Comparison) -> str:
    """How the figures came about, in a sentence or two."""
    request = comparison.request
    labels = (
        "labels as they are"
        if request["threshold"] is None
        else f"labels ≥ {request['threshold']:g} relevant, queries without left out"
    )
    seeds = request["seeds"]
    chosen = (
        "on the validation part"
        if request["inner_folds"] == "vali"
        else (f"by {request['inner_folds']}-fold cross-validation on each training part")
    )
    return (
        f"{request['name']}: {request['n_folds']} folds ({request['origin']}); {labels}; "
        f"convention {request['convention']}; grid {request['grid_name']}, parameters chosen {chosen}; "
        f"{seeds} seed{'s' if seeds > 1 else ''}; mean ± standard error over the folds."
    )


def legend(comparison: Comparison) -> list[str]:
    """What the signs of a table mean."""
    lines = [
        f"Bold is the best, {SYMBOL} not significantly worse than it: p ≥ {LEVEL:g} by a randomisation test over "
        "queries, Holm-corrected for all pairs."
    ]
    return [*lines, *(f"({letter}) {note}." for note, letter in published_notes(comparison).items())]


def as_csv(comparison: Comparison) -> str:
    """A line per ranker and metric, numbers in full."""
    folds = [fold.fold for fold in comparison.rankers[0].measured[0].folds]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_CSV_COLUMNS, *folds])
    for metric in comparison.metrics:
        writer.writerows(_csv_row(comparison, result, metric) for result in comparison.rankers)
    return text.getvalue()


_CSV_COLUMNS = (
    "ranker", "metric", "mean", "standard_error", "published", "published_error", "published_note",
    "p_against_best", "p_corrected", "sigma_against_best", "candidates",
    "fit_seconds", "fit_error", "score_seconds", "score_error",
)  # fmt: skip


def _csv_row(comparison: Comparison, result: RankerResult, metric: str) -> list[object]:
    measured, timing = result.by(metric), result.timing
    published = measured.published or PublishedValue(float("nan"))
    best = comparison.best(metric)
    test = None if best is None else comparison.test(metric, result.ranker, best.ranker)
    return [
        result.ranker, metric, measured.mean, measured.error,
        None if measured.published is None else published.mean, published.error, published.note,
        *((None, None, None) if test is None else (test.p_value, test.p_corrected, test.sigma)),
        result.n_candidates, timing.fit_seconds, timing.fit_error, timing.score_seconds, timing.score_error,
        *(fold.score for fold in measured.folds),
    ]  # fmt: skip


def as_markdown(comparison: Comparison) -> str:
    """Two tables, how well and how long, with what they mean."""

    def emphasised(cell: ScoreCell) -> str:
        return f"**{cell.text}**" if cell.is_best else cell.text + (f" {SYMBOL}" if cell.is_level else "")

    letters = published_notes(comparison)
    header, rows = _score_rows(comparison, emphasised, lambda note: f" ({letters[note]})")
    times = [[result.ranker, *time_cells(result)] for result in comparison.rankers]
    parts = [
        protocol_of(comparison),
        _markdown_table(header, rows),
        "\n".join(f"- {line}" for line in legend(comparison)),
        "Seconds per training on a whole training part and per scoring of its test part:",
        _markdown_table(["", *TIME_COLUMNS], times),
    ]
    return "\n\n".join(parts) + "\n"


def _score_rows(
    comparison: Comparison, emphasised: Callable[[ScoreCell], str], marked: Callable[[str], str]
) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table of scores; published figures only where there are any."""
    cells = {
        metric: [score_cell(comparison, result, metric) for result in comparison.rankers]
        for metric in comparison.metrics
    }
    header, columns = [""], [[result.ranker for result in comparison.rankers]]
    for metric, column in cells.items():
        header.append(metric.upper())
        columns.append([emphasised(cell) for cell in column])
        if any(cell.published for cell in column):
            header.append("published")
            columns.append([cell.published + (marked(cell.note) if cell.note else "") for cell in column])
    return header, [list(row) for row in zip(*columns, strict=True)]


def _markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---", *("---:" for _ in header[1:])], *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def as_latex(comparison: Comparison) -> str:
    """Two tables for a paper, to be used with the package booktabs."""

    def emphasised(cell: ScoreCell) -> str:
        text = _tex(cell.text)
        return rf"\textbf{{{text}}}" if cell.is_best else text + (r"$^{\approx}$" if cell.is_level else "")

    letters = published_notes(comparison)
    header, rows = _score_rows(comparison, emphasised, lambda note: rf"$^{{{letters[note]}}}$")
    # Scores carry their own commands; names and published figures are plain text.
    names = [[_tex(row[0]), *(cell.replace("±", r"$\pm$") for cell in row[1:])] for row in rows]
    times = [[_tex(cell) for cell in (result.ranker, *time_cells(result))] for result in comparison.rankers]
    comments = [f"% {line}" for line in (protocol_of(comparison), *legend(comparison))]
    return "\n".join(
        [*comments, _latex_table([_tex(cell) for cell in header], names),
         _latex_table(["", *map(_tex, TIME_COLUMNS)], times), ""]
    )  # fmt: skip


def _latex_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [" & ".join(row) + r" \\" for row in (header, *rows)]
    return "\n".join(
        [rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}", r"\toprule", lines[0], r"\midrule", *lines[1:],
         r"\bottomrule", r"\end{tabular}"]
    )  # fmt: skip


_TEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "±": r"$\pm$",
        "–": "--",
        "µ": r"$\mu$",
    }
)


def _tex(text: str) -> str:
    """Text with LaTeX's own signs escaped.

    >>> _tex("50 % of a_b")
    '50 \\\\% of a\\\\_b'
    """
    return text.translate(_TEX)


TABLE_FORMATS: Mapping[str, tuple[str, Callable[[Comparison], str]]] = MappingProxyType(
    {
        "csv": ("results.csv", as_csv),
        "markdown": ("results.md", as_markdown),
        "latex": ("results.tex", as_latex),
    }
)
"""By name: the file that a comparison is written to, and how."""


def write_tables(comparison: Comparison, folder: str | Path) -> None:
    """Write the tables in all formats."""
    for name, render in TABLE_FORMATS.values():
        with write_atomically(Path(folder) / name) as temporary:
            temporary.write_text(render(comparison), encoding="utf-8")
