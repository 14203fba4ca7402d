"""Learning round by round: the history, the bar, when to stop, and Ctrl-C.

>>> rounds = Rounds("climbing", 100, patience=2)
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
from directranker.training.progress import shown_progress

__all__ = ["RoundRecord", "Rounds"]

Stopped = Literal["max_iter", "early_stopping", "converged", "precision", "interrupted"]


@dataclass(frozen=True)
class RoundRecord:
    """What a round brought; kept in `history_` and given to callbacks."""

    round: int
    fitness: float
    """The metric on what is learnt from."""
    metric: float | None
    """The metric on the validation part, where there is one."""
    seconds: float

    def in_words(self) -> str:
        """For the progress bar."""
        measured = "" if self.metric is None else f"  validation {self.metric:.4f}"
        return f"fitness {self.fitness:.4f}{measured}"


class Rounds:
    """Iterate over the numbers of the rounds, from 1 on; the body calls `record` once in each.

    The best round is the one of the best validation metric, or of the best fitness where none is measured,
    and `patience` counts the rounds since. It is 0 where no round is better than `before`, the value of what
    the first round starts from. With `by_validation=False` the validation metric is only recorded.
    """

    def __init__(
        self,
        title: str,
        most: int,
        *,
        before: float = -math.inf,
        patience: int | None = None,
        by_validation: bool = True,
        progress: bool | None = None,
        callbacks: Sequence[Callable[[RoundRecord], None]] = (),
    ) -> None:
        self.history: list[RoundRecord] = []
        self.best = 0
        self.stopped: Stopped = "max_iter"
        self._title, self._most, self._patience = title, most, patience
        self._by_validation = by_validation
        self._progress, self._callbacks = progress, callbacks
        self._best_value = before
        self._finished = False
        self._interrupt: DeferredInterrupt | None = None
        self._start = time.perf_counter()

    def __iter__(self) -> Generator[int, None, None]:
        with (
            DeferredInterrupt() as interrupt,
            shown_progress(self._title, self._most, wanted=self._progress) as report,
        ):
            self._interrupt = interrupt
            for number in range(1, self._most + 1):
                self._start = time.perf_counter()
                yield number
                record = self.history[-1]
                report(number, record.in_words())
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
        """Whether Ctrl-C was pressed; a round that takes long ends then with what it has."""
        return self._interrupt is not None and self._interrupt.requested

    def finish(self, reason: Stopped) -> None:
        """Let this round be the last one."""
        self.stopped, self._finished = reason, True

    def record(self, fitness: float, metric: float | None = None) -> bool:
        """Keep what a round brought → whether it is the best so far."""
        seconds = time.perf_counter() - self._start
        self.history.append(RoundRecord(len(self.history) + 1, fitness, metric, seconds))
        value = metric if metric is not None and self._by_validation else fitness
        if value <= self._best_value or math.isnan(value):
            return False
        self.best, self._best_value = len(self.history), value
        return True
