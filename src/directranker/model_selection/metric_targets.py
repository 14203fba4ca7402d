"""Rankers that use a metric in training, set to the metric that they are evaluated by.

LambdaMART optimises a metric, AdaRank boosts on it, a DirectRanker uses it for early stopping. In a search
for another metric they use that one instead; the paper does so for LambdaMART.

>>> from directranker.rankers import AdaRank, Ensemble, LambdaDirectRanker, LambdaMART, RankSVM
>>> adapt_to_metric(AdaRank(), "map").metric
'map:paper'
>>> adapt_to_metric(Ensemble(LambdaDirectRanker()), "map", convention="trec").ranker
LambdaDirectRanker(metric='map:trec', pair_weight='delta_map')
>>> adapt_to_metric(LambdaMART(), "map@10")  # it optimises MAP without a cutoff only
LambdaMART(metric='map@10:paper', pair_weight='delta_map')
>>> adapt_to_metric(RankSVM(), "map")
RankSVM()
"""

from __future__ import annotations

from collections.abc import Sequence

from sklearn.base import BaseEstimator, clone

from directranker.metrics import Metric
from directranker.rankers import Ranker

__all__ = ["adapt_to_metric", "adapt_to_metrics"]


def adapt_to_metric(ranker: BaseEstimator, metric: str, *, convention: str = "paper") -> BaseEstimator:
    """Return a clone whose parameters `metric` and `pair_weight` target this metric.

    The clone is unchanged if the ranker has no such parameter or cannot use this metric; then one fit serves
    several metrics.
    """
    target = Metric.parse(metric, convention=convention)
    adapted = clone(ranker)
    nested = {name: value for name, value in adapted.get_params().items() if isinstance(value, Ranker)}
    for name, estimator in {"": adapted, **nested}.items():
        if isinstance(estimator, Ranker):
            prefix = f"{name}__" if name else ""
            parameters = estimator._parameters_for_metric(target)
            adapted.set_params(**{f"{prefix}{key}": value for key, value in parameters.items()})
    return adapted


def adapt_to_metrics(ranker: BaseEstimator, metrics: Sequence[str], convention: str) -> dict[str, object]:
    """Return a clone of the ranker for each metric."""
    return {metric: adapt_to_metric(ranker, metric, convention=convention) for metric in metrics}
