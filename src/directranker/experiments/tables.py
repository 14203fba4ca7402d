"""A comparison as CSV, Markdown and LaTeX.

CSV has every number in full; Markdown and LaTeX have what a reader wants to see.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from directranker.data.files import write_atomically
from directranker.experiments.published import PublishedValue
from directranker.experiments.results import Comparison, RankerResult
from directranker.experiments.table_cells import (
    SYMBOL,
    TIME_COLUMNS,
    ScoreCell,
    legend,
    protocol_of,
    published_notes,
    score_cell,
    time_cells,
)

__all__ = ["TABLE_FORMATS", "as_csv", "as_latex", "as_markdown", "write_tables"]


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
    r"""Text with LaTeX's own signs escaped.

    >>> _tex("50 % of a_b")
    '50 \\% of a\\_b'
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
