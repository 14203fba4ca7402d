"""Any data set by the ending of its name: LETOR text, Parquet, or a saved folder.

| name | format |
|---|---|
| `*.parquet`, `*.pq` | Parquet |
| `*.txt`, `*.letor`, `*.svm`, `*.svmlight`, `*.dat`, each also `.gz` | LETOR or SVMlight text |
| no ending, or a folder | a saved data set |

>>> format_of("train.txt.gz"), format_of("train.parquet"), format_of("train")
('letor', 'parquet', 'folder')
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from directranker.data.dataset import RankingDataset
from directranker.data.files import Progress, no_progress
from directranker.data.letor import Missing, read_letor
from directranker.data.storage import is_saved_dataset
from directranker.data.tabular import Columns, Layout, read_parquet, write_parquet
from directranker.errors import DataError

__all__ = ["Format", "ReadOptions", "format_of", "read_dataset", "write_dataset"]

Format = Literal["letor", "parquet", "folder"]
TEXT_ENDINGS = (".txt", ".letor", ".svm", ".svmlight", ".dat")
PARQUET_ENDINGS = (".parquet", ".pq")


@dataclass(frozen=True)
class ReadOptions:
    """How to read text and tables; each format takes what concerns it."""

    missing: Missing = "zero"
    allow_non_finite: bool = False
    zero_based: bool = False
    columns: Columns = field(default_factory=Columns)
    n_features: int | None = None
    """For text, whose lines may not mention the last ones."""


def format_of(path: str | Path) -> Format:
    """Tell the format by the name, or say which endings there are."""
    path = Path(path)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    ending = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else "".join(suffixes[-1:])
    if path.is_dir() or not ending:
        return "folder"
    if ending in PARQUET_ENDINGS:
        return "parquet"
    if ending in (*TEXT_ENDINGS, ".gz"):
        return "letor"
    known = ", ".join((*TEXT_ENDINGS, *PARQUET_ENDINGS))
    raise ValueError(
        f"{path}: unknown ending {ending}; use one of {known} (text also with .gz) or none for a folder"
    )


def read_dataset(
    path: str | Path, *, options: ReadOptions | None = None, progress: Progress = no_progress
) -> RankingDataset:
    """Read a data set in any format."""
    options = options or ReadOptions()
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if path.is_dir() and not is_saved_dataset(path):
        raise DataError(f"{path} is a folder but no saved data set; name a file or one of its parts")
    if path.is_dir():
        return RankingDataset.load(path)
    if format_of(path) == "parquet":
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
    progress: Progress = no_progress,
) -> None:
    """Write a data set in the format that the name asks for; nothing is overwritten unasked."""
    kind = format_of(path)
    if Path(path).exists() and not overwrite:
        raise FileExistsError(f"{path} exists; choose another name or ask to overwrite it")
    if kind == "parquet":
        write_parquet(data, path, layout=layout, progress=progress)
    elif kind == "letor":
        from directranker.data.letor.writing import write_letor  # noqa: PLC0415 - reading needs none of it

        write_letor(data, path, zero_based=zero_based, progress=progress)
    else:
        data.save(path, overwrite=overwrite)
