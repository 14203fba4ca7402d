"""`directranker report`: turn results into one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from directranker.cli.outputs import check_output_file, check_results_folder

__all__ = ["report"]


def report(
    results: Annotated[
        Path,
        typer.Argument(
            readable=False,
            help="Folder written by compare, sensitivity, neighbours --out, evaluate --out or train; or a "
            "folder of such folders.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            readable=False, metavar="FILE", help="Output page; default: report.html in the results folder."
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            readable=False, metavar="FOLDER", help="Also draw all figures to this folder, as .svg and .png."
        ),
    ] = None,
) -> None:
    """Turn results into one self-contained HTML page with tables, plots and queries to explore.

    Example: `directranker report results/MQ2008`
    """
    from directranker.report import write_report

    if out is not None:
        check_output_file(out)
    if figures is not None:
        check_results_folder(figures)
    typer.echo(f"report:  {write_report(results, out)}")
    if figures is not None:
        from directranker.report.figures import write_figures

        typer.echo(f"figures: {len(write_figures(results, figures))} in {figures}")
