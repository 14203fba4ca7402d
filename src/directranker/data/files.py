"""Atomic writes of files and folders, forward-only reads of pipes, and progress callbacks.

A file is written under a temporary name in the same folder and renamed when complete. So no reader sees an
incomplete file, and a failed write leaves nothing behind.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     with write_atomically(Path(folder) / "numbers.txt") as temporary:
...         _ = temporary.write_text("1 2 3")
...     Path(folder, "numbers.txt").read_text()
'1 2 3'
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from directranker.data.folder_swap import find_folder, install_folder
from directranker.data.leftovers import remove_leftovers, temporary_file, temporary_folder

__all__ = [
    "ForwardOnlyFile",
    "Progress",
    "check_writable_parent",
    "ignore_progress",
    "is_pipe",
    "open_seekable",
    "write_atomically",
    "write_folder_atomically",
]

Progress = Callable[[int, int], None]
"""A callback of (amount done, total amount)."""


def ignore_progress(done: int, total: int) -> None:
    """Do nothing: the default progress callback."""


def is_pipe(path: Path) -> bool:
    """Whether a path is not seekable: a pipe, a terminal or another device."""
    return path.exists() and not path.is_file() and not path.is_dir()


class ForwardOnlyFile(io.RawIOBase):
    """A file or pipe that is read once from its beginning; its first bytes are available as `start`.

    >>> file = ForwardOnlyFile(io.BytesIO(b"PAR1 and more"))
    >>> file.start, file.read(), file.tell()
    (b'PAR1', b'PAR1 and more', 13)
    """

    def __init__(self, file: BinaryIO | io.RawIOBase, n_first: int = 4) -> None:
        self.start = b""
        while len(self.start) < n_first and (more := file.read(n_first - len(self.start))):
            self.start += more
        self._file, self._rest, self._n_read = file, self.start, 0

    def readable(self) -> bool:
        """Return True, as `io.RawIOBase` requires."""
        return True

    def tell(self) -> int:
        """Return the number of bytes read so far, also for a pipe."""
        return self._n_read

    def readinto(self, buffer: Any) -> int:
        """Read at most as many bytes as the buffer holds; return their number."""
        if self._rest:
            n_read = min(len(buffer), len(self._rest))
            buffer[:n_read], self._rest = self._rest[:n_read], self._rest[n_read:]
        else:
            n_read = self._file.readinto(buffer) or 0  # type: ignore[union-attr]  # BinaryIO lacks it
        self._n_read += n_read
        return n_read


@contextmanager
def open_seekable(path: Path) -> Iterator[Path | BinaryIO]:
    """Yield a seekable source for Arrow: the path, or a temporary copy of a pipe's content."""
    with path.open("rb") as file:  # raises Python's own error where it cannot be opened
        if is_pipe(path):
            with tempfile.TemporaryFile() as copy:
                shutil.copyfileobj(file, copy)
                copy.seek(0)
                yield copy
        else:
            yield path if _is_utf8(path) else file  # Arrow reads a path faster than a Python file


def _is_utf8(path: Path) -> bool:
    """Whether a path can be encoded as UTF-8, which Arrow needs to open it."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def write_atomically(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path to write to; success renames it to `path`, failure removes it.

    A pipe or a device, such as /dev/null, cannot be replaced: the path itself is yielded.
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; give the name of a file")
    if target.exists() and not target.is_file():
        yield target
        return
    check_writable_parent(target)
    remove_leftovers(target)
    with temporary_file(target) as temporary:
        try:
            yield temporary
            _sync(temporary)
            temporary.chmod(0o666 & ~_get_umask())
            temporary.replace(target)
        except OSError as error:
            _set_target_name(error, temporary, target)
            raise


@contextmanager
def write_folder_atomically(path: str | Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a temporary folder to fill; success renames it to `path`, failure removes it.

    If the folder existed before, a complete one has the name at every moment. Of several concurrent writers
    each succeeds, and the last one's folder remains. See `folder_swap`.
    """
    target = Path(path)
    find_folder(target)
    if os.path.lexists(target) and not overwrite:
        raise FileExistsError(f"{target} exists; choose another name or pass overwrite=True")
    check_writable_parent(target)
    remove_leftovers(target)
    with temporary_folder(target) as temporary:
        try:
            yield temporary
            for written in [*temporary.rglob("*"), temporary]:
                _sync(written)
            temporary.chmod(0o777 & ~_get_umask())
            install_folder(temporary, target, overwrite=overwrite)
        except OSError as error:
            _set_target_name(error, temporary, target)
            raise


def _set_target_name(error: OSError, temporary: Path, target: Path) -> None:
    """Make a write error, such as a full disk, name the target instead of no file or the temporary one."""
    if error.errno is not None:
        filename = error.filename
        if filename is None or str(filename).startswith(str(temporary)):
            error.filename = str(target)


def check_writable_parent(target: Path) -> Path:
    """Return the parent folder of a target; raise unless it exists and is writable."""
    if target.parent.exists() and not target.parent.is_dir():
        raise NotADirectoryError(f"{target.parent} is a file, so {target} cannot be created in it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist; create it first")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"the folder {target.parent} is not writable; choose another")
    return target.parent


def _sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to the disk."""
    if os.name == "nt" and path.is_dir():  # Windows cannot open folders
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _get_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
