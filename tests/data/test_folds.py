"""Folds in the folder layout of LETOR."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from directranker.data.folds import read_folds


def write_fold_folder(folder: Path, n_folds: int = 5) -> None:
    for number in range(1, n_folds + 1):
        fold = folder / f"Fold{number}"
        fold.mkdir(parents=True)
        (fold / "train.txt").write_text(f"1 qid:{number} 1:1 3:2\n")
        (fold / "vali.txt").write_text(f"1 qid:{number + 10} 1:1\n")
        (fold / "test.txt").write_text(f"0 qid:{number + 20} 4:1\n")


def test_folds_have_the_same_features(tmp_path: Path) -> None:
    write_fold_folder(tmp_path)
    folds = list(read_folds(tmp_path))
    assert [fold.name for fold in folds] == ["Fold1", "Fold2", "Fold3", "Fold4", "Fold5"]
    for fold in folds:
        assert fold.train.features.tolist() == [[1, 0, 2, 0]]
        assert fold.validation.features.tolist() == [[1, 0, 0, 0]]
        assert fold.test.features.tolist() == [[0, 0, 0, 1]]
    (fold,) = read_folds(tmp_path, n_folds=1, missing="nan")
    np.testing.assert_array_equal(fold.validation.features, [[1, np.nan, np.nan, np.nan]])


def test_a_missing_fold_file_raises_before_any_file_is_read(tmp_path: Path) -> None:
    write_fold_folder(tmp_path)
    (tmp_path / "Fold4" / "vali.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"Fold4/vali\.txt is missing"):
        read_folds(tmp_path)


def test_mq2008_folds(real_data: Path) -> None:
    fold = next(read_folds(real_data / "MQ2008"))
    assert (fold.train.n_queries, fold.validation.n_queries, fold.test.n_queries) == (471, 157, 156)
