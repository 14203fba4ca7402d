"""Searches that are killed, interrupted, or run twice at once: nothing is lost, nothing is computed twice."""

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
from directranker.model_selection.threads import cores_given

from search_processes import (
    N_FITS,
    await_that,
    counting_fits,
    interrupted_search,
    lines_of,
    scores_in,
    search,
    started,
    stored,
)
from watched_rankers import made_up

TWO_CORES = pytest.mark.skipif(cores_given() < 2, reason="needs two cores")
BOTH = [1, pytest.param(2, marks=TWO_CORES)]


def uninterrupted(folder: Path) -> list[float]:
    # The log's name is a parameter of the ranker, but does not change its scores.
    fits, data = counting_fits(folder / "another"), {"all": made_up()}
    with JobStore(folder / "another.sqlite") as store:
        run_fits(fits, data, store, workers=1)
        return scores_in(store, fits, data)


@pytest.mark.parametrize(("workers", "n_kills"), [(1, 5), pytest.param(2, 1, marks=TWO_CORES)])
def test_a_kill_at_any_moment_loses_nothing(workers: int, n_kills: int, tmp_path: Path) -> None:
    log, rng = tmp_path / "log", np.random.default_rng()
    kept = 0
    for _ in range(n_kills):
        process = started(search, tmp_path, workers)
        before = len(lines_of(log))
        await_that(lambda before=before: len(lines_of(log)) > before)  # type: ignore[misc]
        time.sleep(rng.uniform(0, 0.1))
        os.killpg(process.pid or 0, signal.SIGKILL)
        process.join()
        assert stored(tmp_path) % 2 == 0  # both metrics of a training or none
        assert stored(tmp_path) >= kept
        kept = stored(tmp_path)
    before = len(lines_of(log))
    process = started(search, tmp_path, workers)
    process.join()
    assert process.exitcode == 0
    assert len(lines_of(log)) - before == N_FITS - kept // 2
    # A kill costs at most what was running.
    assert len(lines_of(log)) <= N_FITS + n_kills * workers
    assert json.loads((tmp_path / "result.json").read_text()) == uninterrupted(tmp_path)
    assert (tmp_path / "errors").read_text() == ""


def test_two_searches_on_one_store(tmp_path: Path) -> None:
    processes = [started(search, tmp_path, 1, f"result-{number}") for number in range(2)]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    expected = uninterrupted(tmp_path)
    assert [json.loads((tmp_path / f"result-{number}").read_text()) for number in range(2)] == [expected] * 2
    assert stored(tmp_path) == 2 * N_FITS
    assert (tmp_path / "errors").read_text() == ""


@pytest.mark.parametrize("workers", BOTH)
def test_ctrl_c_ends_all_and_keeps_what_is_finished(workers: int, tmp_path: Path) -> None:
    process = started(interrupted_search, tmp_path, workers)
    await_that((tmp_path / "log").exists)
    time.sleep(0.3)  # into the midst of the long trainings
    pressed = time.monotonic()
    os.killpg(process.pid or 0, signal.SIGINT)  # as a terminal does
    process.join()
    assert time.monotonic() - pressed < 3
    assert process.exitcode == 0
    assert (tmp_path / "interrupted").exists()
    assert (tmp_path / "errors").read_text() == ""
    assert stored(tmp_path) == 2  # an interrupted training has weights, but is no result
    await_that(lambda: no_process_left(process.pid or 0), seconds=5)


@TWO_CORES
def test_workers_end_with_a_parent_that_was_terminated(tmp_path: Path) -> None:
    """As a service's processes are, all at once: workers leave it to their parent, but do not outlive it."""
    process = started(interrupted_search, tmp_path, 2)
    await_that((tmp_path / "log").exists)
    os.killpg(process.pid or 0, signal.SIGTERM)
    process.join()
    assert process.exitcode == -signal.SIGTERM
    await_that(lambda: no_process_left(process.pid or 0), seconds=10)


def no_process_left(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def test_data_of_killed_searches_is_removed_and_that_of_others_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    abandoned = tmp_path / f"{workers.FOLDER}abandoned"
    abandoned.mkdir()
    (abandoned / workers.LOCK).touch()
    (abandoned / "data").write_bytes(b"much")
    with workers._folder_for_data() as mine:
        with workers._folder_for_data() as other:
            assert sorted(tmp_path.iterdir()) == sorted([mine, other])
        assert list(tmp_path.iterdir()) == [mine]
    assert list(tmp_path.iterdir()) == []
