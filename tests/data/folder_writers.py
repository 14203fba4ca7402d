"""Writers and readers of one folder in separate processes: killed at every step, or concurrent.

Run as a script: `folder_writers.py FOLDER CASE`. This process has no threads, so it may fork.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from directranker.data import folder_swap
from directranker.data.files import write_atomically, write_folder_atomically

FILES = ("first", "second", "third")
ROUNDS = 60
STEPS = ("os.", "open", "shutil.", "tempfile.", "fcntl.", "ctypes.")  # prefixes of audit events


def save(folder: Path, content: str, *, overwrite: bool = True) -> None:
    """Write three files of the same content."""
    with write_folder_atomically(folder, overwrite=overwrite) as temporary:
        for name in FILES:
            (temporary / name).write_text(content)


def load(folder: Path) -> str:
    """Return the content, which all files must share."""
    contents = folder_swap.read_consistently(folder, lambda found: [(found / n).read_text() for n in FILES])
    assert len(set(contents)) == 1, contents
    return contents[0]


def list_names(folder: Path) -> list[str]:
    """List the names in a folder."""
    return sorted(path.name for path in folder.iterdir())


def fork(work: Callable[[], None]) -> int:
    """Run work in a forked process and return its id; its exit code is 1 after an exception."""
    process = os.fork()
    if process:
        return process
    try:
        work()
    except BaseException as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        os._exit(1)
    os._exit(0)


def is_killed_before(step: int, work: Callable[[], None]) -> bool:
    """Run work in a process that is killed before this step; return False if it has fewer steps."""

    def run_limited() -> None:
        left = step

        def count(event: str, _arguments: Any) -> None:
            nonlocal left
            if event != "os.kill" and event.startswith(STEPS):
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        work()

    _, status = os.waitpid(fork(run_limited), 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def interrupt_writers(parent: Path) -> None:
    """Check that each interrupt leaves a complete folder and a complete file, and nothing else."""
    target, file = parent / "model", parent / "numbers.txt"
    left = 0

    def count(event: str, _arguments: Any) -> None:
        nonlocal left
        if event.startswith(STEPS):
            left -= 1
            if left == -1:
                raise KeyboardInterrupt

    def write(content: str) -> None:
        save(target, content)
        with write_atomically(file) as temporary:
            temporary.write_text(content)

    write("0")
    sys.addaudithook(count)
    for step in range(10_000):
        left = step
        with suppress(KeyboardInterrupt):
            write(str(step + 1))
            break
        left = 10**6
        load(target)
        assert list_names(parent) in (["model", "numbers.txt"], ["model"]), (step, list_names(parent))
    assert step > 20


def kill_folder_writers(parent: Path) -> None:
    """Check that each kill leaves a complete folder, and the next save nothing else."""
    target = parent / "model"
    save(target, "0")
    for step in range(10_000):
        before = load(target)
        is_killed = is_killed_before(step, lambda step=step: save(target, str(step + 1)))  # type: ignore[misc]
        if folder_swap._get_renameat2() is not None:
            assert target.is_dir()  # for every program, not only for ours
        assert load(target) in (before, str(step + 1))
        if not is_killed:
            break
        if step % 2:
            save(target, "complete")
            assert list_names(parent) == ["model"], (step, list_names(parent))
    assert step > 20
    assert load(target) == str(step + 1)
    assert list_names(parent) == ["model"]


def kill_file_writers(parent: Path) -> None:
    """Check that each kill leaves a complete file."""
    target = parent / "numbers.txt"

    def write(content: str) -> None:
        with write_atomically(target) as temporary:
            temporary.write_text(content)

    write("0")
    for step in range(10_000):
        before = target.read_text()
        is_killed = is_killed_before(step, lambda step=step: write(str(step + 1)))  # type: ignore[misc]
        assert target.read_text() in (before, str(step + 1))
        if not is_killed:
            break
    assert step > 5
    assert list_names(parent) == ["numbers.txt"]


def run_two_writers_and_a_reader(parent: Path) -> None:
    """Check that all saves succeed, and that each read returns the content of one of them."""
    target = parent / "model"
    save(target, "0")

    def write(name: str) -> None:
        for number in range(ROUNDS):
            save(target, f"{name}{number}" * 1000)

    writers = [fork(lambda name=name: write(name)) for name in "ab"]  # type: ignore[misc]
    seen = set()
    while writers:
        seen.add(load(target))
        process, status = os.waitpid(-1, os.WNOHANG)
        if process:
            assert status == 0
            writers.remove(process)
    assert len(seen) > 2
    assert list_names(parent) == ["model"]


if __name__ == "__main__":
    if "two-steps" in sys.argv[3:]:
        folder_swap._get_renameat2 = lambda: None
    globals()[sys.argv[2]](Path(sys.argv[1]))
