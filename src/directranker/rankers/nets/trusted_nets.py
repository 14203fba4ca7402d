"""A user's feature net in a saved model: its import path and its options, never its code.

Loading imports nothing: the class must be among those that the caller trusts.

>>> from functools import partial
>>> from torch import nn
>>> saved = serialise_net(partial(nn.Linear, out_features=3))
>>> saved
{'class': 'torch.nn.modules.linear:Linear', 'options': {'out_features': 3}}
>>> deserialise_net(saved, trust=[nn.Linear])(5)
Linear(in_features=5, out_features=3, bias=True)
>>> deserialise_net(saved, trust=[])
Traceback (most recent call last):
PermissionError: the feature net is torch.nn.modules.linear:Linear; if you trust it, load the
ranker by load_ranker(…, trust=[Linear]) or give the command --trust torch.nn.modules.linear:Linear
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

__all__ = ["deserialise_net", "serialise_net"]

SCRIPT = "__main__"


def serialise_net(feature_net: object) -> dict[str, object]:
    """Return the import path and the options of a class, or of a `functools.partial` of one, for JSON."""
    net_class, options = feature_net, {}
    if isinstance(feature_net, partial) and not feature_net.args:
        net_class, options = feature_net.func, feature_net.keywords
    if not isinstance(net_class, type):
        raise TypeError(
            f"feature_net is {feature_net!r}, which cannot be saved; give a class that takes the number of "
            "features, or functools.partial(TheClass, option=value)"
        )
    if "<locals>" in net_class.__qualname__:
        raise TypeError(
            f"feature_net {net_class.__qualname__} is defined inside a function; define it in a module"
        )
    try:
        return {"class": _import_path(net_class), "options": json.loads(json.dumps(options))}
    except TypeError:
        raise TypeError(
            f"an option of feature_net {net_class.__name__} cannot be saved as JSON: {options}"
        ) from None


def deserialise_net(saved: Any, trust: Iterable[type]) -> Callable[..., Any]:
    """Return the saved class with its options, if it is trusted."""
    path, options = str(saved["class"]), saved["options"]
    for trusted in trust:
        if _is_same_class(path, _import_path(trusted)):
            return partial(trusted, **options) if options else trusted
    raise PermissionError(
        f"the feature net is {path}; if you trust it, load the ranker by load_ranker(…, "
        f"trust=[{path.rpartition(':')[2]}]) or give the command --trust {_format_for_command(path)}"
    )


def _is_same_class(path: str, other: str) -> bool:
    """Compare import paths; a module is __main__ while it runs as a script, else it has its own name."""
    (module, _, name), (other_module, _, other_name) = path.rpartition(":"), other.rpartition(":")
    return name == other_name and (module == other_module or SCRIPT in (module, other_module))


def _format_for_command(path: str) -> str:
    module, _, name = path.rpartition(":")
    return f"YOUR_SCRIPT:{name}" if module == SCRIPT else path


def _import_path(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"
