"""`directranker compare` and `demo` while they run: killed, interrupted, twice at once, at a terminal."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from comparisons import OPTIONS, command, environment, finished_comparison, n_cells, start, table

from directranker.experiments.folder import read_status
from directranker.rankers.registry import load_registry


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small data set, a grid and a finished comparison in `whole`."""
    return finished_comparison(tmp_path_factory.mktemp("compare"))


def test_killed_at_random_moments_and_then_run_twice_at_once_it_ends_with_the_same_table(place: Path) -> None:
    generator = np.random.default_rng(3)
    arguments = ("compare", "data", *OPTIONS, "--out", "killed", "--workers", "1")
    counts = [0]
    for _ in range(2):
        process = start(*arguments, cwd=place)
        while process.poll() is None and n_cells(place / "killed") <= counts[-1]:
            time.sleep(0.02)
        time.sleep(generator.uniform(0, 0.2))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        counts.append(n_cells(place / "killed"))
        assert counts[-1] >= counts[-2]
    both = [start(*arguments, cwd=place) for _ in range(2)]
    ends = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], ends
    assert [errors for _, errors in ends] == ["", ""]
    assert all(output.endswith("report:  killed/report.html\n") for output, _ in ends)
    assert n_cells(place / "killed") == 66
    assert table(place / "killed") == table(place / "whole")
    left = {path.name for path in (place / "killed").iterdir() if not path.name.endswith(".partial")}
    assert left == {path.name for path in (place / "whole").iterdir()}


def test_ctrl_c_says_what_is_kept_and_how_to_go_on(place: Path) -> None:
    arguments = ("compare", "data", *OPTIONS, "--out", "stopped", "--workers", "1")
    process = start(*arguments, cwd=place)
    while process.poll() is None and n_cells(place / "stopped") < 2:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    if process.returncode == 0:
        pytest.skip("it was quicker than the interrupt")
    assert process.returncode == 130
    told = re.fullmatch(
        r"directranker: interrupted; (\d+) of 66 cells are kept in stopped, and the same command goes on.*\n",
        errors,
    )
    assert told, errors
    assert int(told[1]) == n_cells(place / "stopped")


def test_a_terminal_sees_a_bar(place: Path) -> None:
    parent, child = pty.openpty()
    with subprocess.Popen(
        command("compare", "data", *OPTIONS, "--out", "shown", "--workers", "1"),
        stdout=subprocess.DEVNULL,
        stderr=child,
        env=environment() | {"TERM": "xterm"},
        cwd=place,
    ) as process:
        os.close(child)
        seen = b""
        try:
            while block := os.read(parent, 4096):
                seen += block
        except OSError:  # the terminal is gone with the process
            pass
    os.close(parent)
    assert process.returncode == 0
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen.decode())
    assert re.search(r"comparing .*\d+/66 .*cells/s, 0:00:\d\d left", text)
    assert re.search(r"RankSVM: ndcg@10 0\.\d{3}", text)


def test_the_demo_inspects_the_data_and_begins_with_all_rankers(tmp_path: Path) -> None:
    """To its end it takes a minute; that is `make run`."""
    process = start("demo", "--out", "first", "--workers", "1", cwd=tmp_path)
    while process.poll() is None and n_cells(tmp_path / "first") < 1:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "documents per query" in output
    assert re.match(r"directranker: interrupted; \d+ of \d+ cells are kept in first, and the same", errors)
    status = read_status(tmp_path / "first")
    assert set(status) == set(load_registry())
    assert {count.total for count in status.values()} == {6, 6 * 3, 6 * 4}  # final trainings, and choices
