"""A folder that replaces another of the same name, and readers that never see parts of both.

Linux exchanges two names in one step (`renameat2`), so there is always a whole folder under the name.
Elsewhere, and on file systems that cannot, the old folder is moved aside first. A writer that is killed right
then leaves no folder under the name, but a whole one beside it: the next reader or writer moves it back.

A link would do without both steps, but a saved model would then be a link to a hidden folder, and copying or
packing the one would leave the other behind.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from directranker.data.leftovers import ASIDE, PARTIAL, names_beside, new_name_beside, remove
from directranker.errors import StorageError

__all__ = ["find_folder", "put_folder", "read_unchanged"]

Result = TypeVar("Result")
PATIENCE_SECONDS = 60.0  # of a reader whose folder is replaced again and again
AT_WORKING_DIRECTORY, RENAME_EXCHANGE = -100, 2  # of Linux
OCCUPIED = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)
UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)


def put_folder(temporary: Path, target: Path, *, overwrite: bool) -> None:
    """Move a folder to a name beside it, in place of what is there."""
    while True:
        try:
            temporary.rename(target)
            return
        except OSError as error:
            if error.errno not in OCCUPIED:
                raise
        if not overwrite:
            raise FileExistsError(f"{target} exists; choose another name or ask to overwrite it")
        with suppress(FileNotFoundError):  # what was there has gone meanwhile
            if not _exchange(temporary, target):
                _replace_in_two_steps(temporary, target)
            remove(temporary)
            return


def find_folder(folder: Path) -> Path:
    """The folder, moved back if a writer was killed after it had moved it aside.

    Where it cannot be moved, as on a read-only disk, this is its name aside.
    """
    if os.path.lexists(folder):
        return folder
    for aside in sorted(names_beside(folder, ASIDE), key=_moved_at, reverse=True):
        try:
            # The writer may be alive; it then finds the name occupied and starts again.
            return aside.rename(folder)
        except OSError:
            if os.path.lexists(folder):
                return folder
            if aside.is_dir():
                return aside
    return folder


def _moved_at(path: Path) -> float:
    try:
        return path.stat().st_ctime
    except OSError:
        return 0.0


def read_unchanged(folder: Path, read: Callable[[Path], Result]) -> Result:
    """What `read` gives for the folder; again, if the folder was replaced meanwhile."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        found = find_folder(folder)
        try:
            # While it is open, no other folder can get its number.
            descriptor = os.open(found, getattr(os, "O_PATH", os.O_RDONLY))
        except FileNotFoundError:
            if os.path.lexists(find_folder(folder)) and not found.is_symlink():
                continue
            return read(found)
        except OSError:  # Windows cannot open folders, but does not replace one with open files either
            return read(found)
        try:
            result = read(found)
            if _is_still(descriptor, found):
                return result
        except Exception:
            if _is_still(descriptor, found):
                raise
        finally:
            os.close(descriptor)
    raise StorageError(f"{folder} is replaced again and again while it is read; wait for its writers")


def _is_still(descriptor: int, folder: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), folder.stat())
    except OSError:
        return False


def _exchange(first: Path, second: Path) -> bool:
    """Swap two names in one step; False where the system or the file system cannot."""
    swap = _renameat2()
    if swap is None:
        return False
    names = os.fsencode(first), os.fsencode(second)
    if swap(AT_WORKING_DIRECTORY, names[0], AT_WORKING_DIRECTORY, names[1], RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(second))


def _renameat2() -> Any:
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


def _replace_in_two_steps(temporary: Path, target: Path) -> None:
    while True:
        aside = new_name_beside(target, ASIDE)
        try:
            with suppress(FileNotFoundError):
                target.rename(aside)
            temporary.rename(target)
            remove(aside)
            return
        except BaseException as error:
            with suppress(OSError):
                aside.rename(target)
            remove(aside)  # if there is another one in its place
            remove(aside.with_suffix(PARTIAL))
            # Another writer was quicker, or a reader moved the old one back: once more.
            if not (isinstance(error, OSError) and error.errno in OCCUPIED):
                raise
