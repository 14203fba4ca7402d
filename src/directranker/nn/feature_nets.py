"""f of the DirectRanker: the feature part, any torch module; by default a multi-layer perceptron.

The paper leaves f free: it only has to be the same function for both documents of a pair. A net is given
as a module, as a function that makes one from the number of features, or left out for a perceptron.

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

from directranker.nn.checking import counts
from directranker.nn.perceptron import DEFAULT_LAYERS, MlpOptions, feature_mlp

__all__ = ["BuiltFeatureNet", "FeatureNet", "build_feature_net", "output_width", "seeded"]

FeatureNet = nn.Module | Callable[[Any], nn.Module] | None
"""A module, a function `n_features → module`, or None for a multi-layer perceptron."""


class BuiltFeatureNet(NamedTuple):
    """A feature net ready for use, and how many features it makes of a document."""

    module: nn.Module
    width: int


def build_feature_net(
    feature_net: FeatureNet, input_shape: Sequence[int], **mlp_options: Unpack[MlpOptions]
) -> BuiltFeatureNet:
    """The feature net for documents of `input_shape`, tried out once on two rows of zeros.

    A module is copied, so that training never changes the given one. A function is called with the number
    of features, or with the whole shape if a document has several dimensions, such as (1, 8, 8) for an
    image. None makes `feature_mlp` with the options, which count only for it; several dimensions are
    flattened first. Wrap the call in `seeded` for the same weights every time.

    >>> build_feature_net(lambda n_features: nn.Linear(n_features, 5), (3,)).width
    5
    >>> build_feature_net(nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten()), (1, 8, 8)).width
    72
    """
    shape = _checked_shape(input_shape)
    module: Any = feature_net
    if feature_net is None:
        module = _default_net(shape, **mlp_options)
        if isinstance(mlp_options.get("activation", ""), str):
            # Its width is known, and a trial on the meta device would import torch's compiler, for seconds.
            hidden_layers = mlp_options.get("hidden_layers", DEFAULT_LAYERS)
            return BuiltFeatureNet(module, int([math.prod(shape), *hidden_layers][-1]))
    elif isinstance(feature_net, nn.Module):
        module = copy.deepcopy(feature_net)
    elif callable(feature_net):
        module = feature_net(shape[0] if len(shape) == 1 else shape)
    if not isinstance(module, nn.Module):
        raise TypeError(
            f"the feature net is {module!r}; give a torch.nn.Module, or a function that makes one from "
            "the number of features"
        )
    return BuiltFeatureNet(module, output_width(module, shape))


def output_width(module: nn.Module, input_shape: Sequence[int]) -> int:
    """How many features a net makes of a document, found with two rows of zeros.

    The net is in evaluation mode for that moment, and then each of its parts in the mode it was in. The
    global random state stays as it is.

    >>> output_width(nn.Linear(3, 5), (3,))
    5
    >>> output_width(nn.Conv2d(1, 2, 3), (1, 8, 8))
    Traceback (most recent call last):
    ValueError: the feature net makes (2, 2, 6, 6) of an input of shape (2, 1, 8, 8); it must make a row of
    features per document, (2, width); end it in torch.nn.Flatten()
    """
    rows = _zero_rows(module, _checked_shape(input_shape))
    with _evaluating(module), torch.no_grad():
        try:
            features = module(rows)
        except Exception as error:
            raise ValueError(
                f"the feature net fails on an input of shape {tuple(rows.shape)}: {error}; "
                f"it must take documents of shape {tuple(rows.shape[1:])}"
            ) from error
    return _checked_width(features, rows)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw from a seed of one's own inside the block; afterwards the global state is as it was before.

    Modules take their first weights from torch's global generator and nowhere else, which is why it is
    set for the moment and put back. Another thread that draws at that moment would see it.

    >>> with seeded(3):
    ...     first = nn.Linear(2, 1).weight
    >>> with seeded(3):
    ...     second = nn.Linear(2, 1).weight
    >>> torch.equal(first, second)
    True
    """
    # Only the generator of the CPU, where modules are made; torch.manual_seed would reach every device.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(int(seed))
        yield


def _default_net(shape: tuple[int, ...], **mlp_options: Unpack[MlpOptions]) -> nn.Sequential:
    mlp = feature_mlp(math.prod(shape), **mlp_options)
    if len(shape) == 1:
        return mlp
    return nn.Sequential(OrderedDict(flatten=nn.Flatten(), **mlp._modules))


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training


def _zero_rows(module: nn.Module, shape: tuple[int, ...]) -> torch.Tensor:
    """Two documents of zeros, of the kind and on the device of the net's weights."""
    parameter = next((one for one in module.parameters() if one.is_floating_point()), torch.empty(0))
    return torch.zeros(2, *shape, dtype=parameter.dtype, device=parameter.device)


def _checked_width(features: Any, rows: torch.Tensor) -> int:
    is_tensor = isinstance(features, torch.Tensor)
    if is_tensor and features.ndim == 2 and len(features) == len(rows) and features.shape[1] > 0:
        return int(features.shape[1])
    got = tuple(features.shape) if is_tensor else type(features).__name__
    fix = "; end it in torch.nn.Flatten()" if is_tensor and features.ndim > 2 else ""
    raise ValueError(
        f"the feature net makes {got} of an input of shape {tuple(rows.shape)}; "
        f"it must make a row of features per document, (2, width){fix}"
    )


def _checked_shape(input_shape: Sequence[int]) -> tuple[int, ...]:
    wanted = "the shape of one document, such as (136,) or (1, 8, 8)"
    shape = counts("input_shape", input_shape, wanted=wanted)
    if not shape:
        raise ValueError(f"input_shape is empty; give {wanted}")
    return shape
