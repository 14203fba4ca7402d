"""`directranker convert`: one format to another."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from directranker.cli.console import DataPath, progress_bar, read_data

__all__ = ["convert"]


class Missing(StrEnum):
    """What a feature is that a line does not mention."""

    ZERO = "zero"
    NAN = "nan"


class Layout(StrEnum):
    """How Parquet holds the features."""

    COLUMNS = "columns"
    LIST = "list"


def convert(
    source: DataPath,
    target: Annotated[Path, typer.Argument(help="The new file or folder; its ending tells the format.")],
    missing: Annotated[
        Missing, typer.Option(help="A feature that a line of text does not mention.")
    ] = Missing.ZERO,
    allow_non_finite: Annotated[bool, typer.Option(help="Accept nan and inf in text.")] = False,
    zero_based: Annotated[bool, typer.Option(help="Feature indices in text start at 0.")] = False,
    layout: Annotated[
        Layout, typer.Option(help="Features in Parquet: a column each, or one of lists.")
    ] = Layout.COLUMNS,
    relevance: Annotated[str, typer.Option(help="The table's column of labels.")] = "relevance",
    query: Annotated[str, typer.Option(help="The table's column of query ids.")] = "qid",
    document: Annotated[str, typer.Option(help="The table's column of document ids.")] = "docid",
    overwrite: Annotated[bool, typer.Option(help="Replace the target if it exists.")] = False,
) -> None:
    """Convert data between LETOR text, Parquet and the saved form that opens at once.

    Text ends in .txt, .letor, .svm, .svmlight or .dat (also with .gz), Parquet in .parquet or .pq; a name
    without an ending is a saved folder.

    Example: `directranker convert example train.parquet`
    """
    from directranker.data.column_roles import ColumnRoles
    from directranker.data.formats import ReadOptions, detect_format, write_dataset

    detect_format(target)  # an unknown ending is better known before an hour of reading
    if target.exists() and not overwrite:
        raise FileExistsError(f"{target} exists; choose another name or pass --overwrite")
    columns = ColumnRoles(relevance, query, document)
    options = ReadOptions(missing.value, allow_non_finite, zero_based, columns)
    data = read_data(source, options=options)
    with progress_bar(f"writing {target.name}") as progress:
        write_dataset(
            data, target, layout=layout.value, zero_based=zero_based, overwrite=overwrite, progress=progress
        )
    typer.echo(
        f"{target}: {data.n_documents} documents, {data.n_queries} queries, {data.n_features} features"
    )
