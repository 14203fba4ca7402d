"""What parameters of rankers and transforms may be, checked in one place when they are fitted.

scikit-learn wants constructors that only store, so nonsense is seen at `fit`: as one sentence that names the
parameter, instead of an error from deep inside, or of no error at all.

>>> whole(1).check("max_epochs", 1.5)
Traceback (most recent call last):
ValueError: max_epochs is 1.5; give a whole number of at least 1
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

__all__ = [
    "CALLBACKS",
    "FINITE",
    "FOLDER_OR_NONE",
    "JOBS",
    "PROGRESS",
    "SEED",
    "YES_OR_NO",
    "Rule",
    "above",
    "at_least",
    "between",
    "check_parameters",
    "kind",
    "or_auto",
    "or_none",
    "share",
    "whole",
    "whole_or_growing",
]

LONGEST_SHOWN = 100


@dataclass(frozen=True)
class Rule:
    """What a parameter may be: a test, and the words in which an error asks for it."""

    accepts: Callable[[Any], bool]
    wanted: str

    def check(self, name: str, value: object) -> None:
        """Refuse a value in words."""
        if not self.accepts(value):
            shown = repr(value)
            if len(shown) > LONGEST_SHOWN or "\n" in shown:  # a table, for example
                shown = f"a {type(value).__name__}"
            raise ValueError(f"{name} is {shown}; give {self.wanted}")


def check_parameters(estimator: Any, rules: Mapping[str, Rule]) -> None:
    """Refuse an estimator whose parameters break these rules, by name."""
    parameters = estimator.get_params(deep=False)
    for name, rule in rules.items():
        rule.check(name, parameters[name])


def whole(least: int, most: int | None = None) -> Rule:
    """A whole number, of Python or NumPy; True is none.

    >>> [whole(2).accepts(value) for value in (2, np.int64(3), 1, 2.0, True)]
    [True, True, False, False, False]
    """
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
    return Rule(lambda value: _is_whole(value, least, most), f"a whole number {bounds}")


def whole_or_growing(least: int) -> Rule:
    """A whole number, or a pair of them between which a number grows."""

    def accepts(value: Any) -> bool:
        pair = value if isinstance(value, tuple) and len(value) == 2 else (value,)
        return all(_is_whole(one, least) for one in pair)

    return Rule(accepts, f"{whole(least).wanted}, or a pair of them")


def or_auto(rule: Rule) -> Rule:
    """What the rule accepts, or "auto".

    >>> or_auto(whole(1)).check("size", "auto")
    """
    return Rule(lambda value: _is_auto(value) or rule.accepts(value), f"{rule.wanted}, or 'auto'")


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def above(low: float, hint: str = "") -> Rule:
    """A finite number above `low`."""
    return Rule(lambda value: _is_number(value) and value > low, f"a number above {low:g}{hint}")


def at_least(low: float) -> Rule:
    """A finite number that is not below `low`."""
    return Rule(lambda value: _is_number(value) and value >= low, f"a number of at least {low:g}")


def between(low: float, high: float) -> Rule:
    """A number between two others, which it is not itself."""
    wanted = f"a number between {low:g} and {high:g}"
    return Rule(lambda value: _is_number(value) and low < value < high, wanted)


def share(*, of_nothing: bool = True) -> Rule:
    """A number up to 1, from 0 on or above it."""
    least = at_least(0) if of_nothing else above(0)
    wanted = "a number from 0 to 1" if of_nothing else "a number above 0 and up to 1"
    return Rule(lambda value: least.accepts(value) and value <= 1, wanted)


def kind(wanted: str, *kinds: type, call: bool = False) -> Rule:
    """Something of these types, or with `call` anything that can be called."""
    return Rule(lambda value: isinstance(value, kinds) or (call and callable(value)), wanted)


def or_none(rule: Rule) -> Rule:
    """The same, or None."""
    return Rule(lambda value: value is None or rule.accepts(value), f"{rule.wanted}, or None")


def _is_whole(value: object, least: int, most: int | None = None) -> bool:
    if not isinstance(value, Integral) or isinstance(value, bool):
        return False
    return int(value) >= least and (most is None or int(value) <= most)


def _is_number(value: Any) -> bool:
    is_real = not isinstance(value, bool) and isinstance(value, Real)
    return is_real and bool(-math.inf < value < math.inf)


def _are_functions(value: object) -> bool:
    return isinstance(value, list | tuple) and all(map(callable, value))


FINITE = Rule(_is_number, "a number")
YES_OR_NO = kind("True or False", bool, np.bool_)
PROGRESS = or_none(YES_OR_NO)
FOLDER_OR_NONE = or_none(kind("the path of a folder", str, os.PathLike))
SEED = Rule(
    lambda value: (
        _is_whole(value, 0, 2**62)  # some are added to, and torch's end at 2^63
        or isinstance(value, np.random.Generator | np.random.RandomState | None)
    ),
    "None, a whole number from 0 to 2^62 or a NumPy generator",
)
CALLBACKS = Rule(_are_functions, "a list of functions")
JOBS = Rule(
    lambda value: value is None or (_is_whole(value, -(2**31), 2**31 - 1) and value != 0),
    "a number of threads or processes, -1 for all cores, or None",
)
