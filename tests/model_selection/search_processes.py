"""Searches in their own processes, to be killed and interrupted; forked from one with all imports done."""

from __future__ import annotations

import atexit
import json
import multiprocessing
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest

from directranker import JobStore, RankingDataset
from directranker.model_selection import Fit, Progress, QuerySubset, run_fits
from directranker.model_selection.fingerprints import data_fingerprint
from directranker.rankers import DirectRanker

from watched_rankers import CountingRanker, make_data

__all__ = [
    "count_stored",
    "make_counting_fits",
    "make_fit",
    "read_lines",
    "read_scores",
    "run_search",
    "search_until_interrupted",
    "start",
    "wait_until",
]

N_FITS = 12


def make_fit(ranker: Any, *metrics: str, **changes: Any) -> Fit:
    """Make a fit on 20 queries, evaluated on 10 others."""
    train, test = QuerySubset("all", tuple(range(20))), QuerySubset("all", tuple(range(20, 30)))
    fit = Fit(ranker, type(ranker).__name__, {}, 0, train, None, test, metrics or ("map",))
    return replace(fit, **changes)


def make_counting_fits(log: Path, n: int = N_FITS, seconds: float = 0.0) -> list[Fit]:
    """Make fits of two jobs each, each of which writes a line."""
    ranker = CountingRanker(str(log), seconds=seconds)
    return [make_fit(ranker, "map", "ndcg@10", parameters={"power": float(power)}) for power in range(n)]


def read_lines(log: Path) -> list[str]:
    """Read the lines that the fits wrote."""
    return log.read_text().splitlines() if log.exists() else []


def read_scores(store: JobStore, fits: list[Fit], data: dict[str, RankingDataset]) -> list[float]:
    """Read the scores of all jobs of these fits."""
    prints = {name: data_fingerprint(one) for name, one in data.items()}
    keys = [key for fit in fits for key in fit.keys(prints).values()]
    results = store.get(keys)
    return [results[key].score for key in keys]


def count_stored(folder: Path) -> int:
    """Count the stored results with SQLite itself."""
    connection = sqlite3.connect(folder / "jobs.sqlite", timeout=30)
    n = int(connection.execute("SELECT count(*) FROM job_results").fetchone()[0])
    connection.close()
    return n


def run_search(folder: Path, workers: int, result: str = "result.json") -> None:
    """Run some short fits and write their scores."""
    fits, data = make_counting_fits(folder / "log", seconds=0.05), {"all": make_data()}
    with JobStore(folder / "jobs.sqlite") as store:
        run_fits(fits, data, store, workers=workers)
        (folder / result).write_text(json.dumps(read_scores(store, fits, data)))


def search_until_interrupted(folder: Path, workers: int) -> None:
    """Run two short fits, then some that only an interrupt ends."""

    def report(progress: Progress) -> None:
        if progress.done == 2:
            (folder / "log").write_text("both are done\n")

    ranker = DirectRanker(max_epochs=2, early_stopping=False)
    fits = [make_fit(ranker, seed=seed) for seed in range(2)]
    fits += [make_fit(ranker, seed=seed, parameters={"max_epochs": 10**6}) for seed in range(2, 6)]
    with JobStore(folder / "jobs.sqlite") as store:
        try:
            run_fits(fits, {"all": make_data()}, store, workers=workers, progress=report)
        except KeyboardInterrupt:
            (folder / "interrupted").touch()


def start(work: Callable[..., None], folder: Path, *arguments: Any) -> ForkServerProcess:
    """Start a function in its own process group, with standard error in `folder/errors`."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    process = context.Process(target=_lead_group, args=(work, folder, *arguments))
    with pytest.MonkeyPatch.context() as patch:  # the fork server imports from here only
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        process.start()
    return process


def _lead_group(work: Callable[..., None], folder: Path, *arguments: Any) -> None:
    os.setsid()
    with (folder / "errors").open("a") as errors:
        os.dup2(errors.fileno(), 2)
    work(folder, *arguments)
    # multiprocessing skips the exit handlers that shut down joblib's workers, and would wait for these.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.005)
