"""The scores of a perceptron, forward and backward, for training on a processor.

Torch takes each step of a layer by itself, into new memory each time, and draws dropout's random numbers one
after another; beside a small net's matrix products that is most of the time. Here the products are torch's,
and what is between them is done in place, in memory that stays from batch to batch. The gradient is that of
torch's own pass, but for rounding. Features of a piecewise-linear encoding may come as `FilledBins`.

>>> from directranker.nn.direct_ranker_net import DirectRankerNet
>>> net = DirectRankerNet.build((3,), hidden_layers=(8,), activation="tanh", random_state=0)
>>> X = torch.rand(4, 3)
>>> torch.allclose(training_pass(net)(X), net(X), atol=1e-6)
True
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from directranker.encoding.filled_bins import FilledBins
from directranker.nn.activation_kernels import (
    Floats,
    pull_through_tanh,
    rectify_and_drop,
    spread_through_rectifier,
    take_tanh,
)
from directranker.nn.bin_layer import bin_gradient, bin_sums
from directranker.nn.direct_ranker_net import DirectRankerNet
from directranker.nn.workspace import Workspace

__all__ = ["Inputs", "Scorer", "has_own_pass", "training_pass"]

Inputs = Tensor | FilledBins
Scorer = Callable[[Any], Tensor]
"""Scores of `Inputs`, or of a tensor where it is a net of torch's."""

Workspaces = defaultdict[tuple[str, int], Workspace]
"""The memory of each layer's outputs, and of what is pulled back through it."""


def has_own_pass(net: nn.Module) -> bool:
    """Whether it is a plain perceptron, whose quicker pass takes `FilledBins` too."""
    return _common_activation(net) is not None


def training_pass(net: nn.Module) -> Scorer:
    """What scores documents in training: the net, or the quicker pass where it is a plain perceptron.

    Plain are layers of tanh, and rectifiers with or without dropout, which there is in training mode only.

    >>> training_pass(nn.Linear(2, 1))
    Linear(in_features=2, out_features=1, bias=True)
    """
    activation = _common_activation(net)
    if activation is None or not isinstance(net, DirectRankerNet):
        return net
    layers = [module for module in net.feature_net.children() if isinstance(module, nn.Linear)]
    parameters = [parameter for layer in layers for parameter in (layer.weight, layer.bias)]
    rooms: Workspaces = defaultdict(Workspace)
    still = _Rectifier(0.0) if isinstance(activation, _Rectifier) else activation

    def scores(X: Inputs) -> Tensor:
        doing = activation if net.training else still
        return _PerceptronPass.apply(X, doing, rooms, net.head.weight, *parameters)  # type: ignore[no-untyped-call, no-any-return]

    return scores


class _Tanh:
    """A layer's tanh."""

    factor = 1.0

    def forward(self, values: Tensor) -> None:
        take_tanh(_flat(values))

    def backward(self, pulls: Tensor, outputs: Tensor) -> None:
        """Pull numbers, which are times `factor` already, through what gave `outputs`."""
        pull_through_tanh(_flat(pulls), _flat(outputs))

    def backward_from_head(
        self, pulls: Tensor, head: Tensor, outputs: Tensor, spread: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Write what the last layer gets into `spread` → (gradient of the head, of the layer's bias)."""
        torch.outer(pulls, head, out=spread)
        self.backward(spread, outputs)
        return outputs.T @ pulls, spread.sum(0)


class _Rectifier:
    """A layer's rectifier, with dropout after it; random keys come from torch's own generator."""

    def __init__(self, dropout: float) -> None:
        self.dropped = np.uint32(round(dropout * 2**32))
        self.factor = 1 / (1 - dropout)

    def forward(self, values: Tensor) -> None:
        if not self.dropped:
            values.relu_()
            return
        keys = torch.randint(2**32, (2,)).numpy().astype(np.uint32)
        rectify_and_drop(_flat(values), self.dropped, np.float32(self.factor), *keys)

    def backward(self, pulls: Tensor, outputs: Tensor) -> None:
        """As that of a tanh; by torch, which has all its threads for it."""
        torch.ops.aten.threshold_backward.grad_input(pulls, outputs, 0, grad_input=pulls)

    def backward_from_head(
        self, pulls: Tensor, head: Tensor, outputs: Tensor, spread: Tensor
    ) -> tuple[Tensor, Tensor]:
        """As that of a tanh."""
        of_head, of_bias = torch.zeros(2, len(head), dtype=torch.float64)
        spread_through_rectifier(
            pulls.contiguous().numpy(),
            head.numpy(),
            outputs.numpy(),
            np.float32(self.factor),
            spread.numpy(),
            of_head.numpy(),
            of_bias.numpy(),
        )
        return of_head.float(), of_bias.float()


def _flat(tensor: Tensor) -> Floats:
    flat: Floats = tensor.view(-1).numpy()
    return flat


def _common_activation(net: nn.Module) -> _Tanh | _Rectifier | None:
    """What all layers of a plain perceptron do, in float32 on the processor; None where it is another net."""
    if type(net) is not DirectRankerNet or type(net.feature_net) is not nn.Sequential:
        return None
    if any(module._forward_hooks or module._forward_pre_hooks for module in net.modules()):
        return None
    if any(one.device.type != "cpu" or one.dtype != torch.float32 for one in net.parameters()):
        return None
    modules = list(net.feature_net.children())
    kinds = [type(module) for module in modules]
    shares = {module.p for module in modules if isinstance(module, nn.Dropout)}
    if not kinds or len(shares) > 1:
        return None
    if kinds == [nn.Linear, nn.Tanh] * (len(kinds) // 2):
        return _Tanh()
    layer = [nn.Linear, nn.ReLU, nn.Dropout] if shares else [nn.Linear, nn.ReLU]
    return _Rectifier(max(shares, default=0.0)) if kinds == layer * (len(kinds) // len(layer)) else None


class _PerceptronPass(torch.autograd.Function):
    """Scores of rows by a head's weight, and by the weight and the bias, or None, of each layer."""

    @staticmethod
    def forward(
        ctx: Any,
        X: Inputs,
        activation: _Tanh | _Rectifier,
        rooms: Workspaces,
        head: Tensor,
        *layers: Tensor | None,
    ) -> Tensor:
        inputs, outputs = X, list[Tensor]()
        for number, (weight, bias) in enumerate(_pairs(layers)):
            output = rooms["output", number].rows(len(X), (len(weight),))
            inputs = _sums(inputs, weight, bias, output)
            activation.forward(inputs)
            outputs.append(inputs)
        ctx.save_for_backward(head, *outputs)
        ctx.X, ctx.activation, ctx.rooms, ctx.layers = X, activation, rooms, layers
        return outputs[-1] @ head

    @staticmethod
    def backward(ctx: Any, *pulls: Tensor) -> tuple[Tensor | None, ...]:
        head, *outputs = ctx.saved_tensors
        (of_scores,) = pulls
        layers, n_rows, inputs = _pairs(ctx.layers), len(of_scores), [ctx.X, *outputs]
        pull = ctx.rooms["pull", len(layers)].rows(n_rows, head.shape)
        of_head, of_bias = ctx.activation.backward_from_head(of_scores, head.detach(), outputs[-1], pull)
        gradients: list[Tensor | None] = []
        for number, (weight, bias) in reversed(list(enumerate(layers))):
            gradients[:0] = [
                _gradient(inputs[number], pull, weight.shape[1]),
                None if bias is None else of_bias,
            ]
            if number:
                room = ctx.rooms["pull", number].rows(n_rows, weight.shape[1:])
                pull = torch.mm(pull, weight * ctx.activation.factor, out=room)
                ctx.activation.backward(pull, inputs[number])
                of_bias = pull.sum(0)
        return (None, None, None, of_head, *gradients)


def _sums(inputs: Inputs, weight: Tensor, bias: Tensor | None, out: Tensor) -> Tensor:
    if isinstance(inputs, FilledBins):
        return bin_sums(inputs, weight, out.zero_() if bias is None else out.copy_(bias))
    if bias is None:
        return torch.mm(inputs, weight.T, out=out)
    return torch.addmm(bias, inputs, weight.T, out=out)


def _gradient(inputs: Inputs, pulls: Tensor, n_columns: int) -> Tensor:
    if isinstance(inputs, FilledBins):
        return bin_gradient(inputs, pulls, n_columns)
    return pulls.T @ inputs


def _pairs(layers: tuple[Tensor | None, ...]) -> list[tuple[Tensor, Tensor | None]]:
    weights, biases = layers[::2], layers[1::2]
    return [(weight, bias) for weight, bias in zip(weights, biases, strict=True) if weight is not None]
