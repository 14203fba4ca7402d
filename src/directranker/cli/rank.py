"""`directranker rank`: data of any size through a saved ranker."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from directranker.cli.console import EXAMPLE, STANDARD, DataPath, embedded_data, progress_bar
from directranker.cli.loading import ModelPath, Trust, load_model
from directranker.cli.streams import standard_input, standard_output

if TYPE_CHECKING:
    from directranker.data.dataset import RankingDataset

__all__ = ["rank"]


class Format(StrEnum):
    """How the ranking is written."""

    TREC = "trec"
    SCORES = "scores"
    JSONL = "jsonl"
    PARQUET = "parquet"


def rank(
    model: ModelPath,
    data: DataPath,
    out: Annotated[
        Path, typer.Option(help="A file whose ending tells the format; - for standard output.")
    ] = STANDARD,
    form: Annotated[
        Format | None, typer.Option("--format", help="By the ending of --out, else trec.")
    ] = None,
    top: Annotated[int | None, typer.Option(help="Only the best so many of each query.", min=1)] = None,
    tag: Annotated[str, typer.Option(help="The name of the run in a TREC run.")] = "directranker",
    trust: Trust = None,
) -> None:
    """Rank documents by a saved ranker, a piece at a time, in memory that does not grow with the data.

    Scores alone come in the order of the data; all else query by query, best first.

    Example: `directranker rank model example --out mine.run`
    """
    from directranker.data.ranking_files import detect_ranking_format, open_ranking_writer
    from directranker.ranking import rank_pieces, score_pieces

    kind = form.value if form else "trec" if out == STANDARD else detect_ranking_format(out)
    if kind == "scores" and top is not None:
        raise ValueError("scores stand for all documents in the order of the data; leave out --top")
    if kind == "parquet" and out == STANDARD:
        raise ValueError("Parquet cannot be written to standard output; give --out a name")
    ranker = load_model(model, trust)
    with _sink(out) as sink, open_ranking_writer(sink, kind, tag=tag) as write:
        pieces = _with_a_word_on_unused(_pieces(data, ranker.n_features_in_), ranker.n_features_in_)
        tables = score_pieces(ranker, pieces) if kind == "scores" else rank_pieces(ranker, pieces, top=top)
        for table in tables:
            write(table)


def _pieces(data: Path, n_features: int) -> Iterator[RankingDataset]:
    from directranker.data.streaming import stream_dataset, stream_letor

    if data == STANDARD:
        yield from stream_letor(standard_input(), name="standard input", n_features=n_features)
        return
    if data == EXAMPLE and not data.exists():
        yield embedded_data()
        return
    with progress_bar(f"ranking {data.name}") as progress:
        yield from stream_dataset(data, n_features=n_features, progress=progress)


def _with_a_word_on_unused(pieces: Iterator[RankingDataset], n_features: int) -> Iterator[RankingDataset]:
    """The same; in the end, a line to standard error where the last features were 0 in all documents.

    Text mentions only what is not 0, so a file of too few features cannot be told from one of zeros before.
    """
    import numpy as np

    last = 0
    for piece in pieces:
        used = np.flatnonzero(np.any(piece.features[:, last:], axis=0))
        last += 1 + int(used[-1]) if len(used) else 0
        yield piece
    if 0 < last < n_features:
        sys.stderr.write(
            f"directranker: features {last + 1} to {n_features} of the ranker are 0 in all documents; "
            "is this the data that it was made for?\n"
        )


@contextmanager
def _sink(out: Path) -> Iterator[BinaryIO | Path]:
    from directranker.data.files import write_atomically

    if out == STANDARD:
        yield standard_output()
        standard_output().flush()
        return
    with write_atomically(out) as temporary:
        yield temporary
