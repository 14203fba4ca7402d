"""`directranker compare`: compare rankers by nested cross-validation, with significance tests."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from directranker.cli.console import (
    INTERRUPTED,
    AsJson,
    format_command,
    is_example,
    print_json,
    save_example,
)
from directranker.cli.outputs import check_results_folder
from directranker.rankers.registry import select_rankers

if TYPE_CHECKING:
    from directranker.experiments.folder import Request
    from directranker.experiments.results import Comparison

__all__ = ["compare", "run_and_print"]


class Format(StrEnum):
    """The format of the printed results."""

    TABLE = "table"
    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"


def compare(
    data: Annotated[
        Path | None,
        typer.Argument(
            readable=False,
            help="Folder with Fold1, Fold2, …, one data set in any format, or 'example'.",
            show_default=False,
        ),
    ] = None,
    rankers: Annotated[
        str, typer.Option(metavar="NAMES", help="Comma-separated ranker names, or 'all'.")
    ] = "all",
    metric: Annotated[
        list[str],
        typer.Option(
            metavar="METRIC",
            help="Metric to tune, train and evaluate for, such as ndcg@10 or map. Repeatable.",
        ),
    ] = ["ndcg@10", "map"],  # noqa: B006 - typer copies it
    grid: Annotated[
        str, typer.Option(metavar="GRID", help="Parameter grid: quick, paper, or a .toml or .yaml file.")
    ] = "quick",
    inner_folds: Annotated[
        str,
        typer.Option(
            metavar="N", help="Inner folds to choose parameters by, or 'validation' for the validation split."
        ),
    ] = "5",
    seeds: Annotated[int, typer.Option(metavar="N", help="Number of seeds per final training.", min=1)] = 3,
    threshold: Annotated[
        str,
        typer.Option(
            metavar="LABEL",
            help="Lowest label that counts as relevant; 'known' for the data set's published threshold, else "
            "1; 'none' to keep graded labels.",
        ),
    ] = "known",
    convention: Annotated[str, typer.Option(metavar="NAME", help="Convention of the metrics.")] = "paper",
    folds: Annotated[int, typer.Option(metavar="N", help="Folds to split a single data set into.")] = 5,
    split_by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Split a single data set by this column, such as a date, not at random: training before "
            "validation before test. In a table, the column is then not a feature.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(readable=False, metavar="FOLDER", help="Results folder; default: results/NAME."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of parallel jobs; default: one per core.", min=1),
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Address of a Dask scheduler to train on.")
    ] = None,
    output: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.TABLE,
    status: Annotated[bool, typer.Option("--status", help="Print the progress and exit.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare rankers on the same folds and test which differences are significant.

    Parameters are chosen within each training fold. Finished jobs are kept in the results folder; run the
    same command to resume an interrupted comparison.

    Example: `directranker compare example --rankers RankSVM,LambdaMART`
    """
    from directranker.experiments.folder import Request

    if data is None and (out is None or not status):
        raise typer.BadParameter("missing argument 'data'; only --status --out FOLDER works without it")
    folder = out or Path("results") / (data or Path()).resolve().name
    if status:
        _print_status(folder, as_json=as_json)
        return
    select_rankers(rankers)  # report an unknown name before anything slow is imported
    check_results_folder(folder)
    is_embedded = data is not None and is_example(data)
    request = Request(
        data=str(save_example(folder) if is_embedded else data),
        rankers=rankers,
        metrics=tuple(metric),
        grid=grid,
        inner_folds=inner_folds,
        seeds=seeds,
        threshold=threshold,
        convention=convention,
        folds=folds,
        split_by=split_by,
    )
    run_and_print(request, folder, workers=workers, cluster=cluster, output=output, as_json=as_json)


def run_and_print(
    request: Request,
    folder: Path,
    *,
    workers: int | None = None,
    cluster: str | None = None,
    output: Format = Format.TABLE,
    as_json: bool = False,
) -> None:
    """Run the jobs of a comparison that are not finished, and print the results."""
    from directranker.cli.comparison_view import print_comparison
    from directranker.experiments.folder import load_finished_comparison
    from directranker.experiments.results import RESULTS
    from directranker.experiments.tables import TABLE_FORMATS
    from directranker.report.rendering import REPORT, write_report

    report = folder / REPORT
    digest = request.digest()
    comparison = load_finished_comparison(folder, digest)
    if comparison is None:
        report.unlink(missing_ok=True)  # it shows the results of an earlier request
        comparison = _run_jobs(request, digest, folder, workers, cluster)
    if not report.is_file():
        write_report(folder)
    if as_json:
        print_json(json.loads((folder / RESULTS).read_text(encoding="utf-8")))
    elif output is Format.TABLE:
        print_comparison(comparison, folder / RESULTS)
        typer.echo(f"report:  {report}")
    else:
        typer.echo(TABLE_FORMATS[output.value][1](comparison), nl=False)


def _run_jobs(
    request: Request, digest: str, folder: Path, workers: int | None, cluster: str | None
) -> Comparison:
    from directranker.cli.comparison_view import search_bar
    from directranker.experiments.comparison import run_request

    with search_bar() as bar:
        try:
            return run_request(
                request,
                folder,
                digest=digest,
                command=format_command(),
                workers=workers,
                cluster=cluster,
                progress=bar.show,
            )
        except KeyboardInterrupt:
            bar.close()
            kept = f"{bar.done} of {bar.total} jobs" if bar.total else "finished jobs"
            typer.echo(
                f"directranker: interrupted; {kept} are kept in {folder}; run the same command to resume",
                err=True,
            )
            raise typer.Exit(INTERRUPTED) from None


def _print_status(folder: Path, *, as_json: bool) -> None:
    from directranker.cli.comparison_view import print_status
    from directranker.experiments.folder import read_status

    status = read_status(folder)
    if as_json:
        print_json({name: {"done": done, "total": total} for name, (done, total) in status.items()})
    else:
        print_status(status, folder)
