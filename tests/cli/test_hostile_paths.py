"""Paths that cannot be read or written: errors are one line, name the path, and destroy nothing."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from directranker import RankSVM, example_dataset, write_letor
from directranker.data import letor_format
from directranker.data.files import write_atomically, write_folder_atomically

from commands_here import run_here

SVM = ("--ranker", "RankSVM")
STUDY = ("--study", "classes", "--values", "2", "--train", "100", "--sets", "1", *SVM)
EXPORT = ("export", "model", "--to", "c", "--rows", "data.txt")
BOTH = "is both input and output; choose another name for the output"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, a model, and folders whose names look like files."""
    folder = tmp_path_factory.mktemp("paths")
    data = example_dataset().select(range(20))
    write_letor(data, folder / "data.txt")
    (folder / "few.txt").write_text("1 qid:1 1:1 3:2\n0 qid:1 2:1\n")
    (folder / "many.txt").write_text("1 qid:1 30:1\n0 qid:1 2:1\n")
    (folder / "empty.txt").touch()
    for name in ("folder.txt", "folder.parquet", "folder.run", "folder.svg", "plain"):
        (folder / name).mkdir()
    RankSVM().fit(data).save(folder / "model")
    return folder


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["convert", "data.txt", "folder.txt", "--overwrite"], "folder.txt is a folder; give the name of a"),
        (["convert", "data.txt", "folder.parquet", "--overwrite"], "folder.parquet is a folder; give the"),
        (["convert", "data.txt", ".", "--overwrite"], ". cannot be replaced; give the name of a new folder"),
        (
            ["convert", "data.txt", "/dev/null", "--overwrite"],
            "/dev/null is a file; give the name of a",
        ),
        (["convert", "data.txt", "/proc/new.txt"], "/proc/new.txt: No such file or directory"),
        (["convert", "data.txt", "/proc/new"], "/proc/new: No such file or directory"),
        (
            ["convert", "data.txt", "data.txt/new"],
            "data.txt is a file, so data.txt/new cannot be created in it",
        ),
        (["train", "data.txt", *SVM, "--out", "data.txt", "--overwrite"], f"data.txt {BOTH}"),
        (["train", "data.txt", *SVM, "--out", "few.txt", "--overwrite"], "few.txt is a file; give the name"),
        (
            ["train", "data.txt", *SVM, "--out", "/", "--overwrite"],
            "/ cannot be replaced; give the name of",
        ),
        (["rank", "model", "data.txt", "--out", "data.txt"], f"data.txt {BOTH}"),
        (
            ["rank", "model", "data.txt", "--out", "folder.run"],
            "folder.run is a folder; give the name",
        ),
        (["rank", "model", "data.txt", "--out", "/proc/new.run"], "/proc/new.run: No such file or directory"),
        (["rank", "model", "data.txt", "--tag", "a b"], "--tag 'a b': give a name without spaces"),
        (["rank", "model", "data.txt", "--tag", ""], "--tag '': give a name without spaces"),
        (["rank", "model", "many.txt"], "many.txt:1: feature index 30 is higher than the 20 features"),
        (["rank", "model", "/proc/self/mem"], "/proc/self/mem: Input/output error"),
        (["inspect", "/proc/self/mem"], "/proc/self/mem: Input/output error"),
        (["inspect", "data.txt", "--threshold", "nan"], "--threshold is nan; give a finite number"),
        ([*EXPORT, "--out", "model", "--overwrite"], f"model {BOTH}"),
        ([*EXPORT, "--out", "data.txt", "--overwrite"], f"data.txt {BOTH}"),
        ([*EXPORT, "--out", "few.txt", "--overwrite"], "few.txt is a file; give the name of a folder"),
        ([*EXPORT, "--out", "plain"], "plain exists; choose another name or pass --overwrite"),
        ([*EXPORT, "--out", "data.txt/new"], "data.txt is a file, so data.txt/new cannot be created in it"),
        ([*EXPORT, "--out", "new", "--rows", "empty.txt"], "empty.txt: contains no documents"),
        ([*EXPORT, "--out", "new", "--rows", "many.txt"], "many.txt:1: feature index 30 is higher than"),
        ([*EXPORT, "--out", "new", "--to", "cc"], "target 'cc' is unknown; did you mean 'c'?"),
        (["explain", "model", "data.txt", "--query", "1", "--better", "1", "--worse", "1"], "--better and"),
        (["explain", "model", "data.txt", "--query", "1", "--better", "0", "--worse", "1"], "query 1 has no"),
        (
            ["explain", "model", "data.txt", "--query", "1", "--better", "1", "--worse", "99"],
            "query 1 has no",
        ),
        (["explain", "model", "data.txt", "--query", "x", "--better", "1", "--worse", "2"], "query 'x' does"),
        (
            ["explain", "model", "empty.txt", "--query", "1", "--better", "1", "--worse", "2"],
            "empty.txt: contains no documents",
        ),
        (
            ["explain", "model", "many.txt", "--query", "1", "--better", "1", "--worse", "2"],
            "many.txt:1: feat",
        ),
        (["neighbours", "model", "data.txt", "--figure", "folder.svg"], "folder.svg is a folder; give the"),
        (["neighbours", "model", "data.txt", "--out", "few.txt"], "few.txt is a file; give the name of a"),
        (["report", "model", "--figures", "few.txt"], "few.txt is a file; give the name of a folder"),
        (["sensitivity", *STUDY, "--out", "few.txt"], "few.txt is a file; give the name of a folder"),
        (["sensitivity", *STUDY, "--out", "few.txt/new"], "few.txt is a file; give the name of a folder"),
        (["sensitivity", *STUDY, "--values", "1"], "n_classes is 1; pass an integer of at least 2"),
        (["sensitivity", *STUDY, "--values", ""], "--values is ''; give comma-separated numbers"),
        (["demo", "--out", "few.txt"], "few.txt is a file; give the name of a folder"),
        (["demo", "--out", "few.txt/new"], "few.txt is a file; give the name of a folder"),
        (["compare", "data.txt", "--out", "few.txt"], "few.txt is a file; give the name of a folder"),
        (["evaluate", "few.txt", "data.txt", "--out", "few.txt"], "few.txt is a file; give the name of a"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_errors_are_one_line_and_change_no_file(folder: Path, arguments: list[str], message: str) -> None:
    before = list_files(folder)
    done = run_here(*arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().startswith(f"directranker: {message}")
    assert done.stderr.count(b"\n") == 1
    assert list_files(folder) == before


def list_files(folder: Path) -> dict[str, int]:
    """List all files and folders below a folder, with the time of their last change."""
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if "results" not in path.parts}


@pytest.mark.parametrize("command", ["demo", "compare"])
def test_no_workers_is_wrong_usage(folder: Path, command: str) -> None:
    assert run_here(command, "--workers", "0", "--out", "new", cwd=folder).returncode == 2
    assert not (folder / "new").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["explain", "model", "few.txt", "--query", "1", "--better", "1", "--worse", "2"],
        ["neighbours", "model", "few.txt"],
        ["export", "model", "--to", "c", "--rows", "few.txt", "--out", "new", "--overwrite"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_data_with_fewer_features_than_the_model_warns(folder: Path, arguments: list[str]) -> None:
    done = run_here(*arguments, cwd=folder)
    assert done.returncode == 0
    warning = b"features 4 to 20 of the model are 0 in all documents; check that the data matches the model"
    assert done.stderr == b"directranker: " + warning + b"\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["inspect", "data.txt"],
        ["compare", "data.txt", "--status", "--out", "plain"],
        ["evaluate", "empty.txt", "data.txt", "--beside", "few.txt", "--out", "plain"],
        ["explain", "model", "data.txt", "--query", "1", "--better", "1", "--worse", "2"],
        ["report", "plain", "--out", "few.txt", "--figures", "plain"],
        ["train", "data.txt", "--valid", "data.txt", "--out", "plain"],
        ["tune", "data.txt", "--grid", "dropout=0", "--out", "plain"],
        ["convert", "data.txt", "few.txt"],
        [*EXPORT, "--out", "plain"],
        ["rank", "model", "data.txt", "--out", "data.txt"],
        ["neighbours", "model", "data.txt", "--figure", "folder.svg", "--out", "plain"],
        ["sensitivity", *STUDY, "--values", "1", "--out", "plain"],
        ["demo", "--out", "few.txt"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_unreadable_path_is_not_wrong_usage(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    """Typer must not check permissions, with exit code 2: the library does, with a better message."""
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode, **options: mode != os.R_OK and access(path, mode))
    assert run_here(*arguments, cwd=folder).returncode in (0, 1)


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read and write everything")
def test_permission_denied(folder: Path, tmp_path: Path) -> None:
    """`tests/cli/test_commands.py` has the same for a single file."""
    tmp_path.chmod(0o555)
    for arguments in (
        ["train", "data.txt", *SVM, "--out", f"{tmp_path}/new"],
        ["rank", "model", "data.txt", "--out", f"{tmp_path}/new.run"],
        ["compare", "data.txt", "--out", f"{tmp_path}/new"],
        ["sensitivity", *STUDY, "--out", f"{tmp_path}/new"],
    ):
        done = run_here(*arguments, cwd=folder)
        assert done.returncode == 1
        assert f"the folder {tmp_path} is not writable; choose another" in done.stderr.decode()


@pytest.mark.parametrize(
    ("owner", "call", "write"),
    [(os, "open", write_atomically), (Path, "mkdir", partial(write_folder_atomically, overwrite=False))],
    ids=["file", "folder"],
)
def test_failed_write_names_the_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: object, call: str, write: Any
) -> None:
    """The system call itself fails, so that the test also works as root."""

    def deny(path: object, *_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    target = tmp_path / "ranked.run"
    context = write(target)
    with monkeypatch.context() as patch:
        patch.setattr(owner, call, deny)
        with pytest.raises(PermissionError) as error:
            context.__enter__()
    assert error.value.filename == str(target)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change", ["append", "truncate"])
@pytest.mark.parametrize(
    ("module", "function", "arguments"),
    [
        (letor_format, "read_letor", ["inspect", "growing.txt"]),
        (letor_format, "stream_letor", ["rank", "model", "growing.txt", "--out", "new.run"]),
    ],
    ids=["inspect", "rank"],
)
def test_file_that_changes_while_it_is_read(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType,
    function: str,
    arguments: list[str],
    change: str,
) -> None:
    growing = folder / "growing.txt"
    growing.write_bytes((folder / "data.txt").read_bytes())
    read = getattr(module, function)

    def change_and_read(*positional: object, **options: object) -> object:
        if change == "append":
            with growing.open("a") as file:
                file.write("0 qid:new 1:")
        else:
            os.truncate(growing, growing.stat().st_size // 2)
        return read(*positional, **options)

    monkeypatch.setattr(module, function, change_and_read)
    done = run_here(*arguments, cwd=folder)
    message = b"growing.txt changed while it was read; run the command again when it is complete"
    assert (done.returncode, done.stderr) == (1, b"directranker: " + message + b"\n")
    assert not (folder / "new.run").exists()
