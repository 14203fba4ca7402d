"""Values in words that are the same in every process: what two trainings have in common is seen from them.

Numbers by their shortest exact text, arrays and nets by a checksum of their content, estimators by their
class and all parameters, functions and classes by their name. Of functions and classes that do not come from
a package whose version is known besides, the source counts too.

>>> from directranker.rankers import LambdaMART
>>> words = describe(LambdaMART(learning_rate=0.1))
>>> words["class"], words["parameters"]["learning_rate"]
('directranker.rankers.trees.lambdamart.LambdaMART', 0.1)
>>> describe({"cost": lambda r: r})
Traceback (most recent call last):
TypeError: cost is a lambda, which has no name that another process would know it by; define it as a function
at the top of a module
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import PurePath
from types import CodeType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker.rankers import Ranker

__all__ = ["describe", "digest_of"]

# Rankers promise the same result whatever these are.
WITHOUT_INFLUENCE = ("callbacks", "n_jobs", "progress")
# What these packages define is told by the versions that keys hold.
VERSIONED = ("builtins", "directranker", "lightgbm", "numba", "numpy", "scipy", "sklearn", "torch")


def digest_of(words: Any) -> str:
    """A checksum of what `describe` gives.

    >>> digest_of({"a": 1, "b": [2.5, None]})[:12]
    'fbb68c4db7e0'
    """
    text = json.dumps(words, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def describe(value: Any, place: str = "the value") -> Any:
    """What JSON can hold of a value; `place` is how an error calls it.

    >>> describe((1, True, 0.1, np.float32(0.5), "a"))
    {'tuple': [1, True, 0.1, {'float32': '0.5'}, 'a']}
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if np.isfinite(value) else {"float": repr(float(value))}
    for is_one, describe_it in _KINDS:
        if is_one(value):
            return describe_it(value, place)
    raise TypeError(
        f"{place} is {value!r}, of which cannot be told whether it is the same in another process; give a "
        "number, a text, an estimator, a net, or a function or class of a module"
    )


def _describe_scalar(value: Any, _: str) -> Any:
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    return {value.dtype.name: str(value)}


def _describe_array(value: NDArray[Any], place: str) -> Any:
    if value.dtype.hasobject:
        return {"objects": value.shape, "values": describe(value.ravel().tolist(), place)}
    content = hashlib.sha256(np.ascontiguousarray(value).data).hexdigest() if value.size else ""
    return {"array": value.dtype.str, "shape": value.shape, "sha256": content}


def _describe_sequence(value: Any, place: str) -> Any:
    words = [describe(entry, f"{place}[{number}]") for number, entry in enumerate(value)]
    return {"tuple": words} if isinstance(value, tuple) else words


def _describe_set(value: Any, place: str) -> Any:
    return {"set": sorted((describe(entry, place) for entry in value), key=digest_of)}


def _describe_mapping(value: Mapping[Any, Any], place: str) -> Any:
    pairs = [
        [describe(key, place), describe(entry, str(key) if place == "the value" else f"{place}[{key!r}]")]
        for key, entry in value.items()
    ]
    return {"mapping": sorted(pairs, key=lambda pair: digest_of(pair[0]))}


def _describe_partial(value: functools.partial[Any], place: str) -> Any:
    parts = {"function": value.func, "arguments": value.args, "options": value.keywords}
    return {"partial": {name: describe(part, place) for name, part in parts.items()}}


def _describe_estimator(estimator: Any, place: str) -> dict[str, Any]:
    left_out = WITHOUT_INFLUENCE if isinstance(estimator, Ranker) else ()
    name = type(estimator).__name__
    parameters = {
        key: describe(value, f"{key} of {name}")
        for key, value in estimator.get_params(deep=False).items()
        if key not in left_out
    }
    return {"class": _describe_name(type(estimator), place), "parameters": parameters}


def _describe_dataclass(value: Any, place: str) -> dict[str, Any]:
    fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {"class": _describe_name(type(value), place), "fields": describe(fields, place)}


def _is_torch_module(value: Any) -> bool:
    torch = sys.modules.get("torch")  # who has a net has imported torch
    return torch is not None and isinstance(value, torch.nn.Module)


def _describe_net(net: Any, place: str) -> dict[str, Any]:
    state = {name: tensor.detach().cpu().numpy() for name, tensor in net.state_dict().items()}
    kinds = {type(part) for part in net.modules()}
    return {
        "net": str(net),
        "classes": sorted((describe(kind, place) for kind in kinds), key=digest_of),
        "state": describe(state, place),
    }


def _describe_name(value: Any, place: str) -> Any:
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if inspect.isbuiltin(value) and module is None:
        module = "builtins"
    if module is None or not name or "<lambda>" in name or "<locals>" in name:
        what = "a lambda" if "<lambda>" in name else f"{value!r}"
        raise TypeError(
            f"{place} is {what}, which has no name that another process would know it by; define it as a "
            "function at the top of a module"
        )
    full_name = f"{module}.{name}"
    if module.partition(".")[0] in VERSIONED:
        return full_name
    return {"name": full_name, "source": _source_digest(value)}


@functools.cache
def _source_digest(value: Any) -> str:
    """Of a function, or of a class and the bases that it does not share with a known package."""
    parts = [value]
    if isinstance(value, type):
        parts = [kind for kind in value.__mro__ if kind.__module__.partition(".")[0] not in VERSIONED]
    try:
        return digest_of([inspect.getsource(part) for part in parts])
    except (OSError, TypeError):  # typed in, or compiled
        return digest_of([_bytecode(part) for part in parts])


def _bytecode(value: Any) -> Any:
    """What Python runs, of a function or of all functions of a class."""
    if isinstance(value, type):
        return {name: _bytecode(part) for name, part in vars(value).items() if inspect.isroutine(part)}
    code = getattr(value, "__code__", value)
    if not isinstance(code, CodeType):
        return str(type(value))  # compiled: the name must do
    return [code.co_code.hex(), code.co_names, [_constant(one) for one in code.co_consts]]


def _constant(value: Any) -> Any:
    if isinstance(value, CodeType):
        return _bytecode(value)
    return repr(value) if isinstance(value, bytes | complex) or value is ... else describe(value)


def _of(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds)


# What a value is, and how it is described; the first that fits counts.
_KINDS: tuple[tuple[Callable[[Any], bool], Callable[[Any, str], Any]], ...] = (
    (_of(np.generic), _describe_scalar),
    (_of(np.ndarray), _describe_array),
    (_of(list, tuple), _describe_sequence),
    (_of(set, frozenset), _describe_set),
    (_of(Mapping), _describe_mapping),
    (_of(range), lambda value, _: {"range": [value.start, value.stop, value.step]}),
    (_of(PurePath), lambda value, _: {"path": str(value)}),
    (_of(functools.partial), _describe_partial),
    (lambda value: isinstance(value, type) or inspect.isroutine(value), _describe_name),
    (lambda value: hasattr(value, "get_params"), _describe_estimator),
    (dataclasses.is_dataclass, _describe_dataclass),
    (_is_torch_module, _describe_net),
)
