"""How far a search has come: counted here, shown by whoever asked for it.

>>> tally = Tally(4, lambda progress: print(f"{progress.done} of {progress.total}: {progress.name}"))
>>> tally.skip(2)
2 of 4:
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from directranker.model_selection.digests import digest_of
from directranker.model_selection.store import JobResult

__all__ = ["Progress", "Report", "Tally"]


@dataclass(frozen=True)
class Progress:
    """A moment of a search, counted in cells."""

    done: int
    total: int
    name: str
    """The ranker whose training has just ended; empty before the first one."""
    best: Mapping[tuple[str, str], float]
    """Per ranker and metric the best mean of a candidate over its cells of this run so far."""
    rate: float
    """Cells per second in this run; 0 before the first one."""
    seconds_left: float | None
    """None where it cannot be told yet."""


Report = Callable[[Progress], None]


class Tally:
    """Counts cells over all calls of `run_fits` that belong to one search."""

    def __init__(self, total: int, report: Report | None) -> None:
        self._total, self._report = total, report
        self._found = self._computed = 0
        self._start = time.perf_counter()
        self._means: dict[tuple[str, str], dict[str, tuple[float, int]]] = {}

    def skip(self, n: int) -> None:
        """Count cells that were there before."""
        self._found += n
        self._tell("")

    def count(self, cells: Sequence[JobResult]) -> None:
        """Count the cells of a training that has just ended."""
        self._computed += len(cells)
        for cell in cells:
            if not math.isnan(cell.score):
                candidate = digest_of(dict(cell.parameters))
                means = self._means.setdefault((cell.ranker, cell.metric), {})
                mean, n = means.get(candidate, (0.0, 0))
                means[candidate] = ((mean * n + cell.score) / (n + 1), n + 1)
        self._tell(cells[0].ranker if cells else "")

    def _tell(self, name: str) -> None:
        if self._report is None:
            return
        done = self._found + self._computed
        seconds = time.perf_counter() - self._start
        rate = self._computed / seconds if seconds > 0 else 0.0
        best = {place: max(mean for mean, _ in means.values()) for place, means in self._means.items()}
        left = (self._total - done) / rate if rate > 0 else None
        self._report(Progress(done, self._total, name, MappingProxyType(best), rate, left))
