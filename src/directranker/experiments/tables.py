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
from directranker.experiments.results import Comparison, RankerResult, Timing
from directranker.experiments.table_values import (
    SYMBOL,
    ScoreCell,
    legend,
    describe_protocol,
    score_table,
    time_table,
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
    "fit_seconds", "fit_seconds_error", "score_seconds", "score_seconds_error",
)  # fmt: skip


def _csv_row(comparison: Comparison, result: RankerResult, metric: str) -> list[object]:
    measured = result.by(metric)
    published = measured.published or PublishedValue(float("nan"))
    best = comparison.best(metric)
    test = None if best is None else comparison.test(metric, result.ranker, best.ranker)
    return [
        result.ranker, metric, measured.mean, measured.error,
        None if measured.published is None else published.mean, published.error, published.note,
        *((None, None, None) if test is None else (test.p_value, test.p_corrected, test.sigma)),
        result.n_candidates, *_csv_times(result.timing),
        *(fold.score for fold in measured.folds),
    ]  # fmt: skip


def _csv_times(timing: Timing | None) -> list[float | None]:
    if timing is None:
        return [None] * 4
    return [timing.fit_seconds, timing.fit_error, timing.score_seconds, timing.score_error]


def as_markdown(comparison: Comparison) -> str:
    """Two tables, how well and how long, with what they mean."""

    def emphasised(cell: ScoreCell) -> str:
        return f"**{cell.text}**" if cell.is_best else cell.text + f" {SYMBOL}" * cell.is_tied

    def published(cell: ScoreCell) -> str:
        return cell.published + f" ({cell.letter})" * bool(cell.letter)

    parts = [
        describe_protocol(comparison),
        _markdown_table(*score_table(comparison, str, emphasised, published)),
        "\n".join(f"- {line}" for line in legend(comparison)),
        "How long a training on a whole training part takes, and scoring its test part:",
        _markdown_table(*time_table(comparison)),
    ]
    return "\n\n".join(parts) + "\n"


def _markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---", *("---:" for _ in header[1:])], *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def as_latex(comparison: Comparison) -> str:
    """Two tables for a paper, to be used with the package booktabs."""

    def emphasised(cell: ScoreCell) -> str:
        text = _tex(cell.text)
        return rf"\textbf{{{text}}}" if cell.is_best else text + r"$^{\approx}$" * cell.is_tied

    def published(cell: ScoreCell) -> str:
        return _tex(cell.published) + rf"$^{{{cell.letter}}}$" * bool(cell.letter)

    header, scores = score_table(comparison, _tex, emphasised, published)
    times = [list(map(_tex, row)) for row in time_table(comparison)[1]]
    parts = [
        *(f"% {line}" for line in (describe_protocol(comparison), *legend(comparison))),
        _latex_table(list(map(_tex, header)), scores),
        _latex_table(list(map(_tex, time_table(comparison)[0])), times),
    ]
    return "\n".join(parts) + "\n"


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
