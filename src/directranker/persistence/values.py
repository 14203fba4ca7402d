"""Fitted values of scikit-learn's transformers as JSON, with arrays of numbers stored beside it.

| entry | value |
|---|---|
| `{"array": name}`, `{"scalar": name}` | an array of numbers, a NumPy number |
| `{"objects": […], "text": bool}` | an array of strings, numbers, NaN and None |
| `{"list": […]}`, `{"tuple": […]}`, `{"dict": [[key, value], …]}` | a collection |
| `{"slice": [start, stop]}`, `{"dtype": name, "class": bool}` | a slice, a type of numbers |
| `{"float": "nan"}` | a float that JSON lacks |
| `{"value": …}` | None, or a Boolean, number or string |

>>> arrays: dict[str, NDArray[Any]] = {}
>>> entry = pack([np.array([1.5]), np.nan, "a"], "x", arrays)
>>> entry
{'list': [{'array': 'x/0'}, {'float': 'nan'}, {'value': 'a'}]}
>>> unpack(entry, arrays)
[array([1.5]), nan, 'a']
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["pack", "unpack"]

Arrays = dict[str, NDArray[Any]]
NUMBER_KINDS = "biuf"
DTYPES = ("bool", "float32", "float64", "int32", "int64", "object")


def pack(value: Any, name: str, arrays: Arrays) -> dict[str, Any]:
    """Return the entry of a value; add its arrays of numbers under names that start with `name`."""
    if isinstance(value, np.ndarray):
        return _pack_array(value, name, arrays)
    if isinstance(value, np.generic) and value.dtype.kind in NUMBER_KINDS:
        return {"scalar": _add_array(np.array([value]), name, arrays)}
    if isinstance(value, list | tuple):
        entries = [pack(one, f"{name}/{index}", arrays) for index, one in enumerate(value)]
        return {"list" if isinstance(value, list) else "tuple": entries}
    if isinstance(value, dict):
        pairs = enumerate(value.items())
        return {
            "dict": [[_pack_plain(key), pack(one, f"{name}/{index}", arrays)] for index, (key, one) in pairs]
        }
    if isinstance(value, slice) and value.step is None:
        return {"slice": [_pack_plain(value.start), _pack_plain(value.stop)]}
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        dtype = np.dtype(value)
        if dtype.name in DTYPES:
            return {"dtype": dtype.name, "class": isinstance(value, type)}
    return _pack_plain(value)


def _pack_array(value: NDArray[Any], name: str, arrays: Arrays) -> dict[str, Any]:
    if value.dtype.kind in NUMBER_KINDS:
        return {"array": _add_array(value, name, arrays)}
    if value.dtype.kind not in "OU" or value.ndim != 1:
        raise TypeError(f"an array of {value.dtype} cannot be saved")
    return {"objects": [_pack_plain(one) for one in value.tolist()], "text": value.dtype.kind == "U"}


def _add_array(value: NDArray[Any], name: str, arrays: Arrays) -> str:
    """Add an array under a name of its own: a step's name may contain any character."""
    while name in arrays:
        name += "'"
    arrays[name] = value
    return name


def _pack_plain(value: Any) -> dict[str, Any]:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return {"value": value}
    raise TypeError(f"a {type(value).__name__} cannot be saved")


def unpack(entry: Any, arrays: Arrays) -> Any:
    """Return the value of an entry; raise ValueError if it is not one."""
    if not isinstance(entry, dict) or not entry:
        raise ValueError(f"{entry!r} is not a saved value")
    kind = next(iter(entry))
    content = entry[kind]
    if kind in ("value", "float"):
        return _unpack_plain(entry)
    if kind == "array":
        return arrays[content]
    if kind == "scalar" and arrays[content].shape == (1,):
        return arrays[content][0]
    if kind == "objects":
        values = [_unpack_plain(one) for one in content]
        if entry["text"] is True and all(isinstance(one, str) for one in values):
            return np.array(values, dtype=str)
        return _to_object_array(values)
    if kind in ("list", "tuple"):
        items = [unpack(one, arrays) for one in content]
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {_unpack_plain(key): unpack(one, arrays) for key, one in content}
    if kind == "slice":
        return slice(*(_unpack_plain(one) for one in content))
    if kind == "dtype" and content in DTYPES:
        return np.dtype(content).type if entry["class"] is True else np.dtype(content)
    raise ValueError(f"{kind!r} is not the kind of a saved value")


def _to_object_array(values: list[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _unpack_plain(entry: Any) -> Any:
    (kind, value), *rest = entry.items()
    if kind == "float" and value in ("nan", "inf", "-inf"):
        return float(value)
    if kind == "value" and not rest and (value is None or isinstance(value, bool | int | float | str)):
        return value
    raise ValueError(f"{entry!r} is not a saved value")
