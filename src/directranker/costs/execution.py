"""Which kernel an objective takes, and its run over a batch on all threads.

>>> from directranker.costs import Objective
>>> kernel_of(Objective(), weighted=False).__name__
'compare_by_exponentials'
>>> kernel_of(Objective("squared", head_activation="identity"), weighted=True).__name__
'compare_by_moments'
>>> kernel_of(Objective("hinge", head_activation="identity"), weighted=True).__name__
'compare_by_margins'
>>> kernel_of(Objective(), weighted=True).__name__
'compare_pairs'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import IntArray
from directranker.compilation import get_n_threads, run_in_parallel, split_queries_evenly
from directranker.costs.activations import ACTIVATION_CODES
from directranker.costs.batches import Batch, Rule
from directranker.costs.exponential_kernel import compare_by_exponentials
from directranker.costs.list_costs import LIST_COST_CODES, LIST_COSTS, list_targets, measure_lists
from directranker.costs.margin_kernel import PAIRS_PER_DOCUMENT, compare_by_margins
from directranker.costs.moment_kernel import compare_by_moments
from directranker.costs.pair_costs import COST_CODES, HINGE_COSTS, SQUARED_COSTS
from directranker.costs.pair_kernel import compare_pairs
from directranker.costs.plans import Plan
from directranker.costs.sampled_pair_kernel import compare_sampled_pairs
from directranker.costs.squared_kernel import compare_by_shares
from directranker.metrics.sorting import FloatArray
from directranker.pairs.swaps import no_swap_terms, swap_terms
from directranker.pairs.weights import BY_SWAP, NO_WEIGHT

if TYPE_CHECKING:
    from directranker.costs.objective import Objective

__all__ = ["kernel_of", "run_plan"]

# Below this much work, pairs or documents, handing it to a thread costs more than it saves: in training,
# torch's own threads keep the cores busy for a while after each operation, waiting for the next.
PAIRS_WORTH_A_THREAD = 1_000_000
DOCUMENTS_WORTH_A_THREAD = 20_000

Gradient = NDArray[np.floating[Any]]
Scores = NDArray[np.floating[Any]]


def run_plan(objective: Objective, plan: Plan, scores: Scores) -> tuple[FloatArray, Gradient]:
    """What each query adds to the cost, and the gradient; nan for a query with a score that is not finite."""
    finite = np.isfinite(scores)
    clean = finite.all()
    by_place = plan.classes.by_place(scores if clean else np.where(finite, scores, 0))
    batch = Batch(by_place, plan.classes.relevance, plan.weight_or_ones, plan.scale, plan.draws, plan.seed)
    costs, gradient = np.zeros(len(plan.scale)), np.zeros(len(scores))
    run = _run_lists if objective.cost in LIST_COSTS else _run_pairs
    run(objective, plan, batch, costs, gradient)
    gradient = plan.classes.by_row(gradient)
    if not clean:
        query = plan.classes.query_of_place()
        gradient[np.isin(query, query[~finite])] = np.nan
        costs[query[~finite]] = np.nan
    with np.errstate(over="ignore"):
        return costs, gradient.astype(scores.dtype, copy=False)


def _run_lists(
    objective: Objective, plan: Plan, batch: Batch, costs: FloatArray, gradient: FloatArray
) -> None:
    cost, layout = str(objective.cost), plan.classes.layout
    code, targets = LIST_COST_CODES[cost], list_targets(cost, plan.classes)

    def work(first: int, last: int) -> None:
        measure_lists(code, layout, batch, targets, first, last, costs, gradient)

    run_in_parallel(work, _cuts(np.diff(layout.offsets), DOCUMENTS_WORTH_A_THREAD))


def _run_pairs(
    objective: Objective, plan: Plan, batch: Batch, costs: FloatArray, gradient: FloatArray
) -> None:
    rule, layout, swap = _rule(objective), plan.classes.layout, no_swap_terms()
    if rule.weight == BY_SWAP and objective.named_weight is not None:
        swap = swap_terms(objective.named_weight, plan.classes, batch.scores, objective.threshold)
    kernel = kernel_of(objective, weighted=plan.weight is not None)

    def compare_all(first: int, last: int) -> None:
        kernel(rule, layout, batch, swap, first, last, costs, gradient)

    def compare_drawn(first: int, last: int) -> None:
        compare_sampled_pairs(rule, layout, batch, swap, plan.n_pairs, first, last, costs, gradient)

    if kernel is compare_by_moments:
        run_in_parallel(compare_all, _cuts(np.diff(layout.offsets), DOCUMENTS_WORTH_A_THREAD))
    else:
        undrawn = np.where(plan.draws > 0, 0, plan.n_pairs)
        if kernel is compare_by_margins:
            undrawn = np.minimum(undrawn, PAIRS_PER_DOCUMENT * np.diff(layout.offsets))
        run_in_parallel(compare_all, _cuts(undrawn, PAIRS_WORTH_A_THREAD))
    if plan.draws.any():
        run_in_parallel(compare_drawn, _cuts(plan.draws, PAIRS_WORTH_A_THREAD))


def kernel_of(objective: Objective, *, weighted: bool) -> Callable[..., None]:
    """The fastest kernel for the pairs of an objective; `weighted` tells of weights of documents."""
    plain = objective.pair_weight is None and not weighted
    if objective.cost == "cross_entropy" and objective.head_activation in ("half_tanh", "tanh") and plain:
        return compare_by_exponentials
    separable = objective.pair_weight in (None, "label_difference")
    if objective.cost in SQUARED_COSTS and objective.head_activation == "identity" and separable:
        return compare_by_moments
    if (
        objective.cost in HINGE_COSTS
        and objective.head_activation == "identity"
        and objective.pair_weight is None
    ):
        return compare_by_margins
    bounded = objective.head_activation in ("half_tanh", "tanh")
    if objective.cost in SQUARED_COSTS and bounded and separable and not weighted:
        return compare_by_shares
    return compare_pairs


def _rule(objective: Objective) -> Rule:
    weight = objective.named_weight
    return Rule(
        cost=COST_CODES[str(objective.cost)],
        activation=ACTIVATION_CODES[str(objective.head_activation)],
        neighbours=int(objective.pairs == "adjacent"),
        weight=NO_WEIGHT if weight is None else weight.code,
    )


def _cuts(work: IntArray, worth_a_thread: int) -> list[int]:
    """Cut queries with so much work each into pieces for threads."""
    parts = min(get_n_threads(), 1 + int(work.sum()) // worth_a_thread)
    if parts == 1:
        return [0, len(work)]
    return split_queries_evenly(np.concatenate([[0], np.cumsum(work)]), parts)
