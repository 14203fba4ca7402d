"""Validation of τ: only odd and sign-conserving functions are accepted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from directranker.nn import ODD_ACTIVATIONS, resolve_odd_activation

VALUES: dict[str, Callable[[float], float]] = {
    "identity": lambda x: x,
    "tanh": math.tanh,
    "half_tanh": lambda x: math.tanh(x / 2),
    "softsign": lambda x: x / (1 + abs(x)),
    "arctan": lambda x: 2 / math.pi * math.atan(x),
    "erf": math.erf,
    "arcsinh": math.asinh,
}


@pytest.mark.parametrize("name", ODD_ACTIVATIONS)
def test_named_activations_have_their_values_and_pass_the_check(name: str) -> None:
    tau = resolve_odd_activation(name)
    for x in (-30.0, -1.5, -1e-3, 0.0, 0.25, 7.0):
        assert tau(torch.tensor(x, dtype=torch.float64)).item() == pytest.approx(VALUES[name](x), rel=1e-14)
    assert resolve_odd_activation(tau) is tau


@pytest.mark.parametrize(
    "tau",
    [
        lambda x: x**3,
        lambda x: x + torch.sin(x),
        torch.sinh,
        lambda x: 2 * torch.sigmoid(x) - 1,  # rounds to 0 near 0
        lambda x: x - torch.tanh(x),
        lambda x: x / torch.hypot(x, torch.ones_like(x)),
        lambda x: 1e-30 * x,
        torch.nn.Hardtanh(),
        torch.sign,
    ],
)
def test_odd_functions_are_accepted(tau: Callable[[Tensor], Tensor]) -> None:
    assert resolve_odd_activation(tau) is tau


@pytest.mark.parametrize(
    ("tau", "message"),
    [
        (torch.sigmoid, "sigmoid is 0.5 at x = 0 in float64; it must be 0 there"),
        (torch.nn.Softplus(), "Softplus is 0.693147 at x = 0"),
        (torch.cos, "cos is 1 at x = 0"),
        (lambda x: x + 1, "is 1 at x = 0"),
        (torch.relu, "relu is 0 at x = -1 .*; it must be odd"),
        (lambda x: x**2, "is 1 at x = -1 .*; it must be odd"),
        (lambda x: x + 1e-9 * x**2, "must be odd"),
        (lambda x: torch.tanh(x) + 1e-6 * torch.exp(-((x - 1) ** 2)) * x, "must be odd"),
        (lambda x: -x, "is -1 at x = 1 .*; it must be above 0 for every x > 0"),
        (torch.sin, "must be above 0 for every x > 0"),
        (lambda x: 0 * x, "is 0 at x = 1 .*; it must be above 0"),
        (torch.nn.Softshrink(0.5), "must be above 0"),
        (torch.nn.Softshrink(1e-5), "must be above 0"),
        (
            lambda x: x / torch.sqrt(1 + x * x),
            "is 0 at x = .*; it must be above 0",
        ),  # the denominator is ∞ for large x
        (lambda x: x / x.abs(), "is nan at x = 0 .*; it must be a number"),
        (lambda x: (x.exp() - (-x).exp()) / (x.exp() + (-x).exp()), "is nan at x = .*; it must be a number"),
        (lambda x: torch.where(x.abs() > 1e30, torch.nan, x), "is nan at x = .*; it must be a number"),
        (lambda x: x / x.abs().max().sqrt(), "is 1 at x = 1 .*; it must be element-wise"),
    ],
)
def test_functions_that_break_the_order_raise(tau: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        resolve_odd_activation(tau)


@pytest.mark.parametrize(
    "name", ["sigmoid", "relu", "softplus", "leaky_relu", "gelu", "silu", "softmax", "exp"]
)
def test_names_of_common_activations_raise_with_the_reason(name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name} is not odd: .*fails; .* odd"):
        resolve_odd_activation(name)


def test_sigmoid_raises_and_names_theorem_1() -> None:
    with pytest.raises(ValueError, match=r"½ at 0, so r.x, x. would be ½ and Theorem 1 fails; half_tanh"):
        resolve_odd_activation("sigmoid")


def test_unknown_names_get_a_suggestion() -> None:
    with pytest.raises(ValueError, match="'atan' is unknown; did you mean 'arctan'"):
        resolve_odd_activation("atan")


@pytest.mark.parametrize(
    ("tau", "message"),
    [
        (3, "pass a name"),
        (lambda x: x.sum(), r"returns \(\) for a tensor of shape \(2,\)"),
        (lambda x: 1.0, "returns float"),
        (lambda x: x.no_such_method(), "fails on a torch.float64 tensor"),
    ],
)
def test_other_objects_raise_a_type_error(tau: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        resolve_odd_activation(tau)
