"""Fitted values of scikit-learn's transformers as JSON, with arrays of numbers stored beside it.

| entry | value |
|---|---|
| `{"array": name}`, `{"scalar": name}` | an array of numbers, a NumPy number |
| `{"objects": […], "text": bool}` | an array of strings, numbers, NaN and None |
| `{"list": […]}`, `{"tuple": […]}`, `{"dict": [[key, value], …]}` | a collection |
| `{"slice": [start, stop, step]}`, `{"dtype": name, "class": bool}` | a slice, a type of numbers |
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
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["pack", "unpack"]

Arrays = dict[str, NDArray[Any]]
NUMBER_KINDS = "biuf"
DTYPES = ("bool", "float32", "float64", "int32", "int64", "object")


def pack(value: Any, name: str, arrays: Arrays) -> dict[str, Any]:
    """Return the entry of a value; add its arrays of numbers under names that start with `name`."""
    pack_kind = next((pack_kind for kinds, pack_kind in _PACKERS if isinstance(value, kinds)), None)
    return _pack_plain(value) if pack_kind is None else pack_kind(value, name, arrays)


def _pack_number(value: np.generic, name: str, arrays: Arrays) -> dict[str, Any]:
    if value.dtype.kind not in NUMBER_KINDS:
        return _pack_plain(value)
    return {"scalar": _add_array(np.array([value]), name, arrays)}


def _pack_sequence(value: list[Any] | tuple[Any, ...], name: str, arrays: Arrays) -> dict[str, Any]:
    entries = [pack(one, f"{name}/{index}", arrays) for index, one in enumerate(value)]
    return {"list" if isinstance(value, list) else "tuple": entries}


def _pack_mapping(value: dict[Any, Any], name: str, arrays: Arrays) -> dict[str, Any]:
    pairs = enumerate(value.items())
    return {"dict": [[_pack_plain(key), pack(one, f"{name}/{index}", arrays)] for index, (key, one) in pairs]}


def _pack_slice(value: slice, _name: str, _arrays: Arrays) -> dict[str, Any]:
    return {"slice": [_pack_plain(one) for one in (value.start, value.stop, value.step)]}


def _pack_dtype(value: np.dtype[Any] | type, _name: str, _arrays: Arrays) -> dict[str, Any]:
    if isinstance(value, type) and not issubclass(value, np.generic):
        return _pack_plain(value)
    if np.dtype(value).name not in DTYPES:
        raise TypeError(f"the type {np.dtype(value)} cannot be saved")
    return {"dtype": np.dtype(value).name, "class": isinstance(value, type)}


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
    kind = next(iter(entry)) if isinstance(entry, dict) and entry else None
    if kind not in _UNPACKERS:
        raise ValueError(f"{kind!r} is not the kind of a saved value")
    return _UNPACKERS[kind](entry, arrays)


def _unpack_scalar(entry: Any, arrays: Arrays) -> Any:
    array = arrays[entry["scalar"]]
    if array.shape != (1,):
        raise ValueError(f"a number has the shape {array.shape}")
    return array[0]


def _unpack_objects(entry: Any, _arrays: Arrays) -> NDArray[Any]:
    values = [_unpack_plain(one) for one in entry["objects"]]
    if entry["text"] is True and all(isinstance(one, str) for one in values):
        return np.array(values, dtype=str)
    return _to_object_array(values)


def _unpack_dtype(entry: Any, _arrays: Arrays) -> Any:
    if entry["dtype"] not in DTYPES:
        raise ValueError(f"{entry['dtype']!r} is not a type of numbers")
    dtype = np.dtype(entry["dtype"])
    return dtype.type if entry["class"] is True else dtype


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


_PACKERS: tuple[tuple[Any, Callable[[Any, str, Arrays], dict[str, Any]]], ...] = (
    (np.ndarray, _pack_array),
    (np.generic, _pack_number),
    ((list, tuple), _pack_sequence),
    (dict, _pack_mapping),
    (slice, _pack_slice),
    ((np.dtype, type), _pack_dtype),
)
_UNPACKERS: dict[str | None, Callable[[Any, Arrays], Any]] = {
    "value": lambda entry, _: _unpack_plain(entry),
    "float": lambda entry, _: _unpack_plain(entry),
    "array": lambda entry, arrays: arrays[entry["array"]],
    "scalar": _unpack_scalar,
    "objects": _unpack_objects,
    "list": lambda entry, arrays: [unpack(one, arrays) for one in entry["list"]],
    "tuple": lambda entry, arrays: tuple(unpack(one, arrays) for one in entry["tuple"]),
    "dict": lambda entry, arrays: {_unpack_plain(key): unpack(one, arrays) for key, one in entry["dict"]},
    "slice": lambda entry, _: slice(*(_unpack_plain(one) for one in entry["slice"])),
    "dtype": _unpack_dtype,
}
