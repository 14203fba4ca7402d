"""Files that are whole or not there, and the report of how far a long read has come.

A file is written under a temporary name beside its place and renamed when complete, so that nobody ever
reads a half-written one, and a failed write leaves nothing behind.

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

from directranker.data.folder_swap import find_folder, put_folder
from directranker.data.leftovers import remove_leftovers, temporary_file, temporary_folder

__all__ = [
    "Progress",
    "ReadOnce",
    "is_pipe",
    "no_progress",
    "seekable",
    "writable_parent",
    "write_atomically",
    "write_folder_atomically",
]

Progress = Callable[[int, int], None]
"""Called with how much is done and how much there is."""


def no_progress(done: int, total: int) -> None:
    """Report nothing."""


def is_pipe(path: Path) -> bool:
    """Whether a path can be read only once and from its beginning: a pipe, a terminal or another device."""
    return path.exists() and not path.is_file() and not path.is_dir()


class ReadOnce(io.RawIOBase):
    """A file or a pipe read from its beginning, whose first bytes are known before.

    >>> file = ReadOnce(io.BytesIO(b"PAR1 and more"))
    >>> file.start, file.read(), file.tell()
    (b'PAR1', b'PAR1 and more', 13)
    """

    def __init__(self, file: BinaryIO | io.RawIOBase, n_first: int = 4) -> None:
        self.start = b""
        while len(self.start) < n_first and (more := file.read(n_first - len(self.start))):
            self.start += more
        self._file, self._rest, self._n_read = file, self.start, 0

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def tell(self) -> int:
        """The number of bytes that were read, also where the file itself cannot tell."""
        return self._n_read

    def readinto(self, buffer: Any) -> int:
        """Read what fits the buffer, or less."""
        if self._rest:
            n_read = min(len(buffer), len(self._rest))
            buffer[:n_read], self._rest = self._rest[:n_read], self._rest[n_read:]
        else:
            n_read = self._file.readinto(buffer) or 0  # type: ignore[union-attr]  # BinaryIO lacks it
        self._n_read += n_read
        return n_read


@contextmanager
def seekable(path: Path) -> Iterator[Path | BinaryIO]:
    """Give Arrow what it can read in any order: the path, or a copy of what comes through a pipe."""
    with path.open("rb") as file:  # says best itself why it cannot be opened
        if is_pipe(path):
            with tempfile.TemporaryFile() as copy:
                shutil.copyfileobj(file, copy)
                copy.seek(0)
                yield copy
        else:
            yield path if _is_text(path) else file


def _is_text(path: Path) -> bool:
    """Whether Arrow can open a path by its name; a file it reads itself, and more quickly."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def write_atomically(path: str | Path) -> Iterator[Path]:
    """Give a temporary path to write to; on success it becomes `path`, on failure it goes.

    A pipe or a device, such as /dev/null, is no file to replace: it is written to itself.
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; give the name of a file")
    if target.exists() and not target.is_file():
        yield target
        return
    writable_parent(target)
    remove_leftovers(target)
    with temporary_file(target) as temporary:
        try:
            yield temporary
            _sync(temporary)
            temporary.chmod(0o666 & ~_umask())
            temporary.replace(target)
        except OSError as error:
            _name_target(error, temporary, target)
            raise


@contextmanager
def write_folder_atomically(path: str | Path, *, overwrite: bool) -> Iterator[Path]:
    """Give a temporary folder to fill; on success it becomes `path`, on failure it goes.

    There is a whole folder under the name at every moment, if there was one before; of several writers each
    succeeds, and the last one's folder stays. See `folder_swap`.
    """
    target = Path(path)
    find_folder(target)
    if os.path.lexists(target) and not overwrite:
        raise FileExistsError(f"{target} exists; choose another name or ask to overwrite it")
    writable_parent(target)
    remove_leftovers(target)
    with temporary_folder(target) as temporary:
        try:
            yield temporary
            for part in [*temporary.rglob("*"), temporary]:
                _sync(part)
            temporary.chmod(0o777 & ~_umask())
            put_folder(temporary, target, overwrite=overwrite)
        except OSError as error:
            _name_target(error, temporary, target)
            raise


def _name_target(error: OSError, temporary: Path, target: Path) -> None:
    """Let an error of writing, as on a full disk, name the target: it names no file, or the temporary one."""
    if error.errno is not None:
        named = error.filename
        if named is None or str(named).startswith(str(temporary)):
            error.filename = str(target)


def writable_parent(target: Path) -> Path:
    """The folder that a file or folder is to be in, if it is there to be written to."""
    if target.parent.exists() and not target.parent.is_dir():
        raise NotADirectoryError(f"{target.parent} is a file, so {target} cannot be created in it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist; create it first")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"the folder {target.parent} is not writable; choose another")
    return target.parent


def _sync(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk before it is renamed."""
    if os.name == "nt" and path.is_dir():  # where folders cannot be opened
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
