"""The ranking head o₁ of the DirectRanker: one neuron without bias whose odd activation τ makes r an order.

r(x, y) = τ(w·f(x) − w·f(y)) = τ(g(x) − g(y)) by Theorem 1 of the paper. Given one score per document, the
laws hold exactly in floating point too, because r is computed from the two *scores*: r(x, x) is 0.0, r(x, y)
is the exact negative of r(y, x), and the sign of r is that of g(x) − g(y), even where τ rounds to 0 or a
custom τ is wrong. So sorting by g and sorting with the comparator r give the same order.

>>> compare_scores([0.5, 2.0, 1.0], [0.5, 1.0, 2.0], activation="tanh").round(4).tolist()
[0.0, 0.7616, -0.7616]
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from directranker.nn.checking import validate_count
from directranker.nn.odd_activations import (
    ODD_ACTIVATIONS,
    Activation,
    activation_name,
    resolve_odd_activation,
)

__all__ = ["RankingHead", "compare_scores"]

LANES = 64
"""A multiple of the vector width of any processor."""
BLOCK = 16_384
"""Small enough that torch does not split it among threads."""


class RankingHead(torch.nn.Module):
    """A weight vector and a τ, without a bias by design.

    `activation` is a name in `ODD_ACTIVATIONS` or any odd, sign-conserving function. Weights are initialised
    uniformly within ±1/√n_inputs, as in `torch.nn.Linear`.

    >>> head = RankingHead(2, activation="softsign")
    >>> _ = head.load_state_dict({"weight": torch.tensor([1.0, -1.0])})
    >>> x, y = torch.tensor([[3.0, 1.0]]), torch.tensor([[0.0, 1.0]])
    >>> head.score(x).tolist(), head.score(y).tolist()
    ([2.0], [-1.0])
    >>> head(x, y).tolist(), head(y, x).tolist(), head(x, x).tolist()
    ([0.75], [-0.75], [0.0])
    >>> head
    RankingHead(n_inputs=2, activation=softsign)
    """

    def __init__(self, n_inputs: int, activation: str | Activation = "tanh") -> None:
        super().__init__()
        width = validate_count("n_inputs", n_inputs, wanted="the width of the feature net, at least 1")
        self.activation = resolve_odd_activation(activation)
        self.activation_name = activation_name(activation)
        bound = 1 / math.sqrt(width)
        self.weight = torch.nn.Parameter(torch.empty(width).uniform_(-bound, bound))

    def score(self, features: Tensor) -> Tensor:
        """Return scores g = w·f(x), one per row of f's output.

        Matrix products may round the same row differently at another index of a batch, so score each
        document once and compare the scores, as `DirectRankerNet` does.

        >>> RankingHead(3).score(torch.zeros(2, 3)).shape
        torch.Size([2])
        """
        if features.shape[-1:] != self.weight.shape:
            raise ValueError(
                f"features have shape {tuple(features.shape)}; the head takes rows of {len(self.weight)}"
            )
        return features @ self.weight

    def compare(self, scores_x: Tensor, scores_y: Tensor) -> Tensor:
        """Return r = τ(g(x) − g(y)) from scores, exactly antisymmetric and with the exact sign.

        >>> RankingHead(3, "identity").compare(torch.tensor([1e-45, 2.0]), torch.tensor([0.0, 2.0]))
        tensor([1.4013e-45, 0.0000e+00])
        """
        return _compare(scores_x, scores_y, self.activation)

    def forward(self, features_x: Tensor, features_y: Tensor) -> Tensor:
        """Return r row by row, from f(x) and f(y)."""
        return self.compare(self.score(features_x), self.score(features_y))

    def extra_repr(self) -> str:
        """Return the text between the brackets of the module's repr."""
        return f"n_inputs={len(self.weight)}, activation={self.activation_name}"


def compare_scores(
    scores_x: ArrayLike, scores_y: ArrayLike, activation: str | Activation = "tanh"
) -> NDArray[np.floating]:
    """Return r = τ(g(x) − g(y)) for NumPy scores of any ranker, as exact as `RankingHead.compare`.

    Both may be numbers or arrays, which broadcast; float32 stays float32, other types become float64.

    >>> compare_scores(np.float32([1, 2, 2]), np.float32(2), activation="identity")
    array([-1.,  0.,  0.], dtype=float32)
    """
    tensors = [torch.from_numpy(np.array(scores)) for scores in (scores_x, scores_y)]
    single = all(tensor.dtype == torch.float32 for tensor in tensors)
    x, y = (tensor.to(torch.float32 if single else torch.float64) for tensor in tensors)
    with torch.no_grad():
        r: NDArray[np.floating] = _compare(x, y, resolve_odd_activation(activation)).numpy()
    return r


def _compare(scores_x: Tensor, scores_y: Tensor, activation: Activation) -> Tensor:
    """Return sign(g(x) − g(y)) · τ(|g(x) − g(y)|): antisymmetric however τ rounds.

    The sign comes from comparing the scores, so it is right where their difference overflows, where τ
    underflows to 0, and for infinite scores. A NaN score gives a NaN r. This needs subnormal numbers, so it
    does not hold with `torch.set_flush_denormal(True)`.
    """
    limits = torch.finfo(torch.result_type(scores_x, scores_y))
    # ∞ − ∞ is NaN; clamp to the largest numbers, and take the sign from the scores.
    difference = _clamp_finite(scores_x, limits.max) - _clamp_finite(scores_y, limits.max)
    is_below = scores_x < scores_y
    # Not abs(): its derivative at 0 is 0, so ties would have no gradient.
    size = _clamp_finite(torch.where(is_below, -difference, difference), limits.max)
    is_trusted = activation in ODD_ACTIVATIONS.values() or size.requires_grad
    # + 0.0 turns a τ(0) of −0.0 into 0.0.
    r = (_apply_in_full_blocks if is_trusted else _apply_to_distinct)(activation, size) + 0.0
    lifted = r.clamp(min=limits.smallest_normal * limits.eps)
    r = torch.where(is_below | (scores_x > scores_y), lifted, r)
    return torch.where(is_below, -r, r)


def _apply_in_full_blocks(activation: Activation, x: Tensor) -> Tensor:
    """Return τ(x), with the same result for the same number at any index.

    Torch processes the last elements of a tensor, or of a thread's slice of it, with another routine than the
    rest, and the two may differ in the last bit (torch.sinh does). Full blocks have no such remainder.
    """
    flat = x.reshape(-1)
    padded = torch.cat([flat, flat.new_zeros(-len(flat) % LANES)])
    values = torch.cat([activation(block) for block in torch.split(padded, BLOCK)])
    return values[: len(flat)].reshape(x.shape)


def _apply_to_distinct(activation: Activation, x: Tensor) -> Tensor:
    """Evaluate τ once per distinct number, so that r(x, y) = −r(y, x) even if τ depends on the index."""
    distinct, index = torch.unique(x, return_inverse=True)
    values = _apply_in_full_blocks(activation, distinct)
    undefined = values.isnan() & ~distinct.isnan()
    if undefined.any():
        raise ValueError(
            f"the head's activation {activation_name(activation)} is not a number at "
            f"x = {float(distinct[undefined][0]):.6g}; pass one that is odd and defined for all numbers"
        )
    return values[index]


def _clamp_finite(scores: Tensor, largest: float) -> Tensor:
    return scores.clamp(-largest, largest)
