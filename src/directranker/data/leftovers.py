"""Temporary files and folders of writers, and the removal of those that killed writers left behind.

A writer that is killed cannot remove its temporary file or folder. Each is locked while its writer runs, so
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
    "find_sibling_paths",
    "lock_path",
    "make_sibling_path",
    "remove_leftovers",
    "remove_path",
    "temporary_file",
    "temporary_folder",
]

PARTIAL, ASIDE = ".partial", ".old"
"""Suffixes: incomplete or obsolete content, and a complete folder that was moved aside."""

NEW_FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY
READ_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@contextmanager
def temporary_file(target: Path) -> Iterator[Path]:
    """Create an empty, locked file beside the target, for the caller to rename; an exception removes it."""
    with _temporary(target, lambda path: os.close(os.open(path, NEW_FLAGS, 0o600))) as path:
        yield path


@contextmanager
def temporary_folder(target: Path) -> Iterator[Path]:
    """Create an empty, locked folder beside the target, for the caller to rename; an exception removes it."""
    with _temporary(target, lambda path: path.mkdir(0o700)) as path:
        yield path


@contextmanager
def _temporary(target: Path, make: Callable[[Path], None]) -> Iterator[Path]:
    while True:
        path = make_sibling_path(target, PARTIAL)
        try:  # an interrupt may arrive as soon as the path exists
            try:
                make(path)
            except OSError as error:
                error.filename = str(target)  # the temporary name means nothing to the user
                raise
            with lock_path(path):
                # Another writer may have removed it as abandoned before it was locked.
                if path.exists():
                    yield path
                    return
        except BaseException:
            remove_path(path)
            raise


def make_sibling_path(target: Path, suffix: str) -> Path:
    """Return an unused path beside the target that `find_sibling_paths` matches."""
    while True:
        path = target.with_name(f".{target.name}.{secrets.token_hex(4)}{suffix}")
        if not os.path.lexists(path):
            return path


@contextmanager
def lock_path(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Lock a file or folder until the end of the block or of the process; yield whether it is locked.

    It is not if it is missing, if the system has no `flock`, or if it is in use and `wait` is False.
    """
    descriptor = None
    if fcntl is not None:
        with suppress(OSError):
            descriptor = os.open(path, READ_FLAGS)
    is_locked = False
    try:
        if descriptor is not None:
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
                is_locked = True
        yield is_locked
    finally:
        if descriptor is not None:
            os.close(descriptor)


def find_sibling_paths(target: Path, suffix: str) -> list[Path]:
    """Return the files and folders with this suffix that writers of the target created."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}{re.escape(suffix)}")
    try:
        return sorted(path for path in target.parent.iterdir() if pattern.fullmatch(path.name))
    except OSError:  # a folder without permission to list it
        return []


def remove_leftovers(target: Path) -> None:
    """Remove what killed writers left beside the target; on systems without locks remove nothing."""
    for suffix in (PARTIAL, ASIDE):
        for path in find_sibling_paths(target, suffix):
            if path.is_symlink():  # a replaced target: writers create no links
                remove_path(path)
                continue
            with lock_path(path, wait=False) as is_abandoned:
                # Without a target, a folder that was moved aside is the only complete one.
                if is_abandoned and (suffix == PARTIAL or os.path.lexists(target)):
                    remove_path(path)


def remove_path(path: Path) -> None:
    """Remove a file, link or folder that another process may be removing at the same time."""
    if path.suffix == ASIDE:  # rename first, so that a folder with this suffix is always complete
        try:
            path = path.rename(path.with_suffix(PARTIAL))
        except OSError:
            return
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)
