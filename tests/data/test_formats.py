"""The same data through every format: text, Parquet, frames, folders, folds."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from directranker.data.column_roles import ColumnRoles
from directranker.data.dataset import RankingDataset
from directranker.data.folds import read_folds
from directranker.data.letor import parse_letor, read_letor
from directranker.data.letor.writing import write_letor
from directranker.data.storage import HEADER
from directranker.data.streaming import stream_parquet
from directranker.data.tabular import read_parquet, write_parquet
from directranker.errors import DataError, StorageError


def example(*, strings: bool = False, documents: bool = True, seed: int = 0) -> RankingDataset:
    """A small data set with the odd values that a format may lose."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, 3)).astype(np.float32)
    X[0] = [-0.0, 1e-45, 3.4028235e38]
    qid = ["q1", "q1", "é", "q1", "é", "z", "z"] if strings else [5, 5, -3, 5, -3, 2**40, 2**40]
    ids = [f"GX{row}" for row in range(7)] if documents else None
    return RankingDataset.from_arrays(X, [0, 1.5, 2, 0, -1, 1e9, 3], qid=qid, document_ids=ids)


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def without_comments(data: RankingDataset) -> RankingDataset:
    """What LETOR text gives back of data that had document ids but no comments."""
    return RankingDataset(
        data.features, data.relevance, data.offsets, data.query_ids, document_texts=data.document_texts
    )


@pytest.mark.parametrize("strings", [False, True])
@pytest.mark.parametrize("documents", [False, True])
@pytest.mark.parametrize("ending", ["txt", "txt.gz"])
def test_letor_text_reads_as_what_was_written(
    tmp_path: Path, strings: bool, documents: bool, ending: str
) -> None:
    data = example(strings=strings, documents=documents)
    path = tmp_path / f"data.{ending}"
    write_letor(data, path)
    assert without_comments(read_letor(path)).equals(data)
    assert names_in(tmp_path) == [path.name]


@settings(max_examples=200)
@given(
    arrays(np.float32, (20, 3), elements=st.floats(width=32)),
    arrays(np.float64, 20, elements=st.floats(allow_nan=False, allow_infinity=False)),
)
def test_every_float_survives_letor_text(tmp_path_factory: Any, X: Any, y: Any) -> None:
    data = RankingDataset.from_arrays(X, y)
    path = tmp_path_factory.mktemp("letor") / "data.txt"
    write_letor(data, path)
    assert read_letor(path, allow_non_finite=True).equals(data)


def test_text_that_was_read_is_written_with_its_comments(tmp_path: Path) -> None:
    data = parse_letor(b"1 qid:7 1:0.5 2:1 #docid = A inc = 1 \n0 qid:7 1:2\n2 qid:8 2:3 # x#y\r\r\n")
    write_letor(data, tmp_path / "again.txt")
    assert read_letor(tmp_path / "again.txt").equals(data)
    write_letor(data, tmp_path / "zero.txt", zero_based=True)
    again = read_letor(tmp_path / "zero.txt", zero_based=True)
    np.testing.assert_array_equal(again.features, data.features)


@pytest.mark.parametrize("bad", ["", "a b", "a#", "x\n"])
def test_ids_that_letor_cannot_hold_are_refused(tmp_path: Path, bad: str) -> None:
    with pytest.raises(DataError, match="cannot be written as LETOR text"):
        write_letor(RankingDataset.from_arrays([[1.0]], [0], qid=[bad]), tmp_path / "a.txt")
    if bad not in ("", "a#"):
        with pytest.raises(DataError, match="cannot be written as LETOR text"):
            write_letor(RankingDataset.from_arrays([[1.0]], [0], document_ids=[bad]), tmp_path / "a.txt")
    assert names_in(tmp_path) == []


def test_mq2008_round_trip(real_data: Path, tmp_path: Path) -> None:
    data = read_letor(real_data / "MQ2008" / "Fold1" / "vali.txt")
    write_letor(data, tmp_path / "vali.txt")
    assert read_letor(tmp_path / "vali.txt").equals(data)
    data.save(tmp_path / "saved")
    assert RankingDataset.load(tmp_path / "saved", verify=True).equals(data)
    write_parquet(data, tmp_path / "vali.parquet")
    table = read_parquet(tmp_path / "vali.parquet")
    assert table.document_texts is not None
    assert table.document_texts.equals(data.document_texts)
    np.testing.assert_array_equal(table.features, data.features)


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


def test_frames_of_a_user() -> None:
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


def test_the_index_of_pandas_is_no_feature(tmp_path: Path) -> None:
    """A frame that was sorted or cut has its old row numbers in the file, as a column like any other."""
    path = tmp_path / "data.parquet"
    frame = pd.DataFrame({"qid": [1, 1, 2], "relevance": [0, 1, 0], "bm25": [0.5, 1.5, 2.5]}, index=[7, 3, 9])
    frame.to_parquet(path)
    assert "__index_level_0__" in pq.read_schema(path).names
    assert read_parquet(path).feature_names == ("bm25",)
    assert next(stream_parquet(path)).feature_names == ("bm25",)
    assert RankingDataset.from_frame(pa.Table.from_pandas(frame)).feature_names == ("bm25",)
    frame.rename_axis("age").to_parquet(path)
    assert read_parquet(path).feature_names == ("bm25",)
    asked_for = read_parquet(path, columns=ColumnRoles(features=["bm25", "age"]))
    np.testing.assert_array_equal(asked_for.features[:, 1], [7, 3, 9])
    frame.set_index("qid").to_parquet(path)
    assert read_parquet(path).query_ids.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"qid": [1], "relevance": [0], "title": ["x"]}, {}, "column 'title' holds .*string.*not numbers"),
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
        ({"qid": [1], "relevance": [0], "tags": [[1, 2]]}, {}, "column 'tags' holds list.*not numbers"),
        (
            {"qid": [1], "relevance": [0], "a": [1e39]},
            {},
            r"1e\+39 in row 0, column 'a' does not fit float32",
        ),
        ({"qid": [1], "relevance": [0], "a": [1.0]}, {"document": "url"}, "no column 'url'"),
    ],
)
def test_bad_frames_are_refused_in_words(columns: Any, options: Any, message: str) -> None:
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
def test_columns_are_given_by_name(options: Any, message: str) -> None:
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


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(TypeError, match="list is not a table"):
        RankingDataset.from_frame([1, 2])
    with pytest.raises(DataError, match="give it one type"):
        RankingDataset.from_frame(pd.DataFrame({"qid": [1, "a"], "relevance": [0, 1], "a": [1.0, 2.0]}))
    with pytest.raises(ValueError, match="frame kind 'dask'"):
        example().to_frame("dask")  # type: ignore[arg-type]


def test_broken_parquet(tmp_path: Path) -> None:
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
    part = data.select([1, 2])  # its texts begin inside Arrow's buffers
    part.save(tmp_path / "part")
    assert RankingDataset.load(tmp_path / "part").equals(part)
    empty = data.select([])
    empty.save(tmp_path / "empty")
    assert RankingDataset.load(tmp_path / "empty").equals(empty)


def test_saving_again_needs_a_word(tmp_path: Path) -> None:
    example().save(tmp_path / "saved")
    with pytest.raises(FileExistsError, match="exists; choose another name"):
        example(seed=1).save(tmp_path / "saved")
    example(seed=1).save(tmp_path / "saved", overwrite=True)
    assert RankingDataset.load(tmp_path / "saved").equals(example(seed=1))
    assert names_in(tmp_path) == ["saved"]
    with pytest.raises(FileNotFoundError, match="does not exist"):
        example().save(tmp_path / "none" / "saved")


def test_damage_is_found(tmp_path: Path) -> None:
    example(strings=True).save(tmp_path / "saved")
    parts = sorted(path.name for path in (tmp_path / "saved").iterdir())
    for name in parts:
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
        ({"version": 99}, "format version 99, this directranker reads 1"),
        ({"format": "cake"}, "header of 'cake', not of a data set"),
        ({"parts": 3}, "damaged header"),
        ({"parts": {"../../etc/passwd": {"bytes": 3}}}, "passwd is missing"),
        ({"feature_names": ["a"]}, "do not fit together"),
    ],
)
def test_headers_that_lie(tmp_path: Path, change: dict[str, Any], message: str) -> None:
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
def test_original_rows_that_lie(tmp_path: Path, rows: list[float], problem: str) -> None:
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


def test_original_rows_of_selected_queries_stay(tmp_path: Path) -> None:
    chosen = example().select([2, 1])
    chosen.save(tmp_path / "saved")
    again = RankingDataset.load(tmp_path / "saved").original_rows
    assert again is not None
    assert again.tolist() == [5, 6, 2, 4]


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    """Writing past the file size limit of the process fails as a full disk does."""
    script = f"""
import resource, signal, sys
import numpy as np
from pathlib import Path
from directranker.data.column_roles import ColumnRoles
from directranker.data.dataset import RankingDataset
from directranker.data.letor.writing import write_letor
from directranker.data.tabular import write_parquet
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
data = RankingDataset.from_arrays(np.random.default_rng(0).normal(size=(50_000, 8)), np.zeros(50_000))
folder = Path({str(tmp_path)!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
writers = {{"a": RankingDataset.save, "b.txt": write_letor, "b.txt.gz": write_letor, "c.pq": write_parquet}}
for name, write in writers.items():
    try:
        write(data, folder / name)
    except OSError as error:
        print(error.errno, Path(error.filename).name)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    told = [f"{errno.EFBIG} {name}" for name in ("a", "b.txt", "b.txt.gz", "c.pq")]
    assert done.stdout.splitlines() == told
    assert names_in(tmp_path) == []


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


def test_a_missing_fold_file_is_named_before_anything_is_read(tmp_path: Path) -> None:
    write_fold_folder(tmp_path)
    (tmp_path / "Fold4" / "vali.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"Fold4/vali\.txt is missing"):
        read_folds(tmp_path)


def test_mq2008_folds(real_data: Path) -> None:
    fold = next(read_folds(real_data / "MQ2008"))
    assert (fold.train.n_queries, fold.validation.n_queries, fold.test.n_queries) == (471, 157, 156)
