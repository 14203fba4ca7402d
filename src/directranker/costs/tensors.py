"""The same objectives in torch alone: differentiable, on any device, with functions of your own.

Pairs are lists of indices, never a padded matrix. The numbers are those of the compiled kernels.

>>> from directranker.costs import Objective
>>> scores = torch.tensor([0.0, 0.0, 1.0], requires_grad=True)
>>> cost = torch_objective(Objective(), scores, [1, 0, 0])
>>> cost.backward()
>>> round(cost.item(), 4), [round(slope, 4) for slope in scores.grad.tolist()]
(1.0032, [-0.6155, 0.25, 0.3655])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.nn import functional

from directranker.costs.activations import ACTIVATIONS, TORCH_CROSS_ENTROPIES
from directranker.costs.list_costs import LIST_COSTS, list_targets
from directranker.costs.pair_costs import TORCH_PAIR_COSTS
from directranker.costs.plans import Plan, check_rows, plan_of
from directranker.nn.odd_activations import mirrored
from directranker.pairs.classes import QueryClasses
from directranker.pairs.pair_table import table_of_places
from directranker.pairs.tensor_swaps import Ranking, ranking_of, tensor_swap_weight

if TYPE_CHECKING:
    from directranker.costs.objective import Objective

__all__ = ["PairTensors", "tensor_cost", "torch_objective"]


@dataclass(frozen=True)
class PairTensors:
    """What a weight of your own is given: tensors with one entry per pair, i the more relevant document.

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
    """The rank in the query's current order by falling score, from 1 on."""
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
    """The cost of an objective as a scalar tensor on the device of the scores, ready for `backward`."""
    if scores.ndim != 1 or not scores.is_floating_point():
        raise ValueError(
            f"scores are {scores.dtype} of shape {tuple(scores.shape)}; give one float per document"
        )
    plan = plan_of(
        objective,
        relevance if isinstance(relevance, QueryClasses) else _on_host(relevance),
        _on_host(offsets),
        query_weight=_on_host(query_weight),
        document_weight=_on_host(document_weight),
        seed=seed,
    )
    check_rows(len(scores), plan)
    return tensor_cost(objective, plan, scores)


def tensor_cost(objective: Objective, plan: Plan, scores: Tensor) -> Tensor:
    """The cost of a plan; nan where a score is not finite."""
    if not torch.isfinite(scores).all():
        return scores.sum() * torch.nan
    if plan.classes.rows is not None:
        scores = scores[torch.from_numpy(plan.classes.rows).to(scores.device)]
    return (_list_cost if objective.cost in LIST_COSTS else _pair_cost)(objective, plan, scores)


def _pair_cost(objective: Objective, plan: Plan, scores: Tensor) -> Tensor:
    table = table_of_places(
        plan.classes, neighbours=objective.pairs == "adjacent", draws=plan.draws, seed=plan.seed
    )
    more, less = (torch.from_numpy(side).to(scores.device) for side in (table.more, table.less))
    labels = _like(scores, plan.classes.relevance)
    y_i, y_j, o = labels[more], labels[less], scores[more] - scores[less]
    costs = _cost_of_difference(objective, o, y_i, y_j)
    stands_for = np.divide(plan.n_pairs, plan.n_compared, out=np.ones(len(plan.scale)), where=plan.draws > 0)
    weight = _like(scores, (plan.scale * stands_for)[table.query])
    if plan.weight is not None:
        document_weight = _like(scores, plan.weight)
        weight = weight * document_weight[more] * document_weight[less]
    if objective.pair_weight is not None:
        query = torch.from_numpy(table.query).to(scores.device)
        weight = weight * _pair_weight(objective, plan, scores.detach(), more, less, query)
    return (weight * costs).sum()


def _cost_of_difference(objective: Objective, o: Tensor, y_i: Tensor, y_j: Tensor) -> Tensor:
    cost, activation = objective.cost, objective.head_activation
    if cost == "cross_entropy" and isinstance(activation, str):
        return TORCH_CROSS_ENTROPIES[activation](o)
    r = (ACTIVATIONS[activation] if isinstance(activation, str) else mirrored(activation))(o)
    costs = (TORCH_PAIR_COSTS[cost] if isinstance(cost, str) else cost)(r, y_i, y_j)
    return _one_per_pair("the cost", costs, o)


def _pair_weight(
    objective: Objective, plan: Plan, scores: Tensor, more: Tensor, less: Tensor, query: Tensor
) -> Tensor:
    labels, named = _like(scores, plan.classes.relevance), objective.named_weight
    if named is not None and named.name == "label_difference":
        return labels[more] - labels[less]
    ranking = ranking_of(scores, plan.classes)
    if named is not None:
        swap = tensor_swap_weight(named, plan.classes, ranking, objective.threshold, more, less)
        return swap.to(scores.dtype)
    return _own_weight(objective, scores, labels, ranking, more, less, query)


def _own_weight(
    objective: Objective,
    scores: Tensor,
    labels: Tensor,
    ranking: Ranking,
    more: Tensor,
    less: Tensor,
    query: Tensor,
) -> Tensor:
    rank = (ranking.rank + 1).to(scores.dtype)
    pairs = PairTensors(labels[more], labels[less], scores[more], scores[less], rank[more], rank[less], query)
    weigh: Any = objective.pair_weight
    return _one_per_pair("pair_weight", weigh(pairs), scores[more]).detach()


def _one_per_pair(what: str, values: Tensor, like: Tensor) -> Tensor:
    if values.shape != like.shape:
        raise ValueError(f"{what} has shape {tuple(values.shape)} for {len(like)} pairs; return one each")
    return values


def _list_cost(objective: Objective, plan: Plan, scores: Tensor) -> Tensor:
    query = torch.from_numpy(plan.classes.query_of_place()).to(scores.device)
    weight = _like(scores, plan.scale)[query] * _like(scores, plan.weight_or_ones)
    if objective.cost == "listmle":
        return _likelihood(plan, scores, weight)
    levels = _log_sums(scores, query, plan.classes.n_queries)
    targets = _like(scores, list_targets(str(objective.cost), plan.classes))
    counted = _like(scores, plan.classes.n_classes > 1)[query]
    return (counted * weight * targets * (levels[query] - scores)).sum()


def _likelihood(plan: Plan, scores: Tensor, weight: Tensor) -> Tensor:
    draws = np.zeros(plan.classes.n_queries, dtype=np.int64)
    table = table_of_places(plan.classes, neighbours=False, draws=draws, seed=plan.seed)
    above, group = np.unique(table.more, return_inverse=True)
    less, more = (torch.from_numpy(places).to(scores.device) for places in (table.less, above))
    levels = _log_sums(scores[less], torch.from_numpy(group).to(scores.device), len(above))
    return -(weight[more] * functional.logsigmoid(scores[more] - levels)).sum()


def _log_sums(values: Tensor, group: Tensor, n_groups: int) -> Tensor:
    """Log Σ e^values of each group."""
    tops = values.new_full((n_groups,), -torch.inf).scatter_reduce(0, group, values.detach(), "amax")
    sums = values.new_zeros(n_groups).index_add(0, group, torch.exp(values - tops[group]))
    return tops + torch.log(sums)


def _like(scores: Tensor, values: Any) -> Tensor:
    return torch.as_tensor(np.asarray(values), dtype=scores.dtype, device=scores.device)


def _on_host(values: Any) -> Any:
    return values.detach().cpu().numpy() if isinstance(values, Tensor) else values
