"""The layers of a feature net, read from its modules.

Batch normalisation is a fixed rescaling once a net is trained, so it is folded into the layer before it.

>>> import torch
>>> net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh(), torch.nn.Dropout(0.5))
>>> [(layer.weight.shape, layer.activation) for layer in layers_of(net)]
[((2, 3), 'tanh')]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor, nn

from directranker.arrays import Float32Array
from directranker.description.model import IDENTITY, Layer, LayerNorm
from directranker.errors import ExportError
from directranker.nn.perceptron import FEATURE_ACTIVATIONS

__all__ = ["layers_of"]

# How a module with its default options prints, and its name.
ACTIVATIONS = {repr(make()): name for name, make in FEATURE_ACTIVATIONS.items()}


def layers_of(net: nn.Module) -> tuple[Layer, ...]:
    """The layers of a feature net that is made of the modules that directranker itself makes."""
    layers: list[Layer] = []
    for module in _leaves(net):
        if isinstance(module, nn.Linear):
            layers.append(_linear(module))
        elif isinstance(module, nn.Dropout | nn.Identity | nn.Flatten):
            continue
        elif not layers or layers[-1].activation != IDENTITY:
            raise _unknown(module, "where no linear layer stands before it")
        else:
            layers[-1] = _followed_by(layers[-1], module)
    return tuple(layers)


def _leaves(net: nn.Module) -> Iterator[nn.Module]:
    if isinstance(net, nn.Sequential) and type(net).forward is nn.Sequential.forward:
        for part in net:
            yield from _leaves(part)
    else:
        yield net


def _linear(module: nn.Linear) -> Layer:
    weight = _array(module.weight)
    bias: Any = module.bias  # None where the layer has none, whatever torch's own types say
    return Layer(weight, np.zeros(len(weight), dtype=np.float32) if bias is None else _array(bias))


def _followed_by(layer: Layer, module: nn.Module) -> Layer:
    if isinstance(module, nn.LayerNorm) and layer.normalisation is None and module.elementwise_affine:
        bias: Any = module.bias
        shift = np.zeros_like(layer.bias) if bias is None else _array(bias)
        return replace(layer, normalisation=LayerNorm(_array(module.weight), shift, module.eps))
    if isinstance(module, nn.BatchNorm1d) and layer.normalisation is None and module.affine:
        return _folded(layer, module)
    if repr(module) in ACTIVATIONS:
        return replace(layer, activation=ACTIVATIONS[repr(module)])
    raise _unknown(module, "in the feature net")


def _folded(layer: Layer, module: nn.BatchNorm1d) -> Layer:
    if module.running_mean is None or module.running_var is None:
        raise _unknown(module, "without running averages")
    mean, variance = (_array(part).astype(np.float64) for part in (module.running_mean, module.running_var))
    factor = _array(module.weight) / np.sqrt(variance + module.eps)
    bias = (layer.bias - mean) * factor + _array(module.bias)
    return Layer((layer.weight * factor[:, None]).astype(np.float32), bias.astype(np.float32))


def _array(tensor: Tensor) -> Float32Array:
    return np.asarray(tensor.detach().numpy(), dtype=np.float32)


def _unknown(module: nn.Module, place: str) -> ExportError:
    name = repr(module)
    if any(module.children()):  # a net of its own, whose name says more than all its parts
        name, place = type(module).__name__, "in the feature net"
    return ExportError(
        f"a {name} {place} has no counterpart in an export; train with hidden_layers and a named "
        "activation instead of a net of your own"
    )
