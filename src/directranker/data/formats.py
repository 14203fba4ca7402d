"""Read and write data sets by file extension: LETOR text, Parquet, or a saved folder.

| name | format |
|---|---|
| `*.parquet`, `*.pq` | Parquet |
| `*.txt`, `*.letor`, `*.svm`, `*.svmlight`, `*.dat`, each also `.gz` | LETOR or SVMlight text |
| no extension, or a folder | a saved data set |

>>> detect_format("train.txt.gz"), detect_format("train.parquet"), detect_format("train")
('letor', 'parquet', 'folder')
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from directranker.data.column_roles import ColumnRoles
from directranker.data.dataset import RankingDataset
from directranker.data.files import Progress, ignore_progress
from directranker.data.letor import Missing, read_letor, write_letor
from directranker.data.storage import is_saved_dataset
from directranker.data.tabular import Layout, read_parquet, write_parquet
from directranker.errors import DataError

__all__ = ["Format", "ReadOptions", "detect_format", "keep_column", "read_dataset", "write_dataset"]

Format = Literal["letor", "parquet", "folder"]
TEXT_EXTENSIONS = (".txt", ".letor", ".svm", ".svmlight", ".dat")
PARQUET_EXTENSIONS = (".parquet", ".pq")


@dataclass(frozen=True)
class ReadOptions:
    """Options of reading; each format uses those that apply to it."""

    missing: Missing = "zero"
    allow_non_finite: bool = False
    zero_based: bool = False
    columns: ColumnRoles = field(default_factory=ColumnRoles)
    n_features: int | None = None
    """The number of features of sparse text, whose lines may not mention the last ones."""


def keep_column(name: str | None) -> ReadOptions:
    """Return options to read a table with a kept column, or without one."""
    return ReadOptions(columns=ColumnRoles(keep=() if name is None else (name,)))


def detect_format(path: str | Path) -> Format:
    """Return the format of a path; raise if its extension is unknown."""
    path = Path(path)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    extension = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else "".join(suffixes[-1:])
    if path.is_dir() or not extension:
        return "folder"
    if extension in PARQUET_EXTENSIONS:
        return "parquet"
    if extension in (*TEXT_EXTENSIONS, ".gz"):
        return "letor"
    known = ", ".join((*TEXT_EXTENSIONS, *PARQUET_EXTENSIONS))
    raise ValueError(
        f"{path}: unknown extension {extension}; use one of {known} (text also with .gz), "
        "or none for a folder"
    )


def read_dataset(
    path: str | Path, *, options: ReadOptions | None = None, progress: Progress = ignore_progress
) -> RankingDataset:
    """Read a data set in any format."""
    options = options or ReadOptions()
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if path.is_dir() and not is_saved_dataset(path):
        raise DataError(
            f"{path} is a folder but not a saved data set; give a file, or a saved data set in it"
        )
    if path.is_dir():
        return RankingDataset.load(path)
    if detect_format(path) == "parquet":
        return read_parquet(path, columns=options.columns, progress=progress)
    return read_letor(
        path,
        missing=options.missing,
        allow_non_finite=options.allow_non_finite,
        zero_based=options.zero_based,
        n_features=options.n_features,
        progress=progress,
    )


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
    file_format = detect_format(path)
    if Path(path).exists() and not overwrite:
        raise FileExistsError(f"{path} exists; choose another name or pass overwrite=True")
    if file_format == "parquet":
        write_parquet(data, path, layout=layout, progress=progress)
    elif file_format == "letor":
        write_letor(data, path, zero_based=zero_based, progress=progress)
    else:
        data.save(path, overwrite=overwrite)
