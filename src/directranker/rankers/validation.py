"""A part of the training data held out for early stopping: whole queries, or rows where there is one list."""

from __future__ import annotations

import numpy as np

from directranker.errors import DataError, TrainingWarning, warn_caller
from directranker.metrics import Metric
from directranker.metrics.constant_metrics import explain_constant_metric
from directranker.rankers.training_data import TrainingData

__all__ = ["check_not_constant", "early_stopping_split", "split_off_validation"]


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
    if all(part.is_trainable and _blindness(metric, part) is None for part in (train, held_out)):
        return train, held_out
    return data, None


def early_stopping_split(
    data: TrainingData,
    validation: TrainingData | None,
    metric: Metric,
    *,
    fraction: float | None,
    seed: int,
    early_stopping: bool = True,
) -> tuple[TrainingData, TrainingData | None]:
    """What is learnt from, and what tells when to stop: the given part, or a fraction that is split off.

    Without `early_stopping` nothing is split off, and the caller only records the given part.

    Labels may be of a kind that the metric cannot tell apart, such as all from 1 on, or all below 0. Then
    nothing tells when to stop, and a warning says so.
    """
    if validation is None and (fraction is None or not early_stopping):
        return data, None
    blindness = _blindness(metric, data if validation is None else validation)
    if blindness is not None:
        where = "" if validation is None else "eval_set: "
        effect = "early stopping is off" if early_stopping else "no metric is recorded"
        warn_caller(f"{effect}: {where}{blindness}", TrainingWarning)
        return data, None
    if validation is not None or fraction is None:
        return data, validation
    return split_off_validation(data, fraction, seed, metric)


def check_not_constant(metric: Metric, data: TrainingData) -> None:
    """Refuse training data in which there is nothing to climb."""
    blindness = _blindness(metric, data)
    if blindness is not None:
        raise DataError(blindness)


def _blindness(metric: Metric, data: TrainingData) -> str | None:
    return explain_constant_metric(metric, data.relevance, offsets=data.offsets, query_weight=data.weight_of_queries)
