"""Constructors that differ from another one in their defaults only.

scikit-learn reads the parameters of an estimator from the signature of its constructor. So a ranker that
differs from another in its defaults only needs its own constructor.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["with_defaults"]

Constructor = TypeVar("Constructor", bound=Callable[..., None])


def with_defaults(constructor: Constructor, **defaults: Any) -> Constructor:
    """Return the constructor with other defaults, which its signature shows.

    >>> class Box:
    ...     def __init__(self, *, width=1, height=1):
    ...         self.area = width * height
    >>> class Tall(Box):
    ...     __init__ = with_defaults(Box.__init__, height=3)
    >>> Tall(width=2).area, inspect.signature(Tall)
    (6, <Signature (*, width=1, height=3)>)
    """
    signature = inspect.signature(constructor)
    unknown = defaults.keys() - signature.parameters.keys()
    if unknown:
        raise TypeError(f"the constructor has no parameters {sorted(unknown)}; give names of its parameters")
    changed = [
        parameter.replace(default=defaults.get(name, parameter.default))
        for name, parameter in signature.parameters.items()
    ]

    @functools.wraps(constructor)
    def wrapper(self: Any, **options: Any) -> None:
        constructor(self, **{**defaults, **options})

    wrapper.__signature__ = signature.replace(parameters=changed)  # type: ignore[attr-defined]
    return wrapper  # type: ignore[return-value]
