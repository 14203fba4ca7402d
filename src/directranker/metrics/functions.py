"""Each measure as a function of labels and scores.

All take `(relevance, scores)` and the same options: queries as `qid` (one id per row, in any order) or as
`offsets` (query q has the rows `offsets[q]:offsets[q + 1]`), without both all rows are one query; the cutoff
`k`, None for all ranks; a `convention` and changes to it by name, see `Convention`. They return the mean over
the queries, or with `per_query=True` one value per query, nan for skipped ones. By default gains are 2^y − 1,
labels of at least 1 are relevant, queries without a relevant document are skipped, and equal scores are
averaged over all their orders.

>>> relevance, scores, qid = [1, 0, 2, 0], [0.2, 0.7, 0.9, 0.1], ["a", "a", "b", "b"]
>>> reciprocal_rank(relevance, scores, qid=qid)
0.75
>>> reciprocal_rank(relevance, scores, qid=qid, per_query=True)
array([0.5, 1. ])
>>> reciprocal_rank(relevance, scores, qid=qid, threshold=2, no_relevant=0)
0.5
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, Unpack, cast, overload

from numpy.typing import ArrayLike

from directranker.arrays import FloatArray
from directranker.metrics.conventions import convention as named_convention
from directranker.metrics.metric import DEFAULT_CONVENTION, Metric
from directranker.metrics.rules import Convention, Rules

__all__ = [
    "average_precision",
    "dcg",
    "err",
    "hit_rate",
    "mean_average_precision",
    "ndcg",
    "precision",
    "recall",
    "reciprocal_rank",
]

Values = float | FloatArray


class Options(Rules, total=False):
    """The keyword options of all functions in this module, besides k and per_query."""

    qid: ArrayLike | None
    offsets: ArrayLike | None
    convention: str | Convention


class MeasureFunction(Protocol):
    """The signature of the functions in this module, for type checkers."""

    @overload
    def __call__(
        self,
        relevance: ArrayLike,
        scores: ArrayLike,
        *,
        k: int | None = ...,
        qid: ArrayLike | None = ...,
        offsets: ArrayLike | None = ...,
        per_query: Literal[False] = ...,
        convention: str | Convention = ...,
        **rules: Unpack[Rules],
    ) -> float: ...

    @overload
    def __call__(
        self,
        relevance: ArrayLike,
        scores: ArrayLike,
        *,
        k: int | None = ...,
        qid: ArrayLike | None = ...,
        offsets: ArrayLike | None = ...,
        per_query: Literal[True],
        convention: str | Convention = ...,
        **rules: Unpack[Rules],
    ) -> FloatArray: ...


def _with_overloads(function: Callable[..., Values]) -> MeasureFunction:
    return cast(MeasureFunction, function)


def _compute(
    measure: str,
    k: int | None,
    relevance: ArrayLike,
    scores: ArrayLike,
    per_query: bool,
    options: Options,
) -> Values:
    rules: dict[str, Any] = dict(options)
    grouping = {name: rules.pop(name, None) for name in ("qid", "offsets")}
    metric = Metric(measure, k, named_convention(rules.pop("convention", DEFAULT_CONVENTION), **rules))
    return (metric.per_query if per_query else metric)(relevance, scores, **grouping)


@_with_overloads
def ndcg(
    relevance: ArrayLike,
    scores: ArrayLike,
    *,
    k: int | None = 10,
    per_query: bool = False,
    **options: Unpack[Options],
) -> Values:
    """Normalised discounted cumulative gain: DCG@k divided by that of the best order; from 0 to 1.

    Labels may be large or fractional: gains are scaled, so that 2^y does not overflow.

    >>> round(ndcg([2, 0, 1], [0.9, 0.8, 0.7]), 4)  # (3/1 + 1/2) / (3/1 + 1/log2(3))
    0.9639
    >>> ndcg([2000, 1999], [0.1, 0.2], k=1)
    0.5
    """
    return _compute("ndcg", k, relevance, scores, per_query, options)


@_with_overloads
def dcg(
    relevance: ArrayLike,
    scores: ArrayLike,
    *,
    k: int | None = 10,
    per_query: bool = False,
    **options: Unpack[Options],
) -> Values:
    """Discounted cumulative gain: Σ (2^y − 1) / log2(rank + 1) over the first k ranks.

    A sum beyond the range of float64 is inf; `ndcg` has no such limit.

    >>> dcg([2, 0, 1], [0.9, 0.8, 0.7])  # 3/1 + 0 + 1/2
    3.5
    >>> dcg([2, 0, 1], [0.9, 0.8, 0.7], gain={0: 0, 1: 10, 2: 11})
    16.0
    """
    return _compute("dcg", k, relevance, scores, per_query, options)


@_with_overloads
def average_precision(
    relevance: ArrayLike,
    scores: ArrayLike,
    *,
    k: int | None = None,
    per_query: bool = False,
    **options: Unpack[Options],
) -> Values:
    """Average precision: the mean, over relevant documents, of the precision at their rank.

    Equal scores give the exact mean over all their orders.

    >>> average_precision([1, 0], [0.5, 0.5])  # (1/1 + 1/2) / 2
    0.75
    """
    return _compute("average_precision", k, relevance, scores, per_query, options)


def mean_average_precision(
    relevance: ArrayLike, scores: ArrayLike, *, k: int | None = None, **options: Unpack[Options]
) -> float:
    """MAP: the mean of `average_precision` over the queries, under its common name.

    >>> mean_average_precision([1, 0, 0, 1], [4, 3, 2, 1], offsets=[0, 2, 4])  # (1/1 + 1/2) / 2
    0.75
    """
    return average_precision(relevance, scores, k=k, **options)


@_with_overloads
def precision(
    relevance: ArrayLike,
    scores: ArrayLike,
    *,
    k: int | None = 10,
    per_query: bool = False,
    **options: Unpack[Options],
) -> Values:
    """Precision: the fraction of relevant documents among the first k ranks.

    >>> precision([1, 0, 2], [0.9, 0.8, 0.7], k=2)
    0.5
    >>> precision([1, 0, 2], [0.9, 0.8, 0.7], k=4), precision([1, 0, 2], [3, 2, 1], k=4, convention="paper")
    (0.5, 0.6666666666666666)
    """
    return _compute("precision", k, relevance, scores, per_query, options)


@_with_overloads
def recall(
    relevance: ArrayLike,
    scores: ArrayLike,
    *,
    k: int | None = 10,
    per_query: bool = False,
    **options: Unpack[Options],
) -> Values:
    """Recall: the fraction of the relevant documents that are among the first k ranks.

    A query with more than k relevant documents has a recall below 1 in every order.

    >>> recall([1, 0, 2], [0.9, 0.8, 0.7], k=2)
    0.5
    >>> recall([1, 0, 2], [0.5, 0.5, 0.5], k=1)  # one of three tied documents: 2/3 of a hit, of two
    0.3333333333333333
    """
    return _compute("recall", k, relevance, scores, per_query, options)


@_with_overloads
def hit_rate(
    relevance: ArrayLike,
    scores: ArrayLike,
    *,
    k: int | None = 10,
    per_query: bool = False,
    **options: Unpack[Options],
) -> Values:
    """Hit rate: the fraction of queries with a relevant document among the first k ranks.

    Tied documents give the exact probability of a hit over all their orders.

    >>> hit_rate([0, 0, 1, 1, 0, 0], [0.9, 0.8, 0.7, 0.9, 0.8, 0.7], k=2, offsets=[0, 3, 6])
    0.5
    >>> hit_rate([1, 1, 0, 0], [0.5, 0.5, 0.5, 0.5], k=2)  # 1 − 2/4 × 1/3
    0.8333333333333334
    """
    return _compute("hit_rate", k, relevance, scores, per_query, options)


@_with_overloads
def reciprocal_rank(
    relevance: ArrayLike,
    scores: ArrayLike,
    *,
    k: int | None = None,
    per_query: bool = False,
    **options: Unpack[Options],
) -> Values:
    """Reciprocal rank: 1 / rank of the first relevant document; 0 if it is not among the first k.

    >>> reciprocal_rank([0, 0, 1], [0.9, 0.8, 0.7])
    0.3333333333333333
    """
    return _compute("reciprocal_rank", k, relevance, scores, per_query, options)


@_with_overloads
def err(
    relevance: ArrayLike,
    scores: ArrayLike,
    *,
    k: int | None = 10,
    per_query: bool = False,
    **options: Unpack[Options],
) -> Values:
    """Expected reciprocal rank: of a user who stops at a document with probability (2^y − 1) / 2^max_grade.

    >>> err([1, 2], [0.9, 0.8])  # 1/4, then 3/4 × 3/4 / 2
    0.53125
    >>> err([1, 2], [0.9, 0.8], max_grade=4)  # 1/16 + 15/16 × 3/16 / 2
    0.150390625
    """
    return _compute("err", k, relevance, scores, per_query, options)
