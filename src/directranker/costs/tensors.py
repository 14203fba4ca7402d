"""The objectives in pure torch: differentiable, on any device, with custom functions.

Pairs are index tensors, never a padded matrix. The results are those of the compiled kernels.

>>> from directranker.costs import Objective
>>> scores = torch.tensor([0.0, 0.0, 1.0], requires_grad=True)
>>> cost = torch_objective(Objective(), scores, [1, 0, 0])
>>> cost.backward()
>>> round(cost.item(), 4), [round(slope, 4) for slope in scores.grad.tolist()]
(1.0032, [-0.6155, 0.25, 0.3655])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.nn import functional

from directranker.costs.activations import ACTIVATIONS, TORCH_CROSS_ENTROPIES
from directranker.costs.list_costs import LIST_COSTS, compute_list_targets
from directranker.costs.pair_costs import TORCH_PAIR_COSTS
from directranker.costs.plans import CostPlan, check_n_scores, plan_cost
from directranker.nn.odd_activations import make_odd
from directranker.pairs.classes import QueryClasses
from directranker.pairs.pair_table import build_pair_table
from directranker.pairs.tensor_swaps import TensorRanking, compute_swap_weights, rank_by_score

if TYPE_CHECKING:
    from directranker.costs.objective import Objective

__all__ = ["PairTensors", "compute_tensor_cost", "torch_objective"]

Values = TypeVar("Values")


@dataclass(frozen=True)
class PairTensors:
    """The argument of a custom pair weight: tensors with one entry per pair, i the more relevant document.

    >>> from directranker.costs import Objective
    >>> by_rank = Objective(pair_weight=lambda pairs: 1 / torch.minimum(pairs.rank_i, pairs.rank_j))
    >>> by_rank(np.array([0.0, 0.0]), [1, 0]).cost  # log 2, at rank 1
    0.6931471805599453
    """

    y_i: Tensor
    y_j: Tensor
    s_i: Tensor
    s_j: Tensor
    rank_i: Tensor
    """The rank of i in the query by falling score, starting at 1."""
    rank_j: Tensor
    query: Tensor


def torch_objective(
    objective: Objective,
    scores: Tensor,
    relevance: ArrayLike | Tensor | QueryClasses,
    offsets: ArrayLike | Tensor | None = None,
    *,
    query_weight: ArrayLike | Tensor | None = None,
    document_weight: ArrayLike | Tensor | None = None,
    seed: int | None = None,
) -> Tensor:
    """Return the cost of an objective as a differentiable scalar tensor on the device of the scores."""
    if scores.ndim != 1 or not scores.is_floating_point():
        raise ValueError(
            f"scores are {scores.dtype} of shape {tuple(scores.shape)}; pass one float per document"
        )
    plan = plan_cost(
        objective,
        relevance if isinstance(relevance, QueryClasses) else _to_numpy(relevance),
        _to_numpy(offsets),
        query_weight=_to_numpy(query_weight),
        document_weight=_to_numpy(document_weight),
        seed=seed,
    )
    check_n_scores(len(scores), plan)
    return compute_tensor_cost(objective, plan, scores)


def compute_tensor_cost(objective: Objective, plan: CostPlan, scores: Tensor) -> Tensor:
    """Return the cost of a plan as a scalar tensor; nan where a score is not finite."""
    if not torch.isfinite(scores).all():
        return scores.sum() * torch.nan
    if plan.classes.rows is not None:
        scores = scores[torch.from_numpy(plan.classes.rows).to(scores.device)]
    compute = _compute_list_cost if objective.cost in LIST_COSTS else _compute_pair_cost
    return compute(objective, plan, scores)


def _compute_pair_cost(objective: Objective, plan: CostPlan, scores: Tensor) -> Tensor:
    table = build_pair_table(
        plan.classes, adjacent=objective.pairs == "adjacent", n_draws=plan.n_draws, seed=plan.seed
    )
    higher, lower = (torch.from_numpy(side).to(scores.device) for side in (table.higher, table.lower))
    labels = _to_tensor(scores, plan.classes.relevance)
    y_i, y_j, o = labels[higher], labels[lower], scores[higher] - scores[lower]
    costs = _compute_costs(objective, o, y_i, y_j)
    pairs_per_draw = np.divide(
        plan.n_pairs, plan.n_compared, out=np.ones(len(plan.scale)), where=plan.n_draws > 0
    )
    weight = _to_tensor(scores, (plan.scale * pairs_per_draw)[table.query])
    if plan.weight is not None:
        document_weight = _to_tensor(scores, plan.weight)
        weight = weight * document_weight[higher] * document_weight[lower]
    if objective.pair_weight is not None:
        query = torch.from_numpy(table.query).to(scores.device)
        weight = weight * _compute_pair_weight(objective, plan, scores.detach(), higher, lower, query)
    return (weight * costs).sum()


def _compute_costs(objective: Objective, o: Tensor, y_i: Tensor, y_j: Tensor) -> Tensor:
    cost, activation = objective.cost, objective.head_activation
    if cost == "cross_entropy" and isinstance(activation, str):
        return TORCH_CROSS_ENTROPIES[activation](o)
    r = (ACTIVATIONS[activation] if isinstance(activation, str) else make_odd(activation))(o)
    costs = (TORCH_PAIR_COSTS[cost] if isinstance(cost, str) else cost)(r, y_i, y_j)
    return _check_shape("the cost", costs, o)


def _compute_pair_weight(
    objective: Objective, plan: CostPlan, scores: Tensor, higher: Tensor, lower: Tensor, query: Tensor
) -> Tensor:
    labels, named_weight = _to_tensor(scores, plan.classes.relevance), objective.named_weight
    if named_weight is not None and named_weight.name == "label_difference":
        return labels[higher] - labels[lower]
    ranking = rank_by_score(scores, plan.classes)
    if named_weight is not None:
        swap = compute_swap_weights(named_weight, plan.classes, ranking, objective.threshold, higher, lower)
        return swap.to(scores.dtype)
    return _call_pair_weight(objective, scores, labels, ranking, higher, lower, query)


def _call_pair_weight(
    objective: Objective,
    scores: Tensor,
    labels: Tensor,
    ranking: TensorRanking,
    higher: Tensor,
    lower: Tensor,
    query: Tensor,
) -> Tensor:
    rank = (ranking.rank + 1).to(scores.dtype)
    pairs = PairTensors(
        labels[higher], labels[lower], scores[higher], scores[lower], rank[higher], rank[lower], query
    )
    weigh: Any = objective.pair_weight
    return _check_shape("pair_weight", weigh(pairs), scores[higher]).detach()


def _check_shape(what: str, values: Tensor, like: Tensor) -> Tensor:
    if values.shape != like.shape:
        raise ValueError(
            f"{what} has shape {tuple(values.shape)} for {len(like)} pairs; return one value per pair"
        )
    return values


def _compute_list_cost(objective: Objective, plan: CostPlan, scores: Tensor) -> Tensor:
    query = torch.from_numpy(plan.classes.query_of_rows()).to(scores.device)
    weight = _to_tensor(scores, plan.scale)[query] * _to_tensor(scores, plan.weight_or_ones)
    if objective.cost == "listmle":
        return _listmle_cost(plan, scores, weight)
    levels = _log_sum_exp(scores, query, plan.classes.n_queries)
    targets = _to_tensor(scores, compute_list_targets(str(objective.cost), plan.classes))
    counted = _to_tensor(scores, plan.classes.n_classes > 1)[query]
    return (counted * weight * targets * (levels[query] - scores)).sum()


def _listmle_cost(plan: CostPlan, scores: Tensor, weight: Tensor) -> Tensor:
    n_draws = np.zeros(plan.classes.n_queries, dtype=np.int64)
    table = build_pair_table(plan.classes, adjacent=False, n_draws=n_draws, seed=plan.seed)
    above, group = np.unique(table.higher, return_inverse=True)
    lower, higher = (torch.from_numpy(side).to(scores.device) for side in (table.lower, above))
    levels = _log_sum_exp(scores[lower], torch.from_numpy(group).to(scores.device), len(above))
    return -(weight[higher] * functional.logsigmoid(scores[higher] - levels)).sum()


def _log_sum_exp(values: Tensor, group: Tensor, n_groups: int) -> Tensor:
    """Return log Σ e^value of each group."""
    highest = values.new_full((n_groups,), -torch.inf).scatter_reduce(0, group, values.detach(), "amax")
    sums = values.new_zeros(n_groups).index_add(0, group, torch.exp(values - highest[group]))
    return highest + torch.log(sums)


def _to_tensor(scores: Tensor, values: ArrayLike) -> Tensor:
    return torch.as_tensor(np.asarray(values), dtype=scores.dtype, device=scores.device)


def _to_numpy(values: Values | Tensor) -> Values | NDArray[np.generic]:
    return values.detach().cpu().numpy() if isinstance(values, Tensor) else values
