"""Score files of other programs, read and compared for `directranker evaluate`."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import typer

from directranker.cli.columns import ColumnOptions
from directranker.cli.console import (
    STANDARD,
    STANDARD_INPUT,
    check_unchanged,
    escape_name,
    format_command,
    get_console,
    name_file_in_errors,
    print_json,
    read_data,
)
from directranker.cli.streams import require_stdin
from directranker.data.files import is_pipe

if TYPE_CHECKING:
    from directranker.data.trec import JudgedRun
    from directranker.experiments.results import Comparison
    from directranker.metrics import Rules as MetricRules

__all__ = ["Rules", "compare_files", "read_judged_scores", "warn_if_constant"]


class ConventionChanges(TypedDict, total=False):
    """Options that replace those of a convention."""

    threshold: float


@dataclass(frozen=True)
class Rules:
    """The metrics, and the convention that defines them."""

    metrics: tuple[str, ...]
    convention: str
    threshold: float | None

    @property
    def changes(self) -> ConventionChanges:
        """The options that differ from the convention's."""
        changes: MetricRules = {}
        if self.threshold is not None:
            changes["threshold"] = self.threshold
        return changes

    def __str__(self) -> str:
        relevant = "" if self.threshold is None else f", labels ≥ {self.threshold:g} relevant"
        return f"convention {self.convention}{relevant}"


def read_judged_scores(scores: Path, data: Path, metrics: Sequence[str], columns: ColumnOptions) -> JudgedRun:
    """Read scores and labels, and bring them into the same order."""
    from directranker.data.formats import read_stream
    from directranker.data.score_files import parse_scores
    from directranker.data.trec import JudgedRun, judge_run, parse_run

    if scores == data == STANDARD:
        raise ValueError("scores and data cannot both come from standard input; give a file for one of them")
    text, name = _read_bytes(scores), _format_source(scores)
    piped = _read_bytes(data) if _is_read_once(data) else None
    qrels = _read_qrels(data, piped)
    if qrels is not None:
        depth = max((int(cut) for cut in re.findall(r"@(\d+)", " ".join(metrics))), default=0)
        judged = judge_run(parse_run(text, name=name), qrels, depth=depth)
        if judged.n_not_retrieved:
            missing = f"{judged.n_not_retrieved} relevant documents are missing from the run"
            typer.echo(f"directranker: {missing}; they count as not retrieved", err=True)
        return judged
    columns = columns if columns.features else replace(columns, features=[])  # only labels are needed
    options = columns.make_options()
    kind, source = columns.data_format, _format_source(data)
    if piped is not None:
        dataset = read_stream(io.BytesIO(piped), name=source, file_format=kind, options=options)
    else:
        dataset = read_data(data, options=options, data_format=kind)
    return JudgedRun(dataset.qid, dataset.relevance, parse_scores(text, dataset, name=name))


def warn_if_constant(judged: JudgedRun, rules: Rules) -> None:
    """Warn of each metric that is the same for every order of the documents."""
    from directranker.metrics import Metric
    from directranker.metrics.constant_metrics import explain_constant_metric

    for name in rules.metrics:
        metric = Metric.parse(judged.add_cutoff(name), convention=rules.convention, **rules.changes)
        reason = explain_constant_metric(metric, judged.relevance, qid=judged.qid)
        if reason is not None:
            typer.echo(f"directranker: {reason}", err=True)


def _read_bytes(path: Path) -> bytes:
    if path == STANDARD:
        return require_stdin().read()
    with check_unchanged(path), name_file_in_errors(path):
        return path.read_bytes()


def _format_source(path: Path) -> str:
    return STANDARD_INPUT if path == STANDARD else str(path)


def _is_read_once(data: Path) -> bool:
    """Whether labels come as text through a pipe, which cannot be read twice."""
    from directranker.data.formats import detect_format

    return data == STANDARD or (is_pipe(data) and detect_format(data) != "parquet")


def _read_qrels(data: Path, piped: bytes | None) -> dict[tuple[str, str], float] | None:
    """Read the labels of a file or of piped text, if it is qrels."""
    from directranker.data.trec import is_qrels_line, parse_qrels, read_qrels

    if piped is not None:
        is_qrels = is_qrels_line(piped.partition(b"\n")[0])
        return parse_qrels(piped, name=_format_source(data)) if is_qrels else None
    return read_qrels(data) if data.is_file() and is_qrels_line(_read_first_line(data)) else None


def _read_first_line(path: Path) -> bytes:
    with name_file_in_errors(path), path.open("rb") as file:
        return file.readline(10_000)


def compare_files(
    files: Sequence[Path],
    data: Path,
    rules: Rules,
    columns: ColumnOptions,
    *,
    out: Path | None,
    as_json: bool,
) -> None:
    """Compare rankers by their score files, print the result and write it to a folder for `report`."""
    from directranker.experiments.external_scores import compare_values
    from directranker.experiments.results import write_results

    if _is_read_once(data) and len(files) > 1:
        source = _format_source(data)
        raise ValueError(f"{source} can be read only once; give a file to compare several rankers")
    names = _name_rankers(files)
    values: dict[str, dict[str, dict[str, float]]] = {}
    for name, path in zip(names, files, strict=True):
        judged = read_judged_scores(path, data, rules.metrics, columns)
        if not values:
            warn_if_constant(judged, rules)  # once: the labels are the same for all rankers
        values[name] = _evaluate_queries(judged, rules)
    title = escape_name(data.name)
    protocol = f"{title}: external scores, {rules}; mean over the queries."
    comparison = compare_values(values, name=title, protocol=protocol, command=format_command())
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_results(comparison, out)
    if as_json:
        print_json({one.ranker: {of.metric: of.mean for of in one.measured} for one in comparison.rankers})
        return
    _print_comparison(comparison)
    if out is not None:
        get_console().print(f"results: {out}; run `directranker report {out}` for a page", markup=False)


def _name_rankers(files: Sequence[Path]) -> list[str]:
    """Name each ranker after its file's stem, or its path where stems are equal."""
    names = [escape_name(path.stem) for path in files]
    names = [
        name if names.count(name) == 1 else escape_name(path) for name, path in zip(names, files, strict=True)
    ]
    if len(set(names)) < len(names):
        duplicate = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{duplicate} is given twice; give each score file once")
    return names


def _evaluate_queries(judged: JudgedRun, rules: Rules) -> dict[str, dict[str, float]]:
    """Compute each metric of each query, by metric and query id."""
    from directranker.metrics import evaluate_per_query

    per_query = evaluate_per_query(
        judged.relevance,
        judged.scores,
        qid=judged.qid,
        metrics=[judged.add_cutoff(metric) for metric in rules.metrics],
        convention=rules.convention,
        **rules.changes,
    )
    ids = dict.fromkeys(map(str, judged.qid))  # in order of first appearance
    columns = zip(rules.metrics, per_query.values(), strict=True)
    return {metric: dict(zip(ids, column.tolist(), strict=True)) for metric, column in columns}


def _print_comparison(comparison: Comparison) -> None:
    from rich.markup import escape
    from rich.table import Table

    from directranker.cli.comparison_view import BEST
    from directranker.experiments.table_values import (
        SYMBOL,
        ScoreCell,
        describe_protocol,
        legend,
        score_table,
    )

    def format_score(cell: ScoreCell) -> str:
        if cell.is_best:
            return f"[bold]{cell.text} {BEST}[/bold]"
        return cell.text + f" {SYMBOL}" * cell.is_tied

    console = get_console()
    header, rows = score_table(comparison, escape, format_score, lambda cell: cell.published)
    table = Table(*header, box=None, header_style="bold")
    for row in rows:
        table.add_row(*row)
    console.print(describe_protocol(comparison), markup=False)
    console.print(table)
    for line in legend(comparison, best=BEST) if len(rows) > 1 else ():
        console.print(line, markup=False)
