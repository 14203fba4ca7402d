"""Results of finished jobs in an SQLite file; each fit is one transaction, so a kill never loses one.

>>> import tempfile
>>> settings = {"alpha": 0.1}
>>> values = ("SVM", settings, None, "map", 0, 0.5, None, 1.5, 0.1, 90, 30, 1, "")
>>> result = JobResult("k", "all", "Fold1", *values)
>>> with tempfile.TemporaryDirectory() as folder, JobStore(Path(folder) / "jobs.sqlite") as store:
...     store.add([result])
...     store.get(["k", "other"])["k"] == result
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

from directranker.arrays import FloatArray
from directranker.errors import StorageError

__all__ = ["JobCount", "JobResult", "JobStore", "count_jobs"]

APPLICATION_ID = 0x64726365  # "drce": identifies our files among SQLite files
VERSION = 3
LOCK_TIMEOUT_SECONDS = 60.0  # while another process writes
KEYS_PER_QUERY = 500  # SQLite limits the number of values in a statement


@dataclass(frozen=True)
class JobResult:
    """The result of a finished job: what was trained on which data, its score and its times."""

    key: str
    data: str
    fold: str
    ranker: str
    parameters: Mapping[str, object]
    """For display; values that JSON cannot represent are their `repr`."""
    inner_fold: int | None
    metric: str
    seed: int
    score: float
    per_query: FloatArray | None
    fit_seconds: float
    score_seconds: float
    n_train: int
    """Number of training documents."""
    n_test: int
    """Number of test documents."""
    threads: int
    finished: str
    """The time in ISO 8601."""
    diagnostics: Mapping[str, Any] | None = None
    """The training history and the rankings of some queries; see `collect_diagnostics`."""


COLUMNS = tuple(field.name for field in fields(JobResult))
TABLE = """
CREATE TABLE IF NOT EXISTS job_results (
    key TEXT PRIMARY KEY, data TEXT NOT NULL, fold TEXT NOT NULL, ranker TEXT NOT NULL,
    parameters TEXT NOT NULL, inner_fold INTEGER, metric TEXT NOT NULL, seed INTEGER NOT NULL,
    score REAL, per_query BLOB, fit_seconds REAL NOT NULL, score_seconds REAL NOT NULL,
    n_train INTEGER NOT NULL, n_test INTEGER NOT NULL, threads INTEGER NOT NULL, finished TEXT NOT NULL,
    diagnostics BLOB
)"""


class JobStore:
    """Job results in an SQLite file, which is created if missing; close it, or use it as a context manager.

    Several processes may open the same file at once; each waits for the other's transaction.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"the folder {self.path.parent} does not exist; create it first")
        # No write-ahead log: it fails on network file systems and leaves results in a second file.
        with self._sqlite_errors():
            self._connection = sqlite3.connect(self.path, timeout=LOCK_TIMEOUT_SECONDS, isolation_level=None)
        try:
            self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        with self._sqlite_errors():
            if not self._pragma("application_id"):
                with self._transaction():
                    self._create_table()
            application, version = self._pragma("application_id"), self._pragma("user_version")
        if application != APPLICATION_ID:
            raise StorageError(
                f"{self.path} is an SQLite file, but not a job store; pass the path of another file"
            )
        if version != VERSION:
            raise StorageError(
                f"{self.path}: format version {version}, this directranker reads {VERSION}; delete it or "
                "pass another path, and train again"
            )

    def _create_table(self) -> None:
        if self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return  # created by another process meanwhile, or by another program
        self._connection.execute(TABLE)
        self._connection.execute(f"PRAGMA user_version = {VERSION}")
        self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])

    def add(self, results: Iterable[JobResult]) -> None:
        """Store all of these results or none; a result that is already stored stays unchanged."""
        rows = [_to_row(result) for result in results]
        marks = ", ".join("?" * len(COLUMNS))
        insert = f"INSERT INTO job_results VALUES ({marks}) ON CONFLICT (key) DO NOTHING"  # noqa: S608
        with self._sqlite_errors(), self._transaction():
            self._connection.executemany(insert, rows)

    def get(self, keys: Iterable[str]) -> dict[str, JobResult]:
        """Return the stored results among these keys."""
        with self._sqlite_errors():
            return {row[0]: _from_row(row) for row in self._rows(", ".join(COLUMNS), keys)}

    def existing_keys(self, keys: Iterable[str]) -> set[str]:
        """Return those of the keys that have a stored result."""
        with self._sqlite_errors():
            return {key for (key,) in self._rows("key", keys)}

    def _rows(self, columns: str, keys: Iterable[str]) -> Iterator[Sequence[Any]]:
        wanted = list(dict.fromkeys(keys))
        for start in range(0, len(wanted), KEYS_PER_QUERY):
            batch = wanted[start : start + KEYS_PER_QUERY]
            marks = ", ".join("?" * len(batch))
            yield from self._connection.execute(
                f"SELECT {columns} FROM job_results WHERE key IN ({marks})",  # noqa: S608 - no user input
                batch,
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
        # Locking at once makes other writers wait; locking later could deadlock two of them.
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    @contextmanager
    def _sqlite_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise StorageError(
                f"{self.path} cannot be used: {error}; check its permissions and the disk"
            ) from None
        except sqlite3.DatabaseError as error:
            raise StorageError(
                f"{self.path} is damaged or not a job store ({error}); move it away to start again"
            ) from None
        except (ValueError, TypeError, zlib.error) as error:
            raise StorageError(
                f"{self.path} is damaged: a row cannot be read ({error}); move it away to start again"
            ) from None


def _to_row(result: JobResult) -> tuple[Any, ...]:
    values = {name: getattr(result, name) for name in COLUMNS}
    values["parameters"] = json.dumps(result.parameters)
    # Without a query that counts there is no score; SQLite has no nan.
    values["score"] = None if np.isnan(result.score) else float(result.score)
    if result.per_query is not None:
        values["per_query"] = np.asarray(result.per_query, dtype="<f8").tobytes()
    if result.diagnostics is not None:
        values["diagnostics"] = zlib.compress(json.dumps(result.diagnostics, allow_nan=False).encode())
    return tuple(values.values())


def _from_row(row: Sequence[Any]) -> JobResult:
    values = dict(zip(COLUMNS, row, strict=True))
    values["parameters"] = json.loads(values["parameters"])
    values["score"] = float("nan") if values["score"] is None else values["score"]
    if values["per_query"] is not None:
        values["per_query"] = np.frombuffer(values["per_query"], dtype="<f8")
    if values["diagnostics"] is not None:
        values["diagnostics"] = json.loads(zlib.decompress(values["diagnostics"]))
    return JobResult(**values)


class JobCount(NamedTuple):
    """How many of the planned jobs are finished."""

    done: int
    total: int


def count_jobs(planned: Mapping[str, Sequence[Sequence[str]]], store: JobStore) -> dict[str, JobCount]:
    """Count the finished jobs of each entry of `Plan.job_keys`; another process may be running them.

    >>> import tempfile
    >>> values = ("SVM", {}, None, "map", 0, 0.5, None, 1.5, 0.1, 90, 30, 1, "")
    >>> result = JobResult("b", "all", "Fold1", *values)
    >>> with tempfile.TemporaryDirectory() as folder, JobStore(Path(folder) / "jobs.sqlite") as store:
    ...     store.add([result])
    ...     count_jobs({"SVM": [["a", "b"], ["c"]]}, store)
    {'SVM': JobCount(done=1, total=2)}
    """
    existing = store.existing_keys(key for jobs in planned.values() for keys in jobs for key in keys)
    return {
        name: JobCount(sum(not existing.isdisjoint(keys) for keys in jobs), len(jobs))
        for name, jobs in planned.items()
    }
