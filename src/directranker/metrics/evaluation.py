"""One call for many metrics, which share one sort of the documents.

>>> relevance, scores, qid = [2, 0, 1, 0, 0, 1], [0.9, 0.8, 0.1, 0.2, 0.3, 0.4], [7, 7, 7, 8, 8, 8]
>>> evaluate(relevance, scores, qid=qid)
{'ndcg@10': 0.9819702166583266, 'map': 0.9166666666666666}
>>> evaluate(relevance, scores, qid=qid, metrics=["ndcg@10", "ndcg@10:sklearn"], ties="worst")
{'ndcg@10': 0.9819702166583266, 'ndcg@10:sklearn': 0.9751172083949178}
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack

from numpy.typing import ArrayLike

from directranker.metrics.computation import values_per_query
from directranker.metrics.inputs import ranked_lists
from directranker.metrics.metric import DEFAULT_CONVENTION, Metric, mean_of_queries
from directranker.metrics.rules import Convention, Rules
from directranker.metrics.sorting import FloatArray

__all__ = ["evaluate", "evaluate_per_query"]


def evaluate(
    relevance: ArrayLike,
    scores: ArrayLike,
    *,
    metrics: str | Metric | Iterable[str | Metric] = ("ndcg@10", "map"),
    qid: ArrayLike | None = None,
    offsets: ArrayLike | None = None,
    convention: str | Convention = DEFAULT_CONVENTION,
    **rules: Unpack[Rules],
) -> dict[str, float]:
    """The mean of each metric over the queries, under the name by which it was asked for.

    Queries come from `qid` (one id per row, in any order) or from `offsets` (query q has the rows
    `offsets[q]:offsets[q + 1]`); without both, all rows are one list. `convention` and `rules`, its
    changes, hold for metrics given as text; a `Metric` brings its own. Queries that the convention leaves
    out are not in the mean; the mean of none is nan.

    >>> evaluate([0, 0, 1], [3, 2, 1], offsets=[0, 2, 3], metrics="map", no_relevant=0)
    {'map': 0.5}
    """
    values = evaluate_per_query(
        relevance, scores, metrics=metrics, qid=qid, offsets=offsets, convention=convention, **rules
    )
    return {name: mean_of_queries(column) for name, column in values.items()}


def evaluate_per_query(
    relevance: ArrayLike,
    scores: ArrayLike,
    *,
    metrics: str | Metric | Iterable[str | Metric] = ("ndcg@10", "map"),
    qid: ArrayLike | None = None,
    offsets: ArrayLike | None = None,
    convention: str | Convention = DEFAULT_CONVENTION,
    **rules: Unpack[Rules],
) -> dict[str, FloatArray]:
    """The same as `evaluate`, with one value per query; nan stands for a query that is left out.

    Queries come in the order in which they first appear.

    >>> evaluate_per_query([0, 0, 1], [3, 2, 1], qid=["b", "b", "a"], metrics="map")
    {'map': array([nan,  1.])}
    """
    if isinstance(metrics, str | Metric):
        metrics = [metrics]
    if not isinstance(metrics, Iterable):
        raise TypeError(f"metrics is {metrics!r}; give names, such as ['ndcg@10', 'map']")
    named: dict[str, Metric] = {}
    for metric in metrics:
        if str(metric) in named:
            raise ValueError(f"metric {str(metric)!r} is asked for twice; name each once")
        if not isinstance(metric, Metric):
            named[metric] = Metric.parse(metric, convention=convention, **rules)
        else:
            named[str(metric)] = metric
    if not named:
        raise ValueError("no metric is asked for; give at least one, such as 'ndcg@10'")
    lists = ranked_lists(relevance, scores, qid=qid, offsets=offsets)
    return dict(zip(named, values_per_query(list(named.values()), lists), strict=True))
