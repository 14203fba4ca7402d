"""Saved data sets: round trips, damaged files, and the time to open one."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from directranker.data.dataset import RankingDataset
from directranker.data.storage import HEADER
from directranker.errors import DataError, StorageError

from format_cases import example, names_in


@pytest.mark.parametrize("strings", [False, True])
@pytest.mark.parametrize("documents", [False, True])
def test_saved_folder_round_trip(tmp_path: Path, strings: bool, documents: bool) -> None:
    data = example(strings=strings, documents=documents)
    data.save(tmp_path / "saved")
    loaded = RankingDataset.load(tmp_path / "saved", verify=True)
    assert loaded.equals(data)
    np.testing.assert_array_equal(
        loaded.to_source_order(loaded.relevance), data.to_source_order(data.relevance)
    )
    assert isinstance(loaded.features.base, np.memmap | np.ndarray)
    selected = data.select([1, 2])  # its texts begin inside Arrow's buffers
    selected.save(tmp_path / "selected")
    assert RankingDataset.load(tmp_path / "selected").equals(selected)
    empty = data.select([])
    empty.save(tmp_path / "empty")
    assert RankingDataset.load(tmp_path / "empty").equals(empty)


def test_saving_again_requires_overwrite(tmp_path: Path) -> None:
    example().save(tmp_path / "saved")
    with pytest.raises(FileExistsError, match="exists; choose another name"):
        example(seed=1).save(tmp_path / "saved")
    example(seed=1).save(tmp_path / "saved", overwrite=True)
    assert RankingDataset.load(tmp_path / "saved").equals(example(seed=1))
    assert names_in(tmp_path) == ["saved"]
    with pytest.raises(FileNotFoundError, match="does not exist"):
        example().save(tmp_path / "none" / "saved")


def test_damaged_files_raise(tmp_path: Path) -> None:
    example(strings=True).save(tmp_path / "saved")
    for name in sorted(path.name for path in (tmp_path / "saved").iterdir()):
        path = tmp_path / "saved" / name
        original = path.read_bytes()
        path.unlink()
        with pytest.raises(StorageError, match=r"missing|not a saved data set"):
            RankingDataset.load(tmp_path / "saved")
        for length in (0, 1, len(original) // 2, len(original) - 1):
            path.write_bytes(original[:length])
            with pytest.raises(StorageError):
                RankingDataset.load(tmp_path / "saved")
        if name != HEADER:
            path.write_bytes(original[:-1] + bytes([original[-1] ^ 1]))
            with pytest.raises(StorageError, match="another checksum"):
                RankingDataset.load(tmp_path / "saved", verify=True)
        path.write_bytes(original)
    RankingDataset.load(tmp_path / "saved", verify=True)


@settings(max_examples=150)
@given(st.data())
def test_changed_bytes_never_crash(tmp_path_factory: Any, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("saved") / "data"
    example(strings=True).save(folder)
    path = folder / data.draw(st.sampled_from(sorted(path.name for path in folder.iterdir())))
    content = bytearray(path.read_bytes())
    for _ in range(3):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        loaded = RankingDataset.load(folder)
    except StorageError:
        return
    assert np.isfinite(loaded.relevance).all()
    assert loaded.document_ids is not None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 99}, "format version 99, this directranker reads 2"),
        ({"format": "cake"}, "header of 'cake', not of a data set"),
        ({"parts": 3}, "damaged header"),
        ({"parts": {"../../etc/passwd": {"bytes": 3}}}, "passwd is missing"),
        ({"feature_names": ["a"]}, "do not fit together"),
    ],
)
def test_invalid_headers_raise(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    example().save(tmp_path / "saved")
    path = tmp_path / "saved" / HEADER
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(StorageError, match=message):
        RankingDataset.load(tmp_path / "saved")


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([0, 1, 2, 3, 4, 5, 5], "row 5 twice"),
        ([0, 1, 2, 3, 4, 5, -1], "row -1; rows are numbered from 0 on"),
        ([0, 1, 2], "one per row|whole number for each of 7 rows"),
        ([0.5, 1, 2, 3, 4, 5, 6], "whole number"),
    ],
)
def test_invalid_original_rows_raise(tmp_path: Path, rows: list[float], problem: str) -> None:
    data = example()
    assert data.original_rows is not None
    with pytest.raises(DataError, match=problem):
        replace(data, original_rows=np.array(rows))
    data.save(tmp_path / "saved")
    header = json.loads((tmp_path / "saved" / HEADER).read_text())
    path = tmp_path / "saved" / "original_rows.npy"
    np.save(path, np.array(rows))
    shape = {"shape": [len(rows)], "dtype": np.array(rows).dtype.str, "bytes": path.stat().st_size}
    header["parts"]["original_rows.npy"] |= shape
    (tmp_path / "saved" / HEADER).write_text(json.dumps(header))
    with pytest.raises(StorageError, match=f"do not fit together .*{problem}"):
        RankingDataset.load(tmp_path / "saved")


def test_original_rows_of_selected_queries_are_kept(tmp_path: Path) -> None:
    selected = example().select([2, 1])
    selected.save(tmp_path / "saved")
    again = RankingDataset.load(tmp_path / "saved").original_rows
    assert again is not None
    assert again.tolist() == [5, 6, 2, 4]


def test_opening_takes_milliseconds(tmp_path: Path) -> None:
    n = 300_000
    X = np.random.default_rng(0).normal(size=(n, 30)).astype(np.float32)
    RankingDataset.from_arrays(X, np.zeros(n), qid=np.arange(n) // 100).save(tmp_path / "saved")
    times = []
    for _ in range(5):
        start = time.perf_counter()
        RankingDataset.load(tmp_path / "saved")
        times.append(time.perf_counter() - start)
    assert min(times) < 0.05
