"""A user's own feature net in a saved model: its import name and its options, never its code.

Loading imports nothing: the class is taken from those that the caller trusts.

>>> from functools import partial
>>> from torch import nn
>>> words = words_of_net(partial(nn.Linear, out_features=3))
>>> words
{'class': 'torch.nn.modules.linear:Linear', 'options': {'out_features': 3}}
>>> net_from_words(words, trust=[nn.Linear])(5)
Linear(in_features=5, out_features=3, bias=True)
>>> net_from_words(words, trust=[])
Traceback (most recent call last):
PermissionError: the feature net is torch.nn.modules.linear:Linear; if you trust it, load the
ranker by load_ranker(…, trust=[Linear]) or give the command --trust torch.nn.modules.linear:Linear
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

__all__ = ["net_from_words", "words_of_net"]

SCRIPT = "__main__"


def words_of_net(feature_net: Any) -> dict[str, Any]:
    """What JSON can hold of a class, or of a `functools.partial` of one with options by name."""
    made, options = feature_net, {}
    if isinstance(feature_net, partial) and not feature_net.args:
        made, options = feature_net.func, feature_net.keywords
    if not isinstance(made, type):
        raise TypeError(
            f"feature_net is {feature_net!r}, which cannot be saved; give a class that takes the number of "
            "features, or functools.partial(TheClass, option=value)"
        )
    if "<locals>" in made.__qualname__:
        raise TypeError(f"feature_net {made.__qualname__} stands inside a function; define it in a module")
    try:
        return {"class": _import_name(made), "options": json.loads(json.dumps(options))}
    except TypeError:
        raise TypeError(
            f"an option of feature_net {made.__name__} cannot be saved as text: {options}"
        ) from None


def net_from_words(words: Any, trust: Iterable[type]) -> Callable[..., Any]:
    """The class that the words name, if it is trusted, with its options."""
    name, options = str(words["class"]), words["options"]
    for one in trust:
        if _is_same_class(name, _import_name(one)):
            return partial(one, **options) if options else one
    raise PermissionError(
        f"the feature net is {name}; if you trust it, load the ranker by load_ranker(…, "
        f"trust=[{name.rpartition(':')[2]}]) or give the command --trust {_to_import(name)}"
    )


def _is_same_class(name: str, other: str) -> bool:
    """A module is called __main__ while it runs as a script, and by its own name when it is imported."""
    (module, _, path), (other_module, _, other_path) = name.rpartition(":"), other.rpartition(":")
    return path == other_path and (module == other_module or SCRIPT in (module, other_module))


def _to_import(name: str) -> str:
    module, _, path = name.rpartition(":")
    return f"YOUR_SCRIPT:{path}" if module == SCRIPT else name


def _import_name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"
