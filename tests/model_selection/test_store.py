"""The job store: atomic transactions, several processes, and clear errors for broken files."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from directranker import JobStore, StorageError
from directranker.model_selection import JobResult

RESULT = JobResult(
    key="k",
    data="all",
    fold="Fold1",
    ranker="RankSVM",
    parameters={"alpha": 0.1, "layers": [64, 32], "name": "ä"},
    inner_fold=3,
    metric="ndcg@10",
    seed=7,
    score=0.1 + 0.2,
    per_query=np.array([0.5, np.nan, 1 / 3]),
    fit_seconds=1.25,
    score_seconds=0.5,
    n_train=90,
    n_test=30,
    threads=2,
    finished="2026-01-01T00:00:00+00:00",
)


def test_a_result_is_restored_bit_for_bit(tmp_path: Path) -> None:
    unscored = replace(RESULT, key="n", score=float("nan"), per_query=None, inner_fold=None)
    with JobStore(tmp_path / "jobs.sqlite") as store:
        store.add([RESULT, unscored])
        assert store.existing_keys(["k", "n", "other"]) == {"k", "n"}
    with JobStore(tmp_path / "jobs.sqlite") as store:
        found = store.get(["k", "n", "other"])
    assert sorted(found) == ["k", "n"]
    np.testing.assert_array_equal(found["k"].per_query, RESULT.per_query)
    assert replace(found["k"], per_query=None) == replace(RESULT, per_query=None)
    assert np.isnan(found["n"].score)
    assert replace(found["n"], score=0.0) == replace(unscored, score=0.0)


def test_many_keys_and_stored_results_stay_unchanged(tmp_path: Path) -> None:
    with JobStore(tmp_path / "jobs.sqlite") as store:
        store.add(replace(RESULT, key=str(number)) for number in range(1203))
        store.add([replace(RESULT, key="7", score=0.0)])
        found = store.get(map(str, range(2000)))
        assert len(found) == 1203
        assert found["7"].score == RESULT.score


def test_a_transaction_is_atomic(tmp_path: Path) -> None:
    with JobStore(tmp_path / "jobs.sqlite") as store:
        broken = replace(RESULT, key="b", n_train=None)  # type: ignore[arg-type]
        with pytest.raises(StorageError, match="NOT NULL"):
            store.add([RESULT, broken])
        assert store.existing_keys(["k", "b"]) == set()
        store.add([RESULT])
        assert store.existing_keys(["k"]) == {"k"}


WRITER = """
import sys
from dataclasses import replace
from directranker import JobStore
from test_store import RESULT
for number in range(60):
    with JobStore(sys.argv[1]) as store:
        store.add([replace(RESULT, key=f"{sys.argv[2]} {number} {part}") for part in range(3)])
        assert len(store.get(f"{sys.argv[2]} {before} 2" for before in range(number + 1))) == number + 1
"""


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    path = os.pathsep.join([*sys.path, str(Path(__file__).parent)])
    store = tmp_path / "jobs.sqlite"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(store), name], env={**os.environ, "PYTHONPATH": path}
        )
        for name in "ab"
    ]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0]
    with JobStore(store) as opened:
        keys = [f"{name} {number} {part}" for name in "ab" for number in range(60) for part in range(3)]
        assert opened.existing_keys(keys) == set(keys)


def test_broken_files_raise(tmp_path: Path) -> None:
    text = tmp_path / "text.sqlite"
    text.write_text("not a database, but long enough to be looked at closely" * 9)
    with pytest.raises(StorageError, match=r"text.sqlite is damaged .* move it away to start again"):
        JobStore(text)
    foreign = tmp_path / "foreign.sqlite"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE job_results (a)")
    connection.close()
    with pytest.raises(StorageError, match="not a job store"):
        JobStore(foreign)
    with pytest.raises(FileNotFoundError, match="does not exist; create it first"):
        JobStore(tmp_path / "missing" / "jobs.sqlite")
    with pytest.raises(StorageError, match="cannot be used"):
        JobStore(tmp_path)


@pytest.mark.parametrize("version", [2, 4])
def test_another_version_raises(version: int, tmp_path: Path) -> None:
    path = tmp_path / "jobs.sqlite"
    JobStore(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    with pytest.raises(StorageError, match=f"format version {version}, this directranker reads 3; delete it"):
        JobStore(path)


def test_diagnostics_are_stored(tmp_path: Path) -> None:
    diagnosed = replace(RESULT, diagnostics={"history": [{"cost": 0.1}]})
    with JobStore(tmp_path / "jobs.sqlite") as store:
        store.add([diagnosed])
        assert store.get(["k"])["k"].diagnostics == {"history": [{"cost": 0.1}]}


def test_a_damaged_page_raises(tmp_path: Path) -> None:
    path = tmp_path / "jobs.sqlite"
    with JobStore(path) as store:
        store.add(replace(RESULT, key=str(number)) for number in range(300))
    content = bytearray(path.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    path.write_bytes(content)
    with JobStore(path) as store, pytest.raises(StorageError, match="damaged"):
        store.get(map(str, range(300)))
