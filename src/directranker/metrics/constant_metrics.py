"""Detection of constant metrics: those that have the same value for every order of the documents.

Such a metric cannot select a model. Ratings from 1 to 5 stars are the common case: if labels of at least 1
are relevant, then all documents are, and every order of them has an NDCG of 1. Precision, recall and hit rate
are constant where their cutoff includes all documents of every query.

>>> explain_constant_metric(Metric.parse("ndcg@10:paper"), [1, 5, 3], qid=[7, 7, 7])
"every order of the documents is equally good under ndcg@10:paper; labels are from 1 to 5: use a graded
metric, such as 'ndcg@10:graded', or binarise labels at a higher one"
>>> explain_constant_metric(Metric.parse("ndcg@10:graded"), [1, 5, 3], qid=[7, 7, 7]) is None
True
>>> explain_constant_metric(Metric.parse("recall@10"), [1, 0, 0], qid=[7, 7, 7])
"every order of the documents is equally good under recall@10; use a lower cutoff, such as 'recall@1'"
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from directranker.arrays import FloatArray
from directranker.metrics.metric import Metric

__all__ = ["explain_constant_metric"]

GRADED = Metric("ndcg")
ROUNDING_ERROR = 1e-12  # of a sum of equal gains in another order


def explain_constant_metric(
    metric: Metric,
    relevance: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    offsets: ArrayLike | None = None,
    query_weight: FloatArray | None = None,
) -> str | None:
    """Return why the metric is constant on these labels and what to do, or None if it is not constant."""
    labels = np.asarray(relevance, dtype=np.float64)

    def compute_ranges(metric: Metric) -> FloatArray:
        """Return the best minus the worst value of each query; nan for skipped queries."""
        best, worst = (
            metric.per_query(labels, scores, qid=qid, offsets=offsets) for scores in (labels, -labels)
        )
        ranges: FloatArray = best - worst
        return ranges if query_weight is None else ranges[query_weight > 0]

    def is_order_dependent(metric: Metric) -> bool:
        return bool((compute_ranges(metric) > ROUNDING_ERROR).any())

    if is_order_dependent(metric):
        return None
    skips_all = bool(np.isnan(compute_ranges(metric)).all())
    problem = "no query counts" if skips_all else "every order of the documents is equally good"
    if is_order_dependent(at_one := replace(metric, k=1)):
        advice = f"use {'a' if metric.k is None else 'a lower'} cutoff, such as '{at_one}'"
    else:
        advice = _advise(labels, skips_all, is_order_dependent(GRADED))
    return f"{problem} under {metric}; {advice}"


def _advise(labels: FloatArray, skips_all: bool, has_grades: bool) -> str:
    low, high = labels.min(), labels.max()
    if low == high:
        return f"all labels are {low:g}"
    labels_range = f"labels are from {low:g} to {high:g}"
    if high <= 0:
        return f"{labels_range}: add a constant to all labels, so that none is negative"
    if not has_grades:
        return f"{labels_range}, but no query with a positive weight has two different ones"
    threshold = "lower" if skips_all else "higher"
    return (
        f"{labels_range}: use a graded metric, such as 'ndcg@10:graded', "
        f"or binarise labels at a {threshold} one"
    )
