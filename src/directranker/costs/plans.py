"""What an objective compares in a batch: everything that the labels and weights decide before any score.

Kernels and tensors start from the same plan, which is why they give the same numbers.

>>> from directranker.costs import Objective
>>> plan = plan_of(Objective(reduction="pairs"), [2, 1, 0], [0, 3])
>>> plan.n_pairs.tolist(), plan.scale.tolist()
([3], [0.3333333333333333])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from directranker.arrays import IntArray
from directranker.costs.batches import as_weights, query_scales
from directranker.costs.list_costs import LIST_COSTS, lists_that_count
from directranker.metrics.sorting import FloatArray
from directranker.pairs.classes import QueryClasses, classes_of
from directranker.pairs.pair_table import draws_per_query, pair_totals, random_seed

if TYPE_CHECKING:
    from directranker.costs.objective import Objective

__all__ = ["Plan", "check_rows", "plan_of"]


@dataclass(frozen=True)
class Plan:
    """The classes, the weights by place, and per query the scale, the pairs and the draws among them."""

    classes: QueryClasses
    weight: FloatArray | None
    scale: FloatArray
    n_pairs: IntArray
    draws: IntArray
    seed: np.uint64
    n_queries: int
    """How many queries count in the cost."""

    @property
    def n_compared(self) -> IntArray:
        """How many pairs of each query are looked at."""
        return np.where(self.draws > 0, self.draws, self.n_pairs)

    @property
    def weight_or_ones(self) -> FloatArray:
        """The weight of each place."""
        return np.ones(len(self.classes.relevance)) if self.weight is None else self.weight


def plan_of(
    objective: Objective,
    relevance: ArrayLike | QueryClasses,
    offsets: ArrayLike | None = None,
    *,
    query_weight: ArrayLike | None = None,
    document_weight: ArrayLike | None = None,
    seed: int | None = None,
) -> Plan:
    """Check labels, offsets and weights, and decide what is compared and how it is scaled."""
    classes = classes_of(relevance, offsets)
    n_rows, n_queries = len(classes.relevance), classes.n_queries
    weight = as_weights("document_weight", document_weight, n_rows, "document")
    if weight is not None:
        weight = classes.by_place(weight)
    per_query = as_weights("query_weight", query_weight, n_queries, "query")
    per_query = np.ones(n_queries) if per_query is None else per_query
    neighbours = objective.pairs == "adjacent"
    if objective.cost in LIST_COSTS:
        n_pairs = draws = np.zeros(n_queries, dtype=np.int64)
        totals = lists_that_count(str(objective.cost), classes)
    else:
        _check_labels(objective, classes)
        counts = pair_totals(classes, neighbours=neighbours)
        n_pairs = counts.astype(np.int64)
        draws = draws_per_query(counts, objective.max_pairs)
        totals = counts if weight is None else pair_totals(classes, neighbours=neighbours, weight=weight)
    return Plan(
        classes=classes,
        weight=weight,
        scale=query_scales(totals, per_query, objective.reduction),
        n_pairs=n_pairs,
        draws=draws,
        seed=random_seed(seed if draws.any() else 0),
        n_queries=int(np.count_nonzero(totals * per_query)),
    )


def check_rows(n_scores: int, plan: Plan) -> None:
    """Raise where there is not one score per document."""
    n_labels = len(plan.classes.relevance)
    if n_scores != n_labels:
        raise ValueError(f"scores have {n_scores} rows, relevance has {n_labels}; give one each per document")


def _check_labels(objective: Objective, classes: QueryClasses) -> None:
    if objective.cost != "relevance_weighted":
        return
    lowest = classes.relevance.min(initial=0.0)
    if lowest < 0:
        raise ValueError(
            f"relevance has the label {lowest:g}; the cost 'relevance_weighted' multiplies by labels, "
            "which must not be negative"
        )
