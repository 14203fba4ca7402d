"""The default feature net: a multi-layer perceptron that ends in its last hidden layer.

>>> feature_mlp(4, hidden_layers=(8, 3), activation="tanh", dropout=0.5)
Sequential(
  (linear_1): Linear(in_features=4, out_features=8, bias=True)
  (activation_1): Tanh()
  (dropout_1): Dropout(p=0.5, inplace=False)
  (linear_2): Linear(in_features=8, out_features=3, bias=True)
  (activation_2): Tanh()
  (dropout_2): Dropout(p=0.5, inplace=False)
)
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypedDict

from torch import nn

from directranker.nn.checking import validate_count, validate_counts
from directranker.suggestions import describe_unknown_name

__all__ = [
    "DEFAULT_LAYERS",
    "FEATURE_ACTIVATIONS",
    "NORMALISATIONS",
    "MlpOptions",
    "feature_mlp",
    "validate_layers",
]

ModuleFactory = Callable[[], nn.Module]
DEFAULT_LAYERS = (64,)

FEATURE_ACTIVATIONS: dict[str, ModuleFactory] = {
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "gelu": nn.GELU,
    "elu": nn.ELU,
    "leaky_relu": nn.LeakyReLU,
    "silu": nn.SiLU,
    "sigmoid": nn.Sigmoid,
    "softplus": nn.Softplus,
    "softsign": nn.Softsign,
    "identity": nn.Identity,
}
"""The activations of f by name; unlike the head's they need not be odd."""

NORMALISATIONS: dict[str, Callable[[int], nn.Module]] = {"batch": nn.BatchNorm1d, "layer": nn.LayerNorm}
"""The normalisations after each linear layer by name.

In training, `batch` couples the documents of a batch; in evaluation each is scored independently.
"""


class MlpOptions(TypedDict, total=False):
    """The options of `feature_mlp` as keyword arguments."""

    hidden_layers: Sequence[int]
    activation: str | ModuleFactory
    dropout: float
    bias: bool
    normalisation: str | None


def feature_mlp(
    n_features: int,
    *,
    hidden_layers: Sequence[int] = DEFAULT_LAYERS,
    activation: str | ModuleFactory = "relu",
    dropout: float = 0.0,
    bias: bool = True,
    normalisation: str | None = None,
) -> nn.Sequential:
    """Build a perceptron without an output layer, since the ranking head follows.

    Each hidden layer is linear, followed by `normalisation` (None, "batch" or "layer"), `activation` (a name,
    or a function that builds a module, such as `torch.nn.PReLU`) and `dropout`. Without hidden layers f is
    the identity, and the ranker is linear.

    >>> feature_mlp(4, hidden_layers=())
    Sequential()
    >>> feature_mlp(4, normalisation="btach")
    Traceback (most recent call last):
    ValueError: normalisation 'btach' is unknown; did you mean 'batch'? Choose from 'batch', 'layer', None
    """
    n_inputs = validate_count("n_features", n_features, wanted="a whole number of at least 1")
    widths, make_activation = validate_layers(hidden_layers, activation, dropout, normalisation)
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for number, (width_in, width_out) in enumerate(pairwise((n_inputs, *widths)), start=1):
        layers[f"linear_{number}"] = nn.Linear(width_in, width_out, bias=bias)
        if normalisation is not None:
            layers[f"normalisation_{number}"] = NORMALISATIONS[normalisation](width_out)
        layers[f"activation_{number}"] = make_activation()
        if dropout > 0:
            layers[f"dropout_{number}"] = nn.Dropout(dropout)
    return nn.Sequential(layers)


def validate_layers(
    hidden_layers: object, activation: object, dropout: float, normalisation: str | None
) -> tuple[tuple[int, ...], ModuleFactory]:
    """Validate the options of the layers; return their widths and the factory of their activations.

    >>> validate_layers((8, 3), "relu", 0.5, None)
    ((8, 3), <class 'torch.nn.modules.activation.ReLU'>)
    """
    widths = validate_counts(
        "hidden_layers", hidden_layers, wanted="the layer widths, such as (100, 50), (64,) or ()"
    )
    make_activation = _resolve_activation(activation)
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout is {dropout!r}; pass a fraction of at least 0 and below 1")
    if normalisation is not None and normalisation not in NORMALISATIONS:
        raise ValueError(describe_unknown_name("normalisation", normalisation, [*NORMALISATIONS, None]))
    return widths, make_activation


def _resolve_activation(activation: object) -> ModuleFactory:
    if isinstance(activation, str):
        if activation not in FEATURE_ACTIVATIONS:
            raise ValueError(describe_unknown_name("activation", activation, FEATURE_ACTIVATIONS))
        return FEATURE_ACTIVATIONS[activation]
    if isinstance(activation, nn.Module) or not callable(activation):
        raise TypeError(
            f"activation is {activation!r}; pass a name, such as 'relu', or a function that builds a module, "
            "such as torch.nn.ReLU"
        )
    return lambda: _build_activation(activation)


def _build_activation(build: Callable[[], object]) -> nn.Module:
    module = build()
    if not isinstance(module, nn.Module):
        raise TypeError(
            f"activation() returns {module!r}; pass a function that builds a module, such as torch.nn.ReLU"
        )
    return module
