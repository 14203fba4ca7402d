"""Searches on a Dask cluster: a real scheduler and workers in processes of their own, one of which dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
import pytest

from directranker import FitError, Fold, JobStore, nested_grid_search
from directranker.model_selection import run_fits
from directranker.model_selection.workers import Task
from directranker.rankers import DirectRanker

from search_processes import N_FITS, await_that, counting_fits, fit_of, lines_of, scores_in
from watched_rankers import Fatal, folds_of, made_up


@dataclass
class Cluster:
    """A scheduler and its workers."""

    address: str
    workers: list[subprocess.Popen[bytes]]


@pytest.fixture
def two_workers(tmp_path: Path) -> Iterator[Cluster]:
    file = tmp_path / "scheduler.json"
    path = os.pathsep.join(filter(None, [*sys.path, str(Path(__file__).parent)]))

    def run(*command: str) -> subprocess.Popen[bytes]:
        words = [
            sys.executable,
            "-m",
            "distributed.cli." + command[0],
            *command[1:],
            "--scheduler-file",
            str(file),
        ]
        log = (tmp_path / "dask.log").open("ab")
        with log:
            return subprocess.Popen(
                words, env={**os.environ, "PYTHONPATH": path}, cwd=tmp_path, stdout=log, stderr=log
            )

    processes = [run("dask_scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1")]
    try:
        await_that(file.exists)
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(tmp_path))
        processes += [run("dask_worker", *options) for _ in range(2)]
        yield Cluster(json.loads(file.read_text())["address"], processes[1:])
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


def test_a_worker_that_dies_changes_nothing(two_workers: Cluster, tmp_path: Path) -> None:
    fits, data = counting_fits(tmp_path / "log", seconds=0.3), {"all": made_up()}
    log = tmp_path / "log"

    def kill_one() -> None:
        await_that(lambda: len({line.split()[0] for line in lines_of(log)}) == 2)  # both are at work
        two_workers.workers[0].send_signal(signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    with JobStore(tmp_path / "jobs.sqlite") as store:
        run_fits(fits, data, store, cluster=two_workers.address)
        killer.join()
        scores = scores_in(store, fits, data)
        n_lines = len(lines_of(log))
        run_fits(fits, data, store, cluster="nobody answers here")  # all is there, so nobody is asked
    assert two_workers.workers[0].poll() is not None
    assert N_FITS <= n_lines <= N_FITS + 3
    fits = counting_fits(tmp_path / "another")
    with JobStore(tmp_path / "another.sqlite") as store:
        run_fits(fits, data, store, workers=1)
        assert scores == scores_in(store, fits, data)
    # The same workers, one of them gone, run a search of another kind, and a training that fails.
    check_a_nested_search(two_workers, folds_of(made_up()))
    with (
        JobStore(tmp_path / "failing.sqlite") as store,
        pytest.raises(FitError, match=r"training of Fatal .*no such luck"),
    ):
        run_fits([fit_of(Fatal("wrong", n)) for n in range(4)], data, store, cluster=two_workers.address)


def check_a_nested_search(two_workers: Cluster, folds: list[Fold]) -> None:
    ranker, grid = DirectRanker(max_epochs=2, hidden_layers=(4,)), {"learning_rate": [0.1, 0.001]}
    options: dict[str, Any] = {"inner_folds": 2, "metrics": "map"}
    there = nested_grid_search(ranker, grid, folds, cluster=two_workers.address, **options)
    here = nested_grid_search(ranker, grid, folds, workers=1, **options)
    assert there.test_scores().tolist() == here.test_scores().tolist()
    assert {cell.threads for fold in there.of() for cell in fold.cells} == {1}


def test_no_scheduler_and_no_dask_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fits, data = [fit_of(Fatal())], {"all": made_up()}
    with JobStore(tmp_path / "jobs.sqlite") as store:
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
            pytest.raises(FitError, match=r"no Dask scheduler answers at 127\.0\.0\.1:1 "),
        ):
            run_fits(fits, data, store, cluster="127.0.0.1:1")
        monkeypatch.setitem(sys.modules, "distributed", None)
        with pytest.raises(ImportError, match=r"pip install 'directranker\[cluster\]'"):
            run_fits(fits, data, store, cluster="127.0.0.1:1")


def test_workers_of_another_version_are_refused() -> None:
    task = Task(fit_of(Fatal()), {"map": "key"}, environment="of the search")
    with pytest.raises(FitError, match="has another version of directranker or of a package"):
        task.run({"all": made_up()}, 1)
