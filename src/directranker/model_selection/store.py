"""Finished cells in an SQLite file: each fit's in one transaction, so that a kill at any moment loses none.

>>> import tempfile
>>> settings = {"alpha": 0.1}
>>> cell = JobResult("k", "all", "Fold1", "SVM", settings, None, "map", 0, 0.5, None, 1.5, 0.1, 90, 30, 1, "")
>>> with tempfile.TemporaryDirectory() as folder, JobStore(Path(folder) / "jobs.sqlite") as store:
...     store.add([cell])
...     store.get(["k", "other"])["k"] == cell
True
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from directranker.errors import StorageError

__all__ = ["JobCount", "JobResult", "JobStore", "count_jobs"]

APPLICATION = 0x64726365  # "drce": what tells our files from other SQLite files
VERSION = 2
PATIENCE_SECONDS = 60.0  # for another process to finish its transaction
KEYS_AT_A_TIME = 500  # SQLite bounds the number of values in a question


@dataclass(frozen=True)
class JobResult:
    """A finished value: what was trained where, how good it is, and how long it took."""

    key: str
    data: str
    fold: str
    ranker: str
    parameters: Mapping[str, Any]
    """For people: what JSON cannot hold is in words."""
    inner_fold: int | None
    metric: str
    seed: int
    score: float
    per_query: NDArray[np.float64] | None
    fit_seconds: float
    score_seconds: float
    n_train: int
    """Documents learnt from."""
    n_test: int
    threads: int
    finished: str
    """When, as ISO 8601."""
    look: Mapping[str, Any] | None = None
    """How the training went and how it ranks some queries; see `diagnostics`."""


COLUMNS = tuple(field.name for field in fields(JobResult))
TABLE = """
CREATE TABLE IF NOT EXISTS cells (
    key TEXT PRIMARY KEY, data TEXT NOT NULL, fold TEXT NOT NULL, ranker TEXT NOT NULL,
    parameters TEXT NOT NULL, inner_fold INTEGER, metric TEXT NOT NULL, seed INTEGER NOT NULL,
    score REAL, per_query BLOB, fit_seconds REAL NOT NULL, score_seconds REAL NOT NULL,
    n_train INTEGER NOT NULL, n_test INTEGER NOT NULL, threads INTEGER NOT NULL, finished TEXT NOT NULL,
    look BLOB
)"""
MISSING = {1: "ALTER TABLE cells ADD COLUMN look BLOB"}
"""By version: what makes its table that of the next one."""


class JobStore:
    """The cells in a file, which is made where there is none; close it, or use it in a `with`.

    Several processes may have one file open at the same time: each waits for the other's transaction.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"the folder {self.path.parent} does not exist; make it first")
        # No write-ahead log: it does not work on network folders, and leaves cells beside the file.
        with self._problems_in_words():
            self._connection = sqlite3.connect(self.path, timeout=PATIENCE_SECONDS, isolation_level=None)
        try:
            self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        with self._problems_in_words():
            if not self._pragma("application_id"):
                with self._transaction():
                    self._make_table()
            if self._pragma("application_id") == APPLICATION and self._pragma("user_version") in MISSING:
                with self._transaction():
                    self._bring_up()
            application, version = self._pragma("application_id"), self._pragma("user_version")
        if application != APPLICATION:
            raise StorageError(f"{self.path} is an SQLite file, but not one of finished cells; give another")
        if version != VERSION:
            raise StorageError(
                f"{self.path}: format version {version}, this directranker reads {VERSION}; give another file"
            )

    def _make_table(self) -> None:
        if self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return  # made by another process meanwhile, or by another program
        self._connection.execute(TABLE)
        self._connection.execute(f"PRAGMA user_version = {VERSION}")
        self._connection.execute(f"PRAGMA application_id = {APPLICATION}")

    def _bring_up(self) -> None:
        while (version := self._pragma("user_version")) in MISSING:  # another process may have done it
            self._connection.execute(MISSING[version])
            self._connection.execute(f"PRAGMA user_version = {version + 1}")

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])

    def add(self, cells: Iterable[JobResult]) -> None:
        """Keep all of these or none; a cell that is there already stays as it is."""
        rows = [_row(cell) for cell in cells]
        places = ", ".join("?" * len(COLUMNS))
        insert = f"INSERT INTO cells VALUES ({places}) ON CONFLICT (key) DO NOTHING"  # noqa: S608 - our words
        with self._problems_in_words(), self._transaction():
            self._connection.executemany(insert, rows)

    def get(self, keys: Iterable[str]) -> dict[str, JobResult]:
        """The cells that are there, by key."""
        with self._problems_in_words():
            return {row[0]: _cell(row) for row in self._rows(", ".join(COLUMNS), keys)}

    def known(self, keys: Iterable[str]) -> set[str]:
        """Which of the keys have a cell."""
        with self._problems_in_words():
            return {key for (key,) in self._rows("key", keys)}

    def _rows(self, columns: str, keys: Iterable[str]) -> Iterator[Sequence[Any]]:
        wanted = list(dict.fromkeys(keys))
        for start in range(0, len(wanted), KEYS_AT_A_TIME):
            some = wanted[start : start + KEYS_AT_A_TIME]
            places = ", ".join("?" * len(some))
            yield from self._connection.execute(
                f"SELECT {columns} FROM cells WHERE key IN ({places})",  # noqa: S608 - our own words
                some,
            )

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        # Taking the lock at once lets the other wait; taking it later could make both wait for each other.
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    @contextmanager
    def _problems_in_words(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise StorageError(
                f"{self.path} cannot be used: {error}; look at its rights and the disk"
            ) from None
        except sqlite3.DatabaseError as error:
            raise StorageError(
                f"{self.path} is damaged or no file of finished cells ({error}); move it away to start anew"
            ) from None
        except (ValueError, TypeError, zlib.error) as error:
            raise StorageError(
                f"{self.path} has a row that cannot be read ({error}); it is damaged"
            ) from None


def _row(cell: JobResult) -> tuple[Any, ...]:
    values = {name: getattr(cell, name) for name in COLUMNS}
    values["parameters"] = json.dumps(cell.parameters)
    # Where no query counts there is no score, and SQLite has no nan.
    values["score"] = None if np.isnan(cell.score) else float(cell.score)
    if cell.per_query is not None:
        values["per_query"] = np.asarray(cell.per_query, dtype="<f8").tobytes()
    if cell.look is not None:
        values["look"] = zlib.compress(json.dumps(cell.look, allow_nan=False).encode())
    return tuple(values.values())


def _cell(row: Sequence[Any]) -> JobResult:
    values = dict(zip(COLUMNS, row, strict=True))
    values["parameters"] = json.loads(values["parameters"])
    values["score"] = float("nan") if values["score"] is None else values["score"]
    if values["per_query"] is not None:
        values["per_query"] = np.frombuffer(values["per_query"], dtype="<f8")
    if values["look"] is not None:
        values["look"] = json.loads(zlib.decompress(values["look"]))
    return JobResult(**values)


class JobCount(NamedTuple):
    """How many of the planned cells are there."""

    done: int
    total: int


def count_jobs(planned: Mapping[str, Sequence[Sequence[str]]], store: JobStore) -> dict[str, JobCount]:
    """How far a search is, per entry of `Plan.job_keys`; another process may be running it.

    >>> import tempfile
    >>> cell = JobResult("b", "all", "Fold1", "SVM", {}, None, "map", 0, 0.5, None, 1.5, 0.1, 90, 30, 1, "")
    >>> with tempfile.TemporaryDirectory() as folder, JobStore(Path(folder) / "jobs.sqlite") as store:
    ...     store.add([cell])
    ...     count_jobs({"SVM": [["a", "b"], ["c"]]}, store)
    {'SVM': JobCount(done=1, total=2)}
    """
    known = store.known(key for cells in planned.values() for keys in cells for key in keys)
    return {
        name: JobCount(sum(not known.isdisjoint(keys) for keys in cells), len(cells))
        for name, cells in planned.items()
    }
