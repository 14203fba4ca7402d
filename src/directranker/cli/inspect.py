"""`directranker inspect`: what a data set is, and what is odd about it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from directranker.cli.console import AsJson, Threshold, console, print_json, read_data

if TYPE_CHECKING:
    from rich.console import RenderableType

    from directranker.data.dataset import RankingDataset
    from directranker.data.inspection import Finding, FoldInspection, Inspection

__all__ = ["inspect", "print_inspection"]


def inspect(
    data: Annotated[
        Path,
        typer.Argument(
            help="A data set in any format, a folder with train, vali and test, or one of folds; example for "
            "a data set to try it on."
        ),
    ],
    threshold: Threshold = 1.0,
    as_json: AsJson = False,
) -> None:
    """Say what a data set holds and what is odd about it, in plain words.

    Example: `directranker inspect example`
    """
    folds = _fold_folders(data)
    results: dict[str, Inspection | FoldInspection]
    if folds:
        results = {str(folder): _inspect_fold(folder, threshold) for folder in folds}
    else:
        results = {str(data): _inspect_one(data, threshold)}
    if as_json:
        print_json({name: result.to_dict() for name, result in results.items()})
        return
    for name, result in results.items():
        _print_result(name, result)


def _fold_folders(path: Path) -> list[Path]:
    """The folders with a train, vali and test part: this one or the `Fold…` in it."""
    folders = [path, *sorted(path.glob("Fold*"))] if path.is_dir() else []
    return [folder for folder in folders if any(folder.glob("train.txt*"))]


def _read(path: Path) -> RankingDataset:
    from directranker.data.formats import ReadOptions

    return read_data(path, options=ReadOptions(allow_non_finite=True))


def _inspect_one(path: Path, threshold: float) -> Inspection:
    from directranker.data.inspection import inspect_dataset

    return inspect_dataset(_read(path), threshold=threshold)


def _inspect_fold(folder: Path, threshold: float) -> FoldInspection:
    from directranker.data.folds import find_fold_files
    from directranker.data.inspection import inspect_fold

    parts = {part: _read(path) for part, path in find_fold_files(folder).items()}
    return inspect_fold(parts, threshold=threshold)


def _print_result(name: str, result: Inspection | FoldInspection) -> None:
    from directranker.data.inspection import Inspection

    if isinstance(result, Inspection):
        print_inspection(name, result)
        return
    for part, inspection in result.parts.items():
        print_inspection(f"{name} {part}", inspection)
    if result.findings:
        console().print(f"\n[bold]{_escaped(name)}[/bold] between its parts")
        console().print(_findings(result.findings))


def print_inspection(name: str, inspection: Inspection) -> None:
    """Print sizes, labels, list lengths, and then the findings."""
    out = console()
    out.print(
        f"\n[bold]{_escaped(name)}[/bold]: {inspection.n_documents:,} documents, "
        f"{inspection.n_queries:,} queries, {inspection.n_features:,} features"
    )
    lengths = inspection.list_lengths
    if lengths is not None:
        out.print(
            f"documents per query: {lengths.minimum} to {lengths.maximum}, "
            f"median {lengths.median:g}, mean {lengths.mean:.1f}"
        )
    out.print(_histogram(inspection.label_counts))
    if inspection.findings:
        out.print(_findings(inspection.findings))
    else:
        out.print("nothing odd found")


def _histogram(counts: dict[str, int]) -> RenderableType:
    from rich.table import Table

    table = Table("label", "documents", "", "", box=None, header_style="bold")
    for column in table.columns[:3]:
        column.justify = "right"
    total, largest = sum(counts.values()), max(counts.values(), default=0)
    for label, count in counts.items():
        table.add_row(label, f"{count:,}", f"{100 * count / total:.1f} %", "█" * round(30 * count / largest))
    return table


def _findings(findings: tuple[Finding, ...]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 1))
    colours: dict[str, Any] = {"warning": "bold yellow", "note": "cyan"}
    for finding in findings:
        words = Text(finding.message).append(f"\n{finding.advice}", style="dim")
        table.add_row(Text(finding.severity, style=colours[finding.severity]), words)
    return table


def _escaped(name: str) -> str:
    from rich.markup import escape

    return escape(name)
