"""A fitted estimator as JSON and, beside it, arrays by name and long texts by file.

An estimator says itself what its state is and takes it over again (`_fitted_state`, `_restore`). Here that
state becomes entries that JSON holds, each with its kind:

| entry | a value that is |
|---|---|
| `{"array": name}` | an array |
| `{"net": prefix}` | a mapping of names to arrays |
| `{"trees": file}` | a `ModelText` |
| `{"history": rows, "of": record}` | a list of training records |
| `{"transform": …}`, `{"rankers": […]}` | an estimator, a list of rankers |
| `{"value": …}` | anything else that JSON holds |

Classes are looked up by name among the registered rankers and our transforms; no other name is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from directranker.encoding import TRANSFORMS, FeatureTransform
from directranker.rankers.base import Ranker
from directranker.rankers.contract import ModelText, json_value
from directranker.rankers.registry import find_ranker_class, find_registered_name
from directranker.rankers.rounds import RoundRecord
from directranker.training.records import EpochRecord

__all__ = ["Parts", "decode_estimator", "encode_estimator", "json_value", "known_class"]

TREES = "trees{}.txt"
TRANSFORM_CLASSES: dict[str, type[FeatureTransform]] = {one.__name__: one for one in TRANSFORMS.values()}
RECORDS: dict[str, type[Any]] = {one.__name__: one for one in (EpochRecord, RoundRecord)}


class Parts(NamedTuple):
    """What stands beside the header: arrays by name, texts by file, and the classes that are trusted."""

    arrays: dict[str, NDArray[Any]]
    texts: dict[str, str]
    trust: Sequence[type] = ()


def encode_estimator(estimator: Any, prefix: str, parts: Parts) -> dict[str, Any]:
    """What JSON holds of a fitted estimator; arrays go to `parts` under their names behind the prefix."""
    name, known = _known_name(estimator)
    if not known:
        raise TypeError(
            f"{type(estimator).__name__} is not registered with directranker, so it cannot be saved; "
            "register a ranker by an entry point of the group 'directranker.rankers', and take one of "
            "directranker's transforms"
        )
    is_ranker = isinstance(estimator, Ranker)
    parameters = estimator._saved_parameters() if is_ranker else _changed_parameters(estimator)
    state = estimator._fitted_state() if is_ranker else _fitted_attributes(estimator)
    fitted = {key: _encode(value, f"{prefix}{key}", parts) for key, value in state.items()}
    return {"class": name, "parameters": parameters, "fitted": fitted}


def _known_name(estimator: Any) -> tuple[str, bool]:
    """The name that the header has of a class, and whether it is one that can be loaded again."""
    if isinstance(estimator, Ranker):
        name = find_registered_name(type(estimator))
        return name or "", name is not None
    name = type(estimator).__name__
    return name, TRANSFORM_CLASSES.get(name) is type(estimator)


def _fitted_attributes(estimator: Any) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(estimator).items()
        if name.endswith("_") and not name.startswith("_")
    }


def _changed_parameters(transform: FeatureTransform) -> dict[str, Any]:
    defaults = type(transform)().get_params(deep=False)
    parameters = transform.get_params(deep=False)
    return {name: value for name, value in parameters.items() if value != defaults[name]}


def _encode(value: Any, name: str, parts: Parts) -> dict[str, Any]:
    encode = next(encode for is_kind, encode in _ENCODERS if is_kind(value))
    return encode(value, name, parts)


def _encode_text(value: ModelText, name: str, parts: Parts) -> dict[str, Any]:  # noqa: ARG001 - as the others
    file = TREES.format(f"-{len(parts.texts) + 1}" if parts.texts else "")
    parts.texts[file] = str(value)
    return {"trees": file}


def _encode_array(value: NDArray[Any], name: str, parts: Parts) -> dict[str, Any]:
    parts.arrays[name] = value
    return {"array": name}


def _encode_arrays(value: Mapping[str, NDArray[Any]], name: str, parts: Parts) -> dict[str, Any]:
    parts.arrays.update({f"{name}/{key}": array for key, array in value.items()})
    return {"net": name}


def _encode_transform(value: Any, name: str, parts: Parts) -> dict[str, Any]:
    return {"transform": encode_estimator(value, f"{name}/", parts)}


def _encode_rankers(value: list[Any], name: str, parts: Parts) -> dict[str, Any]:
    return {"rankers": [encode_estimator(one, f"{name}/{i}/", parts) for i, one in enumerate(value)]}


def _encode_history(value: list[Any], name: str, parts: Parts) -> dict[str, Any]:  # noqa: ARG001
    # JSON has no nan, which stands where a metric counts no query.
    rows = [
        ["nan" if entry is not None and np.isnan(entry) else entry for entry in astuple(record)]
        for record in value
    ]
    return {"history": rows, "of": type(value[0]).__name__}


def _encode_value(value: Any, name: str, parts: Parts) -> dict[str, Any]:  # noqa: ARG001
    return {"value": value.tolist() if isinstance(value, np.ndarray) else value}


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _is_list_of(value: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, kinds) for one in value)


_ENCODERS: tuple[tuple[Callable[[Any], bool], Callable[[Any, str, Parts], dict[str, Any]]], ...] = (
    (lambda value: isinstance(value, ModelText), _encode_text),
    (lambda value: isinstance(value, np.ndarray) and value.dtype != object, _encode_array),
    (lambda value: isinstance(value, Mapping) and all(map(_is_array, value.values())), _encode_arrays),
    (lambda value: hasattr(value, "transform"), _encode_transform),
    (lambda value: _is_list_of(value, (Ranker,)), _encode_rankers),
    (lambda value: _is_list_of(value, tuple(RECORDS.values())), _encode_history),
    (lambda value: True, _encode_value),  # noqa: ARG005
)


def known_class(name: str) -> type[Any]:
    """The transform or the registered ranker of this name."""
    if name in TRANSFORM_CLASSES:
        return TRANSFORM_CLASSES[name]
    try:
        return find_ranker_class(name)
    except KeyError:
        raise ValueError(f"no ranker {name!r} is registered; install the package that provides it") from None


def decode_estimator(entry: Mapping[str, Any], prefix: str, parts: Parts) -> Any:
    """The estimator that `encode_estimator` described; it checks itself what it takes over."""
    kind, saved = known_class(entry["class"]), entry["parameters"]
    is_ranker = issubclass(kind, Ranker)
    estimator = kind._from_saved_parameters(saved, parts.trust) if is_ranker else kind(**saved)
    state = {}
    for key, value in entry["fitted"].items():
        if not key.endswith("_") or key.startswith("_"):
            raise ValueError(f"{key!r} is not the name of a fitted attribute")
        state[key] = _decode(value, f"{prefix}{key}", parts)
    estimator._restore(state)
    return estimator


def _decode(entry: Mapping[str, Any], name: str, parts: Parts) -> Any:
    (kind, content), *_ = entry.items()
    if kind == "value":
        return np.array(content, dtype=object) if name.endswith("feature_names_in_") else content
    if kind == "history":
        record = RECORDS[entry["of"]]
        return [record(*(np.nan if value == "nan" else value for value in row)) for row in content]
    return _DECODERS[kind](content, name, parts)


def _decode_arrays(_content: Any, name: str, parts: Parts) -> dict[str, NDArray[Any]]:
    own = f"{name}/"
    return {key.removeprefix(own): array for key, array in parts.arrays.items() if key.startswith(own)}


_DECODERS: dict[str, Callable[[Any, str, Parts], Any]] = {
    "array": lambda content, _name, parts: parts.arrays[content],
    "net": _decode_arrays,
    "trees": lambda content, _name, parts: ModelText(parts.texts[content]),
    "rankers": lambda content, name, parts: [
        decode_estimator(one, f"{name}/{i}/", parts) for i, one in enumerate(content)
    ],
    "transform": lambda content, name, parts: decode_estimator(content, f"{name}/", parts),
}
