"""τ, the activation of the ranking head: odd and sign-conserving, by name or as a validated function.

Theorem 1 of the DirectRanker paper needs τ(−x) = −τ(x) and sign(τ(x)) = sign(x): then r(x, y) = τ(g(x) −
g(y)) is reflexive, antisymmetric and transitive. A function that lacks these properties on a grid of numbers
raises an error with the reason. This is an early warning, not a proof: the function may fail between the
grid's numbers. So the laws of r do not rely on it: the head and the costs compute sign(x) · τ(|x|), and the
head makes r at least the smallest positive number where x > 0.

>>> resolve_odd_activation("half_tanh")(torch.tensor([-2.0, 0.0, 2.0]))
tensor([-0.7616,  0.0000,  0.7616])
>>> resolve_odd_activation("sigmoid")
Traceback (most recent call last):
ValueError: sigmoid is not odd: it is ½ at 0, so r(x, x) would be ½ and Theorem 1 fails; half_tanh,
2σ(x) − 1, is the odd form of it
>>> resolve_odd_activation(lambda x: x + 1)
Traceback (most recent call last):
ValueError: the head's activation <lambda> is 1 at x = 0 in float64; it must be 0 there, or r(x, x) is not 0
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from directranker.suggestions import describe_unknown_name

__all__ = ["ODD_ACTIVATIONS", "Activation", "activation_name", "make_odd", "resolve_odd_activation"]

Activation = Callable[[Tensor], Tensor]
"""An element-wise function of a tensor."""


def _half_tanh(x: Tensor) -> Tensor:
    return torch.tanh(x / 2)


def _arctan(x: Tensor) -> Tensor:
    return torch.arctan(x) * (2 / math.pi)


def _identity(x: Tensor) -> Tensor:
    return x


ODD_ACTIVATIONS: dict[str, Activation] = {
    "identity": _identity,
    "tanh": torch.tanh,
    "half_tanh": _half_tanh,
    "softsign": torch.nn.functional.softsign,
    "arctan": _arctan,
    "erf": torch.erf,
    "arcsinh": torch.arcsinh,
}
"""τ by name: x, tanh x, tanh(x/2) as in RankNet, x / (1 + |x|), (2/π)·arctan x, erf x, and arcsinh x.

All but `identity` and `arcsinh` stay within [−1, 1].
"""

_NOT_ZERO = "it is {0} at 0, so r(x, x) would be {0} and Theorem 1 fails; {1}"
_ONE_SIDED = "its negative side does not mirror its positive side, so r(x, y) = −r(y, x) fails; {0} is odd"
_REJECTION_REASONS = {
    "sigmoid": _NOT_ZERO.format("½", "half_tanh, 2σ(x) − 1, is the odd form of it"),
    "softplus": _NOT_ZERO.format("log 2", "arcsinh is odd"),
    "exp": _NOT_ZERO.format("1", "arcsinh is odd"),
    "softmax": "it is of all documents and never negative, so r(x, y) = −r(y, x) fails; tanh is odd",
    **dict.fromkeys(("relu", "leaky_relu", "elu", "selu", "gelu"), _ONE_SIDED.format("identity")),
    **dict.fromkeys(("silu", "swish", "mish"), _ONE_SIDED.format("softsign")),
}

DEAD_ZONE = {torch.float64: 1e-6, torch.float32: 1e-2}
"""Below this a τ may round to 0, as 2σ(x) − 1 does; the head restores the sign of such an r."""


def resolve_odd_activation(activation: str | Activation) -> Activation:
    """Return the τ of a name, or the given function after a check that it is odd and sign-conserving.

    The check evaluates the function in float64 and float32 at 0 and on a grid from the smallest number to the
    largest, with both signs. It tolerates rounding errors and cannot detect violations between the grid's
    numbers; the head computes antisymmetrically for any τ.

    >>> resolve_odd_activation("tanh") is torch.tanh
    True
    >>> resolve_odd_activation(torch.sinh) is torch.sinh
    True
    >>> resolve_odd_activation("tahn")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: the head's activation 'tahn' is unknown; did you mean 'tanh'? Choose from 'identity', ...
    """
    if isinstance(activation, str):
        return _look_up_activation(activation)
    if not callable(activation):
        raise TypeError(
            f"the head's activation is {activation!r}; pass a name, such as 'tanh', or a function of a tensor"
        )
    for dtype in (torch.float64, torch.float32):
        _check_odd(activation, dtype)
    return activation


def make_odd(activation: Activation) -> Activation:
    """Return sign(x) · τ(|x|) as a function: odd for any τ, and equal to τ where τ is odd.

    >>> make_odd(torch.exp)(torch.tensor([-1.0, 1.0]))
    tensor([-2.7183,  2.7183])
    """

    def odd(x: Tensor) -> Tensor:
        is_negative = x < 0
        # Not abs(): its derivative at 0 is 0, so ties would have no gradient.
        values = activation(torch.where(is_negative, -x, x))
        return torch.where(is_negative, -values, values)

    return odd


def activation_name(activation: str | Activation) -> str:
    """Return the name of an activation: its `__name__`, or that of its class.

    >>> activation_name("tanh"), activation_name(torch.sinh), activation_name(torch.nn.Hardtanh())
    ('tanh', 'sinh', 'Hardtanh')
    """
    if isinstance(activation, str):
        return activation
    return str(getattr(activation, "__name__", type(activation).__name__))


def _look_up_activation(name: str) -> Activation:
    if name in _REJECTION_REASONS:
        raise ValueError(f"{name} is not odd: {_REJECTION_REASONS[name]}")
    if name not in ODD_ACTIVATIONS:
        raise ValueError(describe_unknown_name("the head's activation", name, ODD_ACTIVATIONS))
    return ODD_ACTIVATIONS[name]


def _check_odd(activation: Activation, dtype: torch.dtype) -> None:
    grid = _make_grid(dtype)
    zero, one = _evaluate(activation, torch.tensor([0.0, 1.0], dtype=dtype))
    if zero != 0:
        raise _make_error(activation, 0.0, float(zero), dtype, "0 there, or r(x, x) is not 0")
    above, below = _evaluate(activation, grid), _evaluate(activation, -grid)
    rounding = 32 * torch.finfo(dtype).eps * torch.maximum(above.abs(), one.abs())
    # Infinite values may be equal though their difference is not a number.
    is_odd = (below == -above) | ((below + above).abs() <= rounding)
    _raise_for_first(~is_odd, activation, -grid, below, "odd, τ(−x) = −τ(x)")
    keeps_sign = (above > 0) | ((grid < DEAD_ZONE[dtype]) & (above >= -rounding))
    _raise_for_first(~keeps_sign, activation, grid, above, "above 0 for every x > 0, to conserve the sign")
    sample = (grid >= 1) & (grid <= 2)
    single = torch.cat([_evaluate(activation, x) for x in torch.split(grid[sample], 1)])
    differs = (single - above[sample]).abs() > rounding[sample]
    _raise_for_first(
        differs, activation, grid[sample], single, "element-wise, independent of the other elements"
    )


def _make_grid(dtype: torch.dtype) -> Tensor:
    """Return positive numbers: 1, the smallest, the largest, evenly spaced ones, and all magnitudes."""
    limits = torch.finfo(dtype)
    edges = torch.tensor([1.0, limits.tiny * limits.eps, limits.tiny, limits.max], dtype=torch.float64)
    exponents = torch.linspace(math.log10(limits.tiny), math.log10(limits.max), 1500, dtype=torch.float64)
    magnitudes = (10.0**exponents).clamp(max=limits.max)
    even = torch.linspace(0.01, 20.0, 500, dtype=torch.float64)
    return torch.cat([edges, even, magnitudes]).to(dtype)


def _evaluate(activation: Activation, x: Tensor) -> Tensor:
    name = activation_name(activation)
    try:
        with torch.no_grad():
            values: object = activation(x)
    except Exception as error:
        raise TypeError(f"the head's activation {name} fails on a {x.dtype} tensor: {error}") from error
    if not isinstance(values, Tensor) or values.shape != x.shape:
        got = tuple(values.shape) if isinstance(values, Tensor) else type(values).__name__
        raise TypeError(
            f"the head's activation {name} returns {got} for a tensor of shape {tuple(x.shape)}; "
            "pass a function that keeps the shape"
        )
    _raise_for_first(values.isnan(), activation, x, values, "a number")
    return values


def _raise_for_first(is_wrong: Tensor, activation: Activation, x: Tensor, values: Tensor, law: str) -> None:
    """Raise for the violation at the x nearest to 1, which is the easiest to understand."""
    indices = torch.nonzero(is_wrong).ravel()
    if len(indices):
        nearest = indices[x[indices].abs().log().abs().argmin()]
        raise _make_error(activation, float(x[nearest]), float(values[nearest]), x.dtype, law)


def _make_error(activation: Activation, x: float, value: float, dtype: torch.dtype, law: str) -> ValueError:
    name, kind = activation_name(activation), str(dtype).removeprefix("torch.")
    return ValueError(
        f"the head's activation {name} is {value:.6g} at x = {x:.6g} in {kind}; it must be {law}"
    )
