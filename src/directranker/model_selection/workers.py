"""Where trainings run on one machine: in this process or in processes beside it. `cluster` goes further.

Each way yields the cells of a training as soon as it has ended, in any order. Data goes to a worker once, as
a memory-mapped folder, not with each training.
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
from directranker.model_selection.threads import limited_threads, set_threads
from directranker.safe_path import restore_path, safe_path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["Task", "bare", "results_of_processes", "run_here", "run_in_processes"]

FOLDER, LOCK = "directranker-data-", "in-use"


@dataclass(frozen=True)
class Task:
    """A training that is still to run, with the keys of its cells."""

    fit: Fit
    keys: Mapping[str, str]
    environment: str

    def run(self, data: Mapping[str, RankingDataset], threads: int) -> list[JobResult]:
        """Run it; the keys are only true where it is run by the code that they were made by."""
        if environment_fingerprint() != self.environment:
            raise FitError(
                f"a worker on {socket.gethostname()} has another version of directranker or of a package "
                "that it computes with than the process that started the search; install the same everywhere "
                "and start all anew (finished cells are kept)"
            )
        return run_fit(self.fit, self.keys, data, threads=threads)


def run_here(
    tasks: Sequence[Task], data: Mapping[str, RankingDataset], threads: int
) -> Generator[list[JobResult]]:
    """One after another in this process."""
    with limited_threads(threads):
        for task in tasks:
            yield task.run(data, threads)


def run_in_processes(
    tasks: Sequence[Task], data: Mapping[str, RankingDataset], workers: int, threads: int
) -> Generator[list[JobResult]]:
    """In so many processes, which stay for later calls; they end with this one."""
    with _folder_for_data() as folder:
        name = str(folder)
        for number, dataset in enumerate(data.values()):
            bare(dataset).save(folder / str(number))
        places = {key: str(number) for number, key in enumerate(data)}
        calls = [delayed(_run_saved)(task, name, places, threads) for task in tasks]
        yield from results_of_processes(calls, workers, threads)


def results_of_processes(calls: Sequence[Any], workers: int, threads: int) -> Generator[Any]:
    """What each of joblib's delayed calls gives, as soon as it ends, from so many processes."""
    with _joblib_quiet(), safe_path():
        with parallel_config("loky", inner_max_num_threads=threads, initializer=_prepare_worker):
            parallel = Parallel(workers, batch_size=1, return_as="generator_unordered", max_nbytes=None)
            results = parallel(calls)
        try:
            yield from results
        except BrokenProcessPool:
            raise FitError(
                "a worker process was killed, most likely because memory ran out; finished cells are kept. "
                "Start the same again with fewer workers, which need less memory together"
            ) from None
        finally:
            results.close()


@contextlib.contextmanager
def _folder_for_data() -> Iterator[Path]:
    """A temporary folder; those that killed processes left behind are removed first."""
    for left in Path(tempfile.gettempdir()).glob(f"{FOLDER}*/{LOCK}"):
        with contextlib.suppress(OSError), left.open("rb") as lock:
            _lock(lock)  # which fails where its process lives
            shutil.rmtree(left.parent)
    with tempfile.TemporaryDirectory(prefix=FOLDER) as name, Path(name, "new").open("wb") as lock:
        with contextlib.suppress(OSError):
            _lock(lock)
            Path(name, "new").rename(Path(name, LOCK))  # it never stands there unlocked
        yield Path(name)


def _lock(file: IO[bytes]) -> None:
    """Held until the file is closed, by a kill too; where there are no such locks, nothing is removed."""
    if fcntl is None:
        raise OSError("no locks")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def _joblib_quiet() -> Iterator[None]:
    """Without its remarks on workers that it replaces, as they grow, and on results nobody waits for."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given", UserWarning)
        warnings.filterwarnings("ignore", r"\d+ tasks (have been|which were)", UserWarning)
        yield


def _prepare_worker() -> None:
    # Ctrl-C reaches all processes of a terminal, SIGTERM all of a service; the parent ends the others.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    restore_path()


def _end_with_parent(parent: int) -> None:
    """End this process soon after its parent was killed: nobody waits for its result."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def bare(data: RankingDataset) -> RankingDataset:
    """Without ids and texts, which no ranker sees."""
    return RankingDataset(data.features, data.relevance, data.offsets, np.arange(data.n_queries))


_opened: tuple[str, dict[str, RankingDataset]] = ("", {})


def _run_saved(task: Task, folder: str, places: Mapping[str, str], threads: int) -> list[JobResult]:
    global _opened  # noqa: PLW0603 - a worker keeps open what it opened, until the next search
    if _opened[0] != folder:
        _opened = (folder, {name: RankingDataset.load(Path(folder, place)) for name, place in places.items()})
    set_threads(threads)
    return task.run(_opened[1], threads)
