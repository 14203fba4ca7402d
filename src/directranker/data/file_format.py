"""What a file format implements: reading a data set, streaming it in pieces, and writing it.

A format of tables implements `open`, which yields batches of rows; reading and streaming follow from it. A
new format is one module and one line in `formats`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar

from directranker.data.dataset import RankingDataset
from directranker.data.files import Progress
from directranker.data.read_options import ReadOptions, WriteOptions
from directranker.data.sources import DataSource
from directranker.data.streaming import stream_pieces
from directranker.data.table_stream import TableStream
from directranker.data.tabular import build_dataset

__all__ = ["FileFormat", "Reader", "TableFormat", "TableReader"]


class Reader(ABC):
    """Something that data sets are read from."""

    @abstractmethod
    def read(self, source: DataSource, options: ReadOptions, progress: Progress) -> RankingDataset:
        """Read all of a source."""

    @abstractmethod
    def stream(
        self, source: DataSource, options: ReadOptions, progress: Progress
    ) -> Iterator[RankingDataset]:
        """Yield pieces of complete queries, in memory that does not grow with the source."""


class FileFormat(Reader):
    """A format of data sets in files."""

    name: str
    extensions: tuple[str, ...]
    compressions: ClassVar[tuple[str, ...]] = ()
    """The extensions of compressed files that it can read."""

    @abstractmethod
    def write(self, data: RankingDataset, path: Path, options: WriteOptions, progress: Progress) -> None:
        """Write a data set."""


class TableReader(Reader):
    """Something that tables with named columns are read from."""

    @abstractmethod
    def open(
        self, source: DataSource, options: ReadOptions, progress: Progress, *, whole: bool
    ) -> AbstractContextManager[TableStream]:
        """Open a table; with `whole` all of it may be held in memory. Errors name the source."""

    def read(self, source: DataSource, options: ReadOptions, progress: Progress) -> RankingDataset:
        """Read all rows."""
        with self.open(source, options, progress, whole=True) as stream:
            return build_dataset(stream, options.columns, need_labels=options.need_labels)

    def stream(
        self, source: DataSource, options: ReadOptions, progress: Progress
    ) -> Iterator[RankingDataset]:
        """Yield pieces of complete queries; without a label column all labels are 0."""
        with self.open(source, options, progress, whole=False) as stream:
            yield from stream_pieces(stream, options.columns)


class TableFormat(TableReader, FileFormat):
    """A file format of tables."""
