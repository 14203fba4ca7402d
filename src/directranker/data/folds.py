"""Folds in LETOR's folder layout: `Fold1/train.txt`, `Fold1/vali.txt`, `Fold1/test.txt`, `Fold2/…`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from directranker.data.dataset import RankingDataset
from directranker.data.letor import read_letor

__all__ = ["SPLITS", "Fold", "find_fold_files", "read_fold", "read_folds"]

SPLITS = {"train": "train", "validation": "vali", "test": "test"}  # split: stem of its file's name


@dataclass(frozen=True)
class Fold:
    """One division of a data set: train on `train`, select on `validation`, report on `test`."""

    name: str
    train: RankingDataset
    validation: RankingDataset
    test: RankingDataset


def read_folds(folder: str | Path, *, n_folds: int = 5, **options: Any) -> Iterator[Fold]:
    """Read `Fold1`, `Fold2`, … lazily; the options are those of `read_letor`.

    All files are located before the first is read, so that a missing one raises at once. The splits of a fold
    have the same number of features, even if a sparse file does not mention the last ones.
    """
    names = [f"Fold{number}" for number in range(1, n_folds + 1)]
    folds = [(name, find_fold_files(Path(folder) / name)) for name in names]
    return (_read(name, files, options) for name, files in folds)


def read_fold(folder: str | Path, **options: Any) -> Fold:
    """Read the three splits in one folder."""
    return _read(Path(folder).name, find_fold_files(folder), options)


def find_fold_files(folder: str | Path) -> dict[str, Path]:
    """Return the files of train, validation and test, plain or `.gz`; raise if one is missing."""
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
    return Fold(name, *(_pad_features(split, widest, fill) for split in splits))


def _pad_features(split: RankingDataset, widest: RankingDataset, fill: float) -> RankingDataset:
    n_added = widest.n_features - split.n_features
    if not n_added:
        return split
    features = np.pad(split.features, ((0, 0), (0, n_added)), constant_values=fill)
    return replace(split, features=features, feature_names=widest.feature_names)
