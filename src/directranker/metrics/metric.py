"""A metric as a value: a measure, a cutoff and a convention, with a name and a description.

>>> metric = Metric.parse("ndcg@10", convention="paper")
>>> str(metric)
'ndcg@10:paper'
>>> metric([2, 0, 1, 0], [0.1, 0.2, 0.9, 0.3], qid=[1, 1, 2, 2])
0.8154648767857288
>>> metric.per_query([2, 0, 1, 0], [0.1, 0.2, 0.9, 0.3], qid=[1, 1, 2, 2]).round(3).tolist()
[0.631, 1.0]
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from types import MappingProxyType
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from directranker.arrays import FloatArray
from directranker.metrics.computation import compute_per_query
from directranker.metrics.conventions import CONVENTIONS, convention
from directranker.metrics.inputs import group_scores
from directranker.metrics.rules import Convention, Rules
from directranker.suggestions import describe_unknown_name

__all__ = ["DEFAULT_CONVENTION", "MEASURES", "Measure", "Metric", "mean_over_queries"]

DEFAULT_CONVENTION = "graded"


@dataclass(frozen=True)
class Measure:
    """A measure without cutoff and convention: its short name and its description."""

    short_name: str
    description: str
    aliases: tuple[str, ...] = ()


MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "ndcg": Measure("ndcg", "discounted cumulative gain, divided by that of the best order"),
        "dcg": Measure("dcg", "discounted cumulative gain: the sum of each document's gain × discount"),
        "average_precision": Measure(
            "map", "mean precision at the relevant documents", ("ap", "mean_average_precision")
        ),
        "precision": Measure("p", "fraction of relevant documents", ("prec",)),
        "recall": Measure("recall", "fraction of the relevant documents that are retrieved", ("r",)),
        "hit_rate": Measure("hit", "1 if any document is relevant, else 0", ("success",)),
        "reciprocal_rank": Measure("mrr", "1 / rank of the first relevant document", ("rr", "recip_rank")),
        "err": Measure("err", "expected reciprocal rank at which a user stops, satisfied"),
    }
)

_MEASURE_OF_NAME = {
    alias: name
    for name, measure in MEASURES.items()
    for alias in (name, measure.short_name, *measure.aliases)
}


@dataclass(frozen=True)
class Metric:
    """A measure (see `MEASURES`) of the first k ranks (None: all ranks), under a convention.

    >>> Metric("err", 20).description
    'expected reciprocal rank at which a user stops, satisfied; first 20 ranks; convention graded: The
    default: graded labels, queries without a relevant one left out.'
    """

    measure: str
    k: int | None = None
    convention: Convention = CONVENTIONS[DEFAULT_CONVENTION]

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise ValueError(describe_unknown_name("measure", self.measure, MEASURES))
        if self.k is not None:
            if not isinstance(self.k, Integral) or isinstance(self.k, bool) or self.k < 1:
                raise ValueError(f"k is {self.k!r}; pass a whole number of at least 1, or None for all ranks")
            object.__setattr__(self, "k", min(int(self.k), 2**62))
        if not isinstance(self.convention, Convention):
            kind = type(self.convention).__name__
            raise TypeError(f"convention is a {kind}; pass the result of convention(name)")

    @classmethod
    def parse(
        cls, text: str, *, convention: str | Convention = DEFAULT_CONVENTION, **rules: Unpack[Rules]
    ) -> Metric:
        """Parse "ndcg@10", "map" or "err@20:ranklib"; a convention in the text takes precedence.

        >>> Metric.parse("P@5:trec") == Metric("precision", 5, CONVENTIONS["trec"])
        True
        """
        if not isinstance(text, str):
            raise TypeError(f"metric is {text!r}; pass a name, such as 'ndcg@10', or a Metric")
        parts = re.fullmatch(r"\s*(\w+)(?:@(\d+))?(?::(\w+))?\s*", text)
        if parts is None:
            raise ValueError(f"metric {text!r} is invalid; write measure@k, such as 'ndcg@10'")
        name, k, convention_name = parts.groups()
        if name.lower() not in _MEASURE_OF_NAME:
            raise ValueError(describe_unknown_name("measure", name, _MEASURE_OF_NAME))
        return cls(
            _MEASURE_OF_NAME[name.lower()],
            int(k) if k else None,
            _convention(convention_name or convention, **rules),
        )

    def __str__(self) -> str:
        return self.full_name.removesuffix(f":{DEFAULT_CONVENTION}")

    @property
    def full_name(self) -> str:
        """The name with its convention, even if that is the default.

        >>> Metric.parse("ndcg@10").full_name
        'ndcg@10:graded'
        """
        cutoff = "" if self.k is None else f"@{self.k}"
        return f"{MEASURES[self.measure].short_name}{cutoff}:{self.convention.name}"

    @property
    def description(self) -> str:
        """A description of this metric in plain English."""
        ranks = "all ranks" if self.k is None else f"first {self.k} ranks"
        rules = f"convention {self.convention.name}: {self.convention.description}"
        return f"{MEASURES[self.measure].description}; {ranks}; {rules}"

    def __call__(
        self,
        relevance: ArrayLike,
        scores: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        offsets: ArrayLike | None = None,
    ) -> float:
        """Return the mean over the queries that the convention does not skip; nan if it skips all."""
        return mean_over_queries(self.per_query(relevance, scores, qid=qid, offsets=offsets))

    def per_query(
        self,
        relevance: ArrayLike,
        scores: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        offsets: ArrayLike | None = None,
    ) -> FloatArray:
        """Return one value per query, in order of first appearance; nan for skipped queries."""
        groups = group_scores(relevance, scores, qid=qid, offsets=offsets)
        values: FloatArray = compute_per_query([self], groups)[0]
        return values


# The field `convention` hides the function of that name inside the class.
_convention = convention


def mean_over_queries(values: FloatArray, weights: FloatArray | None = None) -> float:
    """Return the weighted mean of the values that are not nan; nan if their total weight is 0.

    >>> mean_over_queries(np.array([1.0, np.nan, 0.0]))
    0.5
    >>> mean_over_queries(np.array([1.0, 0.0]), np.array([3, 1]))
    0.75
    """
    counted = ~np.isnan(values) if weights is None else ~np.isnan(values) & (weights > 0)
    if not counted.any():
        return float("nan")
    return float(
        values[counted].mean() if weights is None else np.average(values[counted], weights=weights[counted])
    )
