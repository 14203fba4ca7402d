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
from directranker.metrics.metric import MEASURES
from directranker.rankers import AdaRank, LambdaMART, Ranker

__all__ = ["rankers_for", "trained_for"]

# What a ranker refuses to learn by; there it keeps its own metric.
REFUSED: tuple[tuple[type[Ranker], frozenset[str]], ...] = (
    (LambdaMART, frozenset(MEASURES) - {"ndcg", "average_precision"}),
    (AdaRank, frozenset({"dcg"})),
)


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
            own = _own_parameters(part, wanted)
            changed.set_params(**{f"{prefix}{key}": value for key, value in own.items()})
    return changed


def rankers_for(ranker: Any, metrics: Sequence[str], convention: str) -> dict[str, Any]:
    """The ranker for each of several metrics."""
    return {metric: trained_for(ranker, metric, convention=convention) for metric in metrics}


def _own_parameters(ranker: Ranker, metric: Metric) -> dict[str, str]:
    own: dict[str, str] = {}
    parameters = ranker.get_params(deep=False)
    refused = any(isinstance(ranker, kind) and metric.measure in measures for kind, measures in REFUSED)
    cut = "" if metric.k is None else f"@{metric.k}"
    if "metric" in parameters and not refused:
        own["metric"] = f"{MEASURES[metric.measure].text}{cut}:{metric.convention.name}"
    if str(parameters.get("pair_weight")).startswith("delta_"):
        if metric.measure == "ndcg":
            own["pair_weight"] = f"delta_ndcg{cut}"
        elif metric.measure == "average_precision":
            own["pair_weight"] = "delta_map"
    by_metric = parameters.get("pair_weight") == "metric"  # LambdaMART's, which has none for MAP@k
    if by_metric and metric.measure == "average_precision" and metric.k is not None:
        own["pair_weight"] = "delta_map"
    return own
