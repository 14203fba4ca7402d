"""Names of a package that are imported on first use, so that what does not need them starts sooner.

>>> load = late_names("directranker", {"errors": ("DataError",)})
>>> load("DataError").__name__
'DataError'
>>> load("Nothing")
Traceback (most recent call last):
AttributeError: module 'directranker' has no attribute 'Nothing'
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

__all__ = ["late_names"]


def late_names(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose modules, the keys, hold these names."""
    home_of = {name: home for home, names in homes.items() for name in names}

    def load(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{home_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
