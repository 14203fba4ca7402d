"""The five-fold folder layout of LETOR: `Fold1/train.txt`, `Fold1/vali.txt`, `Fold1/test.txt`, `Fold2/…`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from directranker.data.dataset import RankingDataset
from directranker.data.letor import read_letor

__all__ = ["SPLITS", "Fold", "fold_files", "read_fold", "read_folds"]

SPLITS = {"train": "train", "validation": "vali", "test": "test"}  # and the names of their files


@dataclass(frozen=True)
class Fold:
    """One division of a data set into what is learned from, chosen by and reported on."""

    name: str
    train: RankingDataset
    validation: RankingDataset
    test: RankingDataset


def read_folds(folder: str | Path, *, n_folds: int = 5, **options: Any) -> Iterator[Fold]:
    """Read `Fold1`, `Fold2`, … one after another; the options are those of `read_letor`.

    All files are looked for before the first is read, so that a missing one is known at once. The splits of
    a fold have the same number of features, also where a sparse text does not mention the last ones.
    """
    names = [f"Fold{number}" for number in range(1, n_folds + 1)]
    places = [(name, fold_files(Path(folder) / name)) for name in names]
    return (_read(name, files, options) for name, files in places)


def read_fold(folder: str | Path, **options: Any) -> Fold:
    """Read the three splits in one folder."""
    return _read(Path(folder).name, fold_files(folder), options)


def fold_files(folder: str | Path) -> dict[str, Path]:
    """Find the files of train, validation and test, plain or `.gz`, or say which one is missing."""
    files = {}
    for split, stem in SPLITS.items():
        plain = Path(folder) / f"{stem}.txt"
        compressed = plain.with_name(f"{stem}.txt.gz")
        found = [path for path in (plain, compressed) if path.is_file()]
        if not found:
            raise FileNotFoundError(f"{plain} is missing; a fold has train.txt, vali.txt and test.txt")
        files[split] = found[0]
    return files


def _read(name: str, files: dict[str, Path], options: dict[str, Any]) -> Fold:
    splits = [read_letor(files[split], **options) for split in SPLITS]
    widest = max(splits, key=lambda split: split.n_features)
    fill = np.nan if options.get("missing") == "nan" else 0.0
    return Fold(name, *(_widened(split, widest, fill) for split in splits))


def _widened(split: RankingDataset, widest: RankingDataset, fill: float) -> RankingDataset:
    n_more = widest.n_features - split.n_features
    if not n_more:
        return split
    features = np.pad(split.features, ((0, 0), (0, n_more)), constant_values=fill)
    return replace(split, features=features, feature_names=widest.feature_names)
