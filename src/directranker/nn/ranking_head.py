"""o₁ of the DirectRanker: one neuron without bias whose odd activation τ makes r an order.

r(x, y) = τ(w·f(x) − w·f(y)) = τ(g(x) − g(y)) by Theorem 1 of the paper. Given one score per document, the
laws hold in floating point too, bit by bit, because r is made from the two *scores*: r(x, x) is 0.0, r(x, y)
is the exact negative of r(y, x), and the sign of r is that of g(x) − g(y) even where τ would round to 0 or,
being a function of one's own, is wrong. Sorting by g and sorting with the comparator r are therefore the
same.

>>> compare_scores([0.5, 2.0, 1.0], [0.5, 1.0, 2.0], activation="tanh").round(4).tolist()
[0.0, 0.7616, -0.7616]
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from directranker.nn.checking import count
from directranker.nn.odd_activations import (
    ODD_ACTIVATIONS,
    Activation,
    activation_name,
    odd_activation,
)

__all__ = ["RankingHead", "compare_scores"]

LANES = 64
"""A multiple of how many numbers any processor's vector routines take at once."""
BLOCK = 16_384
"""Less than torch shares among threads."""


class RankingHead(torch.nn.Module):
    """A weight vector without bias and a τ; there is no way to give it a bias.

    `activation` is a name in `ODD_ACTIVATIONS` or any odd, sign-conserving function. The weights start
    evenly within ±1/√n_inputs, as those of `torch.nn.Linear`.

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
        width = count("n_inputs", n_inputs, wanted="the width of the feature net, at least 1")
        self.activation = odd_activation(activation)
        self.activation_name = activation_name(activation)
        bound = 1 / math.sqrt(width)
        self.weight = torch.nn.Parameter(torch.empty(width).uniform_(-bound, bound))

    def score(self, features: Tensor) -> Tensor:
        """Scores g = w·f(x), one per row of f's output.

        Matrix products may round the same row differently in another place of a batch, so score each
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
        """Comparisons r = τ(g(x) − g(y)) from scores, exactly antisymmetric and with the exact sign.

        >>> RankingHead(3, "identity").compare(torch.tensor([1e-45, 2.0]), torch.tensor([0.0, 2.0]))
        tensor([1.4013e-45, 0.0000e+00])
        """
        return _compared(scores_x, scores_y, self.activation)

    def forward(self, features_x: Tensor, features_y: Tensor) -> Tensor:
        """Comparisons r row by row, from f(x) and f(y)."""
        return self.compare(self.score(features_x), self.score(features_y))

    def extra_repr(self) -> str:
        """What the printed module says inside its brackets."""
        return f"n_inputs={len(self.weight)}, activation={self.activation_name}"


def compare_scores(
    scores_x: ArrayLike, scores_y: ArrayLike, activation: str | Activation = "tanh"
) -> NDArray[np.floating]:
    """Comparisons r = τ(g(x) − g(y)) for NumPy scores of any ranker, as exact as `RankingHead.compare`.

    Both may be single numbers or arrays, which broadcast; float32 stays float32, all else is float64.

    >>> compare_scores(np.float32([1, 2, 2]), np.float32(2), activation="identity")
    array([-1.,  0.,  0.], dtype=float32)
    """
    tensors = [torch.from_numpy(np.array(scores)) for scores in (scores_x, scores_y)]
    single = all(tensor.dtype == torch.float32 for tensor in tensors)
    x, y = (tensor.to(torch.float32 if single else torch.float64) for tensor in tensors)
    with torch.no_grad():
        r: NDArray[np.floating] = _compared(x, y, odd_activation(activation)).numpy()
    return r


def _compared(scores_x: Tensor, scores_y: Tensor, activation: Activation) -> Tensor:
    """sign(g(x) − g(y)) · τ(|g(x) − g(y)|): antisymmetric whatever τ's own rounding is.

    The sign comes from comparing the scores, so it is right where their difference overflows, where τ
    underflows to 0, and for infinite scores. A score that is not a number gives an r that is none. All of
    it needs numbers below the normal ones, which `torch.set_flush_denormal(True)` would take away.
    """
    limits = torch.finfo(torch.result_type(scores_x, scores_y))
    # ∞ − ∞ is not a number; the largest numbers stand in, and their order is taken from the scores.
    difference = _finite(scores_x, limits.max) - _finite(scores_y, limits.max)
    below = scores_x < scores_y
    # Not abs(): its slope at 0 is 0, and a tie would get no gradient.
    size = _finite(torch.where(below, -difference, difference), limits.max)
    # + 0.0 makes 0.0 of a τ(0) of −0.0.
    known = activation in ODD_ACTIVATIONS.values() or size.requires_grad
    r = (_in_full_blocks if known else _of_distinct)(activation, size) + 0.0
    lifted = r.clamp(min=limits.smallest_normal * limits.eps)
    r = torch.where(below | (scores_x > scores_y), lifted, r)
    return torch.where(below, -r, r)


def _in_full_blocks(activation: Activation, x: Tensor) -> Tensor:
    """τ(x), the same for the same number wherever it stands.

    Torch takes the last elements of a tensor, or of a thread's share of it, through another routine than
    the rest, and the two may differ in the last bit (torch.sinh does). Full blocks have no last elements.
    """
    flat = x.reshape(-1)
    padded = torch.cat([flat, flat.new_zeros(-len(flat) % LANES)])
    values = torch.cat([activation(block) for block in torch.split(padded, BLOCK)])
    return values[: len(flat)].reshape(x.shape)


def _of_distinct(activation: Activation, x: Tensor) -> Tensor:
    """τ of each distinct number once, so that r(x, y) = −r(y, x) even if τ looks at where a number stands."""
    distinct, place = torch.unique(x, return_inverse=True)
    values = _in_full_blocks(activation, distinct)
    undefined = values.isnan() & ~distinct.isnan()
    if undefined.any():
        raise ValueError(
            f"the head's activation {activation_name(activation)} is not a number at "
            f"x = {float(distinct[undefined][0]):.6g}; give one that is odd and defined for all numbers"
        )
    return values[place]


def _finite(scores: Tensor, largest: float) -> Tensor:
    return scores.clamp(-largest, largest)
