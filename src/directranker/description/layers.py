"""Read the layers of a feature net from its modules.

Batch normalisation is a fixed rescaling once a net is trained, so it is folded into the layer before it.

>>> import torch
>>> net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh(), torch.nn.Dropout(0.5))
>>> [(layer.weight.shape, layer.activation) for layer in read_layers(net)]
[((2, 3), 'tanh')]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from torch import Tensor, nn

from directranker.arrays import Float32Array
from directranker.description.model import IDENTITY, Layer, LayerNorm
from directranker.errors import ExportError
from directranker.nn.perceptron import FEATURE_ACTIVATIONS

__all__ = ["read_layers"]

# The repr of a module with its default options, and the name of its activation.
ACTIVATIONS = {repr(make()): name for name, make in FEATURE_ACTIVATIONS.items()}


def read_layers(net: nn.Module) -> tuple[Layer, ...]:
    """Read the layers of a feature net; raise an ExportError for a module that directranker does not use."""
    layers: list[Layer] = []
    for module in _iterate_leaves(net):
        if isinstance(module, nn.Linear):
            layers.append(_read_linear(module))
        elif isinstance(module, nn.Dropout | nn.Identity | nn.Flatten):
            continue
        elif not layers or layers[-1].activation != IDENTITY:
            raise _unknown_module(module, "without a linear layer before it")
        else:
            layers[-1] = _append_module(layers[-1], module)
    return tuple(layers)


def _iterate_leaves(net: nn.Module) -> Iterator[nn.Module]:
    if isinstance(net, nn.Sequential) and type(net).forward is nn.Sequential.forward:
        for module in net:
            yield from _iterate_leaves(module)
    else:
        yield net


def _read_linear(module: nn.Linear) -> Layer:
    weight = _to_array(module.weight)
    return Layer(weight, _read_bias(module.bias, len(weight)))


def _append_module(layer: Layer, module: nn.Module) -> Layer:
    if isinstance(module, nn.LayerNorm) and layer.normalisation is None and module.elementwise_affine:
        bias = _read_bias(module.bias, len(layer.bias))
        return replace(layer, normalisation=LayerNorm(_to_array(module.weight), bias, module.eps))
    if isinstance(module, nn.BatchNorm1d) and layer.normalisation is None and module.affine:
        return _fold_batch_norm(layer, module)
    if repr(module) in ACTIVATIONS:
        return replace(layer, activation=ACTIVATIONS[repr(module)])
    raise _unknown_module(module, "in the feature net")


def _fold_batch_norm(layer: Layer, module: nn.BatchNorm1d) -> Layer:
    if module.running_mean is None or module.running_var is None:
        raise _unknown_module(module, "without running averages")
    mean, variance = (
        _to_array(buffer).astype(np.float64) for buffer in (module.running_mean, module.running_var)
    )
    factor = _to_array(module.weight) / np.sqrt(variance + module.eps)
    bias = (layer.bias - mean) * factor + _to_array(module.bias)
    return Layer((layer.weight * factor[:, None]).astype(np.float32), bias.astype(np.float32))


def _read_bias(bias: Tensor | None, n_outputs: int) -> Float32Array:
    return np.zeros(n_outputs, dtype=np.float32) if bias is None else _to_array(bias)


def _to_array(tensor: Tensor) -> Float32Array:
    return np.asarray(tensor.detach().numpy(), dtype=np.float32)


def _unknown_module(module: nn.Module, where: str) -> ExportError:
    name = repr(module)
    if any(module.children()):  # a net of the user's own: its class name is clearer than its long repr
        name, where = type(module).__name__, "in the feature net"
    return ExportError(
        f"a {name} {where} cannot be exported; train with hidden_layers and a named activation instead of a "
        "net of your own"
    )
