"""Searches in processes of their own, to be killed and interrupted: forked from one that has imported all."""

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
from directranker.model_selection import Fit, Part, Progress, run_fits
from directranker.model_selection.fingerprints import data_fingerprint
from directranker.rankers import DirectRanker

from watched_rankers import CountingRanker, made_up

__all__ = [
    "await_that",
    "counting_fits",
    "fit_of",
    "interrupted_search",
    "lines_of",
    "scores_in",
    "search",
    "started",
    "stored",
]

N_FITS = 12


def fit_of(ranker: Any, *metrics: str, **changes: Any) -> Fit:
    """A training on 20 queries, measured on 10 others."""
    train, test = Part("all", tuple(range(20))), Part("all", tuple(range(20, 30)))
    fit = Fit(ranker, type(ranker).__name__, {}, 0, train, None, test, metrics or ("map",))
    return replace(fit, **changes)


def counting_fits(log: Path, n: int = N_FITS, seconds: float = 0.0) -> list[Fit]:
    """Trainings that write a line each, of two cells each."""
    ranker = CountingRanker(str(log), seconds=seconds)
    return [fit_of(ranker, "map", "ndcg@10", parameters={"power": float(power)}) for power in range(n)]


def lines_of(log: Path) -> list[str]:
    """What the trainings wrote."""
    return log.read_text().splitlines() if log.exists() else []


def scores_in(store: JobStore, fits: list[Fit], data: dict[str, RankingDataset]) -> list[float]:
    """The scores of all cells of these fits."""
    prints = {name: data_fingerprint(one) for name, one in data.items()}
    keys = [key for fit in fits for key in fit.keys(prints).values()]
    cells = store.get(keys)
    return [cells[key].score for key in keys]


def stored(folder: Path) -> int:
    """How many cells there are, by SQLite itself."""
    connection = sqlite3.connect(folder / "jobs.sqlite", timeout=30)
    n = int(connection.execute("SELECT count(*) FROM cells").fetchone()[0])
    connection.close()
    return n


def search(folder: Path, workers: int, result: str = "result.json") -> None:
    """Some short trainings; in the end their scores."""
    fits, data = counting_fits(folder / "log", seconds=0.05), {"all": made_up()}
    with JobStore(folder / "jobs.sqlite") as store:
        run_fits(fits, data, store, workers=workers)
        (folder / result).write_text(json.dumps(scores_in(store, fits, data)))


def interrupted_search(folder: Path, workers: int) -> None:
    """Two short trainings, then some that only an interrupt ends."""

    def tell(progress: Progress) -> None:
        if progress.done == 2:
            (folder / "log").write_text("both are done\n")

    ranker = DirectRanker(max_epochs=2, early_stopping=False)
    fits = [fit_of(ranker, seed=seed) for seed in range(2)]
    fits += [fit_of(ranker, seed=seed, parameters={"max_epochs": 10**6}) for seed in range(2, 6)]
    with JobStore(folder / "jobs.sqlite") as store:
        try:
            run_fits(fits, {"all": made_up()}, store, workers=workers, progress=tell)
        except KeyboardInterrupt:
            (folder / "interrupted").touch()


def started(work: Callable[..., None], folder: Path, *arguments: Any) -> ForkServerProcess:
    """Start it as the leader of a process group; what it says on standard error goes to `folder/errors`."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    process = context.Process(target=_lead_group, args=(work, folder, *arguments))
    with pytest.MonkeyPatch.context() as patch:  # the server looks nowhere else for what it imports
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        process.start()
    return process


def _lead_group(work: Callable[..., None], folder: Path, *arguments: Any) -> None:
    os.setsid()
    with (folder / "errors").open("a") as errors:
        os.dup2(errors.fileno(), 2)
    work(folder, *arguments)
    # A process of multiprocessing waits for joblib's workers, which wait for what ends other processes.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()


def await_that(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until it is so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happens"
        time.sleep(0.005)
