"""SIGTERM and SIGHUP end a command as Ctrl-C does: workers end, partial files go, finished work is kept.

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
from types import FrameType, TracebackType
from typing import Any, Self

__all__ = ["Termination", "discard_unwritable_output"]

SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
# Supervisors and terminals send more than one signal to end a process once.
SAME_REQUEST_SECONDS = 2.0


class Termination:
    """Within it, SIGTERM and SIGHUP do what Ctrl-C does there, and are remembered for the exit code.

    A signal that is ignored, as SIGHUP is by `nohup`, stays ignored.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self._at = -SAME_REQUEST_SECONDS
        self._previous: dict[int, Any] = {}

    @property
    def exit_code(self) -> int | None:
        """What shells report of a process that a signal ended; None if there was none."""
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
        if callable(interrupt):  # a training's own handler lets it finish its batch
            interrupt(signal.SIGINT, frame)
        else:  # Ctrl-C is ignored, as for a background job of a shell
            raise KeyboardInterrupt


def discard_unwritable_output() -> None:
    """Keep what cannot be written, as to a terminal that is closed, from changing the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
