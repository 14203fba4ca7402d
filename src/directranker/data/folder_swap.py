"""Replace a folder atomically; a concurrent reader sees the old or the new one, never a mix.

Linux exchanges two names in one step (`renameat2`), so there is always a complete folder under the name.
On other systems, and on file systems without it, the old folder is moved aside first. A writer that is killed
between the two steps leaves no folder under the name, but a complete one beside it. The next reader or writer
moves it back.

A symbolic link would need neither step. But then a saved model would be a link to a hidden folder, and
copying or archiving the link would lose the folder.
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
from typing import TypeVar

from directranker.data.leftovers import ASIDE, PARTIAL, find_sibling_paths, make_sibling_path, remove_path
from directranker.errors import StorageError

__all__ = ["find_folder", "install_folder", "read_consistently"]

Result = TypeVar("Result")
MAX_READ_SECONDS = 60.0  # after which a reader gives up whose folder is replaced again and again
AT_FDCWD, RENAME_EXCHANGE = -100, 2  # Linux constants
OCCUPIED = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)
UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)


def install_folder(temporary: Path, target: Path, *, overwrite: bool) -> None:
    """Rename a folder to the target, replacing the folder there if `overwrite`."""
    while True:
        try:
            temporary.rename(target)
            return
        except OSError as error:
            if error.errno not in OCCUPIED:
                raise
        if not overwrite:
            raise FileExistsError(f"{target} exists; choose another name or pass overwrite=True")
        with suppress(FileNotFoundError):  # the target was removed in the meantime
            if not _exchange(temporary, target):
                _replace_in_two_steps(temporary, target)
            remove_path(temporary)
            return


def find_folder(folder: Path) -> Path:
    """Return the folder; move it back first if a killed writer left it aside.

    Where it cannot be moved, as on a read-only disk, return its path aside.
    """
    if os.path.lexists(folder):
        return folder
    for aside in sorted(find_sibling_paths(folder, ASIDE), key=_get_change_time, reverse=True):
        try:
            # The writer may still be running; it then finds the name occupied and retries.
            return aside.rename(folder)
        except OSError:
            if os.path.lexists(folder):
                return folder
            if aside.is_dir():
                return aside
    return folder


def _get_change_time(path: Path) -> float:
    try:
        return path.stat().st_ctime
    except OSError:
        return 0.0


def read_consistently(folder: Path, read: Callable[[Path], Result]) -> Result:
    """Return `read(folder)`; call it again if the folder was replaced in the meantime."""
    end = time.monotonic() + MAX_READ_SECONDS
    while time.monotonic() < end:
        found = find_folder(folder)
        try:
            # While it is open, no other folder can get its inode.
            descriptor = os.open(found, getattr(os, "O_PATH", os.O_RDONLY))
        except FileNotFoundError:
            if os.path.lexists(find_folder(folder)) and not found.is_symlink():
                continue
            return read(found)
        except OSError:  # Windows cannot open folders, nor replace one that has open files
            return read(found)
        try:
            result = read(found)
            if _is_same_folder(descriptor, found):
                return result
        except Exception:
            if _is_same_folder(descriptor, found):
                raise
        finally:
            os.close(descriptor)
    raise StorageError(f"{folder} is replaced again and again while it is read; wait until it is written")


def _is_same_folder(descriptor: int, folder: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), folder.stat())
    except OSError:
        return False


def _exchange(first: Path, second: Path) -> bool:
    """Swap two names in one step; return False where the system or the file system cannot."""
    swap = _get_renameat2()
    if swap is None:
        return False
    names = os.fsencode(first), os.fsencode(second)
    if swap(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(second))


def _get_renameat2() -> Callable[..., int] | None:
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


def _replace_in_two_steps(temporary: Path, target: Path) -> None:
    while True:
        aside = make_sibling_path(target, ASIDE)
        try:
            with suppress(FileNotFoundError):
                target.rename(aside)
            temporary.rename(target)
            remove_path(aside)
            return
        except BaseException as error:
            with suppress(OSError):
                aside.rename(target)
            remove_path(aside)  # still there if another folder has the name
            remove_path(aside.with_suffix(PARTIAL))
            # Retry: another writer was faster, or a reader moved the old folder back.
            if not (isinstance(error, OSError) and error.errno in OCCUPIED):
                raise
