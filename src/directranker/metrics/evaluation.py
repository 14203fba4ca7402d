"""Many metrics in one call, with one sort of the documents.

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

from directranker.arrays import FloatArray
from directranker.metrics.computation import compute_per_query
from directranker.metrics.inputs import group_scores
from directranker.metrics.metric import DEFAULT_CONVENTION, Metric, mean_over_queries
from directranker.metrics.rules import Convention, Rules

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
    """Return the mean of each metric over the queries, keyed by the name as passed.

    Queries come from `qid` (one id per row, in any order) or from `offsets` (query q has the rows
    `offsets[q]:offsets[q + 1]`); without both, all rows are one query. `convention` and `rules`, its
    changes, apply to metrics given by name; a `Metric` has its own. The mean excludes queries that the
    convention skips; if it skips all, the mean is nan.

    >>> evaluate([0, 0, 1], [3, 2, 1], offsets=[0, 2, 3], metrics="map", no_relevant=0)
    {'map': 0.5}
    """
    values = evaluate_per_query(
        relevance, scores, metrics=metrics, qid=qid, offsets=offsets, convention=convention, **rules
    )
    return {name: mean_over_queries(column) for name, column in values.items()}


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
    """Return the values of `evaluate` for each query; nan for a skipped query.

    Queries are in order of first appearance.

    >>> evaluate_per_query([0, 0, 1], [3, 2, 1], qid=["b", "b", "a"], metrics="map")
    {'map': array([nan,  1.])}
    """
    if isinstance(metrics, str | Metric):
        metrics = [metrics]
    if not isinstance(metrics, Iterable):
        raise TypeError(f"metrics is {metrics!r}; pass names, such as ['ndcg@10', 'map']")
    named: dict[str, Metric] = {}
    for metric in metrics:
        if str(metric) in named:
            raise ValueError(f"metric {str(metric)!r} is listed twice; list each metric once")
        if not isinstance(metric, Metric):
            named[metric] = Metric.parse(metric, convention=convention, **rules)
        else:
            named[str(metric)] = metric
    if not named:
        raise ValueError("metrics is empty; pass at least one, such as 'ndcg@10'")
    groups = group_scores(relevance, scores, qid=qid, offsets=offsets)
    return dict(zip(named, compute_per_query(list(named.values()), groups), strict=True))
