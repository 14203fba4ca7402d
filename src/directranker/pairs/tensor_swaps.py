"""ΔNDCG and ΔMAP in torch, for scores on any device; `swaps` has the formulas.

>>> from directranker.pairs.classes import classes_of
>>> classes, scores = classes_of([1, 0]), torch.tensor([0.1, 0.9], dtype=torch.float64)
>>> weight, more, less = PairWeight("delta_map"), torch.tensor([0]), torch.tensor([1])
>>> tensor_swap_weight(weight, classes, ranking_of(scores, classes), 1.0, more, less).tolist()  # 1 − 1/2
[0.5]
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from directranker.pairs.classes import QueryClasses
from directranker.pairs.swaps import rank_discounts, swap_values
from directranker.pairs.weights import PairWeight

__all__ = ["Ranking", "ranking_of", "tensor_swap_weight"]


class Ranking(NamedTuple):
    """Places in ranked order, query by query, and the rank of each place within its query, from 0."""

    order: Tensor
    rank: Tensor
    start: Tensor
    """Where the query of each place begins."""


def ranking_of(scores: Tensor, classes: QueryClasses) -> Ranking:
    """Rank each query's places by falling score, equal ones as they stand: the more relevant first."""
    query = torch.from_numpy(classes.query_of_place()).to(scores.device)
    start = torch.from_numpy(classes.layout.offsets).to(scores.device)[query]
    order = torch.argsort(scores, descending=True, stable=True)
    order = order[torch.argsort(query[order], stable=True)]
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order), device=order.device)
    return Ranking(order, rank - start, start)


def tensor_swap_weight(
    weight: PairWeight, classes: QueryClasses, ranking: Ranking, threshold: float, more: Tensor, less: Tensor
) -> Tensor:
    """|Δ| of the measure when the places `more` and `less` swap, pair by pair."""
    device = ranking.rank.device
    wide = torch.float32 if device.type == "mps" else torch.float64  # Apple's GPUs have no float64
    value = torch.from_numpy(swap_values(weight, classes, threshold)).to(device, wide)
    if weight.name == "delta_ndcg":
        discounts = torch.from_numpy(rank_discounts(len(value), weight.k)).to(device, wide)
        upper = discounts[ranking.rank]
        lower = -upper
    else:
        upper, lower = _precision_terms(value > 0, ranking, wide)
    ahead = ranking.rank[more] < ranking.rank[less]
    change = torch.where(ahead, upper[more] + lower[less], upper[less] + lower[more])
    return ((value[more] - value[less]) * change).abs()


def _precision_terms(hit: Tensor, ranking: Ranking, wide: torch.dtype) -> tuple[Tensor, Tensor]:
    places = (ranking.rank + 1).to(wide)
    hits = _sums_up_to(hit.to(wide), ranking)
    precisions = _sums_up_to(hit / places, ranking)
    upper = (hits - hit.to(wide) + 1) / places - precisions
    lower = precisions - hit / places - hits / places
    return upper, lower


def _sums_up_to(values: Tensor, ranking: Ranking) -> Tensor:
    """Sums over a query's ranks up to each place's own."""
    sums = torch.cumsum(values[ranking.order], dim=0)
    before = torch.cat([sums.new_zeros(1), sums])
    result = torch.empty_like(values)
    result[ranking.order] = sums
    return result - before[ranking.start]
