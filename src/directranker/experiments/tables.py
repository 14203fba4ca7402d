"""Tables of a comparison as CSV, Markdown and LaTeX.

CSV has all numbers in full precision; Markdown and LaTeX are rounded for reading.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from directranker.data.files import write_atomically
from directranker.experiments.published import PublishedValue
from directranker.experiments.results import Comparison, RankerResult, Timing
from directranker.experiments.table_values import (
    SYMBOL,
    ScoreCell,
    describe_protocol,
    legend,
    score_table,
    time_table,
)

__all__ = ["TABLE_FORMATS", "as_csv", "as_latex", "as_markdown", "write_tables"]


def as_csv(comparison: Comparison) -> str:
    """Format a comparison as CSV: a line per ranker and metric, in full precision."""
    folds = [fold.fold for fold in comparison.rankers[0].measured[0].folds]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_CSV_COLUMNS, *folds])
    for metric in comparison.metrics:
        writer.writerows(_build_csv_row(comparison, result, metric) for result in comparison.rankers)
    return text.getvalue()


_CSV_COLUMNS = (
    "ranker", "metric", "mean", "standard_error", "published", "published_error", "published_note",
    "p_against_best", "p_corrected", "sigma_against_best", "candidates",
    "fit_seconds", "fit_seconds_error", "score_seconds", "score_seconds_error",
)  # fmt: skip


def _build_csv_row(comparison: Comparison, result: RankerResult, metric: str) -> list[object]:
    measured = result.by(metric)
    published = measured.published or PublishedValue(float("nan"))
    best = comparison.best(metric)
    test = None if best is None else comparison.test(metric, result.ranker, best.ranker)
    return [
        result.ranker, metric, measured.mean, measured.error,
        None if measured.published is None else published.mean, published.error, published.note,
        *((None, None, None) if test is None else (test.p_value, test.p_corrected, test.sigma)),
        result.n_candidates, *_list_times(result.timing),
        *(fold.score for fold in measured.folds),
    ]  # fmt: skip


def _list_times(timing: Timing | None) -> list[float | None]:
    if timing is None:
        return [None] * 4
    return [timing.fit_seconds, timing.fit_error, timing.score_seconds, timing.score_error]


def as_markdown(comparison: Comparison) -> str:
    """Format a comparison as Markdown: tables of scores and of times, with a legend."""

    def format_score(cell: ScoreCell) -> str:
        return f"**{cell.text}**" if cell.is_best else cell.text + f" {SYMBOL}" * cell.is_tied

    def format_published(cell: ScoreCell) -> str:
        return cell.published + f" ({cell.letter})" * bool(cell.letter)

    parts = [
        describe_protocol(comparison),
        _format_markdown_table(*score_table(comparison, str, format_score, format_published)),
        "\n".join(f"- {line}" for line in legend(comparison)),
        "Time to train on a whole training split and to score its test split:",
        _format_markdown_table(*time_table(comparison)),
    ]
    return "\n\n".join(parts) + "\n"


def _format_markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---", *("---:" for _ in header[1:])], *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def as_latex(comparison: Comparison) -> str:
    """Format a comparison as LaTeX: tables of scores and of times, for the package booktabs."""

    def format_score(cell: ScoreCell) -> str:
        text = _escape_tex(cell.text)
        return rf"\textbf{{{text}}}" if cell.is_best else text + r"$^{\approx}$" * cell.is_tied

    def format_published(cell: ScoreCell) -> str:
        return _escape_tex(cell.published) + rf"$^{{{cell.letter}}}$" * bool(cell.letter)

    header, scores = score_table(comparison, _escape_tex, format_score, format_published)
    times = [list(map(_escape_tex, row)) for row in time_table(comparison)[1]]
    parts = [
        *(f"% {line}" for line in (describe_protocol(comparison), *legend(comparison))),
        _format_latex_table(list(map(_escape_tex, header)), scores),
        _format_latex_table(list(map(_escape_tex, time_table(comparison)[0])), times),
    ]
    return "\n".join(parts) + "\n"


def _format_latex_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [" & ".join(row) + r" \\" for row in (header, *rows)]
    return "\n".join(
        [rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}", r"\toprule", lines[0], r"\midrule", *lines[1:],
         r"\bottomrule", r"\end{tabular}"]
    )  # fmt: skip


_TEX_ESCAPES = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "±": r"$\pm$",
        "–": "--",
        "µ": r"$\mu$",
    }
)


def _escape_tex(text: str) -> str:
    r"""Escape the special characters of LaTeX.

    >>> _escape_tex("50 % of a_b")
    '50 \\% of a\\_b'
    """
    return text.translate(_TEX_ESCAPES)


TABLE_FORMATS: Mapping[str, tuple[str, Callable[[Comparison], str]]] = MappingProxyType(
    {
        "csv": ("results.csv", as_csv),
        "markdown": ("results.md", as_markdown),
        "latex": ("results.tex", as_latex),
    }
)
"""By format, the file name and the function that formats a comparison."""


def write_tables(comparison: Comparison, folder: str | Path) -> None:
    """Write the tables in all formats to a folder."""
    for name, render in TABLE_FORMATS.values():
        with write_atomically(Path(folder) / name) as temporary:
            temporary.write_text(render(comparison), encoding="utf-8")
