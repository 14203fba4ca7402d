"""Training a scoring net: batches of whole queries, early stopping, checkpoints, progress."""

from directranker.training.batches import Batch, Batches, Lists
from directranker.training.loop import EpochRecord, Trained, TrainingOptions, train

__all__ = ["Batch", "Batches", "EpochRecord", "Lists", "Trained", "TrainingOptions", "train"]
