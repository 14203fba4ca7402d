"""The plan of a cost: all that follows from labels and weights, before any score is known.

Kernels and tensors start from the same plan, so they compute the same numbers.

>>> from directranker.costs import Objective
>>> plan = plan_cost(Objective(reduction="pairs"), [2, 1, 0], [0, 3])
>>> plan.n_pairs.tolist(), plan.scale.tolist()
([3], [0.3333333333333333])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from directranker.arrays import FloatArray, IntArray
from directranker.costs.list_costs import LIST_COSTS, mark_counted_queries
from directranker.costs.reductions import compute_query_scales, validate_weights
from directranker.pairs.classes import QueryClasses, group_by_label
from directranker.pairs.pair_table import count_draws, resolve_seed, sum_pair_weights

if TYPE_CHECKING:
    from directranker.costs.objective import Objective

__all__ = ["CostPlan", "check_n_scores", "plan_cost"]


@dataclass(frozen=True)
class CostPlan:
    """Classes and document weights in label order; per query the scale, the number of pairs and of draws."""

    classes: QueryClasses
    weight: FloatArray | None
    scale: FloatArray
    n_pairs: IntArray
    n_draws: IntArray
    """The number of sampled pairs, 0 where all pairs are compared."""
    seed: np.uint64
    n_queries: int
    """The number of queries that count in the cost."""

    @property
    def n_compared(self) -> IntArray:
        """The number of pairs of each query that are compared."""
        return np.where(self.n_draws > 0, self.n_draws, self.n_pairs)

    @property
    def weight_or_ones(self) -> FloatArray:
        """The weight of each document."""
        return np.ones(len(self.classes.relevance)) if self.weight is None else self.weight


def plan_cost(
    objective: Objective,
    relevance: ArrayLike | QueryClasses,
    offsets: ArrayLike | None = None,
    *,
    query_weight: ArrayLike | None = None,
    document_weight: ArrayLike | None = None,
    seed: int | None = None,
) -> CostPlan:
    """Validate labels, offsets and weights; decide which pairs are compared and how costs are scaled."""
    classes = group_by_label(relevance, offsets)
    n_rows, n_queries = len(classes.relevance), classes.n_queries
    weight = validate_weights("document_weight", document_weight, n_rows, "document")
    if weight is not None:
        weight = classes.to_label_order(weight)
    per_query = validate_weights("query_weight", query_weight, n_queries, "query")
    per_query = np.ones(n_queries) if per_query is None else per_query
    adjacent = objective.pairs == "adjacent"
    if objective.cost in LIST_COSTS:
        n_pairs = n_draws = np.zeros(n_queries, dtype=np.int64)
        totals = mark_counted_queries(str(objective.cost), classes)
    else:
        _check_labels(objective, classes)
        counts = sum_pair_weights(classes, adjacent=adjacent)
        n_pairs = counts.astype(np.int64)
        n_draws = count_draws(counts, objective.max_pairs)
        totals = counts if weight is None else sum_pair_weights(classes, adjacent=adjacent, weight=weight)
    return CostPlan(
        classes=classes,
        weight=weight,
        scale=compute_query_scales(totals, per_query, objective.reduction),
        n_pairs=n_pairs,
        n_draws=n_draws,
        seed=resolve_seed(seed if n_draws.any() else 0),
        n_queries=int(np.count_nonzero(totals * per_query)),
    )


def check_n_scores(n_scores: int, plan: CostPlan) -> None:
    """Raise unless there is one score per document."""
    n_labels = len(plan.classes.relevance)
    if n_scores != n_labels:
        raise ValueError(
            f"scores have {n_scores} rows, relevance has {n_labels}; pass one of each per document"
        )


def _check_labels(objective: Objective, classes: QueryClasses) -> None:
    if objective.cost != "relevance_weighted":
        return
    lowest = classes.relevance.min(initial=0.0)
    if lowest < 0:
        raise ValueError(
            f"relevance has the label {lowest:g}; the cost 'relevance_weighted' multiplies by labels, "
            "which must not be negative"
        )
