"""The choice of the kernel for an objective, and its run over a batch on all threads.

>>> from directranker.costs import Objective
>>> select_kernel(Objective(), weighted=False).__name__
'compare_by_exponentials'
>>> select_kernel(Objective("squared", head_activation="identity"), weighted=True).__name__
'compare_by_moments'
>>> select_kernel(Objective("hinge", head_activation="identity"), weighted=True).__name__
'compare_by_margins'
>>> select_kernel(Objective(), weighted=True).__name__
'compare_pairs'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import FloatArray, IntArray
from directranker.compilation import get_n_threads, run_in_parallel, split_queries_evenly
from directranker.costs.activations import ACTIVATION_CODES
from directranker.costs.exponential_kernel import compare_by_exponentials
from directranker.costs.kernel_inputs import CostBatch, CostCodes
from directranker.costs.list_costs import (
    LIST_COST_CODES,
    LIST_COSTS,
    compute_list_costs,
    compute_list_targets,
)
from directranker.costs.margin_kernel import MAX_LOOPED_PAIRS_PER_DOCUMENT, compare_by_margins
from directranker.costs.moment_kernel import compare_by_moments
from directranker.costs.pair_costs import COST_CODES, HINGE_COSTS, SQUARED_COSTS
from directranker.costs.pair_kernel import compare_pairs
from directranker.costs.plans import CostPlan
from directranker.costs.sampled_pair_kernel import compare_sampled_pairs
from directranker.costs.squared_kernel import compare_by_probabilities
from directranker.pairs.swaps import compute_swap_terms, make_empty_swap_terms
from directranker.pairs.weights import BY_SWAP, NO_WEIGHT

if TYPE_CHECKING:
    from directranker.costs.objective import Objective

__all__ = ["compute_cost", "select_kernel"]

# With less work than this per thread, in pairs or documents, starting a thread costs more than it saves:
# in training, torch's own threads keep the cores busy for a while after each operation.
MIN_PAIRS_PER_THREAD = 1_000_000
MIN_DOCUMENTS_PER_THREAD = 20_000

Gradient = NDArray[np.floating[Any]]
Scores = NDArray[np.floating[Any]]


def compute_cost(objective: Objective, plan: CostPlan, scores: Scores) -> tuple[FloatArray, Gradient]:
    """Return each query's summand of the cost, and the gradient; nan in queries with non-finite scores."""
    finite = np.isfinite(scores)
    all_finite = finite.all()
    sorted_scores = plan.classes.to_label_order(scores if all_finite else np.where(finite, scores, 0))
    batch = CostBatch(
        sorted_scores, plan.classes.relevance, plan.weight_or_ones, plan.scale, plan.n_draws, plan.seed
    )
    costs, gradient = np.zeros(len(plan.scale)), np.zeros(len(scores))
    run = _run_lists if objective.cost in LIST_COSTS else _run_pairs
    run(objective, plan, batch, costs, gradient)
    gradient = plan.classes.to_row_order(gradient)
    if not all_finite:
        query = plan.classes.query_of_rows()
        gradient[np.isin(query, query[~finite])] = np.nan
        costs[query[~finite]] = np.nan
    with np.errstate(over="ignore"):
        return costs, gradient.astype(scores.dtype, copy=False)


def _run_lists(
    objective: Objective, plan: CostPlan, batch: CostBatch, costs: FloatArray, gradient: FloatArray
) -> None:
    cost, layout = str(objective.cost), plan.classes.layout
    code, targets = LIST_COST_CODES[cost], compute_list_targets(cost, plan.classes)

    def run_queries(first: int, last: int) -> None:
        compute_list_costs(code, layout, batch, targets, first, last, costs, gradient)

    run_in_parallel(run_queries, _cut_queries(np.diff(layout.offsets), MIN_DOCUMENTS_PER_THREAD))


def _run_pairs(
    objective: Objective, plan: CostPlan, batch: CostBatch, costs: FloatArray, gradient: FloatArray
) -> None:
    codes, layout, swap = _make_codes(objective), plan.classes.layout, make_empty_swap_terms()
    if codes.weight == BY_SWAP and objective.named_weight is not None:
        swap = compute_swap_terms(objective.named_weight, plan.classes, batch.scores, objective.threshold)
    kernel = select_kernel(objective, weighted=plan.weight is not None)

    def compare_all(first: int, last: int) -> None:
        kernel(codes, layout, batch, swap, first, last, costs, gradient)

    def compare_sampled(first: int, last: int) -> None:
        compare_sampled_pairs(codes, layout, batch, swap, plan.n_pairs, first, last, costs, gradient)

    if kernel is compare_by_moments:
        run_in_parallel(compare_all, _cut_queries(np.diff(layout.offsets), MIN_DOCUMENTS_PER_THREAD))
    else:
        work = np.where(plan.n_draws > 0, 0, plan.n_pairs)
        if kernel is compare_by_margins:
            work = np.minimum(work, MAX_LOOPED_PAIRS_PER_DOCUMENT * np.diff(layout.offsets))
        run_in_parallel(compare_all, _cut_queries(work, MIN_PAIRS_PER_THREAD))
    if plan.n_draws.any():
        run_in_parallel(compare_sampled, _cut_queries(plan.n_draws, MIN_PAIRS_PER_THREAD))


def select_kernel(objective: Objective, *, weighted: bool) -> Callable[..., None]:
    """Return the fastest kernel for the pairs of an objective, `weighted` where documents have weights."""
    activation, pair_weight = objective.head_activation, objective.pair_weight
    has_tanh = activation in ("half_tanh", "tanh")
    has_separable_weight = pair_weight in (None, "label_difference")
    if objective.cost == "cross_entropy" and has_tanh and pair_weight is None and not weighted:
        return compare_by_exponentials
    if objective.cost in SQUARED_COSTS and activation == "identity" and has_separable_weight:
        return compare_by_moments
    if objective.cost in HINGE_COSTS and activation == "identity" and pair_weight is None:
        return compare_by_margins
    if objective.cost in SQUARED_COSTS and has_tanh and has_separable_weight and not weighted:
        return compare_by_probabilities
    return compare_pairs


def _make_codes(objective: Objective) -> CostCodes:
    weight = objective.named_weight
    return CostCodes(
        cost=COST_CODES[str(objective.cost)],
        activation=ACTIVATION_CODES[str(objective.head_activation)],
        adjacent=int(objective.pairs == "adjacent"),
        weight=NO_WEIGHT if weight is None else weight.code,
    )


def _cut_queries(work: IntArray, min_per_thread: int) -> list[int]:
    """Cut queries into pieces of about equal work, one per thread."""
    parts = min(get_n_threads(), 1 + int(work.sum()) // min_per_thread)
    if parts == 1:
        return [0, len(work)]
    return split_queries_evenly(np.concatenate([[0], np.cumsum(work)]), parts)
