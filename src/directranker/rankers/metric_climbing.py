"""Linear rankers that climb a metric itself: the parts that they learn from and are stopped by."""

from __future__ import annotations

from directranker.errors import DataError
from directranker.metrics import Metric
from directranker.rankers.base import as_metric
from directranker.rankers.linear import LinearRanker
from directranker.rankers.scored_part import ScoredPart
from directranker.rankers.training_data import TrainingData
from directranker.rankers.validation import can_measure, split_off_validation

__all__ = ["MetricClimber"]


class MetricClimber(LinearRanker):
    """A linear ranker with the parameters `metric`, `early_stopping` and `validation_fraction`."""

    metric: str | Metric
    early_stopping: bool
    validation_fraction: float

    def _scored_parts(
        self, data: TrainingData, validation: TrainingData | None, seed: int
    ) -> tuple[ScoredPart, ScoredPart | None]:
        """Fit the transform, and give the training and the validation part with all scores 0."""
        metric = as_metric(self.metric)
        for part, name in ((data, "the training data"), (validation, "eval_set")):
            if part is not None and not can_measure(metric, part):
                raise DataError(
                    f"{name}: no query counts under {metric}, so nothing can be measured; look at the labels "
                    "and the weights, or take a metric of another convention, such as 'ndcg@10:graded'"
                )
        if validation is None and self.early_stopping:
            data, validation = split_off_validation(data, self.validation_fraction, seed, metric)
        self._fit_transform(data, seed)
        held_out_part = None if validation is None else ScoredPart(validation, self.transform_, metric)
        return ScoredPart(data, self.transform_, metric), held_out_part
