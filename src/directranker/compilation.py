"""Compiled kernels: one way to compile them and one way to run them on all cores.

A kernel is a plain function over NumPy arrays, compiled on its first call and cached on disk. Kernels
release the interpreter lock, so threads over slices of the work run them in parallel, which, unlike
numba's own parallel loops, is safe to enter from several threads at once and after a fork. Within a kernel,
each working space is an array of its own: the rows of an unpacked table are not known to be contiguous, and
loops over them are not vectorised.

>>> numbers = np.arange(6)
>>> in_parallel(lambda start, stop: int(numbers[start:stop].sum()), even_cuts(6, parts=2))
[3, 12]
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "IntArray",
    "balanced_cuts",
    "compiled",
    "even_cuts",
    "freely_summed",
    "in_parallel",
    "inlined",
    "n_threads",
]

IntArray = NDArray[np.int64]
Function = TypeVar("Function", bound=Callable[..., Any])
Result = TypeVar("Result")


def compiled(function: Function) -> Function:
    """Compile a kernel for any argument types; the machine code is kept between processes."""
    kernel: Function = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    return kernel


def freely_summed(function: Function) -> Function:
    """Compile a kernel whose sums may be taken in any order, which lets them be vectorised.

    Infinite numbers and NaN keep their meaning.
    """
    options = {"nogil": True, "cache": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"}}
    kernel: Function = numba.njit(**options)(function)
    return kernel


def inlined(function: Function) -> Function:
    """Compile a small function into each kernel that calls it, where calls in a hot loop would cost."""
    kernel: Function = numba.njit(nogil=True, error_model="numpy", inline="always")(function)
    return kernel


def n_threads() -> int:
    """How many threads kernels may use: numba's setting, which `NUMBA_NUM_THREADS` limits."""
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
