"""`directranker compare` and `demo` while they run: killed, interrupted, run twice at once, in a terminal."""

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
from comparisons import OPTIONS, command, count_jobs, environment, finish_comparison, read_table, start

from directranker.experiments.folder import read_status
from directranker.rankers.registry import load_registry


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small data set, a grid and a finished comparison in `whole`."""
    return finish_comparison(tmp_path_factory.mktemp("compare"))


def test_killed_comparison_resumes_in_two_processes_with_the_same_table(folder: Path) -> None:
    generator = np.random.default_rng(3)
    arguments = ("compare", "data", *OPTIONS, "--out", "killed", "--workers", "1")
    counts = [0]
    for _ in range(2):
        process = start(*arguments, cwd=folder)
        while process.poll() is None and count_jobs(folder / "killed") <= counts[-1]:
            time.sleep(0.02)
        time.sleep(generator.uniform(0, 0.2))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        counts.append(count_jobs(folder / "killed"))
        assert counts[-1] >= counts[-2]
    both = [start(*arguments, cwd=folder) for _ in range(2)]
    ends = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], ends
    assert [errors for _, errors in ends] == ["", ""]
    assert all(output.endswith("report:  killed/report.html\n") for output, _ in ends)
    assert count_jobs(folder / "killed") == 66
    assert read_table(folder / "killed") == read_table(folder / "whole")
    left = {path.name for path in (folder / "killed").iterdir() if not path.name.endswith(".partial")}
    assert left == {path.name for path in (folder / "whole").iterdir()}


def test_ctrl_c_reports_what_is_kept_and_how_to_resume(folder: Path) -> None:
    arguments = ("compare", "data", *OPTIONS, "--out", "stopped", "--workers", "1")
    process = start(*arguments, cwd=folder)
    while process.poll() is None and count_jobs(folder / "stopped") < 2:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    if process.returncode == 0:
        pytest.skip("finished before the interrupt")
    assert process.returncode == 130
    reported = re.fullmatch(
        r"directranker: interrupted; (\d+) of 66 jobs are kept in stopped; run the same command to resume\n",
        errors,
    )
    assert reported, errors
    assert int(reported[1]) == count_jobs(folder / "stopped")


def test_terminal_shows_a_progress_bar(folder: Path) -> None:
    parent, child = pty.openpty()
    with subprocess.Popen(
        command("compare", "data", *OPTIONS, "--out", "shown", "--workers", "1"),
        stdout=subprocess.DEVNULL,
        stderr=child,
        env=environment() | {"TERM": "xterm"},
        cwd=folder,
    ) as process:
        os.close(child)
        seen = b""
        try:
            while block := os.read(parent, 4096):
                seen += block
        except OSError:  # the terminal closes with the process
            pass
    os.close(parent)
    assert process.returncode == 0
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen.decode())
    assert re.search(r"comparing .*\d+/66 .*jobs/s, 0:00:\d\d left", text)
    assert re.search(r"RankSVM: ndcg@10 0\.\d{3}", text)


def test_demo_inspects_the_data_and_starts_all_rankers(tmp_path: Path) -> None:
    """The whole demo takes a minute; `make run` runs it."""
    process = start("demo", "--out", "first", "--workers", "1", cwd=tmp_path)
    while process.poll() is None and count_jobs(tmp_path / "first") < 1:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "documents per query" in output
    assert re.match(r"directranker: interrupted; \d+ of \d+ jobs are kept in first; run the same", errors)
    status = read_status(tmp_path / "first")
    assert set(status) == set(load_registry())
    assert {count.total for count in status.values()} == {
        6,
        6 * 3,
        6 * 4,
    }  # final trainings, and parameter choices
