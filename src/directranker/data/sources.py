"""Where data is read from: a file, plain or compressed, or a stream such as standard input.

>>> source = DataSource("standard input", file=io.BytesIO(b"qid,a"))
>>> with source.open() as (file, _):
...     file.read()
b'qid,a'
"""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from directranker.data.column_roles import format_in_one_line
from directranker.data.files import ForwardOnlyFile, is_pipe, open_seekable
from directranker.errors import DataError

__all__ = ["COMPRESSIONS", "DataSource", "name_source_in_errors"]

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}


@dataclass(frozen=True)
class DataSource:
    """A file by its path, or a stream that is read once; `name` is for errors."""

    name: str
    path: Path | None = None
    file: BinaryIO | None = None

    @classmethod
    def of(cls, path: Path) -> DataSource:
        """Return the source of a path."""
        return cls(str(path), path)

    @property
    def is_repeatable(self) -> bool:
        """Whether it can be read twice."""
        return self.path is not None and not is_pipe(self.path)

    @property
    def size(self) -> int:
        """The number of bytes of a file; 0 if unknown."""
        return 0 if self.path is None or not self.path.is_file() else self.path.stat().st_size

    @contextmanager
    def open(self) -> Iterator[tuple[io.BufferedReader, ForwardOnlyFile]]:
        """Yield the decompressed bytes, and the file that they come from, for progress."""
        with self._open_raw() as opened:
            raw = ForwardOnlyFile(opened)
            codec = _find_codec(raw.start)
            if codec is None:
                yield io.BufferedReader(raw, 1 << 20), raw
            else:
                with pa.CompressedInputStream(pa.PythonFile(raw, "r"), codec) as plain:
                    yield io.BufferedReader(ForwardOnlyFile(plain), 1 << 20), raw

    @contextmanager
    def open_plain(self) -> Iterator[Path | BinaryIO]:
        """Yield the decompressed content for Arrow, which reads a plain file faster by its path."""
        with self.open() as (file, raw):
            if self.path is not None and _find_codec(raw.start) is None:
                with open_seekable(self.path) as source:
                    yield source
            else:
                yield file

    @contextmanager
    def open_seekable(self) -> Iterator[Path | BinaryIO]:
        """Yield a seekable source for Arrow; streams are copied to a temporary file."""
        if self.path is not None:
            with open_seekable(self.path) as source:
                yield source
            return
        with tempfile.TemporaryFile() as copy, self._open_raw() as file:
            shutil.copyfileobj(file, copy)
            copy.seek(0)
            yield copy

    @contextmanager
    def _open_raw(self) -> Iterator[BinaryIO]:
        if self.path is not None:
            with self.path.open("rb") as file:
                yield file
        else:
            assert self.file is not None  # noqa: S101 - one of the two is given
            yield self.file


def _find_codec(start: bytes) -> str | None:
    return next((codec for magic, codec in MAGIC.items() if start.startswith(magic)), None)


@contextmanager
def name_source_in_errors(source: DataSource, file_format: str) -> Iterator[None]:
    """Turn an error in the content of a source into a `DataError` that names it."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{source.name}: {error}") from None
    except (pa.ArrowException, UnicodeDecodeError, MemoryError) as error:
        raise _describe_unreadable(source, file_format, error) from None
    except OSError as error:
        if error.errno is not None:  # an error of the file system; Arrow's errors have no errno
            raise
        raise _describe_unreadable(source, file_format, error) from None


def _describe_unreadable(source: DataSource, file_format: str, error: BaseException) -> DataError:
    return DataError(f"{source.name}: not a readable {file_format} file: {format_in_one_line(error)}")
