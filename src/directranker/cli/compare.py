"""`directranker compare`: all rankers on the same folds, by the same protocol, and what is significant."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from directranker.cli.console import EXAMPLE, INTERRUPTED, AsJson, command_line, print_json, saved_example

if TYPE_CHECKING:
    from directranker.experiments.folder import Request
    from directranker.experiments.results import Comparison

__all__ = ["answer_and_print", "compare"]


class Format(StrEnum):
    """How the results are printed."""

    TABLE = "table"
    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"


def compare(
    data: Annotated[
        Path | None,
        typer.Argument(
            help="A folder with Fold1, Fold2, …, or one data set in any format; example for one to try.",
            show_default=False,
        ),
    ] = None,
    rankers: Annotated[str, typer.Option(help="Names with commas between, or all.")] = "all",
    metric: Annotated[
        list[str], typer.Option(help="Such as ndcg@10 and map; each is searched and trained for.")
    ] = ["ndcg@10", "map"],  # noqa: B006 - typer copies it
    grid: Annotated[str, typer.Option(help="quick, paper, or a .toml or .yaml file.")] = "quick",
    inner_folds: Annotated[
        str, typer.Option(help="Parameters are chosen by so many inner folds, or on the validation split.")
    ] = "5",
    seeds: Annotated[int, typer.Option(help="How often each final training is repeated.", min=1)] = 3,
    threshold: Annotated[
        str,
        typer.Option(
            help="The lowest label that is relevant; known: the data set's own, else 1; none: graded."
        ),
    ] = "known",
    convention: Annotated[str, typer.Option(help="The rules of the metrics.")] = "paper",
    folds: Annotated[int, typer.Option(help="How many folds to make of a single data set.")] = 5,
    out: Annotated[
        Path | None, typer.Option(help="The folder of the results; results/NAME unless given.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Trainings at the same time; all cores unless given.")
    ] = None,
    cluster: Annotated[str | None, typer.Option(help="The address of a Dask scheduler to train on.")] = None,
    output: Annotated[Format, typer.Option("--format", help="How to print the results.")] = Format.TABLE,
    status: Annotated[bool, typer.Option("--status", help="Only say how far this comparison is.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare rankers: the same folds, parameters chosen within each, and which differences are significant.

    Every finished training is kept in the folder of the results. A comparison that was stopped, by whatever,
    goes on where it was when the same command is given again.

    Example: `directranker compare example --rankers RankSVM,LambdaMART`
    """
    from directranker.experiments.folder import Request
    from directranker.rankers.registry import select_rankers

    if data is None and (out is None or not status):
        raise typer.BadParameter("name the data; with --status --out FOLDER it may be left out")
    folder = out or Path("results") / (data or Path()).resolve().name
    if status:
        _print_status(folder, as_json=as_json)
        return
    select_rankers(rankers)  # a name that is unknown is reported before anything slow is imported
    is_example = data == EXAMPLE and not data.exists()
    request = Request(
        data=str(saved_example(folder) if is_example else data),
        rankers=rankers,
        metrics=tuple(metric),
        grid=grid,
        inner_folds=inner_folds,
        seeds=seeds,
        threshold=threshold,
        convention=convention,
        folds=folds,
    )
    answer_and_print(request, folder, workers=workers, cluster=cluster, output=output, as_json=as_json)


def answer_and_print(
    request: Request,
    folder: Path,
    *,
    workers: int | None = None,
    cluster: str | None = None,
    output: Format = Format.TABLE,
    as_json: bool = False,
) -> None:
    """Run the comparison, or what is missing of it, and print what came out."""
    from directranker.cli.comparison_view import print_comparison
    from directranker.experiments.folder import load_finished_comparison
    from directranker.experiments.results import RESULTS
    from directranker.experiments.tables import TABLE_FORMATS
    from directranker.report.rendering import REPORT, write_report

    report = folder / REPORT
    digest = request.digest()
    comparison = load_finished_comparison(folder, digest)
    if comparison is None:
        report.unlink(missing_ok=True)  # it tells of what was there before
        comparison = _run(request, digest, folder, workers, cluster)
    if not report.is_file():
        write_report(folder)
    if as_json:
        print_json(_read_json(folder / RESULTS))
    elif output is Format.TABLE:
        print_comparison(comparison, folder / RESULTS)
        typer.echo(f"report:  {report}")
    else:
        typer.echo(TABLE_FORMATS[output.value][1](comparison), nl=False)


def _read_json(path: Path) -> object:
    import json

    return json.loads(path.read_text(encoding="utf-8"))


def _run(request: Request, digest: str, folder: Path, workers: int | None, cluster: str | None) -> Comparison:
    from directranker.cli.comparison_view import search_bar
    from directranker.experiments.comparison import run_request

    with search_bar() as bar:
        try:
            return run_request(
                request,
                folder,
                digest=digest,
                command=command_line(),
                workers=workers,
                cluster=cluster,
                progress=bar.show,
            )
        except KeyboardInterrupt:
            bar.close()
            kept = (
                f"{bar.done} of {bar.total} cells are kept in {folder}, and" if bar.total else "all is kept;"
            )
            typer.echo(f"directranker: interrupted; {kept} the same command goes on from there", err=True)
            raise typer.Exit(INTERRUPTED) from None


def _print_status(folder: Path, *, as_json: bool) -> None:
    from directranker.cli.comparison_view import print_status
    from directranker.experiments.folder import read_status

    status = read_status(folder)
    if as_json:
        print_json({name: {"done": done, "total": total} for name, (done, total) in status.items()})
    else:
        print_status(status, folder)
