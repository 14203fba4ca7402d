"""`directranker export`: a saved ranker for another program, with proof."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from directranker.cli.console import Overwrite, read_data
from directranker.cli.loading import ModelPath, Trust, load_model

__all__ = ["export"]


def export(
    model: ModelPath,
    to: Annotated[
        str,
        typer.Option(help="onnx, c, solr, elasticsearch or elasticsearch-ranklib.", show_default=False),
    ],
    rows: Annotated[
        Path,
        typer.Option(help="Real data to compare scores on; it may be -, or example.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write.", show_default=False)],
    name: Annotated[str, typer.Option(help="What the model is called; else the folder's name.")] = "",
    overwrite: Overwrite = False,
    trust: Trust = None,
) -> None:
    """Write a saved ranker for another program, if that scores real rows as the ranker does.

    Example: `directranker export model --to onnx --rows example --out served`
    """
    from directranker.data.formats import ReadOptions
    from directranker.export import export_ranker

    ranker = load_model(model, trust)
    data = read_data(rows, options=ReadOptions(n_features=ranker.n_features_in_))
    parity = export_ranker(ranker, out, to=to, rows=data, name=name, overwrite=overwrite)
    files = ", ".join(sorted(path.name for path in out.iterdir()))
    typer.echo(f"{out}: {files}")
    if parity.n_documents:
        typer.echo(
            f"compared by {parity.checked_by} on {parity.n_documents} documents, {parity.n_queries} queries:"
        )
        typer.echo(f"largest relative difference {parity.largest_difference:.1e}, same order")
    else:
        typer.echo(f"compared by {parity.checked_by}; the scores are not proved")
