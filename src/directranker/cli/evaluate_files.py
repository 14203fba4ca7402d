"""Score files that other programs wrote, read and compared for `directranker evaluate`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from directranker.cli.console import STANDARD, as_text, command_line, console, print_json, read_data
from directranker.cli.streams import standard_input

if TYPE_CHECKING:
    from directranker.data.trec import JudgedRun
    from directranker.experiments.results import Comparison

__all__ = ["Rules", "compare_files", "judged_scores", "warn_if_constant"]


@dataclass(frozen=True)
class Rules:
    """What is measured, and by whose rules."""

    metrics: tuple[str, ...]
    convention: str
    threshold: float | None

    @property
    def changes(self) -> dict[str, Any]:
        """What differs from the convention."""
        return {} if self.threshold is None else {"threshold": self.threshold}

    def __str__(self) -> str:
        relevant = "" if self.threshold is None else f", labels ≥ {self.threshold:g} relevant"
        return f"convention {self.convention}{relevant}"


def judged_scores(scores: Path, data: Path, metrics: Sequence[str]) -> JudgedRun:
    """Labels, scores in their order, and what tells the queries apart."""
    from directranker.data.formats import ReadOptions
    from directranker.data.letor import parse_letor
    from directranker.data.score_files import parse_scores
    from directranker.data.trec import JudgedRun, judge_run, parse_run

    if scores == data == STANDARD:
        raise ValueError("scores and data cannot both come from standard input; give a file of one of them")
    text, name = _text(scores), _name(scores)
    piped = _text(data) if _is_read_once(data) else None
    qrels = _qrels(data, piped)
    if qrels is not None:
        depth = max((int(cut) for cut in re.findall(r"@(\d+)", " ".join(metrics))), default=0)
        judged = judge_run(parse_run(text, name=name), qrels, depth=depth)
        if judged.n_not_retrieved:
            lacking = f"the run lacks {judged.n_not_retrieved} relevant documents, which count as not found"
            typer.echo(f"directranker: {lacking}", err=True)
        return judged
    if piped is not None:
        dataset = parse_letor(piped, name=_name(data), allow_non_finite=True)
    else:
        dataset = read_data(data, options=ReadOptions(allow_non_finite=True))
    return JudgedRun(dataset.qid, dataset.relevance, parse_scores(text, dataset, name=name))


def warn_if_constant(judged: JudgedRun, rules: Rules) -> None:
    """Say on standard error which metrics would be the same for any order."""
    from directranker.metrics import Metric
    from directranker.metrics.constant_metrics import explain_constant_metric

    for name in rules.metrics:
        metric = Metric.parse(name, convention=rules.convention, **rules.changes)
        blindness = explain_constant_metric(metric, judged.relevance, qid=judged.qid)
        if blindness is not None:
            typer.echo(f"directranker: {blindness}", err=True)


def _text(path: Path) -> bytes:
    return standard_input().read() if path == STANDARD else path.read_bytes()


def _name(path: Path) -> str:
    return "standard input" if path == STANDARD else str(path)


def _is_read_once(data: Path) -> bool:
    """Whether labels come as text through a pipe, so that they cannot be looked into before they are read."""
    from directranker.data.files import is_pipe
    from directranker.data.formats import detect_format

    return data == STANDARD or (is_pipe(data) and detect_format(data) != "parquet")


def _qrels(data: Path, piped: bytes | None) -> dict[tuple[str, str], float] | None:
    """The labels of a file or of piped text, if these are qrels."""
    from directranker.data.trec import is_qrels_line, parse_qrels, read_qrels

    if piped is not None:
        return parse_qrels(piped, name=_name(data)) if is_qrels_line(piped.partition(b"\n")[0]) else None
    return read_qrels(data) if data.is_file() and is_qrels_line(_first_line(data)) else None


def _first_line(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.readline(10_000)


def compare_files(
    files: Sequence[Path], data: Path, rules: Rules, *, out: Path | None, as_json: bool
) -> None:
    """Print how the rankers stand to each other; write it to a folder for `report`."""
    if _is_read_once(data) and len(files) > 1:
        raise ValueError(f"data from {_name(data)} is read once; give a file to compare several rankers")
    from directranker.experiments.external_scores import compare_values
    from directranker.experiments.results import write_results

    names = _names(files)
    values: dict[str, dict[str, dict[str, float]]] = {}
    for name, path in zip(names, files, strict=True):
        judged = judged_scores(path, data, rules.metrics)
        if not values:
            warn_if_constant(judged, rules)  # the labels are the same for all
        values[name] = _values_of(judged, rules)
    about = as_text(data.name)
    protocol = f"{about}: scores that were given, {rules}; the mean over its queries."
    comparison = compare_values(values, name=about, protocol=protocol, command=command_line())
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_results(comparison, out)
    if as_json:
        print_json({one.ranker: {of.metric: of.mean for of in one.measured} for one in comparison.rankers})
    else:
        _print(comparison)
        if out is not None:
            console().print(f"Results are in {out}; a page of them: directranker report {out}")


def _names(files: Sequence[Path]) -> list[str]:
    """Each file's name without its ending, or its whole path where two would be the same."""
    names = [as_text(path.stem) for path in files]
    names = [
        name if names.count(name) == 1 else as_text(path) for name, path in zip(names, files, strict=True)
    ]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice} is given twice; name each file of scores once")
    return names


def _values_of(judged: JudgedRun, rules: Rules) -> dict[str, dict[str, float]]:
    """By metric, the value of each query by its id."""
    from directranker.metrics import evaluate_per_query

    per_query = evaluate_per_query(
        judged.relevance,
        judged.scores,
        qid=judged.qid,
        metrics=[judged.add_cutoff(metric) for metric in rules.metrics],
        convention=rules.convention,
        **rules.changes,
    )
    ids = dict.fromkeys(map(str, judged.qid))  # in the order in which they first appear
    columns = zip(rules.metrics, per_query.values(), strict=True)
    return {metric: dict(zip(ids, column.tolist(), strict=True)) for metric, column in columns}


def _print(comparison: Comparison) -> None:
    from rich.table import Table

    from directranker.cli.comparison_view import BEST
    from directranker.experiments.table_values import (
        SYMBOL,
        ScoreCell,
        describe_protocol,
        legend,
        score_table,
    )

    def emphasised(cell: ScoreCell) -> str:
        if cell.is_best:
            return f"[bold]{cell.text} {BEST}[/bold]"
        return cell.text + f" {SYMBOL}" * cell.is_tied

    header, rows = score_table(comparison, str, emphasised, lambda cell: cell.published)
    table = Table(*header, box=None, header_style="bold")
    for row in rows:
        table.add_row(*row)
    console().print(describe_protocol(comparison), highlight=False)
    console().print(table)
    for line in legend(comparison, best=BEST) if len(rows) > 1 else ():
        console().print(line, highlight=False)
