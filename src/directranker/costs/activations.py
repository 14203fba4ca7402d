"""The head's activation τ, compiled with its slope and as torch functions: r = τ(g(x) − g(y)).

Each is odd and keeps the sign, which is what makes r an order (Theorem 1 of the DirectRanker paper). All but
the identity and arcsinh stay between −1 and 1, so that (1 + r)/2 can be read as the probability that x goes
first.

>>> activate(ACTIVATION_CODES["softsign"], -1.0)  # τ(−1) and τ′(−1)
(-0.5, 0.25)
>>> ACTIVATIONS["softsign"](torch.tensor(-1.0)).item()
-0.5
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

import torch
from torch import Tensor
from torch.nn import functional

from directranker.compilation import inlined
from directranker.nn.odd_activations import ODD_ACTIVATIONS, Activation

__all__ = [
    "ACTIVATIONS",
    "ACTIVATION_CODES",
    "IDENTITY",
    "TANH",
    "TORCH_CROSS_ENTROPIES",
    "UNBOUNDED",
    "activate",
    "activate_odds",
    "cross_entropy",
    "cross_entropy_of_odds",
    "steepness_of",
]

IDENTITY, TANH, HALF_TANH, SOFTSIGN, ARCTAN, ERF, ARCSINH = range(7)

# The compiled τ below have the codes of their places in this table.
ACTIVATIONS: Mapping[str, Activation] = MappingProxyType(ODD_ACTIVATIONS)
ACTIVATION_CODES: Mapping[str, int] = MappingProxyType({name: code for code, name in enumerate(ACTIVATIONS)})
UNBOUNDED = ("identity", "arcsinh")


@inlined
def steepness_of(activation: int) -> float:
    """k, where τ(o) = tanh(k o/2); 0 for activations of another kind."""
    return 1.0 if activation == HALF_TANH else 2.0 if activation == TANH else 0.0


@inlined
def activate(activation: int, o: float) -> tuple[float, float]:
    """τ(o) and τ′(o)."""
    if activation == IDENTITY:
        r, slope = o, 1.0
    elif activation == TANH:
        r = math.tanh(o)
        slope = 1.0 - r * r
    elif activation == HALF_TANH:
        r = math.tanh(0.5 * o)
        slope = 0.5 * (1.0 - r * r)
    elif activation == SOFTSIGN:
        shrink = 1.0 / (1.0 + abs(o))
        r, slope = o * shrink, shrink * shrink
    elif activation == ARCTAN:
        r, slope = (2.0 / math.pi) * math.atan(o), (2.0 / math.pi) / (1.0 + o * o)
    elif activation == ERF:
        r, slope = math.erf(o), 2.0 / math.sqrt(math.pi) * math.exp(-o * o)
    else:
        r, slope = math.asinh(o), 1.0 / math.sqrt(1.0 + o * o)
    return r, slope


@inlined
def cross_entropy_of_erf(o: float) -> tuple[float, float]:
    """−log(erfc(−o)/2) and its slope; far below 0, where erfc is nothing, by its asymptotic series."""
    if o > -25.0:
        behind = 0.5 * math.erfc(abs(o))
        value = -math.log(behind) if o < 0.0 else -math.log1p(-behind)
        share = behind if o < 0.0 else 1.0 - behind
        slope = -math.exp(-o * o) / (math.sqrt(math.pi) * share)
    else:
        t = 0.5 / (o * o)
        series = 1.0 - t * (1.0 - 3.0 * t * (1.0 - 5.0 * t * (1.0 - 7.0 * t)))
        value = o * o + math.log(-2.0 * math.sqrt(math.pi) * o / series)
        slope = 2.0 * o / series
    return value, slope


@inlined
def cross_entropy(activation: int, o: float) -> tuple[float, float]:
    """−log((1 + τ(o))/2) and its slope in o, where 1 + τ(o) itself would round to nothing.

    With τ(o) = tanh(o/2) it is RankNet's log(1 + e^−o), with tanh(o) log(1 + e^−2o).
    """
    if activation == SOFTSIGN:
        if o < 0.0:
            value, slope = math.log(2.0 * (1.0 - o)), -1.0 / (1.0 - o)
        else:
            value = -math.log1p(-0.5 / (1.0 + o))
            slope = -1.0 / ((1.0 + 2.0 * o) * (1.0 + o))
    elif activation == ARCTAN:
        angle = math.atan2(1.0, -o)  # π (1 + τ)/2
        value, slope = -math.log(angle / math.pi), -1.0 / ((1.0 + o * o) * angle)
    elif activation == ERF:
        value, slope = cross_entropy_of_erf(o)
    else:
        steepness = steepness_of(activation)
        x = steepness * o
        odds = math.exp(-abs(x))  # of the one behind
        value = max(-x, 0.0) + math.log1p(odds)
        slope = -steepness * (odds if x > 0.0 else 1.0) / (1.0 + odds)
    return value, slope


@inlined
def activate_odds(steepness: float, odds: float) -> tuple[float, float]:
    """τ(o) and τ′(o) for τ(o) = tanh(k o/2), from e^(−k o): the odds that the other document goes first.

    >>> activate_odds(1.0, 1.0)  # o = 0
    (0.0, 0.5)
    """
    r = (1.0 - odds) / (1.0 + odds)
    return r, 0.5 * steepness * (1.0 - r * r)


@inlined
def cross_entropy_of_odds(steepness: float, odds: float) -> tuple[float, float]:
    """−log((1 + τ(o))/2) and its slope in o, likewise."""
    return math.log1p(odds), -steepness * odds / (1.0 + odds)


def _cross_entropy_of_softsign(o: Tensor) -> Tensor:
    # Each branch sees only its own side, so that neither spoils the other's gradient.
    behind = torch.log(2 * (1 - o.clamp(max=0)))
    ahead = -torch.log1p(-0.5 / (1 + o.clamp(min=0)))
    return torch.where(o < 0, behind, ahead)


TORCH_CROSS_ENTROPIES: Mapping[str, Activation] = MappingProxyType(
    {
        "tanh": lambda o: -functional.logsigmoid(2 * o),
        "half_tanh": lambda o: -functional.logsigmoid(o),
        "softsign": _cross_entropy_of_softsign,
        "arctan": lambda o: -torch.log(torch.atan2(torch.ones_like(o), -o) / math.pi),
        "erf": lambda o: -torch.special.log_ndtr(math.sqrt(2) * o),
    }
)
