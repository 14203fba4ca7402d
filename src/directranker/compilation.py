"""Compile kernels with numba and run them on all cores.

A kernel is a plain function over NumPy arrays, compiled on its first call and cached on disk. numba is
imported on the first call of any kernel, so a process that calls none starts faster. If a kernel is not in
the cache, for example after an installation, a line on standard error announces the compilation.

Kernels release the GIL, so threads run them in parallel on slices of the work. Unlike numba's own parallel
loops, this is safe from several threads at once and after a fork. Within a kernel, each workspace is a
separate array: numba does not know that the rows of an unpacked two-dimensional array are contiguous, and
does not vectorise loops over them.

>>> numbers = np.arange(6)
>>> run_in_parallel(lambda start, stop: int(numbers[start:stop].sum()), split_evenly(6, n_slices=2))
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
    "compiled",
    "compiled_fastmath",
    "get_n_threads",
    "inlined",
    "run_in_parallel",
    "split_evenly",
    "split_queries_evenly",
]

Function = TypeVar("Function", bound=Callable[..., Any])
Result = TypeVar("Result")


_compile_lock = threading.RLock()
_is_announced = False

ANNOUNCEMENT = (
    "directranker: compiling kernels on their first use; this takes up to half a minute and is done once per "
    "installation (`directranker compile` does it ahead)\n"
)


def _announce_compilation(kernel_module: str) -> None:
    """Write once per process that a kernel of ours is compiled; of several workers, only the first writes."""
    global _is_announced  # noqa: PLW0603 - once per process
    name = multiprocessing.current_process().name
    if _is_announced or kernel_module.partition(".")[0] != __package__:
        return
    _is_announced = True
    if sys.stderr is not None and (name == "MainProcess" or name.endswith("-1")):
        sys.stderr.write(ANNOUNCEMENT)
        sys.stderr.flush()


@functools.cache
def _listen_for_compilations() -> None:
    """Register a listener for the start of each compilation; loading a kernel from the cache is none."""
    from numba.core import event  # noqa: PLC0415 - slow to import

    class Announcer(event.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            _announce_compilation(event.data["dispatcher"].py_func.__module__)

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Announcer())


class _Kernel:
    """A function that numba compiles when it is first called."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        functools.update_wrapper(self, function)
        self._function, self._options = function, options
        self._machine_code: Any = None

    def __call__(self, *arguments: object) -> Any:
        return (self._machine_code or self.get_machine_code())(*arguments)

    def get_machine_code(self) -> Any:
        """Return numba's dispatcher of the function; also replace the kernels it calls by theirs."""
        import numba  # noqa: PLC0415 - slow to import

        with _compile_lock:
            _listen_for_compilations()
            if self._machine_code is None:
                module_globals = self._function.__globals__
                for name in _find_names(self._function.__code__):
                    if isinstance(module_globals.get(name), _Kernel):
                        module_globals[name] = module_globals[name].get_machine_code()
                options = {"nogil": True, "error_model": "numpy", **self._options}
                dispatcher = numba.njit(**options)(self._function)
                if options.get("cache"):
                    _recompile_where_the_cache_is_unreadable(dispatcher)
                self._machine_code = dispatcher
        return self._machine_code


def _recompile_where_the_cache_is_unreadable(dispatcher: Any) -> None:
    """Replace cache entries that are damaged, or name modules that an earlier version had."""
    cache = dispatcher._cache
    load = cache.load_overload

    def load_or_discard(signature: object, target_context: object) -> object:
        try:
            return load(signature, target_context)
        except Exception:  # unpickling may raise anything
            try:
                cache.flush()
            except OSError:  # the folder is read-only
                cache.disable()
            return None

    cache.load_overload = load_or_discard


def _find_names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _find_names(constant)


def compiled(function: Function) -> Function:
    """Compile a kernel for any argument types, cached on disk between processes."""
    return _Kernel(function, cache=True)  # type: ignore[return-value]


def compiled_fastmath(function: Function) -> Function:
    """Compile a kernel with numba's `fastmath` flags `reassoc` and `contract`.

    Sums may be computed in any order, so that they can be vectorised. Infinity and NaN keep their meaning.
    """
    return _Kernel(function, cache=True, fastmath={"reassoc", "contract"})  # type: ignore[return-value]


def inlined(function: Function) -> Function:
    """Inline a small function into each kernel that calls it, to avoid calls in a hot loop."""
    return _Kernel(function, inline="always")  # type: ignore[return-value]


def get_n_threads() -> int:
    """Return the number of threads for kernels: numba's setting, which `NUMBA_NUM_THREADS` limits."""
    import numba  # noqa: PLC0415 - slow to import

    return int(numba.get_num_threads())


def split_evenly(n: int, n_slices: int) -> list[int]:
    """Return the boundaries of at most `n_slices` slices of `range(n)` of about the same length.

    >>> split_evenly(10, 4)
    [0, 2, 5, 7, 10]
    """
    n_slices = max(1, min(n_slices, n))
    return [n * index // n_slices for index in range(n_slices + 1)]


def split_queries_evenly(offsets: IntArray, n_slices: int) -> list[int]:
    """Return the boundaries of at most `n_slices` slices of queries with about the same number of documents.

    >>> split_queries_evenly(np.array([0, 90, 95, 100]), 2)
    [0, 1, 3]
    """
    targets = [offsets[-1] * index // n_slices for index in range(1, n_slices)]
    inner = np.searchsorted(offsets, targets)
    return sorted({0, *inner.tolist(), len(offsets) - 1})


def run_in_parallel(work: Callable[[int, int], Result], boundaries: Sequence[int]) -> list[Result]:
    """Run `work(start, stop)` for each slice between neighbouring boundaries, one thread per slice."""
    slices = list(pairwise(boundaries))
    if len(slices) <= 1:
        return [work(start, stop) for start, stop in slices]
    return list(_get_thread_pool().map(lambda bounds: work(*bounds), slices))


_pool: ThreadPoolExecutor | None = None


def _get_thread_pool() -> ThreadPoolExecutor:
    global _pool  # noqa: PLW0603 - starting threads takes longer than many kernels
    if _pool is None:
        _pool = ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="directranker")
    return _pool


def _discard_thread_pool() -> None:
    global _pool  # noqa: PLW0603 - a forked child does not have the threads of its parent
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_discard_thread_pool)
