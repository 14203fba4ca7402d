"""Searches that are killed, interrupted, or run twice at once lose nothing and train nothing twice."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from directranker import JobStore
from directranker.model_selection import run_fits, workers
from directranker.model_selection.threads import count_cores

from search_processes import (
    N_FITS,
    count_stored,
    make_counting_fits,
    read_lines,
    read_scores,
    run_search,
    search_until_interrupted,
    start,
    wait_until,
)
from watched_rankers import make_data

TWO_CORES = pytest.mark.skipif(count_cores() < 2, reason="needs two cores")
BOTH = [1, pytest.param(2, marks=TWO_CORES)]


def search_uninterrupted(folder: Path) -> list[float]:
    # The log's name is a parameter of the ranker, but does not change its scores.
    fits, data = make_counting_fits(folder / "another"), {"all": make_data()}
    with JobStore(folder / "another.sqlite") as store:
        run_fits(fits, data, store, workers=1)
        return read_scores(store, fits, data)


@pytest.mark.parametrize(("workers", "n_kills"), [(1, 5), pytest.param(2, 1, marks=TWO_CORES)])
def test_a_kill_at_any_moment_loses_nothing(workers: int, n_kills: int, tmp_path: Path) -> None:
    log, rng = tmp_path / "log", np.random.default_rng()
    kept = 0
    for _ in range(n_kills):
        process = start(run_search, tmp_path, workers)
        before = len(read_lines(log))
        wait_until(lambda before=before: len(read_lines(log)) > before)  # type: ignore[misc]
        time.sleep(rng.uniform(0, 0.1))
        os.killpg(process.pid or 0, signal.SIGKILL)
        process.join()
        assert count_stored(tmp_path) % 2 == 0  # both metrics of a fit or none
        assert count_stored(tmp_path) >= kept
        kept = count_stored(tmp_path)
    before = len(read_lines(log))
    process = start(run_search, tmp_path, workers)
    process.join()
    assert process.exitcode == 0
    assert len(read_lines(log)) - before == N_FITS - kept // 2
    # A kill costs at most the running fits.
    assert len(read_lines(log)) <= N_FITS + n_kills * workers
    assert json.loads((tmp_path / "result.json").read_text()) == search_uninterrupted(tmp_path)
    assert (tmp_path / "errors").read_text() == ""


def test_two_searches_on_one_store(tmp_path: Path) -> None:
    processes = [start(run_search, tmp_path, 1, f"result-{number}") for number in range(2)]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    expected = search_uninterrupted(tmp_path)
    assert [json.loads((tmp_path / f"result-{number}").read_text()) for number in range(2)] == [expected] * 2
    assert count_stored(tmp_path) == 2 * N_FITS
    assert (tmp_path / "errors").read_text() == ""


@pytest.mark.parametrize("workers", BOTH)
def test_ctrl_c_ends_all_processes_and_keeps_finished_jobs(workers: int, tmp_path: Path) -> None:
    process = start(search_until_interrupted, tmp_path, workers)
    wait_until((tmp_path / "log").exists)
    time.sleep(0.3)  # until the long fits run
    pressed = time.monotonic()
    os.killpg(process.pid or 0, signal.SIGINT)  # as a terminal does
    process.join()
    assert time.monotonic() - pressed < 3
    assert process.exitcode == 0
    assert (tmp_path / "interrupted").exists()
    assert (tmp_path / "errors").read_text() == ""
    assert count_stored(tmp_path) == 2  # an interrupted fit is not a result
    wait_until(lambda: has_no_process(process.pid or 0), seconds=5)


@TWO_CORES
def test_workers_end_with_a_terminated_parent(tmp_path: Path) -> None:
    """Services terminate all processes at once; workers ignore the signal but end with their parent."""
    process = start(search_until_interrupted, tmp_path, 2)
    wait_until((tmp_path / "log").exists)
    os.killpg(process.pid or 0, signal.SIGTERM)
    process.join()
    assert process.exitcode == -signal.SIGTERM
    wait_until(lambda: has_no_process(process.pid or 0), seconds=10)


def has_no_process(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def test_data_folders_of_killed_searches_are_removed_and_others_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    abandoned = tmp_path / f"{workers.FOLDER_PREFIX}abandoned"
    abandoned.mkdir()
    (abandoned / workers.LOCK_FILE).touch()
    (abandoned / "data").write_bytes(b"much")
    with workers._temporary_data_folder() as mine:
        with workers._temporary_data_folder() as other:
            assert sorted(tmp_path.iterdir()) == sorted([mine, other])
        assert list(tmp_path.iterdir()) == [mine]
    assert list(tmp_path.iterdir()) == []
