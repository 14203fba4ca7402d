"""Training in rounds: history, progress bar, early stopping and Ctrl-C.

>>> rounds = Rounds("boosting", 100, patience=2)
>>> for number in rounds:
...     _ = rounds.record(fitness=min(number, 3))
>>> rounds.best, len(rounds.history), rounds.stopped
(3, 5, 'early_stopping')
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Literal

from directranker.errors import TrainingWarning, warn_caller
from directranker.training.interrupts import DeferredInterrupt
from directranker.training.progress import show_progress

__all__ = ["RoundRecord", "Rounds"]

Stopped = Literal["max_iter", "early_stopping", "converged", "precision", "interrupted"]


@dataclass(frozen=True)
class RoundRecord:
    """The result of a round; kept in `history_` and passed to callbacks."""

    round: int
    fitness: float
    """The metric on the training split."""
    metric: float | None
    """The metric on the validation split, where there is one."""
    seconds: float

    def format_progress(self) -> str:
        """Return the message for the progress bar."""
        validation = "" if self.metric is None else f"  validation {self.metric:.4f}"
        return f"fitness {self.fitness:.4f}{validation}"


class Rounds:
    """Iterate over round numbers from 1; the loop body calls `record` once in each round.

    The best round has the best validation metric, or the best fitness where there is no validation metric.
    Early stopping ends the iteration after `patience` rounds without a better one. `best` is 0 where no round
    is better than `initial`, the value before the first round. With `by_validation=False` the validation
    metric is only recorded.
    """

    def __init__(
        self,
        title: str,
        max_rounds: int,
        *,
        initial: float = -math.inf,
        patience: int | None = None,
        by_validation: bool = True,
        progress: bool | None = None,
        callbacks: Sequence[Callable[[RoundRecord], None]] = (),
    ) -> None:
        self.history: list[RoundRecord] = []
        self.best = 0
        self.stopped: Stopped = "max_iter"
        self._title, self._max_rounds, self._patience = title, max_rounds, patience
        self._by_validation = by_validation
        self._progress, self._callbacks = progress, callbacks
        self._best_value = initial
        self._finished = False
        self._interrupt: DeferredInterrupt | None = None
        self._start = time.perf_counter()

    def __iter__(self) -> Generator[int, None, None]:
        with (
            DeferredInterrupt() as interrupt,
            show_progress(self._title, self._max_rounds, enabled=self._progress) as report,
        ):
            self._interrupt = interrupt
            for number in range(1, self._max_rounds + 1):
                self._start = time.perf_counter()
                yield number
                record = self.history[-1]
                report(number, record.format_progress())
                for callback in self._callbacks:
                    callback(record)
                if interrupt.requested:
                    self.stopped = "interrupted"
                    warn_caller(
                        f"training was interrupted in round {number}; the model so far was kept",
                        TrainingWarning,
                    )
                    return
                if self._finished:
                    return
                if self._patience is not None and number - self.best >= self._patience:
                    self.stopped = "early_stopping"
                    return

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C was pressed; a long round then ends with what it has."""
        return self._interrupt is not None and self._interrupt.requested

    def finish(self, reason: Stopped) -> None:
        """Make this round the last one."""
        self.stopped, self._finished = reason, True

    def record(self, fitness: float, metric: float | None = None) -> bool:
        """Record the result of a round → whether it is the best so far."""
        seconds = time.perf_counter() - self._start
        self.history.append(RoundRecord(len(self.history) + 1, fitness, metric, seconds))
        value = metric if metric is not None and self._by_validation else fitness
        if value <= self._best_value or math.isnan(value):
            return False
        self.best, self._best_value = len(self.history), value
        return True
