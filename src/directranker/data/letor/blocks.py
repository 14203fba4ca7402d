r"""Text in blocks of whole lines: read and taken in their order, worked on by several threads at once.

A thread has memory for one block, so that the text in flight stays small enough for the processor's cache.

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

__all__ = ["BlockReader", "TextBlock", "Turns"]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class TextBlock:
    """A thread's memory for text."""

    buffer: mmap
    text: Text
    """The same memory as an array."""

    def __init__(self, size: int) -> None:
        self.stop = 0  # behind its last line
        self.fault: Exception | None = None  # why the text could not be read on
        self._use(size)

    @property
    def lines(self) -> bytes:
        """What the block holds."""
        return self.buffer[: self.stop]

    def grow(self) -> None:
        """Take twice the memory: a line is longer than the block."""
        text = self.text
        self._use(2 * len(text))
        self.text[: len(text)] = text

    def _use(self, size: int) -> None:
        # In large pages where there are any: taking memory in small ones would cost a tenth of the time.
        if hasattr(mmap_module, "MADV_HUGEPAGE"):
            self.buffer = mmap(-1, size, flags=mmap_module.MAP_PRIVATE)
            with suppress(OSError):
                self.buffer.madvise(mmap_module.MADV_HUGEPAGE)
        else:
            self.buffer = mmap(-1, size)
        self.text = np.frombuffer(self.buffer, dtype=np.uint8)


class BlockReader:
    """Cuts a file into blocks behind line ends; the last line gets a line end where it has none."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._rest = b""  # of the line that the last block would have cut
        self._is_first = True
        self.at_end = False

    def fill(self, block: TextBlock) -> bool:
        """Read the next block; False where the file has ended."""
        filled = len(self._rest)
        while filled >= len(block.text):
            block.grow()
        block.buffer[:filled] = self._rest
        block.stop = 0
        while not self.at_end and not block.stop:
            try:
                filled = self._read(block, filled)
            except Exception as error:
                block.fault, self.at_end, filled = error, True, 0
            block.stop = block.buffer.rfind(b"\n", 0, filled) + 1
            if not block.stop and not self.at_end:
                if len(block.text) < MAX_LINE_BYTES:
                    block.grow()
                else:
                    block.fault, self.at_end, filled = LetorError(TOO_LONG), True, 0
        if self.at_end:
            block.stop = _end_last_line(block, filled)
        self._rest = block.buffer[block.stop : filled]
        return block.stop > 0 or block.fault is not None

    def _read(self, block: TextBlock, filled: int) -> int:
        """Read until one byte is free, which a last line end may need, or until the file ends."""
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


def _end_last_line(block: TextBlock, filled: int) -> int:
    if filled and block.buffer[filled - 1] != ord("\n"):
        block.buffer[filled] = ord("\n")
        filled += 1
    return filled


class Turns:
    """Who may read, change shared memory, or take: blocks in their order, work on them at the same time."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._n_begun = 0
        self._n_taken = 0
        self._n_working = 0
        self._is_over = False

    @contextmanager
    def reading(self) -> Iterator[int | None]:
        """Alone: read a block → its number; None where all is over."""
        with self._changed:
            number = self._n_begun
            self._n_begun += 1
            yield None if self._is_over else number

    @contextmanager
    def working(self) -> Iterator[None]:
        """With others: work on what was read."""
        with self._changed:
            self._n_working += 1
        try:
            yield
        finally:
            with self._changed:
                self._n_working -= 1
                self._changed.notify_all()

    @contextmanager
    def taking(self, number: int) -> Iterator[bool]:
        """Alone, when all blocks before this one are taken → whether there is still any need."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self._n_taken == number)
            yield not self._is_over
            self._n_taken += 1
            self._changed.notify_all()

    def alone(self, is_needed: Callable[[], bool], change: Callable[[], None]) -> None:
        """While reading or taking: change memory that others work on, when none does, if still needed."""
        while is_needed():
            if self._n_working == 0:
                change()
            else:
                self._changed.wait()

    def end(self) -> None:
        """Nobody begins or takes a block any more."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
