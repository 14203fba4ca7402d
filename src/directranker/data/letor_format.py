"""LETOR and SVMlight text as a file format."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from directranker.data.dataset import RankingDataset
from directranker.data.file_format import FileFormat
from directranker.data.files import Progress
from directranker.data.letor import open_letor, parse_letor, read_letor, write_letor
from directranker.data.read_options import ReadOptions, WriteOptions
from directranker.data.sources import DataSource
from directranker.data.streaming import stream_letor

__all__ = ["LetorFormat"]


class LetorFormat(FileFormat):
    """Text with a line per document: label, query id, and features by index."""

    name = "letor"
    extensions = (".txt", ".letor", ".svm", ".svmlight", ".dat")
    compressions = (".gz",)

    def read(self, source: DataSource, options: ReadOptions, progress: Progress) -> RankingDataset:
        """Read all lines."""
        if source.path is not None:
            return read_letor(source.path, **options.letor, progress=progress)
        with _open_text(source) as (text, _):
            return parse_letor(text.read(), name=source.name, **options.letor)

    def stream(
        self, source: DataSource, options: ReadOptions, progress: Progress
    ) -> Iterator[RankingDataset]:
        """Yield pieces of complete queries."""
        with _open_text(source) as (text, raw):
            for piece in stream_letor(text, name=source.name, options=options):
                yield piece
                if source.path is not None:
                    progress(raw.tell(), source.path.stat().st_size)

    def write(self, data: RankingDataset, path: Path, options: WriteOptions, progress: Progress) -> None:
        """Write a line per document."""
        write_letor(data, path, zero_based=options.zero_based, progress=progress)


@contextmanager
def _open_text(source: DataSource) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    if source.path is not None:
        with open_letor(source.path) as opened:
            yield opened
        return
    assert source.file is not None  # noqa: S101 - one of the two is given
    yield source.file, source.file
