"""Fits on one machine: in this process or in worker processes; see `cluster` for several machines.

Each function yields the results of a fit as soon as it ends, in any order. Data is sent to a worker once, as
a memory-mapped folder, not with each fit.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky.process_executor import BrokenProcessPool

from directranker.data.dataset import RankingDataset
from directranker.errors import FitError
from directranker.model_selection.fingerprints import environment_fingerprint
from directranker.model_selection.fitting import run_fit
from directranker.model_selection.jobs import Fit
from directranker.model_selection.store import JobResult
from directranker.model_selection.threads import limit_threads, set_threads
from directranker.safe_path import restore_path, safe_path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["Task", "drop_ids", "run_in_process_pool", "run_in_processes", "run_in_this_process"]

FOLDER_PREFIX, LOCK_FILE = "directranker-data-", "in-use"


@dataclass(frozen=True)
class Task:
    """A fit that has to run, with the key of each metric's job."""

    fit: Fit
    keys: Mapping[str, str]
    environment: str

    def data_names(self) -> list[str]:
        """Return the names of the data sets that the fit uses."""
        subsets = (self.fit.train, self.fit.validation, self.fit.test)
        return list(dict.fromkeys(subset.data for subset in subsets if subset is not None))

    def run(self, data: Mapping[str, RankingDataset], threads: int) -> list[JobResult]:
        """Run the fit; its keys are valid only for the code and package versions that they were made with."""
        if environment_fingerprint() != self.environment:
            raise FitError(
                f"a worker on {socket.gethostname()} has another version of directranker or of one of its "
                "numerical dependencies than the process that started the search; install the same versions "
                "everywhere and restart the workers (finished jobs are kept)"
            )
        return run_fit(self.fit, self.keys, data, threads=threads)


def run_in_this_process(
    tasks: Sequence[Task], data: Mapping[str, RankingDataset], threads: int
) -> Generator[list[JobResult]]:
    """Run tasks one after another in this process."""
    with limit_threads(threads):
        for task in tasks:
            yield task.run(data, threads)


def run_in_processes(
    tasks: Sequence[Task], data: Mapping[str, RankingDataset], workers: int, threads: int
) -> Generator[list[JobResult]]:
    """Run tasks in worker processes, which are reused by later calls and end with this process."""
    with _temporary_data_folder() as folder:
        name = str(folder)
        for number, dataset in enumerate(data.values()):
            drop_ids(dataset).save(folder / str(number))
        subfolders = {key: str(number) for number, key in enumerate(data)}
        calls = [delayed(_run_saved)(task, name, subfolders, threads) for task in tasks]
        yield from run_in_process_pool(calls, workers, threads)


def run_in_process_pool(calls: Sequence[object], workers: int, threads: int) -> Generator[Any]:
    """Yield the result of each of joblib's delayed calls as soon as it ends."""
    with _silence_joblib(), safe_path():
        with parallel_config("loky", inner_max_num_threads=threads, initializer=_prepare_worker):
            parallel = Parallel(workers, batch_size=1, return_as="generator_unordered", max_nbytes=None)
            results = parallel(calls)
        try:
            yield from results
        except BrokenProcessPool:
            raise FitError(
                "a worker process was killed, most likely because memory ran out; finished jobs are kept. "
                "Run the same again with fewer workers, which need less memory"
            ) from None
        finally:
            results.close()


@contextlib.contextmanager
def _temporary_data_folder() -> Iterator[Path]:
    """Create a temporary folder; folders that killed processes left behind are removed first."""
    for leftover in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*/{LOCK_FILE}"):
        with contextlib.suppress(OSError), leftover.open("rb") as lock:
            _lock(lock)  # fails while the owner lives
            shutil.rmtree(leftover.parent)
    with tempfile.TemporaryDirectory(prefix=FOLDER_PREFIX) as name, Path(name, "new").open("wb") as lock:
        with contextlib.suppress(OSError):
            _lock(lock)
            Path(name, "new").rename(Path(name, LOCK_FILE))  # renamed once locked: it is never seen unlocked
        yield Path(name)


def _lock(file: IO[bytes]) -> None:
    """Lock a file until it is closed, also by a kill; raise OSError where locks are not available."""
    if fcntl is None:
        raise OSError("file locks are not available")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def _silence_joblib() -> Iterator[None]:
    """Silence joblib's warnings on replaced workers and on discarded results."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given", UserWarning)
        warnings.filterwarnings("ignore", r"\d+ tasks (have been|which were)", UserWarning)
        yield


def _prepare_worker() -> None:
    # Ctrl-C reaches all processes of a terminal, SIGTERM all of a service; the parent ends its workers.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    restore_path()


def _end_with_parent(parent: int) -> None:
    """End this process soon after its parent was killed."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def drop_ids(data: RankingDataset) -> RankingDataset:
    """Return the data without ids and texts, which rankers do not see."""
    return RankingDataset(
        data.features,
        data.relevance,
        data.offsets,
        np.arange(data.n_queries),
        data.feature_names,
        categories=data.categories,
        columns=data.columns,
    )


_opened: tuple[str, dict[str, RankingDataset]] = ("", {})


def _run_saved(task: Task, folder: str, subfolders: Mapping[str, str], threads: int) -> list[JobResult]:
    global _opened  # noqa: PLW0603 - a worker keeps its data open until the next search
    if _opened[0] != folder:
        _opened = (folder, {name: RankingDataset.load(Path(folder, sub)) for name, sub in subfolders.items()})
    set_threads(threads)
    return task.run(_opened[1], threads)
