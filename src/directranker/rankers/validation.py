"""A part of the training data held out for early stopping: whole queries, or rows where there is one list."""

from __future__ import annotations

import warnings

import numpy as np

from directranker.data.checking import Relevance
from directranker.errors import TrainingWarning
from directranker.metrics import Metric
from directranker.metrics.metric import mean_of_queries
from directranker.rankers.training_data import TrainingData

__all__ = ["can_measure", "split_off_validation", "stopping_part"]


def split_off_validation(
    data: TrainingData, fraction: float, seed: int, metric: Metric
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
    if all(part.can_teach and can_measure(metric, part) for part in (train, held_out)):
        return train, held_out
    return data, None


def stopping_part(
    data: TrainingData,
    validation: TrainingData | None,
    metric: Metric,
    *,
    fraction: float | None,
    seed: int,
) -> tuple[TrainingData, TrainingData | None]:
    """What is learnt from, and what tells when to stop: the given part, or a fraction that is split off.

    Labels may be of a kind that the metric does not count, such as all below 0. Then nothing tells when to
    stop, and a warning says so.
    """
    part = data if validation is None else validation
    if validation is None and fraction is None:
        return data, None
    if not can_measure(metric, part):
        part_name = "" if validation is None else "of the eval_set "
        warnings.warn(
            f"early stopping is off: no query {part_name}counts under {metric}; {_advice(part.relevance)}",
            TrainingWarning,
            stacklevel=5,
        )
        return data, None
    if validation is not None or fraction is None:
        return data, validation
    return split_off_validation(data, fraction, seed, metric)


def _advice(relevance: Relevance) -> str:
    low, high = relevance.min(), relevance.max()
    if low == high:
        return f"all labels are {low:g}"
    labels = f"labels are from {low:g} to {high:g}: "
    if high > 0:
        return labels + "take a metric of another convention, such as 'ndcg@10:graded'"
    return labels + "add a number to all, so that none is below 0"


def can_measure(metric: Metric, data: TrainingData) -> bool:
    """Whether any query that weighs something counts under the metric.

    >>> data = TrainingData(np.ones((2, 1), np.float32), None, np.array([0.0, 0.5]), np.array([0, 2]))
    >>> can_measure(Metric.parse("ndcg:graded"), data), can_measure(Metric.parse("ndcg:paper"), data)
    (True, False)
    """
    values = metric.per_query(data.relevance, np.zeros(len(data.relevance)), offsets=data.offsets)
    return not np.isnan(mean_of_queries(values, data.weight_of_queries))
