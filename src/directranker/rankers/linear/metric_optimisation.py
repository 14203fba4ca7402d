"""Base class of linear rankers that optimise a metric directly, one feature at a time."""

from __future__ import annotations

from functools import partial

from directranker.metrics import Metric
from directranker.rankers.base import as_metric
from directranker.rankers.linear.base import LinearRanker
from directranker.rankers.linear.scored_split import ScoredSplit
from directranker.rankers.validation import check_not_constant, early_stopping_split
from directranker.training.data import TrainingData

__all__ = ["MetricOptimizingRanker"]


class MetricOptimizingRanker(LinearRanker):
    """A linear ranker with the parameters `metric`, `early_stopping` and `validation_fraction`."""

    metric: str | Metric
    early_stopping: bool
    validation_fraction: float

    def _make_splits(
        self, data: TrainingData, validation: TrainingData | None, seed: int
    ) -> tuple[ScoredSplit, ScoredSplit | None]:
        """Fit the transform, and return the training and the validation split with all scores 0."""
        metric = as_metric(self.metric)
        check_not_constant(metric, data)
        data, validation = early_stopping_split(
            data,
            validation,
            metric,
            fraction=self.validation_fraction,
            seed=seed,
            early_stopping=self.early_stopping,
        )
        data = self._fit_transform(data, seed)
        names = getattr(self, "feature_names_in_", ())
        new_split = partial(ScoredSplit, transform=self.transform_, metric=metric, names=names)
        if validation is None:
            return new_split(data), None
        return new_split(data), new_split(self._add_statistics_to(validation))
