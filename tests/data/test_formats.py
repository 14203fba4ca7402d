"""LETOR text round trips, all formats on real data, and a full disk."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from directranker.data.dataset import RankingDataset
from directranker.data.letor import parse_letor, read_letor
from directranker.data.letor.writing import write_letor
from directranker.data.parquet_files import read_parquet, write_parquet
from directranker.errors import DataError

from format_cases import example, names_in


def without_comments(data: RankingDataset) -> RankingDataset:
    """Remove the comments that LETOR text adds for document ids."""
    return RankingDataset(
        data.features, data.relevance, data.offsets, data.query_ids, document_texts=data.document_texts
    )


@pytest.mark.parametrize("strings", [False, True])
@pytest.mark.parametrize("documents", [False, True])
@pytest.mark.parametrize("ending", ["txt", "txt.gz"])
def test_letor_round_trip(tmp_path: Path, strings: bool, documents: bool, ending: str) -> None:
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
def test_letor_round_trip_of_any_float(tmp_path_factory: Any, X: Any, y: Any) -> None:
    data = RankingDataset.from_arrays(X, y)
    path = tmp_path_factory.mktemp("letor") / "data.txt"
    write_letor(data, path)
    assert read_letor(path, allow_non_finite=True).equals(data)


def test_letor_round_trip_keeps_comments(tmp_path: Path) -> None:
    data = parse_letor(b"1 qid:7 1:0.5 2:1 #docid = A inc = 1 \n0 qid:7 1:2\n2 qid:8 2:3 # x#y\r\r\n")
    write_letor(data, tmp_path / "again.txt")
    assert read_letor(tmp_path / "again.txt").equals(data)
    write_letor(data, tmp_path / "zero.txt", zero_based=True)
    again = read_letor(tmp_path / "zero.txt", zero_based=True)
    np.testing.assert_array_equal(again.features, data.features)


@pytest.mark.parametrize("bad", ["", "a b", "a#", "x\n"])
def test_ids_that_letor_cannot_represent_raise(tmp_path: Path, bad: str) -> None:
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


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    """Exceeding the file size limit of the process fails like a full disk."""
    script = f"""
import resource, signal, sys
import numpy as np
from pathlib import Path
from directranker.data.column_roles import ColumnRoles
from directranker.data.dataset import RankingDataset
from directranker.data.letor.writing import write_letor
from directranker.data.parquet_files import write_parquet
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
    errors = [f"{errno.EFBIG} {name}" for name in ("a", "b.txt", "b.txt.gz", "c.pq")]
    assert done.stdout.splitlines() == errors
    assert names_in(tmp_path) == []
