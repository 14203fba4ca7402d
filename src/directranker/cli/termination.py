"""SIGTERM and SIGHUP interrupt a command as Ctrl-C does: workers stop, partial files go, finished jobs stay.

>>> with Termination() as termination:
...     try:
...         signal.raise_signal(signal.SIGTERM)
...     except KeyboardInterrupt:
...         print(termination.exit_code)
143
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Self

__all__ = ["Termination", "discard_unwritable_output"]

SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
# Supervisors and terminals send several signals to end a process once.
SAME_REQUEST_SECONDS = 2.0
Handler = Callable[[int, FrameType | None], object] | int | None


class Termination:
    """A context in which SIGTERM and SIGHUP act as Ctrl-C, and set the exit code.

    A signal that is ignored, as SIGHUP is under `nohup`, stays ignored.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self._at = -SAME_REQUEST_SECONDS
        self._previous: dict[int, Handler] = {}

    @property
    def exit_code(self) -> int | None:
        """The code that shells report for a process ended by the signal; None without a signal."""
        return None if self.received is None else 128 + self.received

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) != signal.SIG_IGN:
                    self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        earlier, self._at = self._at, time.monotonic()
        if self._at - earlier < SAME_REQUEST_SECONDS:
            return
        self.received = self.received or number
        interrupt = signal.getsignal(signal.SIGINT)
        if callable(interrupt):  # during training, its handler finishes the current batch
            interrupt(signal.SIGINT, frame)
        else:  # Ctrl-C is ignored, as in a background job of a shell
            raise KeyboardInterrupt


def discard_unwritable_output() -> None:
    """Discard output that cannot be written, as to a closed terminal, so that the exit code stays."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
