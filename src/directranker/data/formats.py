"""Read and write data sets by file extension.

| name | format |
|---|---|
| `*.txt`, `*.letor`, `*.svm`, `*.svmlight`, `*.dat`, each also `.gz` | LETOR or SVMlight text |
| `*.csv`, `*.tsv`, `*.tab`, each also `.gz`, `.bz2`, `.zst` | text with a header of column names |
| `*.jsonl`, `*.ndjson`, each also `.gz`, `.bz2`, `.zst` | JSON lines |
| `*.parquet`, `*.pq` | Parquet |
| no extension, or a folder | a saved data set |
| a folder or a pattern of CSV, TSV, JSON lines or Parquet files | the rows of all of them |

>>> detect_format("train.txt.gz"), detect_format("train.csv.zst"), detect_format("train")
('letor', 'csv', 'folder')
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from directranker.data.csv_files import CSV, TSV
from directranker.data.dataset import RankingDataset
from directranker.data.file_format import FileFormat, Reader, TableFormat
from directranker.data.files import ForwardOnlyFile, Progress, ignore_progress
from directranker.data.json_lines import JsonLinesFormat
from directranker.data.letor_format import LetorFormat
from directranker.data.parquet_files import ParquetFormat
from directranker.data.parts import Parts
from directranker.data.patterns import find_files, is_pattern
from directranker.data.read_options import ReadOptions, WriteOptions
from directranker.data.sources import COMPRESSIONS, DataSource
from directranker.data.storage import is_saved_dataset
from directranker.data.streaming import stream_saved
from directranker.data.tabular import Layout
from directranker.errors import DataError
from directranker.suggestions import describe_unknown_name

__all__ = [
    "FORMATS",
    "ReadOptions",
    "detect_format",
    "has_known_extension",
    "open_stream",
    "read_dataset",
    "read_stream",
    "recognise_format",
    "stream_dataset",
    "write_dataset",
]

FORMATS: dict[str, FileFormat] = {
    file_format.name: file_format
    for file_format in (LetorFormat(), CSV, TSV, JsonLinesFormat(), ParquetFormat())
}
"""The formats of files, by name; a new one is a module and an entry here."""
RECOGNISED_BYTES = 4096
LETOR_LINE = re.compile(rb"\S+\s+(qid:|\d+:)")


def detect_format(path: str | Path) -> str:
    """Return the format of a path; raise if its extension is unknown."""
    path = Path(path)
    extension, compression = _split_extensions(path)
    if path.is_dir() or not (extension or compression):
        return "folder"
    for name, file_format in FORMATS.items():
        if extension in file_format.extensions and compression in ("", *file_format.compressions):
            return name
    if compression == ".gz" and not extension:
        return "letor"
    known = ", ".join(extension for file_format in FORMATS.values() for extension in file_format.extensions)
    raise ValueError(
        f"{path}: unknown extension {extension}{compression}; use one of {known} (LETOR text also with .gz; "
        f"CSV, TSV and JSON lines with {', '.join(COMPRESSIONS)}), or none for a folder"
    )


def has_known_extension(path: Path) -> bool:
    """Whether a path is named like a file of a known format."""
    extension, compression = _split_extensions(path)
    return bool(compression) or any(extension in known.extensions for known in FORMATS.values())


def _split_extensions(path: Path) -> tuple[str, str]:
    """Return the extension of the format and the one of the compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSIONS else ""
    return "".join(suffixes[-1:]), compression


def read_dataset(
    path: str | Path,
    *,
    options: ReadOptions | None = None,
    file_format: str | None = None,
    progress: Progress = ignore_progress,
) -> RankingDataset:
    """Read a data set in any format, by default the one of the path's extension."""
    path, options = Path(path), options or ReadOptions()
    if path.is_dir() and is_saved_dataset(path):
        _refuse_columns(options, "a saved data set")
        return RankingDataset.load(path)
    return _check_columns(_find_reader(path, file_format), options).read(
        DataSource.of(path), options, progress
    )


def stream_dataset(
    path: str | Path,
    *,
    options: ReadOptions | None = None,
    file_format: str | None = None,
    progress: Progress = ignore_progress,
) -> Iterator[RankingDataset]:
    """Yield pieces of a data set in any format, in the order of the input."""
    path, options = Path(path), options or ReadOptions()
    if path.is_dir() and is_saved_dataset(path):
        _refuse_columns(options, "a saved data set")
        yield from stream_saved(RankingDataset.load(path), progress)
        return
    reader = _check_columns(_find_reader(path, file_format), options)
    yield from reader.stream(DataSource.of(path), options, progress)


def _check_columns(reader: Reader, options: ReadOptions) -> Reader:
    """Return the reader; raise if columns are named that its format does not have."""
    if isinstance(reader, LetorFormat):
        _refuse_columns(options, "LETOR text")
    return reader


def _refuse_columns(options: ReadOptions, what: str) -> None:
    if options.columns.apply_to_tables_only:
        raise ValueError(
            f"{what} has no columns to choose: --relevance, --query, --document, --features, --drop, "
            "--categorical, --dates and --compare-vectors are for tables such as CSV and Parquet"
        )


def _check_format(name: str) -> None:
    if name not in FORMATS:
        raise ValueError(describe_unknown_name("format", name, list(FORMATS)))


def _find_reader(path: Path, file_format: str | None) -> Reader:
    """Return the format of a file, or the parts of a folder or of a pattern."""
    if file_format is not None:
        _check_format(file_format)
    if path.is_file() or not (path.is_dir() or is_pattern(path)):
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist")
        found = file_format or detect_format(path)
        return FORMATS["letor" if found == "folder" else found]  # without an extension, such as a pipe
    parts = [part for part in find_files(path) if file_format or has_known_extension(part)]
    formats = {file_format or detect_format(part) for part in parts}
    if not parts and is_pattern(path):
        raise FileNotFoundError(f"{path} matches no file of a known format")
    if len(formats) > 1:
        raise DataError(f"{path} has parts of several formats: {', '.join(sorted(formats))}; give one format")
    part_format = FORMATS[formats.pop()] if formats else None
    if not isinstance(part_format, TableFormat):
        raise DataError(
            f"{path} is a folder but not a saved data set; give a file, a saved data set in it, or a folder "
            "of CSV, TSV, JSON lines or Parquet files"
        )
    return Parts(parts, part_format)


def read_stream(
    file: BinaryIO, *, name: str, file_format: str | None = None, options: ReadOptions | None = None
) -> RankingDataset:
    """Read a data set from a stream such as standard input; its format is recognised unless given."""
    found, source = open_stream(file, name=name, file_format=file_format)
    options = options or ReadOptions()
    return _check_columns(found, options).read(source, options, ignore_progress)


def open_stream(
    file: BinaryIO, *, name: str, file_format: str | None = None
) -> tuple[FileFormat, DataSource]:
    """Return the format of a stream and its source."""
    if file_format is not None:
        _check_format(file_format)
    text = ForwardOnlyFile(file, RECOGNISED_BYTES)
    found = file_format or recognise_format(text.start)
    return FORMATS[found], DataSource(name, file=io.BufferedReader(text))


def recognise_format(start: bytes) -> str:
    r"""Recognise a format by its first bytes; compressed content is LETOR text unless stated.

    >>> [recognise_format(start) for start in (b"2 qid:10 1:0.5", b"qid,price\n", b'{"qid": 1}', b"PAR1")]
    ['letor', 'csv', 'jsonl', 'parquet']
    """
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.lstrip().startswith(b"{"):
        return "jsonl"
    line = start.lstrip().split(b"\n", 1)[0]
    if LETOR_LINE.match(line) or line.startswith(b"#"):
        return "letor"
    return "tsv" if b"\t" in line else "csv" if b"," in line else "letor"


def write_dataset(
    data: RankingDataset,
    path: str | Path,
    *,
    layout: Layout = "columns",
    zero_based: bool = False,
    overwrite: bool = False,
    progress: Progress = ignore_progress,
) -> None:
    """Write a data set in the format of the path's extension; an existing path raises unless `overwrite`."""
    path = Path(path)
    file_format = detect_format(path)
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists; choose another name or pass overwrite=True")
    if file_format == "folder":
        data.save(path, overwrite=overwrite)
    else:
        FORMATS[file_format].write(data, path, WriteOptions(layout, zero_based), progress)
