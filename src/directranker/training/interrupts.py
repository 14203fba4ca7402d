"""Ctrl-C during training: drop the step or finish the round, keep the best weights, say so.

Native code does not see Ctrl-C until it returns; a call that may take long runs by `interruptibly`.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, ClassVar, Self, TypeVar

__all__ = ["DeferredInterrupt", "StopTraining", "interruptibly", "interrupts_raised"]

Result = TypeVar("Result")

LOOK_EVERY = 0.1  # seconds; on Windows, Ctrl-C is not seen while a wait without an end lasts


class StopTraining(Exception):  # noqa: N818 - like StopIteration
    """Raised within a step or a measurement that Ctrl-C asked to drop."""


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
        self._stops = False
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

    @contextmanager
    def stopping(self) -> Iterator[None]:
        """Within it, Ctrl-C raises StopTraining at once: for work that changes nothing until it is done.

        >>> with DeferredInterrupt() as interrupt:
        ...     try:
        ...         with interrupt.stopping():
        ...             signal.raise_signal(signal.SIGINT)
        ...     except StopTraining:
        ...         print(interrupt.requested)
        True
        """
        self._stops = True
        try:
            self.stop_if_requested()
            yield
            self.stop_if_requested()  # code that swallows errors may have swallowed the first
        finally:
            self._stops = False

    def stop_if_requested(self) -> None:
        """Raise StopTraining where Ctrl-C was pressed."""
        if self.requested:
            raise StopTraining

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        DeferredInterrupt.n_requested += 1
        if self._stops:
            raise StopTraining


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


def interruptibly(call: Callable[[], Result]) -> Result:
    """Make a long native call that Ctrl-C need not wait for.

    The call runs in a thread of its own, and the main thread waits for it. Ctrl-C ends the wait at once, by
    KeyboardInterrupt. Nothing can end the call itself: it runs on in the background until it returns, and its
    result is dropped. The end of the process does not wait for it.

    >>> interruptibly(lambda: sum(range(4)))
    6
    """
    if threading.current_thread() is not threading.main_thread():
        return call()  # signals do not arrive here
    results: list[Result] = []
    errors: list[BaseException] = []
    is_over = threading.Event()

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # raised in the main thread
            errors.append(error)
        finally:
            is_over.set()

    threading.Thread(target=run, name="directranker native call", daemon=True).start()
    while not is_over.wait(LOOK_EVERY):
        pass
    if errors:
        raise errors[0]
    return results[0]
