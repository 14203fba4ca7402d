"""The head's activation τ in r = τ(g(x) − g(y)), compiled with its derivative and as torch functions.

Each τ is odd and sign-conserving, which makes r an order (Theorem 1 of the DirectRanker paper). All but the
identity and arcsinh are bounded by −1 and 1, so (1 + r)/2 is the probability that x is ranked first.

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
    "get_steepness",
]

IDENTITY, TANH, HALF_TANH, SOFTSIGN, ARCTAN, ERF, ARCSINH = range(7)

# The code of a compiled τ is its index in this table.
ACTIVATIONS: Mapping[str, Activation] = MappingProxyType(ODD_ACTIVATIONS)
ACTIVATION_CODES: Mapping[str, int] = MappingProxyType({name: code for code, name in enumerate(ACTIVATIONS)})
UNBOUNDED = ("identity", "arcsinh")


@inlined
def get_steepness(activation: int) -> float:
    """Return k where τ(o) = tanh(k o/2), and 0 for all other activations."""
    return 1.0 if activation == HALF_TANH else 2.0 if activation == TANH else 0.0


@inlined
def activate(activation: int, o: float) -> tuple[float, float]:
    """Return τ(o) and τ′(o)."""
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
    """Return −log(erfc(−o)/2) and its derivative; far below 0, where erfc underflows, by a series."""
    if o > -25.0:
        tail = 0.5 * math.erfc(abs(o))
        value = -math.log(tail) if o < 0.0 else -math.log1p(-tail)
        probability = tail if o < 0.0 else 1.0 - tail
        slope = -math.exp(-o * o) / (math.sqrt(math.pi) * probability)
    else:
        t = 0.5 / (o * o)
        series = 1.0 - t * (1.0 - 3.0 * t * (1.0 - 5.0 * t * (1.0 - 7.0 * t)))
        value = o * o + math.log(-2.0 * math.sqrt(math.pi) * o / series)
        slope = 2.0 * o / series
    return value, slope


@inlined
def cross_entropy(activation: int, o: float) -> tuple[float, float]:
    """Return −log((1 + τ(o))/2) and its derivative, exact even where 1 + τ(o) rounds to 0.

    With τ(o) = tanh(o/2) it is RankNet's log(1 + e^−o), with tanh(o) it is log(1 + e^−2o).
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
        steepness = get_steepness(activation)
        x = steepness * o
        odds = math.exp(-abs(x))  # that the document with the lower score is ranked first
        value = max(-x, 0.0) + math.log1p(odds)
        slope = -steepness * (odds if x > 0.0 else 1.0) / (1.0 + odds)
    return value, slope


@inlined
def activate_odds(steepness: float, odds: float) -> tuple[float, float]:
    """Return τ(o) and τ′(o) of τ(o) = tanh(k o/2), given e^(−k o): the odds of the other document.

    >>> activate_odds(1.0, 1.0)  # o = 0
    (0.0, 0.5)
    """
    r = (1.0 - odds) / (1.0 + odds)
    return r, 0.5 * steepness * (1.0 - r * r)


@inlined
def cross_entropy_of_odds(steepness: float, odds: float) -> tuple[float, float]:
    """Return −log((1 + τ(o))/2) and its derivative with respect to o, given e^(−k o)."""
    return math.log1p(odds), -steepness * odds / (1.0 + odds)


def _cross_entropy_of_softsign(o: Tensor) -> Tensor:
    # Each branch is clamped to its own side, so that the unused one has no infinite gradient.
    negative = torch.log(2 * (1 - o.clamp(max=0)))
    positive = -torch.log1p(-0.5 / (1 + o.clamp(min=0)))
    return torch.where(o < 0, negative, positive)


TORCH_CROSS_ENTROPIES: Mapping[str, Activation] = MappingProxyType(
    {
        "tanh": lambda o: -functional.logsigmoid(2 * o),
        "half_tanh": lambda o: -functional.logsigmoid(o),
        "softsign": _cross_entropy_of_softsign,
        "arctan": lambda o: -torch.log(torch.atan2(torch.ones_like(o), -o) / math.pi),
        "erf": lambda o: -torch.special.log_ndtr(math.sqrt(2) * o),
    }
)
