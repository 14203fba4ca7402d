"""The feature net f of the DirectRanker: any torch module; by default a multi-layer perceptron.

The paper allows any f, as long as it is the same function for both documents of a pair. It is given as a
module, as a function that builds one from the number of features, or as None for a perceptron.

>>> build_feature_net(None, (4,), hidden_layers=(8, 3)).width
3
"""

from __future__ import annotations

import copy
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Unpack

import torch
from torch import nn

from directranker.nn.checking import validate_counts
from directranker.nn.perceptron import DEFAULT_LAYERS, MlpOptions, feature_mlp

__all__ = ["BuiltFeatureNet", "FeatureNet", "build_feature_net", "infer_output_width", "seeded"]

FeatureNet = nn.Module | Callable[[Any], nn.Module] | None
"""A module, a function `n_features → module`, or None for a multi-layer perceptron."""


class BuiltFeatureNet(NamedTuple):
    """A feature net and its output width."""

    module: nn.Module
    width: int


def build_feature_net(
    feature_net: FeatureNet, input_shape: Sequence[int], **mlp_options: Unpack[MlpOptions]
) -> BuiltFeatureNet:
    """Build the feature net for documents of `input_shape`, and test it on two rows of zeros.

    A module is copied, so that training never changes the original. A function is called with the number of
    features, or with the whole shape if a document has several dimensions, such as (1, 8, 8) for an image.
    None builds `feature_mlp` with `mlp_options`, which apply only to it; it flattens several dimensions
    first. Wrap the call in `seeded` for reproducible weights.

    >>> build_feature_net(lambda n_features: nn.Linear(n_features, 5), (3,)).width
    5
    >>> build_feature_net(nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten()), (1, 8, 8)).width
    72
    """
    shape = _validate_shape(input_shape)
    module: Any = feature_net
    if feature_net is None:
        module = _build_default_net(shape, **mlp_options)
        if isinstance(mlp_options.get("activation", ""), str):
            # Its width is known, and a test run would import torch's compiler, which takes seconds.
            hidden_layers = mlp_options.get("hidden_layers", DEFAULT_LAYERS)
            return BuiltFeatureNet(module, int([math.prod(shape), *hidden_layers][-1]))
    elif isinstance(feature_net, nn.Module):
        module = copy.deepcopy(feature_net)
    elif callable(feature_net):
        module = feature_net(shape[0] if len(shape) == 1 else shape)
    if not isinstance(module, nn.Module):
        raise TypeError(
            f"the feature net is {module!r}; pass a torch.nn.Module, or a function that builds one from "
            "the number of features"
        )
    return BuiltFeatureNet(module, infer_output_width(module, shape))


def infer_output_width(module: nn.Module, input_shape: Sequence[int]) -> int:
    """Return the output width of a net, found by a run on two rows of zeros.

    The net runs in evaluation mode; afterwards each of its modules is in its previous mode. The global random
    state is not changed.

    >>> infer_output_width(nn.Linear(3, 5), (3,))
    5
    >>> infer_output_width(nn.Conv2d(1, 2, 3), (1, 8, 8))
    Traceback (most recent call last):
    ValueError: the feature net returns (2, 2, 6, 6) for an input of shape (2, 1, 8, 8); it must return one
    row of features per document, (2, width); end it with torch.nn.Flatten()
    """
    rows = _make_zero_rows(module, _validate_shape(input_shape))
    with _evaluation_mode(module), torch.no_grad():
        try:
            features = module(rows)
        except Exception as error:
            raise ValueError(
                f"the feature net fails on an input of shape {tuple(rows.shape)}: {error}; "
                f"it must take documents of shape {tuple(rows.shape[1:])}"
            ) from error
    return _validate_width(features, rows)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's global generator inside the block, and restore its state afterwards.

    Modules initialise their weights from this generator only. It is global: another thread that draws random
    numbers inside the block is affected.

    >>> with seeded(3):
    ...     first = nn.Linear(2, 1).weight
    >>> with seeded(3):
    ...     second = nn.Linear(2, 1).weight
    >>> torch.equal(first, second)
    True
    """
    # Modules are built on the CPU; torch.manual_seed would seed every device.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(int(seed))
        yield


def _build_default_net(shape: tuple[int, ...], **mlp_options: Unpack[MlpOptions]) -> nn.Sequential:
    mlp = feature_mlp(math.prod(shape), **mlp_options)
    if len(shape) == 1:
        return mlp
    return nn.Sequential(OrderedDict(flatten=nn.Flatten(), **mlp._modules))


@contextmanager
def _evaluation_mode(module: nn.Module) -> Iterator[None]:
    modes = [(submodule, submodule.training) for submodule in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for submodule, training in modes:
            submodule.training = training


def _make_zero_rows(module: nn.Module, shape: tuple[int, ...]) -> torch.Tensor:
    """Return two documents of zeros with the dtype and on the device of the net's weights."""
    floats = (parameter for parameter in module.parameters() if parameter.is_floating_point())
    parameter = next(floats, torch.empty(0))
    return torch.zeros(2, *shape, dtype=parameter.dtype, device=parameter.device)


def _validate_width(features: object, rows: torch.Tensor) -> int:
    shape = tuple(features.shape) if isinstance(features, torch.Tensor) else ()
    if len(shape) == 2 and shape[0] == len(rows) and shape[1] > 0:
        return int(shape[1])
    got = shape if isinstance(features, torch.Tensor) else type(features).__name__
    fix = "; end it with torch.nn.Flatten()" if len(shape) > 2 else ""
    raise ValueError(
        f"the feature net returns {got} for an input of shape {tuple(rows.shape)}; "
        f"it must return one row of features per document, (2, width){fix}"
    )


def _validate_shape(input_shape: Sequence[int]) -> tuple[int, ...]:
    wanted = "the shape of one document, such as (136,) or (1, 8, 8)"
    shape = validate_counts("input_shape", input_shape, wanted=wanted)
    if not shape:
        raise ValueError(f"input_shape is empty; pass {wanted}")
    return shape
