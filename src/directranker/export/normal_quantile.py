"""Φ⁻¹, the point of the normal distribution with a given probability below it, as two polynomials.

Other programs have no such function. In the middle Φ⁻¹(p) = q·P(q²) with q = p − ½; in the tails it is Q(t)
with t = √(−2·log p), as in Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.22. P and Q are
Chebyshev interpolations of SciPy's function, written in a variable from −1 to 1.

>>> from scipy.special import ndtri
>>> p = np.linspace(1e-7, 1 - 1e-7, 9999)
>>> bool(abs(normal_quantile(p) - ndtri(p)).max() < 1e-8)
True
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from numpy.typing import NDArray
from scipy.special import ndtri

from directranker.encoding.quantile_normal import MIN_PROBABILITY

__all__ = ["MIDDLE", "MIN_PROBABILITY", "Interpolation", "middle", "normal_quantile", "tail"]

Vector = NDArray[np.float64]
MIDDLE = 0.4
"""How far from ½ the middle reaches."""
DEGREE = 18


@dataclass(frozen=True)
class Interpolation:
    """A polynomial in (x − centre)·factor, its coefficients from the constant on."""

    centre: float
    factor: float
    coefficients: tuple[float, ...]

    def __call__(self, x: Vector) -> Vector:
        """The polynomial's value."""
        values: Vector = Polynomial(self.coefficients)((x - self.centre) * self.factor)
        return values


@cache
def middle() -> Interpolation:
    """P, of q² up to MIDDLE²."""

    def ratio(square: Vector) -> Vector:
        root = np.sqrt(np.maximum(square, 1e-12))
        return np.asarray(ndtri(0.5 + root) / root)

    return _interpolation(ratio, 0.0, MIDDLE**2)


@cache
def tail() -> Interpolation:
    """Q, of √(−2·log p) for p from the lowest probability up to ½ − MIDDLE."""
    ends = np.sqrt(-2 * np.log([0.5 - MIDDLE, MIN_PROBABILITY * 0.99]))
    return _interpolation(lambda t: np.asarray(ndtri(np.exp(-t * t / 2))), float(ends[0]), float(ends[1]))


def normal_quantile(p: Vector) -> Vector:
    """Φ⁻¹ by the two polynomials, for p from the lowest probability to 1 less it."""
    q = p - 0.5
    t = np.sqrt(-2 * np.log(np.minimum(p, 1 - p)))
    return np.where(np.abs(q) <= MIDDLE, q * middle()(q * q), np.copysign(tail()(t), q))


def _interpolation(function: Callable[[Vector], Any], low: float, high: float) -> Interpolation:
    series = Chebyshev.interpolate(function, DEGREE, domain=[low, high])
    plain = Chebyshev(series.coef).convert(kind=Polynomial)
    return Interpolation((low + high) / 2, 2 / (high - low), tuple(map(float, plain.coef)))
