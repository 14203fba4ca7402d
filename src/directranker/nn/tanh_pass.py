"""The scores of a perceptron with tanh, forward and backward, for training on a processor.

The paper's nets have tanh in their layers. Torch takes a tanh by itself, some five nanoseconds each, and as a
step of its own; beside a small net's matrix products that is most of the time. Here a tanh is e^2x by a
polynomial, vectorised, in place, and backward its slope is taken from what it gave. The gradient is that of
torch's own pass, but for rounding.

>>> from directranker.nn.direct_ranker_net import DirectRankerNet
>>> net = DirectRankerNet.build((3,), hidden_layers=(8,), activation="tanh", random_state=0)
>>> X = torch.rand(4, 3)
>>> torch.allclose(training_pass(net)(X), net(X), atol=1e-6)
True
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from directranker.compilation import compiled
from directranker.nn.direct_ranker_net import DirectRankerNet

__all__ = ["take_tanh", "training_pass"]

BLOCK = 2048  # numbers at a time, which stay in the nearest cache
LARGEST = np.float32(9.1)  # beyond it the tanh of a float32 is 1
TWICE_LOG2_E = np.float32(2 / math.log(2))
# 2^f for |f| ≤ ½ is Σ (f log 2)^n / n!, up to the digits of a float32.
C1, C2, C3, C4, C5, C6 = (np.float32(math.log(2) ** n / math.factorial(n)) for n in range(1, 7))
ONE, MAGIC = np.float32(1), np.float32(1.5 * 2**23)  # what is added to it is rounded to a whole number
EXPONENT_OF_ONE, MANTISSA_BITS = np.int32(127), np.int32(23)

Floats = NDArray[np.float32]


def training_pass(net: nn.Module) -> Callable[[Tensor], Tensor]:
    """What scores documents in training: the net, or the quicker pass where it is one of tanh layers.

    >>> training_pass(nn.Linear(2, 1))
    Linear(in_features=2, out_features=1, bias=True)
    """
    if type(net) is not DirectRankerNet or not _is_plain(net):
        return net
    layers = [module for module in net.feature_net.children() if isinstance(module, nn.Linear)]
    parameters = [parameter for layer in layers for parameter in (layer.weight, layer.bias)]

    def scores(X: Tensor) -> Tensor:
        taken: Tensor = _TanhPass.apply(X, net.head.weight, *parameters)  # type: ignore[no-untyped-call]
        return taken

    return scores


def _is_plain(net: DirectRankerNet) -> bool:
    """Whether it is a perceptron of tanh alone, into which nothing is hung, in float32 on the processor."""
    kinds = [type(module) for module in net.feature_net.children()]
    return (
        type(net.feature_net) is nn.Sequential
        and len(kinds) > 0
        and kinds == [nn.Linear, nn.Tanh] * (len(kinds) // 2)
        and not any(module._forward_hooks or module._forward_pre_hooks for module in net.modules())
        and all(one.device.type == "cpu" and one.dtype == torch.float32 for one in net.parameters())
    )


class _TanhPass(torch.autograd.Function):
    """Scores of rows by a head's weight, and by the weight and the bias, or None, of each layer."""

    @staticmethod
    def forward(ctx: Any, X: Tensor, head: Tensor, *layers: Tensor | None) -> Tensor:
        outputs = [X]
        for weight, bias in _pairs(layers):
            output = nn.functional.linear(outputs[-1], weight, bias)
            take_tanh(output.view(-1).numpy())
            outputs.append(output)
        ctx.save_for_backward(head, *outputs)
        ctx.layers = layers
        return outputs[-1] @ head

    @staticmethod
    def backward(ctx: Any, *pulls: Tensor) -> tuple[Tensor | None, ...]:
        head, *outputs = ctx.saved_tensors
        (pull,) = pulls
        of_head, pull = outputs[-1].T @ pull, torch.outer(pull, head)
        gradients: list[Tensor | None] = []
        for number, (weight, bias) in reversed(list(enumerate(_pairs(ctx.layers)))):
            take_slopes(pull.view(-1).numpy(), outputs[number + 1].view(-1).numpy())
            of_bias = None if bias is None else pull.sum(0)
            gradients[:0] = [pull.T @ outputs[number], of_bias]
            pull = pull @ weight if number else pull
        return (None, of_head, *gradients)


def _pairs(layers: tuple[Tensor | None, ...]) -> list[tuple[Tensor, Tensor | None]]:
    weights, biases = layers[::2], layers[1::2]
    return [(weight, bias) for weight, bias in zip(weights, biases, strict=True) if weight is not None]


def take_tanh(values: Floats) -> None:
    """Put the tanh of each number in its place; NaN stays."""
    powers = np.empty(min(BLOCK, len(values)), dtype=np.int32)
    tanh_in_place(values, powers, powers.view(np.float32))


@compiled
def tanh_in_place(values: Floats, powers: NDArray[np.int32], factors: Floats) -> None:
    """The same; `powers` and `factors` are the same memory, for the bits of a power of two."""
    for start in range(0, len(values), BLOCK):
        block = values[start : start + BLOCK]
        for at in range(len(block)):
            x = min(max(block[at], -LARGEST), LARGEST) * TWICE_LOG2_E
            whole = (x + MAGIC) - MAGIC
            f = x - whole
            powers[at] = (np.int32(whole) + EXPONENT_OF_ONE) << MANTISSA_BITS
            block[at] = ((((((C6 * f + C5) * f + C4) * f + C3) * f + C2) * f + C1) * f) + ONE
        for at in range(len(block)):
            e = block[at] * factors[at]
            block[at] = (e - ONE) / (e + ONE)


@compiled
def take_slopes(pulls: Floats, outputs: Floats) -> None:
    """Multiply each number by the slope of the tanh that gave `outputs`."""
    for at in range(len(pulls)):
        pulls[at] *= ONE - outputs[at] * outputs[at]
