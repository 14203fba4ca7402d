r"""Read text in blocks of complete lines: blocks are read and committed in order, and parsed in parallel.

A thread has memory for one block, so that all blocks in flight fit the processor's cache.

>>> import io
>>> reader, block = BlockReader(io.BytesIO(b"1 1:2\n0 1:")), TextBlock(8)
>>> reader.fill(block), block.lines
(True, b'1 1:2\n')
>>> reader.fill(block), block.lines
(True, b'0 1:\n')
>>> reader.fill(block)
False
"""

from __future__ import annotations

import mmap as mmap_module
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from mmap import mmap
from threading import Condition
from typing import BinaryIO

import numpy as np

from directranker.data.letor.numbers import Text
from directranker.data.letor.problems import MAX_LINE_BYTES, TOO_LONG
from directranker.errors import LetorError

__all__ = ["BlockReader", "BlockSchedule", "TextBlock"]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class TextBlock:
    """The text buffer of a thread."""

    buffer: mmap
    text: Text
    """The same memory as an array."""

    def __init__(self, size: int) -> None:
        self.stop = 0  # the end of its last line
        self.error: Exception | None = None  # raised while the text after it was read
        self._allocate(size)

    @property
    def lines(self) -> bytes:
        """The complete lines of the block."""
        return self.buffer[: self.stop]

    def grow(self) -> None:
        """Double the memory, because a line is longer than the block."""
        text = self.text
        self._allocate(2 * len(text))
        self.text[: len(text)] = text

    def _allocate(self, size: int) -> None:
        # Use huge pages if available: page faults of small ones would take a tenth of the time.
        if hasattr(mmap_module, "MADV_HUGEPAGE"):
            self.buffer = mmap(-1, size, flags=mmap_module.MAP_PRIVATE)
            with suppress(OSError):
                self.buffer.madvise(mmap_module.MADV_HUGEPAGE)
        else:
            self.buffer = mmap(-1, size)
        self.text = np.frombuffer(self.buffer, dtype=np.uint8)


class BlockReader:
    """Reads a file in blocks that end with a newline; adds one to the last line if it is missing."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._rest = b""  # the incomplete line at the end of the previous block
        self._is_first = True
        self.at_end = False

    def fill(self, block: TextBlock) -> bool:
        """Read the next block; return False at the end of the file."""
        filled = len(self._rest)
        while filled >= len(block.text):
            block.grow()
        block.buffer[:filled] = self._rest
        block.stop = 0
        while not self.at_end and not block.stop:
            try:
                filled = self._read(block, filled)
            except Exception as error:
                block.error, self.at_end, filled = error, True, 0
            block.stop = block.buffer.rfind(b"\n", 0, filled) + 1
            if not block.stop and not self.at_end:
                if len(block.text) < MAX_LINE_BYTES:
                    block.grow()
                else:
                    block.error, self.at_end, filled = LetorError(TOO_LONG), True, 0
        if self.at_end:
            block.stop = _terminate_last_line(block, filled)
        self._rest = block.buffer[block.stop : filled]
        return block.stop > 0 or block.error is not None

    def _read(self, block: TextBlock, filled: int) -> int:
        """Read until one byte is free, for a missing last newline, or until the file ends."""
        with memoryview(block.buffer) as view:
            while filled < len(view) - 1:
                n_read = self._file.readinto(view[filled:-1])  # type: ignore[attr-defined]  # BinaryIO lacks it
                if not n_read:
                    self.at_end = True
                    break
                filled += n_read
        if self._is_first and block.buffer[:3] == _BYTE_ORDER_MARK:
            block.buffer[:3] = b"   "
        self._is_first = False
        return filled


def _terminate_last_line(block: TextBlock, filled: int) -> int:
    if filled and block.buffer[filled - 1] != ord("\n"):
        block.buffer[filled] = ord("\n")
        filled += 1
    return filled


class BlockSchedule:
    """Synchronises threads: one at a time reads or commits, in the order of blocks; several parse at once."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._n_read = 0
        self._n_committed = 0
        self._n_parsing = 0
        self._is_stopped = False

    @contextmanager
    def reading(self) -> Iterator[int | None]:
        """Hold the lock to read a block; yield its number, or None if stopped."""
        with self._changed:
            number = self._n_read
            self._n_read += 1
            yield None if self._is_stopped else number

    @contextmanager
    def parsing(self) -> Iterator[None]:
        """Parse a block, concurrently with other threads."""
        with self._changed:
            self._n_parsing += 1
        try:
            yield
        finally:
            with self._changed:
                self._n_parsing -= 1
                self._changed.notify_all()

    @contextmanager
    def committing(self, number: int) -> Iterator[bool]:
        """Hold the lock when all blocks before this one are committed; yield False if stopped."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_stopped or self._n_committed == number)
            yield not self._is_stopped
            self._n_committed += 1
            self._changed.notify_all()

    def change_shared_memory(self, is_needed: Callable[[], bool], change: Callable[[], None]) -> None:
        """Call `change` while no thread parses, if it is still needed; the caller reads or commits."""
        while is_needed():
            if self._n_parsing == 0:
                change()
            else:
                self._changed.wait()

    def stop(self) -> None:
        """Let no thread read or commit another block."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
