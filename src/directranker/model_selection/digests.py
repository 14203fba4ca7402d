"""Descriptions of parameter values that are equal in every process, and their checksums.

Numbers are described by their shortest exact text, arrays and nets by a checksum of their content, estimators
by their class and all parameters, functions and classes by their name. For functions and classes of packages
whose version is not part of a key, the source of the whole module counts too.

>>> from directranker.rankers import LambdaMART
>>> description = describe(LambdaMART(learning_rate=0.1))
>>> description["class"], description["parameters"]["learning_rate"]
('directranker.rankers.trees.lambdamart.LambdaMART', 0.1)
>>> describe({"cost": lambda r: r})
Traceback (most recent call last):
TypeError: cost is a lambda, which another process cannot import by name; define it as a function at the top
level of a module
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
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_selector
from sklearn.model_selection import BaseCrossValidator

from directranker.rankers import Ranker

__all__ = ["compute_digest", "describe"]

# These parameters of a ranker do not change its scores.
IGNORED_PARAMETERS = ("callbacks", "n_jobs", "progress")
# The versions of these packages are part of every key.
VERSIONED_MODULES = ("builtins", "directranker", "lightgbm", "numba", "numpy", "scipy", "sklearn", "torch")


def compute_digest(description: object) -> str:
    """Compute the checksum of a description.

    >>> compute_digest({"a": 1, "b": [2.5, None]})[:12]
    'fbb68c4db7e0'
    """
    text = json.dumps(description, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def describe(value: object, name: str = "the value") -> Any:
    """Describe a value as JSON; `name` is what error messages call it.

    >>> describe((1, True, 0.1, np.float32(0.5), "a"))
    {'tuple': [1, True, 0.1, {'float32': '0.5'}, 'a']}
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if np.isfinite(value) else {"float": repr(float(value))}
    for is_instance, describe_instance in _DESCRIBERS:
        if is_instance(value):
            return describe_instance(value, name)
    raise TypeError(
        f"{name} is {value!r}, which cannot be compared across processes; pass a number, a string, an "
        "estimator, a net, or a function or class of a module"
    )


def _describe_scalar(value: Any, _: str) -> object:
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    return {value.dtype.name: str(value)}


def _describe_array(value: NDArray[Any], name: str) -> object:
    if value.dtype.hasobject:
        return {"objects": value.shape, "values": describe(value.ravel().tolist(), name)}
    content = hashlib.sha256(np.ascontiguousarray(value).data).hexdigest() if value.size else ""
    return {"array": value.dtype.str, "shape": value.shape, "sha256": content}


def _describe_sequence(value: Any, name: str) -> object:
    entries = [describe(entry, f"{name}[{index}]") for index, entry in enumerate(value)]
    return {"tuple": entries} if isinstance(value, tuple) else entries


def _describe_set(value: Any, name: str) -> object:
    return {"set": sorted((describe(entry, name) for entry in value), key=compute_digest)}


def _describe_mapping(value: Mapping[Any, object], name: str) -> object:
    pairs = [
        [describe(key, name), describe(entry, str(key) if name == "the value" else f"{name}[{key!r}]")]
        for key, entry in value.items()
    ]
    return {"mapping": sorted(pairs, key=lambda pair: compute_digest(pair[0]))}


def _describe_partial(value: functools.partial[Any], name: str) -> object:
    fields = {"function": value.func, "arguments": value.args, "options": value.keywords}
    return {"partial": {key: describe(field, name) for key, field in fields.items()}}


def _describe_estimator(estimator: BaseEstimator, name: str) -> dict[str, object]:
    ignored = IGNORED_PARAMETERS if isinstance(estimator, Ranker) else ()
    class_name = type(estimator).__name__
    parameters = {
        key: describe(value, f"{key} of {class_name}")
        for key, value in estimator.get_params(deep=False).items()
        if key not in ignored
    }
    return {"class": _describe_definition(type(estimator), name), "parameters": parameters}


def _describe_splitter(splitter: BaseCrossValidator, name: str) -> dict[str, object]:
    return {"class": _describe_definition(type(splitter), name), "fields": describe(vars(splitter), name)}


def _describe_dataclass(value: Any, name: str) -> dict[str, object]:
    fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {"class": _describe_definition(type(value), name), "fields": describe(fields, name)}


def _is_torch_module(value: object) -> bool:
    torch = sys.modules.get("torch")  # a caller with a net has imported torch
    return torch is not None and isinstance(value, torch.nn.Module)


def _describe_net(net: Any, name: str) -> dict[str, object]:
    state = {key: tensor.detach().cpu().numpy() for key, tensor in net.state_dict().items()}
    classes = {type(module) for module in net.modules()}
    return {
        "net": str(net),
        "classes": sorted((describe(one, name) for one in classes), key=compute_digest),
        "state": describe(state, name),
    }


def _describe_definition(value: Any, name: str) -> object:
    """Describe a function or class by its full name and, unless its version is in every key, its source."""
    module, qualified_name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if inspect.isbuiltin(value) and module is None:
        module = "builtins"
    if module is None or not qualified_name or "<lambda>" in qualified_name or "<locals>" in qualified_name:
        what = "a lambda" if "<lambda>" in qualified_name else f"{value!r}"
        raise TypeError(
            f"{name} is {what}, which another process cannot import by name; define it as a function at the "
            "top level of a module"
        )
    full_name = f"{module}.{qualified_name}"
    if _is_versioned(module):
        return full_name
    return {"name": full_name, "source": _source_digest(value)}


def _is_versioned(module: str) -> bool:
    return module.partition(".")[0] in VERSIONED_MODULES


def _source_digest(value: Any) -> str:
    """Compute the checksum of the modules that define a function, or a class and its bases.

    A class calls functions of its module, so all of the module's source counts. A class without a source
    file, such as one of a notebook or of a compiled module, is described by its bytecode.
    """
    definitions = [value]
    if isinstance(value, type):
        definitions = [base for base in value.__mro__ if not _is_versioned(base.__module__)]
    try:
        return compute_digest([_module_digest(one.__module__) for one in definitions])
    except (KeyError, OSError, TypeError):  # not an imported module, or one without a source file
        seen: set[int] = set()
        return compute_digest([_describe_bytecode(one, seen) for one in definitions])


@functools.cache
def _module_digest(name: str) -> str:
    """Compute the checksum of a module's source as it is when a process first asks."""
    return hashlib.sha256(inspect.getsource(sys.modules[name]).encode()).hexdigest()


def _describe_bytecode(value: Any, seen: set[int]) -> object:
    """Describe the bytecode of a function, or of all functions of a class, and of the functions they call."""
    seen.add(id(value))
    if isinstance(value, type):
        functions = {key: one for key, one in vars(value).items() if inspect.isroutine(one)}
        return {key: _describe_bytecode(one, seen) for key, one in functions.items()}
    function = inspect.unwrap(value)
    code = getattr(function, "__code__", None)
    if code is None:
        return str(type(value))  # compiled: the name has to do
    return _describe_code(code, getattr(function, "__globals__", {}), seen)


def _describe_code(code: CodeType, namespace: Mapping[str, object], seen: set[int]) -> object:
    constants = [
        _describe_code(one, namespace, seen) if isinstance(one, CodeType) else _describe_constant(one)
        for one in code.co_consts
    ]
    used = {name: namespace[name] for name in code.co_names if name in namespace}
    return {
        "code": code.co_code.hex(),
        "names": code.co_names,
        "constants": constants,
        "globals": {name: _describe_global(one, seen) for name, one in used.items()},
    }


def _describe_global(value: object, seen: set[int]) -> object:
    if value is None or isinstance(value, bool | int | float | str):
        return describe(value)
    if not (isinstance(value, type) or inspect.isroutine(value)) or id(value) in seen:
        return None
    module = getattr(value, "__module__", None) or "builtins"
    return None if _is_versioned(module) else _describe_bytecode(value, seen)


def _describe_constant(value: Any) -> object:
    return repr(value) if isinstance(value, bytes | complex) or value is ... else describe(value)


def _is_a(*types: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, types)


# A test for a type, and how to describe its values; the first match counts.
_DESCRIBERS: tuple[tuple[Callable[[object], bool], Callable[[Any, str], object]], ...] = (
    (_is_a(np.generic), _describe_scalar),
    (_is_a(np.ndarray), _describe_array),
    (_is_a(list, tuple), _describe_sequence),
    (_is_a(set, frozenset), _describe_set),
    (_is_a(Mapping), _describe_mapping),
    (_is_a(range), lambda value, _: {"range": [value.start, value.stop, value.step]}),
    (_is_a(slice), lambda value, name: {"slice": describe([value.start, value.stop, value.step], name)}),
    (_is_a(BaseCrossValidator), _describe_splitter),
    (_is_a(make_column_selector), lambda value, name: {"columns": describe(vars(value), name)}),
    (_is_a(PurePath), lambda value, _: {"path": str(value)}),
    (_is_a(functools.partial), _describe_partial),
    (lambda value: isinstance(value, type) or inspect.isroutine(value), _describe_definition),
    (lambda value: hasattr(value, "get_params"), _describe_estimator),
    (dataclasses.is_dataclass, _describe_dataclass),
    (_is_torch_module, _describe_net),
)
