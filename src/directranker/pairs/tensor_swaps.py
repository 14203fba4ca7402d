"""ΔNDCG and ΔMAP in torch, for scores on any device; `swaps` has the formulas.

>>> from directranker.pairs.classes import group_by_label
>>> classes, scores = group_by_label([1, 0]), torch.tensor([0.1, 0.9], dtype=torch.float64)
>>> weight, i, j = PairWeight("delta_map"), torch.tensor([0]), torch.tensor([1])
>>> compute_swap_weights(weight, classes, rank_by_score(scores, classes), 1.0, i, j).tolist()  # 1 − 1/2
[0.5]
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from directranker.pairs.classes import QueryClasses
from directranker.pairs.swaps import compute_discounts, compute_swap_values
from directranker.pairs.weights import PairWeight

__all__ = ["TensorRanking", "compute_swap_weights", "rank_by_score"]


class TensorRanking(NamedTuple):
    """The positions in ranked order, query by query, and the rank of each position in its query, from 0."""

    order: Tensor
    rank: Tensor
    start: Tensor
    """The first position of each position's query."""


def rank_by_score(scores: Tensor, classes: QueryClasses) -> TensorRanking:
    """Rank each query's documents by falling score; among equal scores the more relevant first."""
    query = torch.from_numpy(classes.query_of_rows()).to(scores.device)
    start = torch.from_numpy(classes.layout.offsets).to(scores.device)[query]
    order = torch.argsort(scores, descending=True, stable=True)
    order = order[torch.argsort(query[order], stable=True)]
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order), device=order.device)
    return TensorRanking(order, rank - start, start)


def compute_swap_weights(
    weight: PairWeight, classes: QueryClasses, ranking: TensorRanking, threshold: float, i: Tensor, j: Tensor
) -> Tensor:
    """Return |Δ| of the metric when the documents `i` and `j` swap ranks, pair by pair."""
    device = ranking.rank.device
    dtype = torch.float32 if device.type == "mps" else torch.float64  # Apple's GPUs have no float64
    value = torch.from_numpy(compute_swap_values(weight, classes, threshold)).to(device, dtype)
    if weight.name == "delta_ndcg":
        discounts = torch.from_numpy(compute_discounts(len(value), weight.k)).to(device, dtype)
        upper = discounts[ranking.rank]
        lower = -upper
    else:
        upper, lower = _compute_precision_terms(value > 0, ranking, dtype)
    is_i_ahead = ranking.rank[i] < ranking.rank[j]
    change = torch.where(is_i_ahead, upper[i] + lower[j], upper[j] + lower[i])
    return ((value[i] - value[j]) * change).abs()


def _compute_precision_terms(
    hit: Tensor, ranking: TensorRanking, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    ranks = (ranking.rank + 1).to(dtype)
    hits = _cumulate(hit.to(dtype), ranking)
    precisions = _cumulate(hit / ranks, ranking)
    upper = (hits - hit.to(dtype) + 1) / ranks - precisions
    lower = precisions - hit / ranks - hits / ranks
    return upper, lower


def _cumulate(values: Tensor, ranking: TensorRanking) -> Tensor:
    """Return the sum over a query's ranks up to each document's rank."""
    sums = torch.cumsum(values[ranking.order], dim=0)
    before = torch.cat([sums.new_zeros(1), sums])
    result = torch.empty_like(values)
    result[ranking.order] = sums
    return result - before[ranking.start]
