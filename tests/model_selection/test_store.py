"""The store of finished cells: whole transactions, many processes, and clear words about a broken file."""

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

CELL = JobResult(
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


def test_a_cell_comes_back_bit_for_bit(tmp_path: Path) -> None:
    unscored = replace(CELL, key="n", score=float("nan"), per_query=None, inner_fold=None)
    with JobStore(tmp_path / "jobs.sqlite") as store:
        store.add([CELL, unscored])
        assert store.known(["k", "n", "other"]) == {"k", "n"}
    with JobStore(tmp_path / "jobs.sqlite") as store:
        found = store.get(["k", "n", "other"])
    assert sorted(found) == ["k", "n"]
    np.testing.assert_array_equal(found["k"].per_query, CELL.per_query)
    assert replace(found["k"], per_query=None) == replace(CELL, per_query=None)
    assert np.isnan(found["n"].score)
    assert replace(found["n"], score=0.0) == replace(unscored, score=0.0)


def test_many_keys_and_a_cell_that_is_there_stays(tmp_path: Path) -> None:
    with JobStore(tmp_path / "jobs.sqlite") as store:
        store.add(replace(CELL, key=str(number)) for number in range(1203))
        store.add([replace(CELL, key="7", score=0.0)])
        found = store.get(map(str, range(2000)))
        assert len(found) == 1203
        assert found["7"].score == CELL.score


def test_a_transaction_is_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    with JobStore(tmp_path / "jobs.sqlite") as store:
        broken = replace(CELL, key="b", n_train=None)  # type: ignore[arg-type]
        with pytest.raises(StorageError, match="NOT NULL"):
            store.add([CELL, broken])
        assert store.known(["k", "b"]) == set()
        store.add([CELL])
        assert store.known(["k"]) == {"k"}


WRITER = """
import sys
from dataclasses import replace
from directranker import JobStore
from test_store import CELL
for number in range(60):
    with JobStore(sys.argv[1]) as store:
        store.add([replace(CELL, key=f"{sys.argv[2]} {number} {part}") for part in range(3)])
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
        assert opened.known(keys) == set(keys)


def test_broken_files_are_refused_in_words(tmp_path: Path) -> None:
    text = tmp_path / "text.sqlite"
    text.write_text("not a database, but long enough to be looked at closely" * 9)
    with pytest.raises(StorageError, match=r"text.sqlite is damaged .* move it away to start anew"):
        JobStore(text)
    foreign = tmp_path / "foreign.sqlite"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE cells (a)")
    connection.close()
    with pytest.raises(StorageError, match="not one of finished cells"):
        JobStore(foreign)
    with pytest.raises(FileNotFoundError, match="does not exist; make it first"):
        JobStore(tmp_path / "missing" / "jobs.sqlite")
    with pytest.raises(StorageError, match="cannot be used"):
        JobStore(tmp_path)


def test_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "jobs.sqlite"
    JobStore(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 3")
    connection.close()
    with pytest.raises(StorageError, match="format version 3, this directranker reads 2"):
        JobStore(path)


def test_cells_of_the_first_version_are_still_read(tmp_path: Path) -> None:
    path = tmp_path / "jobs.sqlite"
    with JobStore(path) as store:
        store.add([CELL])
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE cells DROP COLUMN look")
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    with JobStore(path) as store:
        assert store.get(["k"])["k"].score == CELL.score
        store.add([replace(CELL, key="n", look={"history": [{"cost": 0.1}]})])
        assert store.get(["n"])["n"].look == {"history": [{"cost": 0.1}]}


def test_a_damaged_page_is_told(tmp_path: Path) -> None:
    path = tmp_path / "jobs.sqlite"
    with JobStore(path) as store:
        store.add(replace(CELL, key=str(number)) for number in range(300))
    content = bytearray(path.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    path.write_bytes(content)
    with JobStore(path) as store, pytest.raises(StorageError, match="damaged"):
        store.get(map(str, range(300)))
