"""Crafted or damaged Parquet is read, or raises a `DataError` that names the file and the column."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from directranker.data.column_roles import ColumnRoles
from directranker.data.dataset import RankingDataset
from directranker.data.formats import read_dataset, stream_dataset
from directranker.data.parquet_files import read_parquet, stream_parquet, write_parquet
from directranker.errors import DataError

from hostile_parquet import N_ROWS, ROLES, arrow_columns, as_parquet, crafted_tables, mutate, with_column

Reader = Callable[[Path], Any]


def stream(path: Path) -> list[RankingDataset]:
    return list(stream_dataset(path))


@pytest.fixture(params=[read_dataset, stream])
def reader(request: pytest.FixtureRequest) -> Reader:
    """A function that reads a Parquet file."""
    function: Reader = request.param
    return function


def accepts(reader: Reader, path: Path, *names: str) -> bool:
    """Whether a file is read; if not, check that the error is one line with the file and these names."""
    try:
        reader(path)
    except DataError as error:
        message = str(error)
        assert message.startswith(f"{path}: ")
        assert "\n" not in message
        assert all(name in message for name in names) or "are not contiguous" in message
        return False
    return True


@pytest.mark.parametrize("role", ROLES)
def test_any_type_in_any_role_is_read_or_reported(tmp_path: Path, reader: Reader, role: str) -> None:
    path, accepted = tmp_path / "data.parquet", set()
    for kind, column in arrow_columns().items():
        for with_null in (False, True):
            try:
                content = as_parquet(with_column(role, column, with_null=with_null))
            except pa.ArrowException:  # Arrow does not support nulls of this type
                continue
            if content is not None:
                path.write_bytes(content)
                if accepts(reader, path, repr(role)) and not with_null:
                    accepted.add(kind)
    assert {"int64", "float", "double"} <= accepted
    assert not accepted & {"struct", "map", "tensor"}
    assert ("list" in accepted) == (role == "feature_1")
    assert ("string" in accepted) == (role in ("qid", "docid", "feature_1"))
    assert ("decimal128(38, 0)" in accepted) == (role != "qid")


def test_crafted_metadata_is_read_or_reported(tmp_path: Path, reader: Reader) -> None:
    path = tmp_path / "data.parquet"
    for name, table in crafted_tables():
        content = as_parquet(table)
        if content is not None:
            path.write_bytes(content)
            is_accepted = accepts(reader, path)
            assert is_accepted or not name.startswith("pandas metadata"), name  # which we ignore


def test_damaged_files_are_read_or_reported(tmp_path: Path, reader: Reader) -> None:
    path = tmp_path / "data.parquet"
    for layout in ("columns", "list"):
        write_parquet(RankingDataset.from_arrays(np.eye(6), range(6), qid=[1] * 6), path, layout=layout)
        content = path.read_bytes()
        for number in range(150):
            path.write_bytes(mutate(content, np.random.default_rng(number)))
            accepts(reader, path)


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (b"a\nb\nc", "3 different names for 2 features"),
        (b"a\na", "1 different names for 2 features"),
        (b"\xff\nb", "utf-8"),
    ],
)
def test_invalid_names_of_list_features_raise(
    tmp_path: Path, reader: Reader, names: bytes, problem: str
) -> None:
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(N_ROWS * 2, np.float32)), 2)
    field = pa.field("features", lists.type, metadata={b"names": names})
    table = with_column("feature_1", pa.nulls(N_ROWS)).drop_columns(["feature_1"]).append_column(field, lists)
    pq.write_table(table, tmp_path / "data.parquet")
    with pytest.raises(DataError, match=f"data.parquet: column 'features': .*{problem}"):
        reader(tmp_path / "data.parquet")


def test_a_feature_name_with_a_line_break_raises_in_list_layout(tmp_path: Path) -> None:
    data = RankingDataset.from_arrays([[1.0, 2.0]], [0], feature_names=("a\nb", "c"))
    with pytest.raises(DataError, match="line break"):
        write_parquet(data, tmp_path / "data.parquet", layout="list")


def test_duplicate_column_names_raise(tmp_path: Path, reader: Reader) -> None:
    columns = with_column("feature_1", pa.nulls(N_ROWS)).columns
    pq.write_table(pa.table(columns, names=["qid", "relevance", "a", "a"]), tmp_path / "data.parquet")
    with pytest.raises(DataError, match=r"data.parquet: there are 2 columns 'a'; rename all but one"):
        reader(tmp_path / "data.parquet")


def test_errors_name_a_row_of_a_later_block(tmp_path: Path) -> None:
    labels = np.zeros(10_000)
    labels[9_000] = np.nan
    table = pa.table({"qid": np.arange(10_000), "relevance": labels, "a": labels * 0})
    pq.write_table(table, tmp_path / "data.parquet")
    with pytest.raises(DataError, match=r"label nan in row 9000, column 'relevance'"):
        list(stream_parquet(tmp_path / "data.parquet"))
    with pytest.raises(DataError, match="label nan in row 9000, column 'relevance'"):
        read_parquet(tmp_path / "data.parquet")


def test_errors_of_the_file_system_are_not_wrapped(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_parquet(tmp_path / "none.parquet")
    with pytest.raises(IsADirectoryError):
        read_parquet(tmp_path)


def test_parquet_can_be_read_from_a_pipe(tmp_path: Path, reader: Reader) -> None:
    data = RankingDataset.from_arrays(np.eye(3), [0, 1, 2], qid=[1, 1, 2])
    write_parquet(data, tmp_path / "data.parquet")
    pipe = tmp_path / "pipe.parquet"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes((tmp_path / "data.parquet").read_bytes()))
    writer.start()
    result = reader(pipe)
    writer.join()
    pieces = [result] if isinstance(result, RankingDataset) else result
    assert sum(piece.n_documents for piece in pieces) == 3


def test_a_path_need_not_be_utf8(tmp_path: Path, reader: Reader) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.parquet"))
    write_parquet(RankingDataset.from_arrays([[1.0]], [0], qid=[1]), path)
    reader(path)


def test_float16_query_ids(tmp_path: Path) -> None:
    table = with_column("qid", pa.array(np.repeat([3, 4], 3).astype(np.float16)))
    pq.write_table(table, tmp_path / "data.parquet")
    assert read_parquet(tmp_path / "data.parquet", columns=ColumnRoles()).query_ids.tolist() == [3, 4]
