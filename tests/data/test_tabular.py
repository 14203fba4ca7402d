"""Data sets as Parquet and as pandas, polars and pyarrow tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from directranker.data.column_roles import ColumnRoles
from directranker.data.dataset import RankingDataset
from directranker.data.parquet_files import read_parquet, stream_parquet, write_parquet
from directranker.errors import DataError

from format_cases import example


@pytest.mark.parametrize("layout", ["columns", "list"])
@pytest.mark.parametrize("strings", [False, True])
def test_parquet_round_trip(tmp_path: Path, layout: Any, strings: bool) -> None:
    data = example(strings=strings)
    write_parquet(data, tmp_path / "data.parquet", layout=layout)
    assert read_parquet(tmp_path / "data.parquet").equals(data)
    names = pq.read_schema(tmp_path / "data.parquet").names
    assert names[:3] == ["qid", "docid", "relevance"]
    assert names[3:] == (["features"] if layout == "list" else list(data.feature_names))


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("strings", [False, True])
@pytest.mark.parametrize("documents", [False, True])
def test_frame_round_trip(kind: Any, strings: bool, documents: bool) -> None:
    data = example(strings=strings, documents=documents)
    frame = data.to_frame(kind)
    assert type(frame).__module__.split(".")[0] == kind
    assert RankingDataset.from_frame(frame).equals(data)


def test_frames_with_other_column_names() -> None:
    columns = {
        "query": ["b", "a", "b"],
        "grade": [0, 2, 1],
        "bm25": [0.5, None, 1.5],
        "clicks": [1, 2, 3],
        "new": [True, False, True],
    }
    for frame in (pd.DataFrame(columns, index=[7, 8, 9]), pl.DataFrame(columns), pa.table(columns)):
        data = RankingDataset.from_frame(frame, relevance="grade", query="query")
        assert data.feature_names == ("bm25", "clicks", "new")
        assert data.query_ids.tolist() == ["b", "a"]
        np.testing.assert_array_equal(data.features, [[0.5, 1, 1], [1.5, 3, 1], [np.nan, 2, 0]])
        one = RankingDataset.from_frame(frame, relevance="grade", query=None, features=["clicks"])
        assert (one.n_queries, one.feature_names) == (1, ("clicks",))


def test_the_pandas_index_is_not_a_feature(tmp_path: Path) -> None:
    """A sorted or sliced frame has its old row numbers as a column of the file."""
    path = tmp_path / "data.parquet"
    frame = pd.DataFrame({"qid": [1, 1, 2], "relevance": [0, 1, 0], "bm25": [0.5, 1.5, 2.5]}, index=[7, 3, 9])
    frame.to_parquet(path)
    assert "__index_level_0__" in pq.read_schema(path).names
    assert read_parquet(path).feature_names == ("bm25",)
    assert next(stream_parquet(path)).feature_names == ("bm25",)
    assert RankingDataset.from_frame(pa.Table.from_pandas(frame)).feature_names == ("bm25",)
    frame.rename_axis("age").to_parquet(path)
    assert read_parquet(path).feature_names == ("bm25",)
    with_index = read_parquet(path, columns=ColumnRoles(features=["bm25", "age"]))
    np.testing.assert_array_equal(with_index.features[:, 1], [7, 3, 9])
    frame.set_index("qid").to_parquet(path)
    assert read_parquet(path).query_ids.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (
            {"relevance": [0], "a": [1.0]},
            {},
            "no column 'qid'; the columns are relevance, a; name the column of query ids .* pass query=None",
        ),
        ({"qid": [1], "a": [1.0]}, {}, "no column 'relevance'"),
        ({"qid": [1], "relevance": [0]}, {}, "no feature columns"),
        (
            {"qid": [None, 1], "relevance": [0, 1], "a": [1, 2]},
            {},
            "query id in row 0, column 'qid', is missing",
        ),
        ({"qid": [1], "relevance": [None], "a": [1.0]}, {}, "label nan in row 0"),
        (
            {"qid": [1], "relevance": ["good"], "a": [1.0]},
            {},
            "label 'good' in row 0, column 'relevance' is not a number; map the grades",
        ),
        ({"qid": [1], "relevance": [[1, 2]], "a": [1.0]}, {}, r"column 'relevance': relevance holds list"),
        ({"qid": [[1, 2]], "relevance": [1], "a": [1.0]}, {}, "column 'qid': query ids are list"),
        (
            {"qid": [1], "relevance": [0], "tags": [["x", "y"]]},
            {},
            "column 'tags' holds .*list.*neither a number nor",
        ),
        (
            {"qid": [1], "relevance": [0], "a": [1e39]},
            {},
            r"1e\+39 in row 0, column 'a' does not fit float32",
        ),
        ({"qid": [1], "relevance": [0], "a": [1.0]}, {"document": "url"}, "no column 'url'"),
    ],
)
def test_invalid_frames_raise(columns: Any, options: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        RankingDataset.from_frame(pa.table(columns), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"query": [1, 2]}, "query is a list; give the name of one column"),
        ({"relevance": None}, "relevance is a NoneType; give the name of one column"),
        ({"features": "a"}, "features is 'a'; give a list of column names"),
    ],
)
def test_invalid_column_names_raise(options: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        RankingDataset.from_frame(pa.table({"qid": [1], "relevance": [0], "a": [1.0]}), **options)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("a", 1e39, r"1e\+39 in row 20000, column 'a'"),
        ("relevance", None, "label nan in row 20000, column 'relevance'"),
        ("qid", None, "query id in row 20000, column 'qid'"),
        ("qid", 0.5, "query id 0.5 in row 20000"),
    ],
)
def test_errors_name_the_row_of_the_file_in_every_block(
    tmp_path: Path, column: str, value: Any, message: str
) -> None:
    n = 20_010
    columns = {"qid": np.repeat(np.arange(n / 10), 10).tolist(), "relevance": [0.0] * n, "a": [1.0] * n}
    columns[column][20_000] = value
    pq.write_table(pa.table(columns), path := tmp_path / "data.parquet")
    with pytest.raises(DataError, match=message):
        read_parquet(path)
    with pytest.raises(DataError, match=message):
        list(stream_parquet(path))


def test_objects_other_than_tables_raise() -> None:
    with pytest.raises(TypeError, match="list is not a table"):
        RankingDataset.from_frame([1, 2])
    with pytest.raises(DataError, match="give the column one type"):
        RankingDataset.from_frame(pd.DataFrame({"qid": [1, "a"], "relevance": [0, 1], "a": [1.0, 2.0]}))
    with pytest.raises(ValueError, match="frame kind 'dask'"):
        example().to_frame("dask")  # type: ignore[arg-type]


def test_invalid_parquet_raises(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    path.write_bytes(b"no parquet")
    with pytest.raises(DataError, match=r"data\.parquet: not a readable Parquet file"):
        read_parquet(path)
    write_parquet(example(), path)
    with pytest.raises(DataError, match=r"data\.parquet: no column 'grade'"):
        read_parquet(path, columns=ColumnRoles(relevance="grade"))
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match="not a readable Parquet file"):
        read_parquet(path)
