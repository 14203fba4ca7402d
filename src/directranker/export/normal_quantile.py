"""Φ⁻¹, the quantile function of the normal distribution, as two polynomials.

Export targets have no such function. In the middle Φ⁻¹(p) = q·P(q²) with q = p − ½; in the tails it is Q(t)
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

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from scipy.special import ndtri

from directranker.arrays import FloatArray
from directranker.encoding.quantile_normal import MIN_PROBABILITY

__all__ = [
    "MIDDLE",
    "MIN_PROBABILITY",
    "Interpolation",
    "interpolate_middle",
    "interpolate_tail",
    "normal_quantile",
]

MIDDLE = 0.4
"""The middle is where |p − ½| is at most this."""
DEGREE = 18


@dataclass(frozen=True)
class Interpolation:
    """A polynomial in (x − centre)·factor, with coefficients in ascending order."""

    centre: float
    factor: float
    coefficients: tuple[float, ...]

    def __call__(self, x: FloatArray) -> FloatArray:
        """Evaluate the polynomial."""
        values: FloatArray = Polynomial(self.coefficients)((x - self.centre) * self.factor)
        return values


@cache
def interpolate_middle() -> Interpolation:
    """Interpolate P, as a function of q² from 0 to MIDDLE²."""

    def ratio(square: FloatArray) -> FloatArray:
        root = np.sqrt(np.maximum(square, 1e-12))
        return np.asarray(ndtri(0.5 + root) / root)

    return _interpolate(ratio, 0.0, MIDDLE**2)


@cache
def interpolate_tail() -> Interpolation:
    """Interpolate Q, as a function of √(−2·log p) for p from MIN_PROBABILITY to ½ − MIDDLE."""
    ends = np.sqrt(-2 * np.log([0.5 - MIDDLE, MIN_PROBABILITY * 0.99]))
    return _interpolate(lambda t: np.asarray(ndtri(np.exp(-t * t / 2))), float(ends[0]), float(ends[1]))


def normal_quantile(p: FloatArray) -> FloatArray:
    """Evaluate Φ⁻¹ by the two polynomials, for p from MIN_PROBABILITY to 1 − MIN_PROBABILITY."""
    q = p - 0.5
    t = np.sqrt(-2 * np.log(np.minimum(p, 1 - p)))
    return np.where(
        np.abs(q) <= MIDDLE, q * interpolate_middle()(q * q), np.copysign(interpolate_tail()(t), q)
    )


def _interpolate(function: Callable[[FloatArray], FloatArray], low: float, high: float) -> Interpolation:
    series = Chebyshev.interpolate(function, DEGREE, domain=[low, high])
    plain = Chebyshev(series.coef).convert(kind=Polynomial)
    return Interpolation((low + high) / 2, 2 / (high - low), tuple(map(float, plain.coef)))
