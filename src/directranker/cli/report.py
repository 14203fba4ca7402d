"""`directranker report`: results to look at, as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["report"]


def report(
    results: Annotated[
        Path,
        typer.Argument(
            help="What compare, sensitivity, neighbours --out or train wrote, or a folder of such folders.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="The page; report.html in the folder of the results unless given.")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Draw all figures to this folder too, as .svg and .png.")
    ] = None,
) -> None:
    """Turn results into one HTML file that needs no network: tables, plots, queries to explore.

    Example: `directranker report results/MQ2008`
    """
    from directranker.report import write_report

    typer.echo(f"report:  {write_report(results, out)}")
    if figures is not None:
        from directranker.report.figures import write_figures

        typer.echo(f"figures: {len(write_figures(results, figures))} in {figures}")
