"""Whether a metric can tell a good order of some documents from a bad one.

Where it cannot, there is nothing to choose by. Stars from 1 to 5 are the common case: in a convention by
which labels from 1 on are relevant all documents are, and every order of them has an NDCG of 1.

>>> why_blind(Metric.parse("ndcg@10:paper"), [1, 5, 3], qid=[7, 7, 7])
"every order of the documents is equally good under ndcg@10:paper; labels are from 1 to 5: take a metric that
sees grades, such as 'ndcg@10:graded', or make labels binary at a higher one"
>>> why_blind(Metric.parse("ndcg@10:graded"), [1, 5, 3], qid=[7, 7, 7]) is None
True
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from directranker.metrics.metric import Metric
from directranker.metrics.sorting import FloatArray

__all__ = ["why_blind"]

GRADED = Metric("ndcg")
ROUNDING = 1e-12  # of a sum of equal gains in another order


def why_blind(
    metric: Metric,
    relevance: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    offsets: ArrayLike | None = None,
    query_weight: FloatArray | None = None,
) -> str | None:
    """What is wrong and what to do, where no query that weighs anything has orders to tell apart."""
    labels = np.asarray(relevance, dtype=np.float64)

    def spreads(metric: Metric) -> FloatArray:
        """From the best order to the worst; nan for a query that does not count."""
        best, worst = (
            metric.per_query(labels, scores, qid=qid, offsets=offsets) for scores in (labels, -labels)
        )
        spread: FloatArray = best - worst
        return spread if query_weight is None else spread[query_weight > 0]

    spread = spreads(metric)
    if (spread > ROUNDING).any():
        return None
    is_left_out = bool(np.isnan(spread).all())
    what = "no query counts" if is_left_out else "every order of the documents is equally good"
    has_grades = bool((spreads(GRADED) > ROUNDING).any())
    return f"{what} under {metric}; {_advice(labels, is_left_out, has_grades)}"


def _advice(labels: FloatArray, is_left_out: bool, has_grades: bool) -> str:
    low, high = labels.min(), labels.max()
    if low == high:
        return f"all labels are {low:g}"
    words = f"labels are from {low:g} to {high:g}"
    if high <= 0:
        return f"{words}: add a number to all, so that none is below 0"
    if not has_grades:
        return f"{words}, but no query that weighs anything has two"
    cut = "lower" if is_left_out else "higher"
    sees_grades = "a metric that sees grades, such as 'ndcg@10:graded'"
    return f"{words}: take {sees_grades}, or make labels binary at a {cut} one"
