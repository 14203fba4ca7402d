"""A part of the training data held out for early stopping: whole queries, or rows where there is one list."""

from __future__ import annotations

import numpy as np

from directranker.rankers.training_data import TrainingData

__all__ = ["split_off_validation"]


def split_off_validation(
    data: TrainingData, fraction: float, seed: int
) -> tuple[TrainingData, TrainingData | None]:
    """Split at random into a training and a validation part.

    Where a part would have nothing to learn from or to measure, nothing is held out.
    """
    rng = np.random.default_rng((seed, 7))
    if data.n_queries == 1:
        rows = rng.permutation(len(data.relevance))
        cut = round(fraction * len(rows))
        train, held_out = data.take_rows(np.sort(rows[cut:])), data.take_rows(np.sort(rows[:cut]))
    else:
        queries = rng.permutation(data.n_queries)
        cut = max(1, round(fraction * len(queries)))
        train, held_out = data.take(np.sort(queries[cut:])), data.take(np.sort(queries[:cut]))
    if train.can_teach and held_out.can_teach:
        return train, held_out
    return data, None
