"""Temporary files and folders beside their target: locked by their writer, removed once it is gone.

A writer that is killed cannot remove its temporary file or folder. Each is locked while its writer lives, so
the next writer of the same target can tell an abandoned one from one in use.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as parent:
...     target = Path(parent) / "model"
...     (Path(parent) / ".model.abandond.partial").mkdir()
...     with temporary_folder(target) as mine:
...         remove_leftovers(target)
...         os.listdir(parent) == [mine.name]
True
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "ASIDE",
    "PARTIAL",
    "locked",
    "names_beside",
    "new_name_beside",
    "remove",
    "remove_leftovers",
    "temporary_file",
    "temporary_folder",
]

PARTIAL, ASIDE = ".partial", ".old"
"""How names end: what is not complete or not needed any more, and a whole folder that was moved aside."""

NEW_FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY
READ_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@contextmanager
def temporary_file(target: Path) -> Iterator[Path]:
    """An empty file beside the target, locked in here; removed after an exception, else to be renamed."""
    with _temporary(target, lambda path: os.close(os.open(path, NEW_FLAGS, 0o600))) as path:
        yield path


@contextmanager
def temporary_folder(target: Path) -> Iterator[Path]:
    """An empty folder beside the target, locked in here; removed after an exception, else to be renamed."""
    with _temporary(target, lambda path: path.mkdir(0o700)) as path:
        yield path


@contextmanager
def _temporary(target: Path, make: Callable[[Path], None]) -> Iterator[Path]:
    while True:
        path = new_name_beside(target, PARTIAL)
        try:  # an interrupt may come as soon as it is made
            try:
                make(path)
            except OSError as error:
                error.filename = str(target)  # the temporary name means nothing to the user
                raise
            with locked(path):
                # Another writer may have taken it for abandoned before it was locked.
                if path.exists():
                    yield path
                    return
        except BaseException:
            remove(path)
            raise


def new_name_beside(target: Path, ending: str) -> Path:
    """A name that nothing has, and that `names_beside` finds."""
    while True:
        path = target.with_name(f".{target.name}.{secrets.token_hex(4)}{ending}")
        if not os.path.lexists(path):
            return path


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Lock a file or folder until the end of the block, or of the process; tells whether it is locked.

    It is not if it is missing, if the system has no such locks, or if it is in use and `wait` is False.
    """
    descriptor = None
    if fcntl is not None:
        with suppress(OSError):
            descriptor = os.open(path, READ_FLAGS)
    held = False
    try:
        if descriptor is not None:
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
                held = True
        yield held
    finally:
        if descriptor is not None:
            os.close(descriptor)


def names_beside(target: Path, ending: str) -> list[Path]:
    """The files and folders that writers of this target made, by the ending of their names."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}{re.escape(ending)}")
    try:
        return sorted(path for path in target.parent.iterdir() if pattern.fullmatch(path.name))
    except OSError:  # a folder that may be used but not listed
        return []


def remove_leftovers(target: Path) -> None:
    """Remove what writers that are gone left beside the target; without locks nothing is removed."""
    for ending in (PARTIAL, ASIDE):
        for path in names_beside(target, ending):
            if path.is_symlink():  # a replaced target; no writer's own is one
                remove(path)
                continue
            with locked(path, wait=False) as abandoned:
                # Without a target, a folder that was moved aside is the only whole one.
                if abandoned and (ending == PARTIAL or os.path.lexists(target)):
                    remove(path)


def remove(path: Path) -> None:
    """Remove a file, link or folder, which another process may be removing, too."""
    if path.suffix == ASIDE:  # so that what is found under this ending is always whole
        try:
            path = path.rename(path.with_suffix(PARTIAL))
        except OSError:
            return
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)
