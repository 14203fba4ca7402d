"""SIGTERM and SIGHUP interrupt a command as Ctrl-C does: workers stop, partial files go, jobs are kept."""

from __future__ import annotations

import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from comparisons import command, environment, start

from directranker import DirectRanker, RankSVM, example_dataset, load_ranker, write_letor
from directranker.cli import termination as module
from directranker.cli.termination import Termination
from directranker.model_selection.threads import count_cores
from directranker.training.interrupts import DeferredInterrupt

Start = Callable[..., subprocess.Popen[str]]
TWO_CORES = pytest.mark.skipif(count_cores() < 2, reason="needs two cores")
CODES = {signal.SIGTERM: 143, signal.SIGHUP: 129}
BOTH = pytest.mark.parametrize("number", CODES, ids=lambda number: number.name)


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "timed out"
        time.sleep(0.01)


def find_processes(group: int) -> list[int]:
    """Find the ids of the running processes of a group."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, after = path.read_text().rpartition(")")
        except OSError:  # it has ended
            continue
        state, _, of_group = after.split()[:3]
        if int(of_group) == group and state != "Z":
            found.append(int(path.parent.name))
    return found


def wait_for_end(group: int, seconds: float) -> None:
    end = time.monotonic() + seconds
    while find_processes(group):
        assert time.monotonic() < end, find_processes(group)
        time.sleep(0.02)


@pytest.fixture
def start_process(tmp_path: Path) -> Iterator[Start]:
    """Start commands in process groups, which are killed after the test."""
    processes = []

    def start_command(*arguments: str) -> subprocess.Popen[str]:
        processes.append(start(*arguments, cwd=tmp_path))
        return processes[-1]

    yield start_command
    for process in processes:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data and a model."""
    folder = tmp_path_factory.mktemp("ended")
    data = example_dataset().select(range(30))
    write_letor(data, folder / "rows.txt")
    RankSVM().fit(data).save(folder / "model")
    return folder


def test_rank_leaves_no_partial_file(folder: Path, tmp_path: Path) -> None:
    arguments = ("rank", str(folder / "model"), "-", "--out", "ranked.run")
    with subprocess.Popen(
        command(*arguments), stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        wait_until(lambda: any(tmp_path.iterdir()), process)  # it now waits for its input
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 143
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
    assert list(tmp_path.iterdir()) == []


def test_train_saves_the_best_weights(folder: Path, tmp_path: Path, start_process: Start) -> None:
    options = (
        "max_epochs=1000000",
        "early_stopping=False",
        "hidden_layers=4",
        "checkpoint=kept",
        "teacher=none",
        "transform=standard",
    )
    settings = [argument for option in options for argument in ("--set", option)]
    process = start_process("train", str(folder / "rows.txt"), *settings, "--out", "model")
    wait_until((tmp_path / "kept").is_dir, process)
    wait_until(lambda: any((tmp_path / "kept").iterdir()), process)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 143
    assert "interrupted" in errors
    assert isinstance(load_ranker(tmp_path / "model"), DirectRanker)


TUNE = (
    "--ranker",
    "RankNet",
    "--set",
    "transform=standard",
    "--set",
    "early_stopping=False",
    "--grid",
    "max_epochs=1/1000000",
    "--folds",
    "2",
)


@TWO_CORES
def test_search_stops_its_workers(folder: Path, tmp_path: Path, start_process: Start) -> None:
    """A supervisor sends SIGTERM and then waits until standard output closes."""
    process = start_process("tune", str(folder / "rows.txt"), *TUNE, "--workers", "2", "--out", "best")
    wait_until(lambda: count_jobs(tmp_path / "best.jobs.sqlite") > 0, process)
    assert len(find_processes(process.pid)) > 2
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 143
    assert re.fullmatch(
        r"directranker: interrupted; finished jobs are kept in best\.jobs\.sqlite; run the same.*\n", errors
    )
    wait_for_end(process.pid, seconds=10)
    assert count_jobs(tmp_path / "best.jobs.sqlite") > 0
    assert [path.name for path in tmp_path.iterdir()] == ["best.jobs.sqlite"]


def count_jobs(path: Path) -> int:
    if not path.exists():
        return 0
    connection = sqlite3.connect(path, timeout=30)
    try:
        return int(connection.execute("SELECT count(*) FROM job_results").fetchone()[0])
    except sqlite3.OperationalError:  # no table yet
        return 0
    finally:
        connection.close()


def test_closed_terminal_gives_no_traceback(folder: Path, tmp_path: Path) -> None:
    parent, child = pty.openpty()
    arguments = command("rank", str(folder / "model"), "-", "--out", "ranked.run")
    with subprocess.Popen(
        [sys.executable, "-c", AT_TERMINAL, *arguments],
        stdin=child,
        stdout=child,
        stderr=child,
        text=True,
        cwd=tmp_path,
        env=environment(),
        start_new_session=True,
    ) as process:
        os.close(child)
        wait_until(lambda: any(tmp_path.iterdir()), process)
        os.close(parent)
        assert process.wait(timeout=30) == 129
    assert list(tmp_path.iterdir()) == []


AT_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


@BOTH
def test_signals_in_quick_succession_count_once(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Termination() as termination, DeferredInterrupt() as interrupt:
        signal.raise_signal(number)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGHUP)
        assert interrupt.requested
        monkeypatch.setattr(module, "SAME_REQUEST_SECONDS", 0.0)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    assert termination.exit_code == CODES[number]
    assert signal.getsignal(number) == signal.SIG_DFL


def test_ignored_signal_stays_ignored() -> None:
    """SIGHUP under `nohup` is ignored; SIGTERM still ends a background job that ignores Ctrl-C."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGHUP, signal.SIGINT)}
    try:
        with Termination() as termination:
            signal.raise_signal(signal.SIGHUP)
            assert termination.exit_code is None
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
        assert termination.exit_code == 143
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
