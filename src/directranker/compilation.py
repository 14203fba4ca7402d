"""Compiled kernels: one way to compile them and one way to run them on all cores.

A kernel is a plain function over NumPy arrays, compiled on its first call and cached on disk. numba itself is
imported on the first call of any kernel, so that a process that needs none starts sooner. Where a kernel is
not in the cache, as after an installation, a line on standard error says so before it is compiled. Kernels
release the interpreter lock, so threads over slices of the work run them in parallel, which, unlike
numba's own parallel loops, is safe to enter from several threads at once and after a fork. Within a kernel,
each working space is an array of its own: the rows of an unpacked table are not known to be contiguous, and
loops over them are not vectorised.

>>> numbers = np.arange(6)
>>> in_parallel(lambda start, stop: int(numbers[start:stop].sum()), even_cuts(6, parts=2))
[3, 12]
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import CodeType
from typing import Any, TypeVar

import numpy as np

from directranker.arrays import IntArray

__all__ = [
    "balanced_cuts",
    "compiled",
    "even_cuts",
    "freely_summed",
    "in_parallel",
    "inlined",
    "n_threads",
]

Function = TypeVar("Function", bound=Callable[..., Any])
Result = TypeVar("Result")


_compiling = threading.RLock()
_is_announced = False

COMPILING = (
    "directranker: compiling kernels on their first use; this takes up to half a minute and is done once per "
    "installation (`directranker compile` does it ahead)\n"
)


def _announce_compiling(kernel_module: str) -> None:
    """Say once per process that a kernel of ours is being compiled; of several workers, the first says it."""
    global _is_announced  # noqa: PLW0603 - once per process
    name = multiprocessing.current_process().name
    if _is_announced or kernel_module.partition(".")[0] != __package__:
        return
    _is_announced = True
    if sys.stderr is not None and (name == "MainProcess" or name.endswith("-1")):
        sys.stderr.write(COMPILING)
        sys.stderr.flush()


@functools.cache
def _listen_for_compilations() -> None:
    """Have numba report each compilation before it starts; kernels that it finds in its cache are none."""
    from numba.core import event  # noqa: PLC0415 - as numba itself

    class Announcing(event.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            _announce_compiling(event.data["dispatcher"].py_func.__module__)

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Announcing())


class _Kernel:
    """A function that numba compiles when it is first called."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        functools.update_wrapper(self, function)
        self._function, self._options = function, options
        self._machine_code: Any = None

    def __call__(self, *arguments: Any) -> Any:
        return (self._machine_code or self.machine_code())(*arguments)

    def machine_code(self) -> Any:
        """What numba makes of the function and, since it must know them as such, of the kernels it calls."""
        import numba  # noqa: PLC0415 - takes half a second

        with _compiling:
            _listen_for_compilations()
            if self._machine_code is None:
                known = self._function.__globals__
                for name in _names_within(self._function.__code__):
                    if isinstance(known.get(name), _Kernel):
                        known[name] = known[name].machine_code()
                options = {"nogil": True, "error_model": "numpy", **self._options}
                self._machine_code = numba.njit(**options)(self._function)
        return self._machine_code


def _names_within(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_within(constant)


def compiled(function: Function) -> Function:
    """Compile a kernel for any argument types; the machine code is kept between processes."""
    return _Kernel(function, cache=True)  # type: ignore[return-value]


def freely_summed(function: Function) -> Function:
    """Compile a kernel whose sums may be taken in any order, which lets them be vectorised.

    Infinite numbers and NaN keep their meaning.
    """
    return _Kernel(function, cache=True, fastmath={"reassoc", "contract"})  # type: ignore[return-value]


def inlined(function: Function) -> Function:
    """Compile a small function into each kernel that calls it, where calls in a hot loop would cost."""
    return _Kernel(function, inline="always")  # type: ignore[return-value]


def n_threads() -> int:
    """How many threads kernels may use: numba's setting, which `NUMBA_NUM_THREADS` limits."""
    import numba  # noqa: PLC0415 - takes half a second

    return int(numba.get_num_threads())


def even_cuts(n: int, parts: int) -> list[int]:
    """Cut `range(n)` into at most `parts` pieces of about the same length.

    >>> even_cuts(10, 4)
    [0, 2, 5, 7, 10]
    """
    parts = max(1, min(parts, n))
    return [n * part // parts for part in range(parts + 1)]


def balanced_cuts(offsets: IntArray, parts: int) -> list[int]:
    """Cut queries into at most `parts` pieces of about the same number of documents.

    >>> balanced_cuts(np.array([0, 90, 95, 100]), 2)
    [0, 1, 3]
    """
    targets = [offsets[-1] * part // parts for part in range(1, parts)]
    inner = np.searchsorted(offsets, targets)
    return sorted({0, *inner.tolist(), len(offsets) - 1})


def in_parallel(work: Callable[[int, int], Result], cuts: Sequence[int]) -> list[Result]:
    """Run `work(start, stop)` for each piece between neighbouring cuts, one thread a piece."""
    pieces = list(pairwise(cuts))
    if len(pieces) <= 1:
        return [work(*piece) for piece in pieces]
    return list(_thread_pool().map(lambda piece: work(*piece), pieces))


_pool: ThreadPoolExecutor | None = None


def _thread_pool() -> ThreadPoolExecutor:
    global _pool  # noqa: PLW0603 - starting threads costs more than many kernels do
    if _pool is None:
        _pool = ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="directranker")
    return _pool


def _forget_thread_pool() -> None:
    global _pool  # noqa: PLW0603 - the threads of a parent do not exist in its forked child
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_thread_pool)
