"""Rankers that look at a metric while they learn, trained for the one that they will be measured by.

LambdaMART climbs a metric, AdaRank boosts on it, a DirectRanker stops early by it. In a search for another
metric they do so for that one; the paper says so of LambdaMART.

>>> from directranker.rankers import AdaRank, Ensemble, LambdaDirectRanker, LambdaMART, RankSVM
>>> trained_for(AdaRank(), "map").metric
'map:paper'
>>> trained_for(Ensemble(LambdaDirectRanker()), "map", convention="trec").ranker
LambdaDirectRanker(metric='map:trec', pair_weight='delta_map')
>>> trained_for(LambdaMART(), "map@10")  # it optimises MAP of whole lists only
LambdaMART(metric='map@10:paper', pair_weight='delta_map')
>>> trained_for(RankSVM(), "map")
RankSVM()
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import clone

from directranker.metrics import Metric
from directranker.rankers import Ranker

__all__ = ["rankers_for", "trained_for"]


def trained_for(ranker: Any, metric: str, *, convention: str = "paper") -> Any:
    """A clone in which every ranker's parameter `metric` is this one, and ΔNDCG or ΔMAP weigh pairs likewise.

    A clone without any change where the ranker has no such parameter, or cannot learn by this metric; then
    one training serves several metrics.
    """
    wanted = Metric.parse(metric, convention=convention)
    changed = clone(ranker)
    within = {name: value for name, value in changed.get_params().items() if isinstance(value, Ranker)}
    for name, part in {"": changed, **within}.items():
        if isinstance(part, Ranker):
            prefix = f"{name}__" if name else ""
            parameters = part._parameters_for_metric(wanted)
            changed.set_params(**{f"{prefix}{key}": value for key, value in parameters.items()})
    return changed


def rankers_for(ranker: Any, metrics: Sequence[str], convention: str) -> dict[str, Any]:
    """The ranker for each of several metrics."""
    return {metric: trained_for(ranker, metric, convention=convention) for metric in metrics}
