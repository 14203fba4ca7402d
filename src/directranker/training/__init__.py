"""Training a scoring net: batches of whole queries, early stopping, checkpoints, progress.

Names are imported on first use, since most of them need torch.
"""

from typing import TYPE_CHECKING

from directranker.late_names import late_names

if TYPE_CHECKING:
    from directranker.training.batches import Batch, Batches, Lists
    from directranker.training.loop import Trained, TrainingOptions, train
    from directranker.training.records import EpochRecord

__all__ = ["Batch", "Batches", "EpochRecord", "Lists", "Trained", "TrainingOptions", "train"]

__getattr__ = late_names(
    __name__,
    {
        "batches": ("Batch", "Batches", "Lists"),
        "loop": ("Trained", "TrainingOptions", "train"),
        "records": ("EpochRecord",),
    },
)
