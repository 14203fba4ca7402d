"""A part of the training data held out for early stopping: whole queries, or rows where there is one list."""

from __future__ import annotations

import warnings

import numpy as np

from directranker.errors import TrainingWarning
from directranker.metrics import Metric
from directranker.metrics.metric import mean_of_queries
from directranker.rankers.training_data import TrainingData

__all__ = ["can_measure", "measured_parts", "split_off_validation"]


def split_off_validation(
    data: TrainingData, fraction: float, seed: int
) -> tuple[TrainingData, TrainingData | None]:
    """Split at random into a training and a validation part.

    Where a part would have nothing to learn from or to measure, nothing is held out.
    """
    if not 0 < fraction < 1:
        raise ValueError(f"validation_fraction is {fraction}; give a number between 0 and 1")
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


def can_measure(metric: Metric, data: TrainingData) -> bool:
    """Whether any query that weighs something counts under the metric.

    >>> data = TrainingData(np.ones((2, 1), np.float32), None, np.array([0.0, 0.5]), np.array([0, 2]))
    >>> can_measure(Metric.parse("ndcg:graded"), data), can_measure(Metric.parse("ndcg:paper"), data)
    (True, False)
    """
    values = metric.per_query(data.relevance, np.zeros(len(data.relevance)), offsets=data.offsets)
    return not np.isnan(mean_of_queries(values, data.weight_of_queries))


def measured_parts(
    data: TrainingData,
    validation: TrainingData | None,
    metric: Metric,
    *,
    fraction: float | None,
    seed: int,
) -> tuple[TrainingData, TrainingData | None]:
    """What to learn from, and what to stop by: the part given, else this fraction, where it can be measured.

    A metric that is NaN after each epoch would look like one that never gets better.
    """
    if validation is None and fraction is not None:
        train, held_out = split_off_validation(data, fraction, seed)
        return (train, held_out) if held_out is not None and can_measure(metric, held_out) else (data, None)
    if validation is not None and not can_measure(metric, validation):
        warnings.warn(
            f"eval_set: no query counts under {metric}, so nothing tells when to stop; look at its labels, "
            "or take a metric of another convention",
            TrainingWarning,
            stacklevel=4,
        )
        return data, None
    return data, validation
