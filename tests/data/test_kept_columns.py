"""Kept columns: through every form and operation of a data set, never as a feature."""

from __future__ import annotations

import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from directranker.data.concatenation import concatenate
from directranker.data.dataset import RankingDataset
from directranker.data.formats import read_dataset, write_dataset
from directranker.data.storage import HEADER
from directranker.errors import DataError, StorageError
from directranker.rankers import RankSVM

KEEP = ["when", "day", "zoned", "note", "count", "number", "flag"]


def make_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "qid": [2, 1, 2, 1],
            "relevance": [0, 1, 2, 0],
            "bm25": [1.0, 2.0, 3.0, 4.0],
            "brand": ["a", "b", None, "a"],
            "when": pd.to_datetime(["2024-01-01 10:00", "2023-01-01 00:00", "2024-01-01 10:00", None]),
            "day": [date(2024, 1, 1), date(2023, 1, 1), None, date(2024, 1, 1)],
            "zoned": pd.to_datetime(["2024-07-01"] * 4).tz_localize("Europe/Berlin"),
            "note": ["x", None, "é", ""],
            "count": [2**60, 1, 2, 3],
            "number": [0.1, np.nan, -0.0, 4.0],
            "flag": [True, False, True, True],
        }
    )


def make_data() -> RankingDataset:
    return RankingDataset.from_frame(make_frame(), keep=KEEP)


def test_kept_columns_are_no_features_and_follow_the_rows() -> None:
    data = make_data()
    assert data.feature_names == ("bm25", "brand")
    assert data.kept["note"].to_pylist() == ["x", "é", None, ""]
    assert data.kept["count"].to_pylist() == [2**60, 2, 1, 3]
    assert data.kept["number"].to_pylist() == [0.1, -0.0, None, 4.0]
    assert data.kept["flag"].to_pylist() == [1, 1, 0, 1]
    assert data.kept["when"][0].as_py() == datetime(2024, 1, 1, 10)
    assert str(data.kept["zoned"][0].as_py()) == "2024-06-30 22:00:00+00:00"
    assert data.select([1]).kept["note"].to_pylist() == [None, ""]
    assert data.select([1, 0]).kept["note"].to_pylist() == [None, "", "x", "é"]


@pytest.mark.parametrize("queries", [[0, 1], [1], [1, 0], []])
def test_saved_form_round_trip(tmp_path: Path, queries: list[int]) -> None:
    data = make_data().select(queries)
    data.save(tmp_path / "saved")
    loaded = RankingDataset.load(tmp_path / "saved", verify=True)
    assert loaded.equals(data)
    assert loaded.kept.keys() == data.kept.keys()


def test_parquet_reads_kept_columns_back_without_being_told(tmp_path: Path) -> None:
    data = make_data()
    write_dataset(data, tmp_path / "data.parquet")
    assert read_dataset(tmp_path / "data.parquet").equals(data)


def test_list_layout_keeps_them(tmp_path: Path) -> None:
    data = RankingDataset.from_frame(make_frame(), keep=KEEP, drop=["brand"])
    write_dataset(data, tmp_path / "data.parquet", layout="list")
    assert read_dataset(tmp_path / "data.parquet").equals(data)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frame_round_trip(kind: Any) -> None:
    data = RankingDataset.from_frame(make_frame(), keep=KEEP, drop=["brand"])
    assert RankingDataset.from_frame(data.to_frame(kind), keep=KEEP).equals(data)


def test_polars_categories_are_kept_as_text() -> None:
    frame = pl.DataFrame({"qid": [1, 2], "relevance": [0, 1], "f": [0.5, 1.5]})
    frame = frame.with_columns(pl.Series("shop", ["u", None], dtype=pl.Categorical))
    assert RankingDataset.from_frame(frame, keep=["shop"]).kept["shop"].to_pylist() == ["u", None]


def test_nan_is_missing_and_equal() -> None:
    table = pa.table({"qid": [1, 2], "relevance": [0, 1], "f": [0.5, 1.5], "x": [np.nan, 1.0]})
    data = RankingDataset.from_frame(table, keep=["x"])
    assert data.kept["x"].null_count == 1
    assert data.equals(RankingDataset.from_frame(table, keep=["x"]))


def test_concatenation() -> None:
    data = make_data()
    assert concatenate([data.select([0]), data.select([1])]).equals(data)
    without = RankingDataset.from_frame(make_frame(), keep=KEEP[1:], drop=["when"])
    with pytest.raises(DataError, match="'when' is kept in one data set but not in another"):
        concatenate([data.select([0]), without.select([1])])
    texts = RankingDataset.from_frame(make_frame().assign(count="a"), keep=KEEP)
    with pytest.raises(DataError, match="'count' holds int64 and large_string in different data sets"):
        concatenate([data.select([0]), texts.select([1])])


def test_equality_sees_kept_columns() -> None:
    frame = make_frame()
    other = RankingDataset.from_frame(frame.assign(note=["x", None, "é", "y"]), keep=KEEP)
    assert not make_data().equals(other)
    assert not make_data().equals(RankingDataset.from_frame(frame, keep=KEEP[:-1], drop=["flag"]))


def test_bad_roles_raise() -> None:
    with pytest.raises(DataError, match="no column 'time'"):
        RankingDataset.from_frame(make_frame(), keep=["time"])
    with pytest.raises(DataError, match="'bm25' is in keep, but it is a feature"):
        RankingDataset.from_frame(make_frame(), features=["bm25"], keep=["bm25"])
    with pytest.raises(DataError, match="'qid' is in keep"):
        RankingDataset.from_frame(make_frame(), features=["bm25"], keep=["qid"])
    with pytest.raises(TypeError, match="keep is 'when'; give a list"):
        RankingDataset.from_frame(make_frame(), keep="when")
    table = pa.table({"qid": [1], "relevance": [1], "f": [0.5], "pair": [[1, 2]]})
    with pytest.raises(DataError, match=r"column 'pair' holds list<.*a kept column holds numbers, text"):
        RankingDataset.from_frame(table, keep=["pair"])
    with pytest.raises(ValueError, match="1 values of 'day' for 2 rows"):
        RankingDataset(np.zeros((2, 1), np.float32), np.zeros(2), np.array([0, 2]), np.array([1]),
                       kept={"day": [1]})  # fmt: skip


def change_header(folder: Path, **changes: Any) -> None:
    header = json.loads((folder / HEADER).read_text())
    (folder / HEADER).write_text(json.dumps({**header, **changes}))


@pytest.mark.parametrize(
    "kept",
    [
        {"day": "list<int64>"},  # not a type of kept columns
        {"day": "int64", "more": "int64"},  # without an array
        {"day": "double"},  # values of another type
        {"day": "large_string"},
        {"f": "int64"},  # named like a feature
        {"day": ["int64"]},
        ["day"],
        None,
    ],
)
def test_changed_header_raises(tmp_path: Path, kept: Any) -> None:
    table = pa.table({"qid": [1, 1], "relevance": [1, 0], "f": [0.5, 1], "day": [1, None]})
    RankingDataset.from_frame(table, keep=["day"]).save(tmp_path / "saved")
    change_header(tmp_path / "saved", kept=kept)
    with pytest.raises(StorageError, match="do not fit together"):
        RankingDataset.load(tmp_path / "saved")


def test_dates_out_of_range_raise(tmp_path: Path) -> None:
    table = pa.table({"qid": [1, 1], "relevance": [1, 0], "f": [0.5, 1], "day": [1, 2**40]})
    RankingDataset.from_frame(table, keep=["day"]).save(tmp_path / "saved")
    change_header(tmp_path / "saved", kept={"day": "date32[day]"})
    with pytest.raises(StorageError, match="do not fit together"):
        RankingDataset.load(tmp_path / "saved")


def test_a_ranker_does_not_need_them_again() -> None:
    data = make_data()
    numbers = RankingDataset.from_frame(make_frame(), keep=KEEP, drop=["brand"])
    ranker = RankSVM().fit(numbers)
    assert "keep" not in ranker.columns_
    np.testing.assert_array_equal(
        ranker.predict(numbers),
        ranker.predict(RankingDataset.from_frame(make_frame(), drop=["brand", *KEEP])),
    )
    assert data.kept.keys() == set(KEEP)
