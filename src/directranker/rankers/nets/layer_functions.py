"""Activations and layer normalisation of a perceptron, without torch.

Each function works in place on contiguous arrays of whole cache lines. Then NumPy uses the same routine for
all elements, and a row has the same bits at any position.

>>> ACTIVATIONS["gelu"](np.array([-1, 0, 2], np.float32)).round(4).tolist()
[-0.15870000422000885, 0.0, 1.9544999599456787]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from directranker.arrays import Float32Array
from directranker.rankers.nets.perceptron_kernels import compute_weighted_sums

__all__ = ["ACTIVATIONS", "EPSILON", "normalise_rows"]

EPSILON = 1e-5  # added to a variance, as in torch
ZERO, HALF, ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
LEAKY_SLOPE = np.float32(0.01)
HALF_ROOT = np.float32(math.sqrt(0.5))
# erf x = x · P(x²) / Q(x²) within [−4, 4], to the last digits of a float32; as in Eigen and XLA.
ERF_NUMERATOR = (
    -2.72614225801306e-10,
    2.77068142495902e-08,
    -2.10102402082508e-06,
    -5.69250639462346e-05,
    -7.34990630326855e-04,
    -2.95459980854025e-03,
    -1.60960333262415e-02,
)
ERF_DENOMINATOR = (
    -1.45660718464996e-05,
    -2.13374055278905e-04,
    -1.68282697438203e-03,
    -7.37332916720468e-03,
    -1.42647390514189e-02,
)
ERF_LIMIT = np.float32(4.0)


def _relu(x: Float32Array) -> Float32Array:
    return np.maximum(x, ZERO, out=x)


def _tanh(x: Float32Array) -> Float32Array:
    return np.tanh(x, out=x)


def _leaky_relu(x: Float32Array) -> Float32Array:
    np.maximum(x, x * LEAKY_SLOPE, out=x)
    return x


def _elu(x: Float32Array) -> Float32Array:
    below = np.expm1(np.minimum(x, ZERO))
    np.copyto(x, below, where=x <= ZERO)
    return x


def _one_plus_exp_minus(x: Float32Array) -> Float32Array:
    with np.errstate(over="ignore"):  # 1 / inf is the correct 0
        total = np.exp(-x)
    total += ONE
    return total


def _sigmoid(x: Float32Array) -> Float32Array:
    return np.divide(ONE, _one_plus_exp_minus(x), out=x)


def _silu(x: Float32Array) -> Float32Array:
    return np.divide(x, _one_plus_exp_minus(x), out=x)


def _softplus(x: Float32Array) -> Float32Array:
    rest = np.log1p(np.exp(-np.abs(x)))
    np.maximum(x, ZERO, out=x)
    x += rest
    return x


def _softsign(x: Float32Array) -> Float32Array:
    size = np.abs(x)
    size += ONE
    x /= size
    return x


def _gelu(x: Float32Array) -> Float32Array:
    probability = _erf(x * HALF_ROOT)
    probability += ONE
    probability *= HALF
    x *= probability
    return x


def _erf(x: Float32Array) -> Float32Array:
    np.clip(x, -ERF_LIMIT, ERF_LIMIT, out=x)
    square = x * x
    x *= _evaluate_polynomial(ERF_NUMERATOR, square)
    x /= _evaluate_polynomial(ERF_DENOMINATOR, square)
    return x


def _evaluate_polynomial(coefficients: tuple[float, ...], x: Float32Array) -> Float32Array:
    total = np.full_like(x, np.float32(coefficients[0]))
    for coefficient in coefficients[1:]:
        total *= x
        total += np.float32(coefficient)
    return total


ACTIVATIONS: Mapping[str, Callable[[Float32Array], Float32Array]] = {
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
"""The activations of hidden layers, by the names of `FEATURE_ACTIVATIONS`."""


def normalise_rows(
    sums: Float32Array, weight: Float32Array, bias: Float32Array, n_columns: int, *, use_kernels: bool
) -> Float32Array:
    """Normalise each row over its first columns, in place; the others become 0, if their weights are 0.

    >>> rows, ones = np.array([[1, 3, 9]], np.float32), np.array([1, 1, 0], np.float32)
    >>> normalise_rows(rows, ones, 0 * ones, 2, use_kernels=False).round(3).tolist()
    [[-1.0, 1.0, 0.0]]
    """
    fraction = np.zeros(sums.shape[1], dtype=np.float32)
    fraction[:n_columns] = 1 / n_columns
    sums -= compute_weighted_sums(sums, fraction, use_kernels=use_kernels)[:, None]
    variance = compute_weighted_sums(sums * sums, fraction, use_kernels=use_kernels)
    sums /= np.sqrt(variance + np.float32(EPSILON))[:, None]
    sums *= weight
    sums += bias
    return sums
