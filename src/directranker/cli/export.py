"""`directranker export`: export a saved ranker to another program, and verify its scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from directranker.cli.columns import ColumnOptions, takes_columns
from directranker.cli.console import Overwrite
from directranker.cli.loading import ModelPath, Trust, load_model, read_data_for
from directranker.cli.outputs import check_output_folder
from directranker.suggestions import describe_unknown_name

__all__ = ["export"]


@takes_columns()
def export(
    model: ModelPath,
    *,
    columns: ColumnOptions,
    to: Annotated[
        str,
        typer.Option(
            metavar="TARGET",
            help="Target: onnx, c, solr, elasticsearch or elasticsearch-ranklib.",
            show_default=False,
        ),
    ],
    rows: Annotated[
        Path,
        typer.Option(
            readable=False,
            metavar="PATH",
            help="Data to compare scores on, in any format; - for standard input, or 'example'.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path, typer.Option(readable=False, metavar="FOLDER", help="Output folder.", show_default=False)
    ],
    name: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Name of the exported model; default: the folder's name.", show_default=False
        ),
    ] = "",
    overwrite: Overwrite = False,
    trust: Trust = None,
) -> None:
    """Export a saved ranker to ONNX, C, Solr or Elasticsearch.

    The export is written only if it scores the given rows as the ranker does.

    Example: `directranker export model --to onnx --rows example --out served`
    """
    from directranker.export import TARGETS, export_ranker

    if to not in TARGETS:
        raise ValueError(describe_unknown_name("target", to, TARGETS))
    check_output_folder(out, overwrite=overwrite, inputs=[model, rows])
    ranker = load_model(model, trust, or_pipeline=True)
    data = read_data_for(ranker, rows, columns)
    parity = export_ranker(ranker, out, to=to, rows=data, name=name, overwrite=overwrite)
    files = ", ".join(sorted(path.name for path in out.iterdir()))
    typer.echo(f"{out}: {files}")
    if parity.n_documents:
        typer.echo(
            f"verified by {parity.checked_by} on {parity.n_documents} documents, {parity.n_queries} queries:"
        )
        typer.echo(f"largest relative difference {parity.largest_difference:.1e}, same order")
    else:
        typer.echo(f"verified by {parity.checked_by}; compare its scores yourself")
