"""Columns of all types: the same data set from pandas, polars and pyarrow; vectors, dates, mixed types."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from directranker import DataError, RankingDataset, RankSVM, concatenate, load_ranker
from directranker.data import parquet_files
from directranker.data.column_roles import ColumnRoles
from directranker.data.formats import ReadOptions, stream_dataset

NAN = np.nan
NOON = dt.datetime(2024, 5, 1, 12)
DAYS = [NOON, NOON + dt.timedelta(days=1.5), NOON - dt.timedelta(days=2), None]
TYPES: dict[str, tuple[list[Any], pa.DataType, Any, list[list[float]]]] = {
    # values, Arrow type, pandas dtype, expected features of rows 0 to 3
    "floats": ([1.5, None, -0.0, np.inf], pa.float64(), "float64", [[1.5], [NAN], [-0.0], [np.inf]]),
    "ints": ([1, 2, 3, 2**40], pa.int64(), "int64", [[1], [2], [3], [2**40]]),
    "nullable_ints": ([1, None, 3, 4], pa.int64(), "Int64", [[1], [NAN], [3], [4]]),
    "bytes": ([1, 2, 3, 255], pa.uint8(), "uint8", [[1], [2], [3], [255]]),
    "booleans": ([True, False, True, False], pa.bool_(), "bool", [[1], [0], [1], [0]]),
    "nullable_booleans": ([True, None, True, False], pa.bool_(), "boolean", [[1], [NAN], [1], [0]]),
    "decimals": (
        [Decimal("1.25"), None, Decimal("-7.50"), Decimal(0)],
        pa.decimal128(9, 2),
        object,
        [[1.25], [NAN], [-7.5], [0]],
    ),
    "texts": (["b", None, "", "a"], pa.string(), object, [[1], [NAN], [NAN], [0]]),
    "categories": (
        ["b", None, "b", "a"],
        pa.dictionary(pa.int32(), pa.string()),
        "category",
        [[1], [NAN], [1], [0]],
    ),
    "ids": ([7, None, 12, 7], pa.int64(), "Int64", [[1], [NAN], [0], [1]]),
    "flags": ([True, None, False, True], pa.bool_(), "boolean", [[1], [NAN], [0], [1]]),
    "times": (
        DAYS,
        pa.timestamp("us"),
        "datetime64[us]",
        [[1.5, 12, 2], [0, 0, 4], [0, 12, 0], [NAN, NAN, NAN]],
    ),
    "dates": (
        [day and day.date() for day in DAYS],
        pa.date32(),
        object,
        [[2, 2], [0, 4], [0, 0], [NAN, NAN]],
    ),
    "iso": (
        ["2024-05-01T12:00:00Z", "2024-05-03T02:00:00+02:00", "2024-04-29 12:00", ""],
        pa.string(),
        object,
        [[1.5, 12, 2], [0, 0, 4], [0, 12, 0], [NAN, NAN, NAN]],
    ),
    "vectors": (
        [[1.0, 2.0], [3.0, None], [5.0, 6.0], [7.0, 8.0]],
        pa.list_(pa.float64()),
        object,
        [[1, 2], [3, NAN], [5, 6], [7, 8]],
    ),
}
OPTIONS: dict[str, Any] = {"categorical": ["ids", "flags"], "dates": ["times", "dates", "iso"]}


def make_frames(names: list[str]) -> dict[str, Any]:
    """Make the table of these columns as pandas, polars and pyarrow; rows 0 and 1 are one query."""
    keys = {"qid": [1, 1, 2, 2], "relevance": [0, 1, 0, 1]}
    table = pa.table({**keys, **{name: pa.array(TYPES[name][0], TYPES[name][1]) for name in names}})
    columns = {name: pd.Series(TYPES[name][0], dtype=TYPES[name][2]) for name in names}
    return {"pandas": pd.DataFrame({**keys, **columns}), "polars": pl.from_arrow(table), "pyarrow": table}


def choose(names: list[str]) -> dict[str, Any]:
    return {option: [name for name in columns if name in names] for option, columns in OPTIONS.items()}


@pytest.mark.parametrize("name", TYPES)
def test_each_type_has_the_stated_meaning_in_every_frame(name: str) -> None:
    for kind, frame in make_frames([name]).items():
        data = RankingDataset.from_frame(frame, **choose([name]))
        np.testing.assert_array_equal(data.features, np.array(TYPES[name][3], np.float32), err_msg=kind)


def test_all_types_together_give_one_data_set(tmp_path: Path) -> None:
    frames = make_frames(list(TYPES))
    expected = RankingDataset.from_frame(frames["pyarrow"], **choose(list(TYPES)))
    assert all(
        RankingDataset.from_frame(frame, **choose(list(TYPES))).equals(expected) for frame in frames.values()
    )
    columns = {name: TYPES[name][3] for name in TYPES}
    np.testing.assert_array_equal(
        expected.features, np.hstack([np.array(each, np.float32) for each in columns.values()])
    )
    expected.save(tmp_path / "saved")
    assert RankingDataset.load(tmp_path / "saved").columns == expected.columns


def test_infinite_values_are_reported_by_rankers() -> None:
    data = RankingDataset.from_frame(make_frames(["floats"])["pandas"])
    with pytest.raises(DataError, match="inf in row 3, column 'floats'"):
        RankSVM().fit(data)


def test_an_age_is_counted_back_from_another_column(tmp_path: Path) -> None:
    table = pa.table(
        {
            "qid": [1, 1],
            "relevance": [0, 1],
            "published": pa.array(["2024-05-01", None]),
            "searched": pa.array([NOON, NOON], pa.timestamp("ns", "Europe/Berlin")),
        }
    )
    data = RankingDataset.from_frame(table, dates={"published": "searched"})
    assert data.feature_names == ("published[age]", "published[hour]", "published[weekday]")
    np.testing.assert_array_equal(data.features, [[0.5, 0, 2], [NAN, NAN, NAN]])
    both = RankingDataset.from_frame(table, dates={"published": "searched", "searched": None})
    np.testing.assert_array_equal(both.features[:, 3:], [[0, 14, 2], [0, 14, 2]])  # the hour in Berlin


def test_ages_are_of_whole_queries_when_streaming(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "STREAM_ROWS", 3)
    rng = np.random.default_rng(0)
    times = np.datetime64("2024-01-01", "us") + rng.integers(0, 10**12, 40).astype("timedelta64[us]")
    table = pa.table(
        {
            "qid": np.repeat(range(8), 5),
            "relevance": np.zeros(40),
            "at": times,
            "v": list(rng.normal(size=(40, 2))),
        }
    )
    pq.write_table(table, path := tmp_path / "t.parquet")
    columns = ColumnRoles(dates=["at"])
    pieces = list(stream_dataset(path, options=ReadOptions(columns=columns)))
    assert len(pieces) > 4
    joined, expected = concatenate(pieces), RankingDataset.from_frame(table, dates=["at"])
    assert joined.equals(expected)
    newest = times.reshape(8, 5).max(axis=1, keepdims=True)
    days = (newest - times.reshape(8, 5)) / np.timedelta64(1, "D")
    np.testing.assert_allclose(expected.features[:, 0], days.ravel(), rtol=1e-6)


def test_compared_vectors() -> None:
    rng = np.random.default_rng(1)
    one, other = rng.normal(size=(2, 6, 4))
    other[2] = 0
    table = pa.table({"qid": [1] * 6, "relevance": range(6), "one": list(one), "other": list(other)})
    data = RankingDataset.from_frame(table, compare_vectors=[("one", "other")])
    assert data.feature_names == ("dot(one, other)", "cosine(one, other)", "distance(one, other)")
    for row in range(6):  # literally
        dot = sum(a * b for a, b in zip(one[row], other[row], strict=True))
        norms = np.sqrt(sum(one[row] ** 2)) * np.sqrt(sum(other[row] ** 2))
        distance = np.sqrt(sum((one[row] - other[row]) ** 2))
        expected = [dot, dot / norms if norms else NAN, distance]
        np.testing.assert_allclose(data.features[row], expected, rtol=1e-5)
    kept = RankingDataset.from_frame(table, compare_vectors=[("one", "other")], keep_vectors=True)
    assert kept.feature_names[:4] == ("one[0]", "one[1]", "one[2]", "one[3]")
    assert kept.n_features == 11
    assert kept.kinds.vector.tolist() == [0] * 4 + [1] * 4 + [-1] * 3


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"v": [[1.0, 2.0], [3.0]]}, {}, "column 'v' has a list of 1 numbers in row 1, but of 2 in row 0"),
        ({"v": [[1.0, 2.0], None]}, {}, "column 'v': the list in row 1 is null"),
        ({"v": [[], []]}, {}, "column 'v': the list in row 0 is empty"),
        (
            {"at": [NOON, NOON]},
            {},
            r"column 'at' holds timestamp.*dates=\['at'\] \(`--dates at`\), or leave it out",
        ),
        ({"at": ["2024-05-01", "May"]}, {"dates": ["at"]}, "column 'at' holds 'May' in row 1, not a date"),
        ({"at": [1, 2]}, {"dates": ["at"]}, "column 'at' holds int64; a date is a timestamp or ISO text"),
        ({"at": [NOON] * 2}, {"dates": {"at": "then"}}, "no column 'then'"),
        (
            {"a": [1, 2], "at": [NOON] * 2},
            {"dates": ["at"], "features": ["a"]},
            "'at' is a date but not a feature",
        ),
        (
            {"v": [[1.0]] * 2, "w": [[1.0, 2.0]] * 2},
            {"compare_vectors": [("v", "w")]},
            "have 1 and 2 dimensions",
        ),
        (
            {"v": [[1.0]] * 2, "w": [1, 2]},
            {"compare_vectors": [("v", "w")]},
            "column 'w' is compared, but does not",
        ),
        (
            {"a": [1, 2]},
            {"features": ["a", "b", "c"]},
            "no columns 'b', 'c'; the columns are qid, relevance, a",
        ),
    ],
)
def test_unusable_columns_raise(columns: Any, options: Any, message: str) -> None:
    table = pa.table({"qid": [1, 1], "relevance": [0, 1], **columns})
    with pytest.raises(DataError, match=message):
        RankingDataset.from_frame(table, **options)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, None, 2.5, "x"], "column 'a' holds 'x' in row 3, a str, but number before; give"),
        (["x", "y", 3, "z"], "column 'a' holds 3 in row 2, a number, but str before"),
        ([[1.0], [2.0], 3, [1.0]], "column 'a' holds 3 in row 2, a number, but list before"),
    ],
)
def test_mixed_types_raise_with_column_and_row(values: list[Any], message: str) -> None:
    frame = pd.DataFrame({"qid": [1] * 4, "relevance": [0, 1, 0, 1], "a": pd.Series(values, dtype=object)})
    for index in (None, [5, 5, 5, 5]):
        with pytest.raises(DataError, match=message):
            RankingDataset.from_frame(frame if index is None else frame.set_axis(index))


def test_a_ranker_keeps_the_columns(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    table = pa.table(
        {
            "search": np.repeat(range(10), 5),
            "clicked": rng.integers(0, 2, 50),
            "price": rng.normal(size=50),
            "seller": rng.integers(0, 3, 50),
            "at": pa.array(rng.integers(0, 10**9, 50), pa.timestamp("s")),
            "q": list(rng.normal(size=(50, 2))),
            "v": list(rng.normal(size=(50, 2))),
        }
    )
    options: dict[str, Any] = {"query": "search", "relevance": "clicked", "categorical": ["seller"]}
    options |= {"dates": ["at"], "compare_vectors": [("q", "v")]}
    data = RankingDataset.from_frame(table, **options)
    ranker = RankSVM().fit(data)
    ranker.save(tmp_path / "model")
    loaded = load_ranker(tmp_path / "model")
    roles = ColumnRoles(**loaded.columns_)
    assert roles == data.columns
    shuffled = table.select(table.column_names[::-1]).append_column("more", pa.array(["x"] * 50))
    pq.write_table(shuffled, tmp_path / "t.parquet")
    pieces = list(stream_dataset(tmp_path / "t.parquet", options=ReadOptions(columns=roles)))
    scores = np.concatenate([loaded.predict(piece) for piece in pieces])
    np.testing.assert_array_equal(scores, ranker.predict(data))
    order = rng.permutation(50)
    for frame in (table.take(order).to_pandas(), pl.from_arrow(table.take(order))):
        np.testing.assert_array_equal(loaded.predict(frame), ranker.predict(data)[order])
