"""`directranker rank`: rank the documents of each query with a saved model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from directranker.cli.columns import ColumnOptions, takes_columns
from directranker.cli.console import (
    STANDARD,
    STANDARD_INPUT,
    DataPath,
    check_unchanged,
    is_example,
    load_example,
    name_file_in_errors,
    progress_bar,
)
from directranker.cli.loading import ModelPath, Trust, load_model, warn_of_unused_features
from directranker.cli.outputs import check_output_file
from directranker.cli.streams import require_stdin, require_stdout
from directranker.data.files import write_atomically

if TYPE_CHECKING:
    from directranker.data.dataset import RankingDataset
    from directranker.data.formats import ReadOptions

__all__ = ["rank"]


class Format(StrEnum):
    """The format of the ranking."""

    TREC = "trec"
    SCORES = "scores"
    JSONL = "jsonl"
    PARQUET = "parquet"


@takes_columns()
def rank(
    model: ModelPath,
    data: DataPath,
    *,
    columns: ColumnOptions,
    out: Annotated[
        Path,
        typer.Option(
            readable=False,
            metavar="FILE",
            help="Output file, whose extension selects the format; - for standard output.",
        ),
    ] = STANDARD,
    form: Annotated[
        Format | None, typer.Option("--format", help="Output format; default: by extension, else trec.")
    ] = None,
    top: Annotated[
        int | None, typer.Option(metavar="N", help="Write only the best N documents of each query.", min=1)
    ] = None,
    tag: Annotated[str, typer.Option(metavar="NAME", help="Run name in a TREC run.")] = "directranker",
    trust: Trust = None,
) -> None:
    """Rank the documents of each query with a saved model, in constant memory.

    Scores keep the order of the data. All other formats list each query's documents, best first.

    Example: `directranker rank model example --out mine.run`
    """
    from directranker.data.ranking_files import detect_ranking_format, open_ranking_writer
    from directranker.ranking import rank_pieces, score_pieces

    kind = form.value if form else "trec" if out == STANDARD else detect_ranking_format(out)
    if kind == "scores" and top is not None:
        raise ValueError("scores are written for all documents, in the order of the data; omit --top")
    if kind == "parquet" and out == STANDARD:
        raise ValueError("Parquet cannot be written to standard output; pass --out FILE")
    if kind == "trec" and len(tag.split()) != 1:
        raise ValueError(f"--tag {tag!r}: give a name without spaces, as a TREC run requires")
    if out != STANDARD:
        check_output_file(out, inputs=[data])
    ranker = load_model(model, trust, or_pipeline=True)
    options = columns.make_options(ranker)
    with _open_output(out) as sink, open_ranking_writer(sink, kind, tag=tag) as write:
        pieces = _stream_data(data, options, columns.data_format)
        datasets = warn_of_unused_features(pieces, ranker.n_features_in_)
        tables = (
            score_pieces(ranker, datasets) if kind == "scores" else rank_pieces(ranker, datasets, top=top)
        )
        for table in tables:
            write(table)


def _stream_data(data: Path, options: ReadOptions, data_format: str | None) -> Iterator[RankingDataset]:
    from directranker.data.files import ignore_progress
    from directranker.data.formats import open_stream, stream_dataset

    if data == STANDARD:
        found, source = open_stream(require_stdin(), name=STANDARD_INPUT, file_format=data_format)
        yield from found.stream(source, options, ignore_progress)
        return
    if is_example(data):
        yield load_example()
        return
    with check_unchanged(data), progress_bar(f"ranking {data.name}") as progress:
        pieces = stream_dataset(data, options=options, file_format=data_format, progress=progress)
        while True:
            with name_file_in_errors(data):  # around the reading only, not around what is done with a piece
                piece = next(pieces, None)
            if piece is None:
                return
            yield piece


@contextmanager
def _open_output(out: Path) -> Iterator[BinaryIO | Path]:
    if out == STANDARD:
        yield require_stdout()
        require_stdout().flush()
        return
    with write_atomically(out) as temporary:
        yield temporary
