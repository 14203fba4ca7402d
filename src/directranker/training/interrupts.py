"""Ctrl-C during training: abort the step or finish the round, keep the best weights, and warn.

Python handles Ctrl-C only after native code returns, so long native calls run by `run_interruptibly`.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, ClassVar, Self, TypeVar

__all__ = ["DeferredInterrupt", "StopTraining", "raise_interrupts", "run_interruptibly"]

Result = TypeVar("Result")

POLL_SECONDS = 0.1  # on Windows, a wait without a timeout blocks Ctrl-C


class StopTraining(Exception):  # noqa: N818 - like StopIteration
    """Raised by Ctrl-C within a step or an evaluation, which is then discarded."""


class DeferredInterrupt:
    """A context in which the first Ctrl-C only sets `requested`; the second raises KeyboardInterrupt.

    `n_requested` counts the deferred interrupts of this process; see `raise_interrupts`.

    >>> before = DeferredInterrupt.n_requested
    >>> with DeferredInterrupt() as interrupt:
    ...     signal.raise_signal(signal.SIGINT)
    ...     interrupt.requested, DeferredInterrupt.n_requested - before
    (True, 1)
    """

    n_requested: ClassVar[int] = 0

    def __init__(self) -> None:
        self.requested = False
        self._aborts = False
        self._previous: Any = None
        # Only the main thread may handle signals; other threads receive no interrupt.
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

    @contextmanager
    def abort_on_request(self) -> Iterator[None]:
        """Raise StopTraining on Ctrl-C at once; for work without side effects until it is done.

        >>> with DeferredInterrupt() as interrupt:
        ...     try:
        ...         with interrupt.abort_on_request():
        ...             signal.raise_signal(signal.SIGINT)
        ...     except StopTraining:
        ...         print(interrupt.requested)
        True
        """
        self._aborts = True
        try:
            self.raise_if_requested()
            yield
            self.raise_if_requested()  # a broad except clause may have caught the first
        finally:
            self._aborts = False

    def raise_if_requested(self) -> None:
        """Raise StopTraining if Ctrl-C was pressed."""
        if self.requested:
            raise StopTraining

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        DeferredInterrupt.n_requested += 1
        if self._aborts:
            raise StopTraining


@contextmanager
def raise_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end if a training inside deferred an interrupt.

    >>> try:
    ...     with raise_interrupts(), DeferredInterrupt():
    ...         signal.raise_signal(signal.SIGINT)
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    interrupted
    """
    before = DeferredInterrupt.n_requested
    yield
    if DeferredInterrupt.n_requested > before:
        raise KeyboardInterrupt


def run_interruptibly(call: Callable[[], Result]) -> Result:
    """Run a long native call so that Ctrl-C does not wait for it.

    The call runs in a daemon thread while the main thread waits. Ctrl-C raises KeyboardInterrupt in the main
    thread at once. The call itself cannot be cancelled: it continues in the background and its result is
    discarded. The process exits without waiting for it.

    >>> run_interruptibly(lambda: sum(range(4)))
    6
    """
    if threading.current_thread() is not threading.main_thread():
        return call()  # signals reach the main thread only
    results: list[Result] = []
    errors: list[BaseException] = []
    is_done = threading.Event()

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # raised in the main thread
            errors.append(error)
        finally:
            is_done.set()

    threading.Thread(target=run, name="directranker native call", daemon=True).start()
    while not is_done.wait(POLL_SECONDS):
        pass
    if errors:
        raise errors[0]
    return results[0]
