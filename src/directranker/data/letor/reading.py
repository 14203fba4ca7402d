r"""LETOR and SVMlight text → data sets.

A line is `label [qid:ID] (index:value)* [#comment]`: a label, the query id, features by increasing index, and
a comment that may contain the document id (`#docid = GX029-35-5894638 …`). The text may be dense or sparse,
with any line endings, and compressed with gzip. Nothing is skipped silently: an invalid line raises a
`LetorError` with its number and the reason.

>>> data = parse_letor(b"2 qid:10 1:0.5 3:1e-2 #docid = GX029-35\n0 qid:10 2:7\n")
>>> data.features.tolist(), data.document_ids.tolist()
([[0.5, 0.0, 0.009999999776482582], [0.0, 7.0, 0.0]], ['GX029-35', ''])
>>> parse_letor(b"0 qid:10 9:1 7:1\n")
Traceback (most recent call last):
directranker.errors.LetorError: <text>:1: feature index 7 after 9; indices must increase
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

import numpy as np

from directranker.data.dataset import RankingDataset
from directranker.data.files import ForwardOnlyFile, Progress, ignore_progress
from directranker.errors import DataError, LetorError

if TYPE_CHECKING:
    from directranker.data.letor.builder import LetorBuilder

__all__ = ["Missing", "PathLike", "open_letor", "parse_letor", "read_letor"]


PathLike = str | Path
Missing = Literal["zero", "nan"]


def read_letor(
    paths: PathLike | Sequence[PathLike],
    *,
    missing: Missing = "zero",
    allow_non_finite: bool = False,
    zero_based: bool = False,
    n_features: int | None = None,
    max_features: int = 100_000,
    comments: bool = True,
    progress: Progress = ignore_progress,
) -> RankingDataset:
    """Read one or several files as one data set.

    Parameters
    ----------
    paths
        Files of LETOR or SVMlight text, plain or compressed with gzip.
    missing
        The value of a feature that a line does not mention: `"zero"` or `"nan"`.
    allow_non_finite
        Accept `nan`, `inf` and numbers too large for float32, which otherwise raise.
    zero_based
        Whether feature indices start at 0 instead of 1.
    n_features
        The number of features, if the files may not mention the last ones.
    max_features
        A higher index raises, instead of allocating a very wide array.
    comments
        Whether to keep the text after `#`, and the document ids in it.
    progress
        Called with the number of bytes read and the total number of bytes.

    """
    files = [paths] if isinstance(paths, str | Path) else list(paths)
    if not files:
        raise ValueError("there are no files to read; give at least one path")
    builder = _make_builder(missing, allow_non_finite, zero_based, n_features, max_features, comments)
    sizes = [_get_size(path) for path in files]
    done = 0
    for path, size in zip(files, sizes, strict=True):
        with open_letor(Path(path)) as (text, raw):
            position = _ReadPosition(raw, done, sum(sizes), progress)
            builder.read(
                text,
                name=str(path),
                fraction=position.compute_fraction,
                report=position.report,
                is_compressed=text is not raw,
            )
        done += size
    return builder.build()


def parse_letor(
    text: bytes,
    *,
    name: str = "<text>",
    missing: Missing = "zero",
    allow_non_finite: bool = False,
    zero_based: bool = False,
    n_features: int | None = None,
    max_features: int = 100_000,
    comments: bool = True,
) -> RankingDataset:
    """Parse LETOR text from memory; the options are those of `read_letor`."""
    builder = _make_builder(missing, allow_non_finite, zero_based, n_features, max_features, comments)
    builder.read(io.BytesIO(text), name=name)
    return builder.build()


def _make_builder(
    missing: Missing,
    allow_non_finite: bool,
    zero_based: bool,
    n_features: int | None,
    max_features: int,
    comments: bool,
) -> LetorBuilder:
    from directranker.data.letor.builder import LetorBuilder, LetorOptions  # noqa: PLC0415 - slow to import

    if missing not in ("zero", "nan"):
        raise ValueError(f"missing is {missing!r}; use 'zero' or 'nan'")
    options = LetorOptions(
        missing=np.nan if missing == "nan" else 0.0,
        allow_non_finite=allow_non_finite,
        first_index=0 if zero_based else 1,
        n_features=n_features,
        max_features=max_features,
        comments=comments,
    )
    return LetorBuilder(options)


@dataclass(frozen=True)
class _ReadPosition:
    """The read position in the bytes of all files."""

    raw: BinaryIO
    before: int
    total: int
    progress: Progress

    def compute_fraction(self) -> float:
        return (self.before + self.raw.tell()) / max(self.total, 1)

    def report(self) -> None:
        self.progress(self.before + self.raw.tell(), self.total)


def _get_size(path: PathLike) -> int:
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give a file, or read its folds with read_folds")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    return path.stat().st_size


@contextmanager
def open_letor(path: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Open a file or a pipe; yield the decompressed text, and the raw file for its position."""
    with path.open("rb", buffering=0) as file:
        raw = ForwardOnlyFile(file)
        if raw.start == b"PAR1":
            raise DataError(f"{path}: contains Parquet; give it a name that ends in .parquet")
        if not raw.start.startswith(b"\x1f\x8b"):
            yield raw, raw  # type: ignore[misc]  # is read like any binary file
            return
        try:
            with gzip.GzipFile(fileobj=raw) as text:
                yield text, raw  # type: ignore[misc]  # is read like any binary file
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise LetorError(f"damaged or truncated gzip file ({error})", path=str(path)) from None
