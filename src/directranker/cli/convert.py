"""`directranker convert`: convert a data set to another format."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from directranker.cli.columns import ColumnOptions, takes_columns
from directranker.cli.console import DataPath, progress_bar, read_data
from directranker.cli.outputs import check_output_file, check_output_folder

__all__ = ["convert"]


class Missing(StrEnum):
    """The value of a feature that a line of text leaves out."""

    ZERO = "zero"
    NAN = "nan"


class Layout(StrEnum):
    """How Parquet stores the features."""

    COLUMNS = "columns"
    LIST = "list"


@takes_columns()
def convert(
    source: DataPath,
    target: Annotated[
        Path, typer.Argument(readable=False, help="Output file or folder; the extension selects the format.")
    ],
    *,
    columns: ColumnOptions,
    missing: Annotated[
        Missing, typer.Option(help="Value of features that a line of text leaves out.")
    ] = Missing.ZERO,
    allow_non_finite: Annotated[bool, typer.Option(help="Accept nan and inf in text.")] = False,
    zero_based: Annotated[bool, typer.Option(help="Number the features in text from 0.")] = False,
    layout: Annotated[
        Layout, typer.Option(help="Features in Parquet: one column each, or one list column.")
    ] = Layout.COLUMNS,
    overwrite: Annotated[bool, typer.Option(help="Replace the target if it exists.")] = False,
) -> None:
    """Convert data between LETOR text, CSV, TSV, JSON lines, Parquet and the memory-mapped folder format.

    LETOR text ends in .txt, .letor, .svm, .svmlight or .dat, optionally followed by .gz; tables in .csv, .tsv
    or .jsonl, optionally followed by .gz, .bz2 or .zst; Parquet in .parquet or .pq. A name without an
    extension is a folder, which opens instantly.

    Example: `directranker convert example train.parquet`
    """
    from directranker.data.formats import detect_format, has_known_extension, write_dataset

    if target.exists() and not overwrite:
        raise FileExistsError(f"{target} exists; choose another name or pass --overwrite")
    # `detect_format` treats any existing folder as a saved data set, even if it is named like a file.
    if has_known_extension(target) or detect_format(target) != "folder":
        check_output_file(target)
    else:
        check_output_folder(target, overwrite=overwrite)
    options = columns.make_options(
        missing=missing.value, allow_non_finite=allow_non_finite, zero_based=zero_based
    )
    data = read_data(source, options=options, data_format=columns.data_format)
    with progress_bar(f"writing {target.name}") as progress:
        write_dataset(
            data, target, layout=layout.value, zero_based=zero_based, overwrite=overwrite, progress=progress
        )
    typer.echo(
        f"{target}: {data.n_documents} documents, {data.n_queries} queries, {data.n_features} features"
    )
