"""`directranker inspect`: summarise a data set and report its problems."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from directranker.cli.console import AsJson, Threshold, get_console, print_json, read_data

if TYPE_CHECKING:
    from rich.console import RenderableType

    from directranker.data.dataset import RankingDataset
    from directranker.data.inspection import Finding, FoldInspection, Inspection

__all__ = ["inspect", "print_inspection"]

COLOURS = {"warning": "bold yellow", "note": "cyan"}


def inspect(
    data: Annotated[
        Path,
        typer.Argument(
            readable=False,
            help="Data set in any format, a folder with train, vali and test splits, or a folder of folds. "
            "Use - to read text from standard input, or 'example' for the embedded data set.",
        ),
    ],
    against: Annotated[
        Path | None,
        typer.Option(
            readable=False,
            metavar="TRAIN",
            help="Training data to compare with: report shared queries, other columns, and labels and "
            "categories that it does not have.",
        ),
    ] = None,
    threshold: Threshold = 1.0,
    as_json: AsJson = False,
) -> None:
    """Summarise a data set and report its problems.

    Example: `directranker inspect example`
    """
    if not math.isfinite(threshold):
        raise ValueError(f"--threshold is {threshold}; give a finite number")
    folds = _find_folds(data) if against is None else []
    results: dict[str, Inspection | FoldInspection]
    if against is not None:
        results = {str(data): _inspect_against(data, against, threshold)}
    elif folds:
        results = {str(folder): _inspect_fold(folder, threshold) for folder in folds}
    else:
        results = {str(data): _inspect_data(data, threshold)}
    if as_json:
        print_json({name: result.to_dict() for name, result in results.items()})
        return
    for name, result in results.items():
        _print_result(name, result)


def _find_folds(path: Path) -> list[Path]:
    """Find the folders with train, vali and test splits: this one, or the `Fold…` in it."""
    folders = [path, *sorted(path.glob("Fold*"))] if path.is_dir() else []
    return [folder for folder in folders if any(folder.glob("train.txt*"))]


def _read_non_finite(path: Path) -> RankingDataset:
    """Read a data set, NaN and infinite values included."""
    from directranker.data.formats import ReadOptions

    return read_data(path, options=ReadOptions(allow_non_finite=True))


def _inspect_data(path: Path, threshold: float) -> Inspection:
    from directranker.data.inspection import inspect_dataset

    return inspect_dataset(_read_non_finite(path), threshold=threshold)


def _inspect_against(path: Path, training: Path, threshold: float) -> FoldInspection:
    from directranker.data.inspection import inspect_fold

    splits = {str(training): _read_non_finite(training), str(path): _read_non_finite(path)}
    if len(splits) == 1:
        raise ValueError(f"--against {training} is the data itself; give other data")
    return inspect_fold(splits, threshold=threshold)


def _inspect_fold(folder: Path, threshold: float) -> FoldInspection:
    from directranker.data.folds import find_fold_files
    from directranker.data.inspection import inspect_fold

    splits = {name: _read_non_finite(path) for name, path in find_fold_files(folder).items()}
    return inspect_fold(splits, threshold=threshold)


def _print_result(name: str, result: Inspection | FoldInspection) -> None:
    from rich.markup import escape

    from directranker.data.folds import SPLITS
    from directranker.data.inspection import Inspection

    if isinstance(result, Inspection):
        print_inspection(name, result)
        return
    for split, inspection in result.parts.items():
        print_inspection(f"{name} {split}" if split in SPLITS else split, inspection)
    if result.findings:
        are_splits = set(result.parts) <= set(SPLITS)
        where = "across its splits" if are_splits else "against the training data"
        get_console().print(f"\n[bold]{escape(name)}[/bold] {where}")
        get_console().print(_build_findings(result.findings))


def print_inspection(name: str, inspection: Inspection) -> None:
    """Print the sizes, labels and documents per query of a data set, and then the findings."""
    from rich.markup import escape

    console = get_console()
    console.print(
        f"\n[bold]{escape(name)}[/bold]: {inspection.n_documents:,} documents, "
        f"{inspection.n_queries:,} queries, {inspection.n_features:,} features{_format_kinds(inspection)}"
    )
    lengths = inspection.list_lengths
    if lengths is not None:
        console.print(
            f"documents per query: {lengths.minimum} to {lengths.maximum}, "
            f"median {lengths.median:g}, mean {lengths.mean:.1f}"
        )
    console.print(_build_histogram(inspection.label_counts))
    if inspection.categories:
        console.print(_build_categories(inspection))
    if inspection.findings:
        console.print(_build_findings(inspection.findings))
    else:
        console.print("no problems found")


def _format_kinds(inspection: Inspection) -> str:
    from rich.markup import escape

    kinds = [f"{len(inspection.categories)} categorical"] if inspection.categories else []
    kinds += [f"{size:,} of the vector {name}" for name, size in inspection.vectors.items()]
    return f" ({escape(', '.join(kinds))})" if kinds else ""


def _build_categories(inspection: Inspection) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    from directranker.data.findings import format_percent

    def percent(count: int) -> str:
        return format_percent(count / max(1, inspection.n_documents))

    table = Table(
        "column", "values", "most frequent", "in one query", "missing", box=None, header_style="bold"
    )
    for column in (1, 3, 4):
        table.columns[column].justify = "right"
    for one in inspection.categories:
        frequent = ", ".join(f"{value} {percent(count)}" for value, count in one.most_frequent)
        cells = (f"{one.n_values:,}", Text(frequent), percent(one.n_in_one_query), percent(one.n_missing))
        table.add_row(Text(one.name), *cells)
    return table


def _build_histogram(counts: dict[str, int]) -> RenderableType:
    from rich.table import Table

    table = Table("label", "documents", "", "", box=None, header_style="bold")
    for column in table.columns[:3]:
        column.justify = "right"
    total, largest = sum(counts.values()), max(counts.values(), default=0)
    for label, count in counts.items():
        table.add_row(label, f"{count:,}", f"{100 * count / total:.1f} %", "█" * round(30 * count / largest))
    return table


def _build_findings(findings: tuple[Finding, ...]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 1))
    for finding in findings:
        message = Text(finding.message).append(f"\n{finding.advice}", style="dim")
        table.add_row(Text(finding.severity, style=COLOURS[finding.severity]), message)
    return table
