"""Replacing saved folders: killed writers, concurrent writers and readers."""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from directranker import RankSVM, StorageError, example_dataset, load_ranker
from directranker.data import folder_swap
from directranker.data.files import write_atomically, write_folder_atomically
from directranker.data.leftovers import temporary_folder

from folder_writers import list_names, load, save

BOTH_METHODS = pytest.mark.parametrize("method", ["exchange", "two-steps"])


def run_case(case: str, folder: Path, method: str = "exchange") -> None:
    script = Path(__file__).with_name("folder_writers.py")
    done = subprocess.run(
        [sys.executable, str(script), str(folder), case, method], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@BOTH_METHODS
def test_a_kill_at_any_step_leaves_a_complete_folder(tmp_path: Path, method: str) -> None:
    run_case("kill_folder_writers", tmp_path, method)


@BOTH_METHODS
def test_an_interrupt_at_any_step_leaves_nothing_else(tmp_path: Path, method: str) -> None:
    run_case("interrupt_writers", tmp_path, method)


def test_a_kill_at_any_step_leaves_a_complete_file(tmp_path: Path) -> None:
    run_case("kill_file_writers", tmp_path)


@BOTH_METHODS
def test_concurrent_writers_succeed_and_readers_see_one_version(tmp_path: Path, method: str) -> None:
    run_case("run_two_writers_and_a_reader", tmp_path, method)


@pytest.fixture(params=["exchange", "unsupported", "missing"])
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Exchange names by renameat2, on a file system without it, and on a system without it."""
    if request.param == "missing":
        monkeypatch.setattr(folder_swap, "_get_renameat2", lambda: None)
    if request.param == "unsupported":
        monkeypatch.setattr(folder_swap, "_get_renameat2", lambda: lambda *_: -1)
        monkeypatch.setattr(ctypes, "get_errno", lambda: errno.EINVAL)
    return str(request.param)


@pytest.mark.parametrize("existing", ["nothing", "folder", "empty folder", "file", "link", "dangling link"])
def test_a_folder_replaces_any_target(tmp_path: Path, method: str, existing: str) -> None:
    target, other = tmp_path / "model", tmp_path / "other"
    save(other, "other")
    match existing:
        case "folder":
            save(target, "old")
        case "empty folder":
            target.mkdir()
        case "file":
            target.write_text("old")
        case "link":
            target.symlink_to(other)
        case "dangling link":
            target.symlink_to(tmp_path / "gone")
    if existing != "nothing":
        with pytest.raises(FileExistsError, match=r"model exists"):
            save(target, "new", overwrite=False)
    save(target, "new")
    assert load(target) == "new"
    assert load(other) == "other"
    assert list_names(tmp_path) == ["model", "other"]


def test_without_overwrite_the_second_writer_raises(tmp_path: Path, method: str) -> None:
    target = tmp_path / "model"
    with ExitStack() as stack:
        temporary = stack.enter_context(write_folder_atomically(target, overwrite=False))
        (temporary / "first").touch()
        save(target, "faster", overwrite=False)
        with pytest.raises(FileExistsError, match=r"model exists"):
            stack.close()
    assert load(target) == "faster"
    assert list_names(tmp_path) == ["model"]


def test_a_running_writers_folder_is_not_removed(tmp_path: Path) -> None:
    target = tmp_path / "model"
    (tmp_path / ".model.abandond.partial").mkdir()
    (tmp_path / ".model.user-file.partial").mkdir()
    with temporary_folder(target) as temporary:
        save(target, "other")
        assert temporary.is_dir()
    save(target, "other")
    assert list_names(tmp_path) == [".model.user-file.partial", "model"]
    assert not temporary.exists()


def test_a_folder_that_was_moved_aside_is_recovered(tmp_path: Path) -> None:
    target, aside = tmp_path / "model", tmp_path / ".model.0123abcd.old"
    save(target, "old")
    target.rename(aside)
    with pytest.raises(FileExistsError):
        save(target, "new", overwrite=False)
    assert load(target) == "old"
    target.rename(aside)
    assert load(target) == "old"
    assert list_names(tmp_path) == ["model"]


def test_a_reader_retries_if_the_folder_is_replaced(tmp_path: Path, method: str) -> None:
    target, contents = tmp_path / "model", iter(["second", "third"])
    save(target, "first")

    def read(folder: Path) -> list[str]:
        first = (folder / "first").read_text()
        if (content := next(contents, None)) is not None:
            save(target, content)
        return [first, (folder / "second").read_text()]

    assert folder_swap.read_consistently(target, read) == ["third", "third"]


def test_a_reader_gives_up_after_the_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_swap, "MAX_READ_SECONDS", 0.1)
    save(tmp_path / "model", "0")
    with pytest.raises(StorageError, match="replaced again and again"):
        folder_swap.read_consistently(tmp_path / "model", lambda folder: save(folder, "1"))


def test_a_ranker_replaced_during_loading_is_loaded_consistently(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = example_dataset().select(range(20))
    old, new = (RankSVM(alpha=alpha).fit(data) for alpha in (1, 100))
    old.save(tmp_path / "model")
    read_bytes = Path.read_bytes

    def read_and_replace(path: Path) -> bytes:
        content = read_bytes(path)
        if path.name == "header.json":
            monkeypatch.undo()
            new.save(tmp_path / "model", overwrite=True)
        return content

    monkeypatch.setattr(Path, "read_bytes", read_and_replace)
    assert (load_ranker(tmp_path / "model").predict(data) == new.predict(data)).all()


def test_a_full_disk_leaves_the_old_folder(tmp_path: Path, method: str) -> None:
    save(tmp_path / "model", "old")
    with (
        pytest.raises(OSError, match="No space") as raised,
        write_folder_atomically(tmp_path / "model", overwrite=True),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert raised.value.filename == str(tmp_path / "model")
    with pytest.raises(KeyboardInterrupt), write_atomically(tmp_path / "file"):
        raise KeyboardInterrupt
    assert load(tmp_path / "model") == "old"
    assert list_names(tmp_path) == ["model"]
