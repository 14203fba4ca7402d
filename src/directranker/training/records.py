"""What each epoch of a training brought; apart from the training itself, which needs torch.

>>> EpochRecord(epoch=1, cost=0.5, metric=None, learning_rate=1e-3, seconds=2.0).in_words()
'cost 0.5000  2.00 s/epoch'
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EpochRecord"]


@dataclass(frozen=True)
class EpochRecord:
    """What an epoch brought; kept in `history_` and given to callbacks."""

    epoch: int
    cost: float
    metric: float | None
    learning_rate: float
    seconds: float

    def in_words(self) -> str:
        """For the progress bar."""
        measured = "" if self.metric is None else f"  validation {self.metric:.4f}"
        return f"cost {self.cost:.4f}{measured}  {self.seconds:.2f} s/epoch"
