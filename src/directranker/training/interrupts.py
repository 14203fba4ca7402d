"""Ctrl-C during training: finish the batch, keep the best weights, say so."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, ClassVar, Self

__all__ = ["DeferredInterrupt", "interrupts_raised"]


class DeferredInterrupt:
    """Within it, a first Ctrl-C only sets `requested`; a second one interrupts as usual.

    `n_requested` counts them in this process; see `interrupts_raised`.

    >>> before = DeferredInterrupt.n_requested
    >>> with DeferredInterrupt() as interrupt:
    ...     signal.raise_signal(signal.SIGINT)
    ...     interrupt.requested, DeferredInterrupt.n_requested - before
    (True, 1)
    """

    n_requested: ClassVar[int] = 0

    def __init__(self) -> None:
        self.requested = False
        self._previous: Any = None
        # Only the main thread may handle signals; elsewhere an interrupt does not arrive anyway.
        self._active = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Self:
        if self._active:
            self._previous = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._active:
            signal.signal(signal.SIGINT, self._previous)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        DeferredInterrupt.n_requested += 1


@contextmanager
def interrupts_raised() -> Iterator[None]:
    """Raise KeyboardInterrupt in the end if a training within it was asked to stop, and kept that to itself.

    >>> try:
    ...     with interrupts_raised(), DeferredInterrupt():
    ...         signal.raise_signal(signal.SIGINT)
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    interrupted
    """
    before = DeferredInterrupt.n_requested
    yield
    if DeferredInterrupt.n_requested > before:
        raise KeyboardInterrupt
