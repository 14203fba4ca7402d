"""Progress of a search: jobs are counted here and reported to a callback.

>>> def show(progress):
...     print(f"{progress.done} of {progress.total}")
>>> tracker = ProgressTracker(4, show)
>>> tracker.skip(2)
2 of 4
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from directranker.model_selection.digests import compute_digest
from directranker.model_selection.store import JobResult

__all__ = ["Progress", "ProgressCallback", "ProgressTracker"]


@dataclass(frozen=True)
class Progress:
    """The state of a search, counted in jobs."""

    done: int
    total: int
    name: str
    """The ranker whose fit has just ended; empty before the first one."""
    best: Mapping[tuple[str, str], float]
    """By ranker and metric, the best mean of a candidate over its jobs of this run so far."""
    rate: float
    """Jobs per second in this run; 0 before the first one."""
    seconds_left: float | None
    """The estimated remaining time; None before the first job of this run."""


ProgressCallback = Callable[[Progress], None]


class ProgressTracker:
    """Counts jobs over all calls of `run_fits` that belong to one search."""

    def __init__(self, total: int, callback: ProgressCallback | None) -> None:
        self._total, self._callback = total, callback
        self._skipped = self._computed = 0
        self._start = time.perf_counter()
        self._means: dict[tuple[str, str], dict[str, tuple[float, int]]] = {}

    def skip(self, n: int) -> None:
        """Count jobs whose results were stored before."""
        self._skipped += n
        self._report("")

    def count(self, results: Sequence[JobResult]) -> None:
        """Count the jobs of a fit that has just ended."""
        self._computed += len(results)
        for result in results:
            if not math.isnan(result.score):
                candidate = compute_digest(dict(result.parameters))
                means = self._means.setdefault((result.ranker, result.metric), {})
                mean, n = means.get(candidate, (0.0, 0))
                means[candidate] = ((mean * n + result.score) / (n + 1), n + 1)
        self._report(results[0].ranker if results else "")

    def _report(self, name: str) -> None:
        if self._callback is None:
            return
        done = self._skipped + self._computed
        seconds = time.perf_counter() - self._start
        rate = self._computed / seconds if seconds > 0 else 0.0
        best = {key: max(mean for mean, _ in means.values()) for key, means in self._means.items()}
        left = (self._total - done) / rate if rate > 0 else None
        self._callback(Progress(done, self._total, name, MappingProxyType(best), rate, left))
