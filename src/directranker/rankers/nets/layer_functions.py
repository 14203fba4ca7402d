"""What follows the sums of a perceptron's layer, without torch: activations and layer normalisation.

Each works in place on arrays as the sums lie: contiguous, in whole lines of memory. Then NumPy takes no
element through another routine than its neighbours, and a row has the same bits wherever it stands.

>>> ACTIVATIONS["gelu"](np.array([-1, 0, 2], np.float32)).round(4).tolist()
[-0.15870000422000885, 0.0, 1.9544999599456787]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from directranker.rankers.nets.perceptron_kernels import weighted_sums

__all__ = ["ACTIVATIONS", "EPSILON", "normalise_rows"]

Floats = NDArray[np.float32]

EPSILON = 1e-5  # what torch adds to a variance
ZERO, HALF, ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
LEAKY_SLOPE = np.float32(0.01)
HALF_ROOT = np.float32(math.sqrt(0.5))
# erf x = x · P(x²) / Q(x²) within [−4, 4], to the last digits of a float32; as in Eigen and XLA.
ERF_ABOVE = (
    -2.72614225801306e-10,
    2.77068142495902e-08,
    -2.10102402082508e-06,
    -5.69250639462346e-05,
    -7.34990630326855e-04,
    -2.95459980854025e-03,
    -1.60960333262415e-02,
)
ERF_BELOW = (
    -1.45660718464996e-05,
    -2.13374055278905e-04,
    -1.68282697438203e-03,
    -7.37332916720468e-03,
    -1.42647390514189e-02,
)
ERF_LIMIT = np.float32(4.0)


def _relu(x: Floats) -> Floats:
    return np.maximum(x, ZERO, out=x)


def _tanh(x: Floats) -> Floats:
    return np.tanh(x, out=x)


def _leaky_relu(x: Floats) -> Floats:
    np.maximum(x, x * LEAKY_SLOPE, out=x)
    return x


def _elu(x: Floats) -> Floats:
    below = np.expm1(np.minimum(x, ZERO))
    np.copyto(x, below, where=x <= ZERO)
    return x


def _one_plus_exp_of_minus(x: Floats) -> Floats:
    with np.errstate(over="ignore"):  # divided by infinity it is 0, as it should be
        grown = np.exp(-x)
    grown += ONE
    return grown


def _sigmoid(x: Floats) -> Floats:
    return np.divide(ONE, _one_plus_exp_of_minus(x), out=x)


def _silu(x: Floats) -> Floats:
    return np.divide(x, _one_plus_exp_of_minus(x), out=x)


def _softplus(x: Floats) -> Floats:
    rest = np.log1p(np.exp(-np.abs(x)))
    np.maximum(x, ZERO, out=x)
    x += rest
    return x


def _softsign(x: Floats) -> Floats:
    size = np.abs(x)
    size += ONE
    x /= size
    return x


def _gelu(x: Floats) -> Floats:
    share = _erf(x * HALF_ROOT)
    share += ONE
    share *= HALF
    x *= share
    return x


def _erf(x: Floats) -> Floats:
    np.clip(x, -ERF_LIMIT, ERF_LIMIT, out=x)
    square = x * x
    x *= _polynomial(ERF_ABOVE, square)
    x /= _polynomial(ERF_BELOW, square)
    return x


def _polynomial(coefficients: tuple[float, ...], x: Floats) -> Floats:
    total = np.full_like(x, np.float32(coefficients[0]))
    for coefficient in coefficients[1:]:
        total *= x
        total += np.float32(coefficient)
    return total


ACTIVATIONS: Mapping[str, Callable[[Floats], Floats]] = {
    "relu": _relu,
    "tanh": _tanh,
    "gelu": _gelu,
    "elu": _elu,
    "leaky_relu": _leaky_relu,
    "silu": _silu,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "softsign": _softsign,
    "identity": lambda x: x,
}
"""All that `hidden_layers` can be followed by, by the names of `FEATURE_ACTIVATIONS`."""


def normalise_rows(
    sums: Floats, weight: Floats, bias: Floats, n_columns: int, *, compiled_way: bool
) -> Floats:
    """Layer normalisation over the first columns, in place; the others become 0, as their weights must be.

    >>> rows, ones = np.array([[1, 3, 9]], np.float32), np.array([1, 1, 0], np.float32)
    >>> normalise_rows(rows, ones, 0 * ones, 2, compiled_way=False).round(3).tolist()
    [[-1.0, 1.0, 0.0]]
    """
    share = np.zeros(sums.shape[1], dtype=np.float32)
    share[:n_columns] = 1 / n_columns
    sums -= weighted_sums(sums, share, compiled_way=compiled_way)[:, None]
    variance = weighted_sums(sums * sums, share, compiled_way=compiled_way)
    sums /= np.sqrt(variance + np.float32(EPSILON))[:, None]
    sums *= weight
    sums += bias
    return sums
