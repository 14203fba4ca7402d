"""Constraints on the parameters of rankers and transforms, checked in `fit`.

scikit-learn requires constructors that only store their arguments. So an invalid parameter raises in `fit`,
with a message that names it.

>>> integer(1).check("max_epochs", 1.5)
Traceback (most recent call last):
ValueError: max_epochs is 1.5; give a whole number of at least 1
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np

__all__ = [
    "BOOLEAN",
    "CALLBACKS",
    "FINITE",
    "FOLDER_OR_NONE",
    "N_JOBS",
    "PROGRESS",
    "SEED",
    "Constraint",
    "above",
    "at_least",
    "between",
    "check_parameters",
    "fraction",
    "instance_of",
    "integer",
    "integer_or_range",
    "or_auto",
    "or_none",
]

MAX_REPR = 100  # characters of a value in a message


@dataclass(frozen=True)
class Constraint:
    """The valid values of a parameter: a predicate, and their description in error messages."""

    accepts: Callable[[Any], bool]
    expected: str

    def check(self, name: str, value: object) -> None:
        """Raise a `ValueError` that names the parameter if the value is invalid."""
        if not self.accepts(value):
            representation = repr(value)
            if len(representation) > MAX_REPR or "\n" in representation:  # a table, for example
                representation = f"a {type(value).__name__}"
            raise ValueError(f"{name} is {representation}; give {self.expected}")


class _Estimator(Protocol):
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...


def check_parameters(estimator: _Estimator, constraints: Mapping[str, Constraint]) -> None:
    """Raise if a parameter of an estimator violates the constraint of its name."""
    parameters = estimator.get_params(deep=False)
    for name, constraint in constraints.items():
        constraint.check(name, parameters[name])


def integer(minimum: int, maximum: int | None = None) -> Constraint:
    """An integer of Python or NumPy in a range; booleans are not integers.

    >>> [integer(2).accepts(value) for value in (2, np.int64(3), 1, 2.0, True)]
    [True, True, False, False, False]
    """
    bounds = f"of at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
    return Constraint(lambda value: _is_integer(value, minimum, maximum), f"a whole number {bounds}")


def integer_or_range(minimum: int) -> Constraint:
    """An integer, or the pair (start, end) of a value that grows during training."""

    def accepts(value: object) -> bool:
        numbers = value if isinstance(value, tuple) and len(value) == 2 else (value,)
        return all(_is_integer(number, minimum) for number in numbers)

    return Constraint(accepts, f"{integer(minimum).expected}, or a pair of them")


def or_auto(constraint: Constraint) -> Constraint:
    """A value that the constraint accepts, or "auto".

    >>> or_auto(integer(1)).check("size", "auto")
    """
    return Constraint(
        lambda value: _is_auto(value) or constraint.accepts(value), f"{constraint.expected}, or 'auto'"
    )


def _is_auto(value: object) -> bool:
    return isinstance(value, str) and value == "auto"


def above(low: float, hint: str = "") -> Constraint:
    """A finite number greater than `low`."""
    return Constraint(lambda value: _is_finite(value) and value > low, f"a number above {low:g}{hint}")


def at_least(low: float) -> Constraint:
    """A finite number greater than or equal to `low`."""
    return Constraint(lambda value: _is_finite(value) and value >= low, f"a number of at least {low:g}")


def between(low: float, high: float) -> Constraint:
    """A number between two others, exclusive."""
    expected = f"a number between {low:g} and {high:g}"
    return Constraint(lambda value: _is_finite(value) and low < value < high, expected)


def fraction(*, include_zero: bool = True) -> Constraint:
    """A number from 0 to 1; with `include_zero=False`, above 0."""
    minimum = at_least(0) if include_zero else above(0)
    expected = "a number from 0 to 1" if include_zero else "a number above 0 and up to 1"
    return Constraint(lambda value: minimum.accepts(value) and value <= 1, expected)


def instance_of(expected: str, *types: type, or_callable: bool = False) -> Constraint:
    """An instance of these types, or with `or_callable` also anything callable."""
    return Constraint(lambda value: isinstance(value, types) or (or_callable and callable(value)), expected)


def or_none(constraint: Constraint) -> Constraint:
    """A value that the constraint accepts, or None."""
    return Constraint(
        lambda value: value is None or constraint.accepts(value), f"{constraint.expected}, or None"
    )


def _is_integer(value: object, minimum: int, maximum: int | None = None) -> bool:
    if not isinstance(value, Integral) or isinstance(value, bool):
        return False
    return int(value) >= minimum and (maximum is None or int(value) <= maximum)


def _is_finite(value: Any) -> bool:
    is_real = not isinstance(value, bool) and isinstance(value, Real)
    return is_real and bool(-math.inf < value < math.inf)


def _are_callable(value: object) -> bool:
    return isinstance(value, list | tuple) and all(map(callable, value))


FINITE = Constraint(_is_finite, "a number")
BOOLEAN = instance_of("True or False", bool, np.bool_)
PROGRESS = or_none(BOOLEAN)
FOLDER_OR_NONE = or_none(instance_of("the path of a folder", str, os.PathLike))
SEED = Constraint(
    lambda value: (
        _is_integer(value, 0, 2**62)  # offsets are added to seeds, and torch's maximum is 2^63
        or isinstance(value, np.random.Generator | np.random.RandomState | None)
    ),
    "None, a whole number from 0 to 2^62 or a NumPy generator",
)
CALLBACKS = Constraint(_are_callable, "a list of functions")
N_JOBS = Constraint(
    lambda value: value is None or (_is_integer(value, -(2**31), 2**31 - 1) and value != 0),
    "a number of threads or processes, -1 for all cores, or None",
)
