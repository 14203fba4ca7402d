"""The record of each training epoch; a module without torch, so that saved rankers load without it.

>>> EpochRecord(epoch=1, cost=0.5, metric=None, learning_rate=1e-3, seconds=2.0).format_progress()
'cost 0.5000  2.00 s/epoch'
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EpochRecord"]


@dataclass(frozen=True)
class EpochRecord:
    """The result of an epoch; kept in `history_` and passed to callbacks."""

    epoch: int
    cost: float
    metric: float | None
    learning_rate: float
    seconds: float

    def format_progress(self) -> str:
        """Return the message for the progress bar."""
        validation = "" if self.metric is None else f"  validation {self.metric:.4f}"
        return f"cost {self.cost:.4f}{validation}  {self.seconds:.2f} s/epoch"
