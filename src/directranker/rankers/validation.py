"""The validation split of early stopping: whole queries, or documents where all are one query."""

from __future__ import annotations

import numpy as np

from directranker.errors import DataError, TrainingWarning, warn_caller
from directranker.metrics import Metric
from directranker.metrics.constant_metrics import explain_constant_metric
from directranker.training.data import TrainingData

__all__ = ["check_not_constant", "early_stopping_split", "split_off_validation"]


def split_off_validation(
    data: TrainingData, fraction: float, seed: int, metric: Metric
) -> tuple[TrainingData, TrainingData | None]:
    """Split at random into training and validation data.

    Nothing is held out where a split could not be trained on, or the metric would be constant on it.
    """
    rng = np.random.default_rng((seed, 7))
    if data.n_queries == 1:
        rows = rng.permutation(data.n_documents)
        cut = round(fraction * len(rows))
        train, held_out = data.take_rows(np.sort(rows[cut:])), data.take_rows(np.sort(rows[:cut]))
    else:
        queries = rng.permutation(data.n_queries)
        cut = max(1, round(fraction * len(queries)))
        train, held_out = data.take(np.sort(queries[cut:])), data.take(np.sort(queries[:cut]))
    if all(split.is_trainable and _explain_constant(metric, split) is None for split in (train, held_out)):
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
    """Return training and validation data: the given validation data, or a fraction that is split off.

    Without `early_stopping` nothing is split off, and the caller only records the metric on the given data.
    Where the metric is constant, for example because all labels are relevant or none is, there is no
    validation data, and a warning says why.
    """
    if validation is None and (fraction is None or not early_stopping):
        return data, None
    problem = _explain_constant(metric, data if validation is None else validation)
    if problem is not None:
        source = "" if validation is None else "eval_set: "
        effect = "early stopping is off" if early_stopping else "no metric is recorded"
        warn_caller(f"{effect}: {source}{problem}", TrainingWarning)
        return data, None
    if validation is not None or fraction is None:
        return data, validation
    return split_off_validation(data, fraction, seed, metric)


def check_not_constant(metric: Metric, data: TrainingData) -> None:
    """Raise where the metric is constant on the training data, so that it cannot be optimised."""
    problem = _explain_constant(metric, data)
    if problem is not None:
        raise DataError(problem)


def _explain_constant(metric: Metric, data: TrainingData) -> str | None:
    """Return why the metric is constant on this data; None where it is not."""
    return explain_constant_metric(
        metric, data.relevance, offsets=data.offsets, query_weight=data.weight_of_queries
    )
