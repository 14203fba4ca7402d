"""The state of a fitted estimator as JSON, with arrays and long texts stored beside it.

An estimator returns its state and restores it (`_fitted_state`, `_restore`). Each value of the state becomes
a JSON entry with its kind:

| entry | value |
|---|---|
| `{"array": name}` | an array |
| `{"net": prefix}` | a mapping of names to arrays |
| `{"trees": file}` | a `ModelText` |
| `{"history": rows, "of": record}` | a list of training records |
| `{"transform": …}`, `{"rankers": […]}` | an estimator, a list of rankers |
| `{"transformer": …}` | a transformer of scikit-learn, see `transformers.py` |
| `{"value": …}` | any other JSON value |

Classes are looked up by name among the registered rankers, our transforms and scikit-learn's transformers
whose state is known; nothing else is imported. A pipeline is the list of its steps, the last one a ranker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from directranker.encoding import TRANSFORMS, FeatureTransform
from directranker.encoding.adapters import QueryAdapter, RowAdapter
from directranker.encoding.category_statistics import CategoryStatistics
from directranker.persistence.transformers import Store, decode_transformer, encode_transformer
from directranker.rankers.base import Ranker
from directranker.rankers.contract import ModelText, json_value
from directranker.rankers.registry import find_ranker_class, find_registered_name
from directranker.rankers.rounds import RoundRecord
from directranker.training.records import EpochRecord

__all__ = [
    "PIPELINE",
    "TREES",
    "Contents",
    "decode_estimator",
    "decode_pipeline",
    "encode_estimator",
    "encode_pipeline",
    "find_class",
    "json_value",
]

TREES, PIPELINE = "trees{}.txt", "Pipeline"
_TRANSFORMS: tuple[type[FeatureTransform], ...] = (
    *TRANSFORMS.values(),
    CategoryStatistics,
    QueryAdapter,
    RowAdapter,
)
TRANSFORM_CLASSES = {one.__name__: one for one in _TRANSFORMS}
RECORDS: dict[str, type[Any]] = {one.__name__: one for one in (EpochRecord, RoundRecord)}
Entry = dict[str, Any]
"""A JSON object that describes a value or an estimator."""


class Contents(NamedTuple):
    """The contents beside the header: arrays by name, texts by file, and the trusted classes."""

    arrays: dict[str, NDArray[Any]]
    texts: dict[str, str]
    trust: Sequence[type] = ()


def encode_estimator(estimator: Ranker | FeatureTransform, prefix: str, contents: Contents) -> Entry:
    """Encode a fitted estimator as JSON; add its arrays, with prefixed names, and its texts to `contents`."""
    name = _find_name(estimator)
    if name is None:
        raise TypeError(
            f"{type(estimator).__name__} is not registered with directranker, so it cannot be saved; "
            "register a ranker by an entry point of the group 'directranker.rankers', and use one of "
            "directranker's transforms"
        )
    if isinstance(estimator, Ranker):
        parameters, state = estimator._saved_parameters(), estimator._fitted_state()
    else:
        parameters, state = _select_changed_parameters(estimator), _select_fitted_attributes(estimator)
    fitted = {key: _encode(value, f"{prefix}{key}", contents) for key, value in state.items()}
    return {"class": name, "parameters": parameters, "fitted": fitted}


def _find_name(estimator: Ranker | FeatureTransform) -> str | None:
    """Find the name that `find_class` resolves to the estimator's class, or None."""
    if isinstance(estimator, Ranker):
        return find_registered_name(type(estimator))
    name = type(estimator).__name__
    return name if TRANSFORM_CLASSES.get(name) is type(estimator) else None


def _select_fitted_attributes(estimator: object) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(estimator).items()
        if name.endswith("_") and not name.startswith("_")
    }


def _select_changed_parameters(transform: FeatureTransform) -> dict[str, Any]:
    defaults = type(transform)().get_params(deep=False)
    parameters = transform.get_params(deep=False)
    return {
        name: value
        for name, value in parameters.items()
        # An adapter's transformer is in its fitted state.
        if not isinstance(value, BaseEstimator) and value != defaults[name]
    }


def _encode(value: object, name: str, contents: Contents) -> Entry:
    encode = next(encode for is_kind, encode in _ENCODERS if is_kind(value))
    return encode(value, name, contents)


def _encode_text(value: ModelText, _name: str, contents: Contents) -> Entry:
    file = TREES.format(f"-{len(contents.texts) + 1}" if contents.texts else "")
    contents.texts[file] = str(value)
    return {"trees": file}


def _encode_array(value: NDArray[Any], name: str, contents: Contents) -> Entry:
    contents.arrays[name] = value
    return {"array": name}


def _encode_arrays(value: Mapping[str, NDArray[Any]], name: str, contents: Contents) -> Entry:
    contents.arrays.update({f"{name}/{key}": array for key, array in value.items()})
    return {"net": name}


def _encode_transform(value: BaseEstimator, name: str, contents: Contents) -> Entry:
    if isinstance(value, FeatureTransform):
        return {"transform": encode_estimator(value, f"{name}/", contents)}
    return {"transformer": encode_transformer(value, name, _open_store(contents), step="transform")}


def _open_store(contents: Contents) -> Store:
    return Store(
        contents.arrays,
        lambda transform, name: encode_estimator(transform, f"{name}/", contents),
        lambda entry, name: decode_estimator(entry, f"{name}/", contents),
    )


def encode_pipeline(pipeline: Pipeline, contents: Contents) -> Entry:
    """Encode a fitted pipeline whose last step is a ranker."""
    *steps, (last, ranker) = pipeline.steps
    if not isinstance(ranker, Ranker):
        raise TypeError(f"step {last!r} is a {type(ranker).__name__}; the last step must be a ranker")
    before = encode_transformer(Pipeline(steps), "steps", _open_store(contents), step="") if steps else None
    return {"class": PIPELINE, "before": before, "last": [last, encode_estimator(ranker, "", contents)]}


def decode_pipeline(entry: Mapping[str, Any], contents: Contents) -> Pipeline:
    """Create the pipeline that `encode_pipeline` encoded."""
    steps = (
        [] if entry["before"] is None else decode_transformer(entry["before"], _open_store(contents)).steps
    )
    name, encoded = entry["last"]
    ranker = decode_estimator(encoded, "", contents)
    if not isinstance(ranker, Ranker) or not isinstance(name, str):
        raise ValueError("the last step of the pipeline is not a ranker")
    return Pipeline([*steps, (name, ranker)])


def _encode_rankers(value: Sequence[Ranker], name: str, contents: Contents) -> Entry:
    return {"rankers": [encode_estimator(one, f"{name}/{i}/", contents) for i, one in enumerate(value)]}


def _encode_history(value: Sequence[EpochRecord | RoundRecord], _name: str, _contents: Contents) -> Entry:
    # JSON has no NaN, the value of a metric that counts no query.
    rows = [
        ["nan" if entry is not None and np.isnan(entry) else entry for entry in astuple(record)]
        for record in value
    ]
    return {"history": rows, "of": type(value[0]).__name__}


def _encode_value(value: object, _name: str, _contents: Contents) -> Entry:
    return {"value": value.tolist() if isinstance(value, np.ndarray) else value}


def _is_array(value: object) -> bool:
    return isinstance(value, np.ndarray)


def _is_list_of(value: object, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, kinds) for one in value)


_ENCODERS: tuple[tuple[Callable[[Any], bool], Callable[[Any, str, Contents], Entry]], ...] = (
    (lambda value: isinstance(value, ModelText), _encode_text),
    (lambda value: isinstance(value, np.ndarray) and value.dtype != object, _encode_array),
    (lambda value: isinstance(value, Mapping) and all(map(_is_array, value.values())), _encode_arrays),
    (lambda value: hasattr(value, "transform"), _encode_transform),
    (lambda value: _is_list_of(value, (Ranker,)), _encode_rankers),
    (lambda value: _is_list_of(value, (EpochRecord, RoundRecord)), _encode_history),
    (lambda value: True, _encode_value),  # noqa: ARG005
)


def find_class(name: str) -> type[Any]:
    """Find the transform or the registered ranker of this name."""
    if name in TRANSFORM_CLASSES:
        return TRANSFORM_CLASSES[name]
    try:
        return find_ranker_class(name)
    except KeyError:
        raise ValueError(f"no ranker {name!r} is registered; install the package that provides it") from None


def decode_estimator(entry: Mapping[str, Any], prefix: str, contents: Contents) -> BaseEstimator:
    """Create the estimator that `encode_estimator` encoded; the estimator validates its own state."""
    kind, saved = find_class(entry["class"]), entry["parameters"]
    is_ranker = issubclass(kind, Ranker)
    estimator = kind._from_saved_parameters(saved, contents.trust) if is_ranker else kind(**saved)
    state = {}
    for key, value in entry["fitted"].items():
        if not key.endswith("_") or key.startswith("_"):
            raise ValueError(f"{key!r} is not the name of a fitted attribute")
        state[key] = _decode(value, f"{prefix}{key}", contents)
    estimator._restore(state)
    return estimator


def _decode(entry: Mapping[str, Any], name: str, contents: Contents) -> Any:
    (kind, content), *_ = entry.items()
    if kind == "value":
        return np.array(content, dtype=object) if name.endswith("feature_names_in_") else content
    if kind == "history":
        record = RECORDS[entry["of"]]
        return [record(*(np.nan if value == "nan" else value for value in row)) for row in content]
    return _DECODERS[kind](content, name, contents)


def _decode_arrays(_content: object, name: str, contents: Contents) -> dict[str, NDArray[Any]]:
    prefix = f"{name}/"
    return {
        key.removeprefix(prefix): array for key, array in contents.arrays.items() if key.startswith(prefix)
    }


_DECODERS: dict[str, Callable[[Any, str, Contents], Any]] = {
    "array": lambda content, _name, contents: contents.arrays[content],
    "net": _decode_arrays,
    "trees": lambda content, _name, contents: ModelText(contents.texts[content]),
    "rankers": lambda content, name, contents: [
        decode_estimator(one, f"{name}/{i}/", contents) for i, one in enumerate(content)
    ],
    "transform": lambda content, name, contents: decode_estimator(content, f"{name}/", contents),
    "transformer": lambda content, _name, contents: decode_transformer(content, _open_store(contents)),
}
