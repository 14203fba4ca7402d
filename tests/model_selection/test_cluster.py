"""Searches on a Dask cluster: a real scheduler and workers in their own processes, one of which dies."""

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

from search_processes import N_FITS, make_counting_fits, make_fit, read_lines, read_scores, wait_until
from watched_rankers import Fatal, make_data, make_folds


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
        arguments = [
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
                arguments, env={**os.environ, "PYTHONPATH": path}, cwd=tmp_path, stdout=log, stderr=log
            )

    processes = [run("dask_scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1")]
    try:
        wait_until(file.exists)
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(tmp_path))
        processes += [run("dask_worker", *options) for _ in range(2)]
        yield Cluster(json.loads(file.read_text())["address"], processes[1:])
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


def test_results_do_not_change_when_a_worker_dies(two_workers: Cluster, tmp_path: Path) -> None:
    fits, data = make_counting_fits(tmp_path / "log", seconds=0.3), {"all": make_data()}
    log = tmp_path / "log"

    def kill_one() -> None:
        wait_until(lambda: len({line.split()[0] for line in read_lines(log)}) == 2)  # both have started
        two_workers.workers[0].send_signal(signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    with JobStore(tmp_path / "jobs.sqlite") as store:
        run_fits(fits, data, store, cluster=two_workers.address)
        killer.join()
        scores = read_scores(store, fits, data)
        n_lines = len(read_lines(log))
        run_fits(fits, data, store, cluster="no such address")  # all results are stored, so it is not used
    assert two_workers.workers[0].poll() is not None
    assert N_FITS <= n_lines <= N_FITS + 3
    fits = make_counting_fits(tmp_path / "another")
    with JobStore(tmp_path / "another.sqlite") as store:
        run_fits(fits, data, store, workers=1)
        assert scores == read_scores(store, fits, data)
    # The remaining worker runs a nested search, and a fit that fails.
    check_nested_search(two_workers, make_folds(make_data()))
    with (
        JobStore(tmp_path / "failing.sqlite") as store,
        pytest.raises(FitError, match=r"training of Fatal .*failed on purpose"),
    ):
        run_fits([make_fit(Fatal("wrong", n)) for n in range(4)], data, store, cluster=two_workers.address)


def check_nested_search(two_workers: Cluster, folds: list[Fold]) -> None:
    ranker, grid = DirectRanker(max_epochs=2, hidden_layers=(4,)), {"learning_rate": [0.1, 0.001]}
    options: dict[str, Any] = {"inner_folds": 2, "metrics": "map"}
    distributed = nested_grid_search(ranker, grid, folds, cluster=two_workers.address, **options)
    local = nested_grid_search(ranker, grid, folds, workers=1, **options)
    assert distributed.test_scores().tolist() == local.test_scores().tolist()
    assert {result.threads for fold in distributed.fold_results() for result in fold.job_results} == {1}


def test_missing_scheduler_and_missing_dask_raise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fits, data = [make_fit(Fatal())], {"all": make_data()}
    with JobStore(tmp_path / "jobs.sqlite") as store:
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
            pytest.raises(FitError, match=r"no Dask scheduler answers at 127\.0\.0\.1:1 "),
        ):
            run_fits(fits, data, store, cluster="127.0.0.1:1")
        monkeypatch.setitem(sys.modules, "distributed", None)
        with pytest.raises(ImportError, match=r"pip install 'directranker\[cluster\]'"):
            run_fits(fits, data, store, cluster="127.0.0.1:1")


def test_workers_of_another_version_raise() -> None:
    task = Task(make_fit(Fatal()), {"map": "key"}, environment="of the search")
    with pytest.raises(FitError, match="has another version of directranker or of one of its"):
        task.run({"all": make_data()}, 1)
