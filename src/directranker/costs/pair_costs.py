"""Pairwise costs, compiled with their derivative and as torch functions.

A pair has r = τ(g(x) − g(y)) with x the more relevant document, and the labels y_i > y_j.

    squared             (1 − r)²             the paper's simplest cost, for labels that differ by 1
    squared_difference  (y_i − y_j − r)²     the cost behind the paper's published rows
    relevance_weighted  y_i (1 − r)²         the paper's cost on synthetic data, for labels ≥ 0
    cross_entropy       −log((1 + r)/2)      RankNet's with τ = half_tanh; see `activations`
    hinge               max(0, 1 − r)
    squared_hinge       max(0, 1 − r)²       RankSVM's, with τ = identity
    exponential         exp(−r)

>>> pair_cost(COST_CODES["relevance_weighted"], 0.5, 2.0, 1.0)  # 2 (1 − ½)² and −2·2 (1 − ½)
(0.5, -2.0)
>>> TORCH_PAIR_COSTS["relevance_weighted"](torch.tensor(0.5), torch.tensor(2.0), torch.tensor(1.0)).item()
0.5
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch
from torch import Tensor

from directranker.compilation import inlined
from directranker.costs.activations import (
    activate,
    activate_odds,
    cross_entropy,
    cross_entropy_of_odds,
)

__all__ = [
    "COST_CODES",
    "CROSS_ENTROPY",
    "HINGE_COSTS",
    "PAIR_COSTS",
    "RELEVANCE_WEIGHTED",
    "SQUARED_COSTS",
    "SQUARED_DIFFERENCE",
    "SQUARED_HINGE",
    "TORCH_PAIR_COSTS",
    "TorchPairCost",
    "pair_cost",
    "pair_cost_of_difference",
    "pair_cost_of_odds",
]

TorchPairCost = Callable[[Tensor, Tensor, Tensor], Tensor]  # of r, y_i and y_j

PAIR_COSTS = (
    "squared",
    "squared_difference",
    "relevance_weighted",
    "cross_entropy",
    "hinge",
    "squared_hinge",
    "exponential",
)
COST_CODES: Mapping[str, int] = MappingProxyType({name: code for code, name in enumerate(PAIR_COSTS)})
SQUARED, SQUARED_DIFFERENCE, RELEVANCE_WEIGHTED, CROSS_ENTROPY, HINGE, SQUARED_HINGE, EXPONENTIAL = range(7)
SQUARED_COSTS = PAIR_COSTS[:3]
HINGE_COSTS = ("hinge", "squared_hinge")

TORCH_PAIR_COSTS: Mapping[str, TorchPairCost] = MappingProxyType(
    {
        "squared": lambda r, *_: (1 - r) ** 2,
        "squared_difference": lambda r, y_i, y_j: (y_i - y_j - r) ** 2,
        "relevance_weighted": lambda r, y_i, _: y_i * (1 - r) ** 2,
        "cross_entropy": lambda r, *_: -torch.log((1 + r) / 2),
        "hinge": lambda r, *_: torch.relu(1 - r),
        "squared_hinge": lambda r, *_: torch.relu(1 - r) ** 2,
        "exponential": lambda r, *_: torch.exp(-r),
    }
)


@inlined
def pair_cost(cost: int, r: float, y_i: float, y_j: float) -> tuple[float, float]:
    """Return a pair's cost and its derivative with respect to r; not for the cross-entropy."""
    if cost == SQUARED:
        value, slope = (1.0 - r) * (1.0 - r), -2.0 * (1.0 - r)
    elif cost == SQUARED_DIFFERENCE:
        value, slope = (y_i - y_j - r) * (y_i - y_j - r), -2.0 * (y_i - y_j - r)
    elif cost == RELEVANCE_WEIGHTED:
        value, slope = y_i * (1.0 - r) * (1.0 - r), -2.0 * y_i * (1.0 - r)
    elif cost == HINGE:
        value, slope = (1.0 - r, -1.0) if r < 1.0 else (0.0, 0.0)
    elif cost == SQUARED_HINGE:
        shortfall = max(0.0, 1.0 - r)
        value, slope = shortfall * shortfall, -2.0 * shortfall
    else:
        value, slope = math.exp(-r), -math.exp(-r)
    return value, slope


@inlined
def pair_cost_of_difference(
    cost: int, activation: int, o: float, y_i: float, y_j: float
) -> tuple[float, float]:
    """Return a pair's cost and its derivative with respect to o = g(x) − g(y)."""
    if cost == CROSS_ENTROPY:
        value, slope = cross_entropy(activation, o)
    else:
        r, r_slope = activate(activation, o)
        value, c_slope = pair_cost(cost, r, y_i, y_j)
        slope = c_slope * r_slope
    return value, slope


@inlined
def pair_cost_of_odds(
    cost: int, steepness: float, odds: float, y_i: float, y_j: float
) -> tuple[float, float]:
    """Return the same given e^(−k o), for τ(o) = tanh(k o/2)."""
    if cost == CROSS_ENTROPY:
        value, slope = cross_entropy_of_odds(steepness, odds)
    else:
        r, r_slope = activate_odds(steepness, odds)
        value, c_slope = pair_cost(cost, r, y_i, y_j)
        slope = c_slope * r_slope
    return value, slope
