"""A fast forward and backward pass of plain perceptrons, for training on the CPU.

Torch runs each operation of a layer separately, allocates its output and draws dropout's random numbers
sequentially; for small nets this takes longer than the matrix products. Here torch computes the products, and
the operations between them run in place, in memory that is reused from batch to batch. Up to rounding, the
gradient is that of torch's own pass. Features of a piecewise-linear encoding may be given as `FilledBins`.

>>> from directranker.nn.direct_ranker_net import DirectRankerNet
>>> net = DirectRankerNet.build((3,), hidden_layers=(8,), activation="tanh", random_state=0)
>>> X = torch.rand(4, 3)
>>> torch.allclose(make_training_scorer(net)(X), net(X), atol=1e-6)
True
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from directranker.arrays import Float32Array
from directranker.encoding.filled_bins import FilledBins
from directranker.nn.activation_kernels import (
    backward_head_and_relu,
    backward_tanh,
    forward_relu_dropout,
    forward_tanh,
)
from directranker.nn.bin_layer import add_bin_products, compute_bin_gradient
from directranker.nn.direct_ranker_net import DirectRankerNet
from directranker.nn.workspace import Workspace

__all__ = ["Inputs", "Scorer", "has_fast_pass", "make_training_scorer"]

Inputs = Tensor | FilledBins
Scorer = Callable[[Any], Tensor]
"""Scores `Inputs`; only tensors where it is a torch module."""

Workspaces = defaultdict[tuple[str, int], Workspace]
"""The buffers of each layer's outputs and of their gradients."""


def has_fast_pass(net: nn.Module) -> bool:
    """Whether the net is a plain perceptron, whose fast pass also takes `FilledBins`."""
    return _find_common_activation(net) is not None


def make_training_scorer(net: nn.Module) -> Scorer:
    """Return the function that scores documents in training: the fast pass of a plain perceptron, or the net.

    Plain perceptrons have tanh layers, or ReLU layers with or without dropout. Dropout is off in evaluation
    mode.

    >>> make_training_scorer(nn.Linear(2, 1))
    Linear(in_features=2, out_features=1, bias=True)
    """
    activation = _find_common_activation(net)
    if activation is None or not isinstance(net, DirectRankerNet):
        return net
    layers = [module for module in net.feature_net.children() if isinstance(module, nn.Linear)]
    parameters = [parameter for layer in layers for parameter in (layer.weight, layer.bias)]
    workspaces: Workspaces = defaultdict(Workspace)
    without_dropout = _ReLU(0.0) if isinstance(activation, _ReLU) else activation

    def score(X: Inputs) -> Tensor:
        current = activation if net.training else without_dropout
        return _PerceptronPass.apply(X, current, workspaces, net.head.weight, *parameters)  # type: ignore[no-untyped-call, no-any-return]

    return score


class _Tanh:
    """The tanh of a layer."""

    factor = 1.0

    def forward(self, values: Tensor) -> None:
        forward_tanh(_flatten(values))

    def backward(self, gradient: Tensor, outputs: Tensor) -> None:
        """Multiply a gradient, already scaled by `factor`, by the derivative at `outputs`, in place."""
        backward_tanh(_flatten(gradient), _flatten(outputs))

    def backward_from_head(
        self, score_gradient: Tensor, head: Tensor, outputs: Tensor, out: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Write the gradient of the last layer's sums to `out`; return those of the head and of the bias."""
        torch.outer(score_gradient, head, out=out)
        self.backward(out, outputs)
        return outputs.T @ score_gradient, out.sum(0)


class _ReLU:
    """The ReLU of a layer with dropout after it; its random keys come from torch's generator."""

    def __init__(self, dropout: float) -> None:
        self.dropped = np.uint32(round(dropout * 2**32))
        self.factor = 1 / (1 - dropout)

    def forward(self, values: Tensor) -> None:
        if not self.dropped:
            values.relu_()
            return
        keys = torch.randint(2**32, (2,)).numpy().astype(np.uint32)
        forward_relu_dropout(_flatten(values), self.dropped, np.float32(self.factor), *keys)

    def backward(self, gradient: Tensor, outputs: Tensor) -> None:
        """Do as `_Tanh.backward`, with torch's multi-threaded operation."""
        torch.ops.aten.threshold_backward.grad_input(gradient, outputs, 0, grad_input=gradient)

    def backward_from_head(
        self, score_gradient: Tensor, head: Tensor, outputs: Tensor, out: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Do as `_Tanh.backward_from_head`."""
        head_gradient, bias_gradient = torch.zeros(2, len(head), dtype=torch.float64)
        backward_head_and_relu(
            score_gradient.contiguous().numpy(),
            head.numpy(),
            outputs.numpy(),
            np.float32(self.factor),
            out.numpy(),
            head_gradient.numpy(),
            bias_gradient.numpy(),
        )
        return head_gradient.float(), bias_gradient.float()


def _flatten(tensor: Tensor) -> Float32Array:
    flat: Float32Array = tensor.view(-1).numpy()
    return flat


def _find_common_activation(net: nn.Module) -> _Tanh | _ReLU | None:
    """Return the activation of all layers of a float32 perceptron on the CPU; None for other nets."""
    if type(net) is not DirectRankerNet or type(net.feature_net) is not nn.Sequential:
        return None
    if any(module._forward_hooks or module._forward_pre_hooks for module in net.modules()):
        return None
    if any(weight.device.type != "cpu" or weight.dtype != torch.float32 for weight in net.parameters()):
        return None
    modules = list(net.feature_net.children())
    kinds = [type(module) for module in modules]
    rates = {module.p for module in modules if isinstance(module, nn.Dropout)}
    if not kinds or len(rates) > 1:
        return None
    if kinds == [nn.Linear, nn.Tanh] * (len(kinds) // 2):
        return _Tanh()
    layer = [nn.Linear, nn.ReLU, nn.Dropout] if rates else [nn.Linear, nn.ReLU]
    return _ReLU(max(rates, default=0.0)) if kinds == layer * (len(kinds) // len(layer)) else None


class _PerceptronPass(torch.autograd.Function):
    """The scores of rows, given the head's weight, and weight and bias (or None) of each layer in turn."""

    @staticmethod
    def forward(
        ctx: Any,
        X: Inputs,
        activation: _Tanh | _ReLU,
        workspaces: Workspaces,
        head: Tensor,
        *layers: Tensor | None,
    ) -> Tensor:
        inputs, outputs = X, list[Tensor]()
        for number, (weight, bias) in enumerate(_pair_weights_and_biases(layers)):
            output = workspaces["output", number].rows(len(X), (len(weight),))
            inputs = _apply_linear(inputs, weight, bias, output)
            activation.forward(inputs)
            outputs.append(inputs)
        ctx.save_for_backward(head, *outputs)
        ctx.X, ctx.activation, ctx.workspaces, ctx.layers = X, activation, workspaces, layers
        return outputs[-1] @ head

    @staticmethod
    def backward(ctx: Any, *output_gradients: Tensor) -> tuple[Tensor | None, ...]:
        head, *outputs = ctx.saved_tensors
        (score_gradient,) = output_gradients
        layers, n_rows, inputs = _pair_weights_and_biases(ctx.layers), len(score_gradient), [ctx.X, *outputs]
        gradient = ctx.workspaces["gradient", len(layers)].rows(n_rows, head.shape)
        head_gradient, bias_gradient = ctx.activation.backward_from_head(
            score_gradient, head.detach(), outputs[-1], gradient
        )
        gradients: list[Tensor | None] = []
        for number, (weight, bias) in reversed(list(enumerate(layers))):
            gradients[:0] = [
                _compute_weight_gradient(inputs[number], gradient, weight.shape[1]),
                None if bias is None else bias_gradient,
            ]
            if number:
                buffer = ctx.workspaces["gradient", number].rows(n_rows, weight.shape[1:])
                gradient = torch.mm(gradient, weight * ctx.activation.factor, out=buffer)
                ctx.activation.backward(gradient, inputs[number])
                bias_gradient = gradient.sum(0)
        return (None, None, None, head_gradient, *gradients)


def _apply_linear(inputs: Inputs, weight: Tensor, bias: Tensor | None, out: Tensor) -> Tensor:
    if isinstance(inputs, FilledBins):
        return add_bin_products(inputs, weight, out.zero_() if bias is None else out.copy_(bias))
    if bias is None:
        return torch.mm(inputs, weight.T, out=out)
    return torch.addmm(bias, inputs, weight.T, out=out)


def _compute_weight_gradient(inputs: Inputs, gradient: Tensor, n_columns: int) -> Tensor:
    if isinstance(inputs, FilledBins):
        return compute_bin_gradient(inputs, gradient, n_columns)
    return gradient.T @ inputs


def _pair_weights_and_biases(layers: tuple[Tensor | None, ...]) -> list[tuple[Tensor, Tensor | None]]:
    weights, biases = layers[::2], layers[1::2]
    return [(weight, bias) for weight, bias in zip(weights, biases, strict=True) if weight is not None]
