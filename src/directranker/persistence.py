"""A fitted ranker as a folder: numbers in safetensors, everything else in a JSON header, never a pickle.

Loading makes no object but those of a fixed table of classes, so a folder from anywhere cannot run code.

>>> import tempfile
>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import DirectRanker
>>> data = example_dataset().select(range(30))
>>> ranker = DirectRanker(max_epochs=1, random_state=0).fit(data)
>>> with tempfile.TemporaryDirectory() as folder:
...     save_ranker(ranker, Path(folder) / "model")
...     again = load_ranker(Path(folder) / "model")
>>> bool((again.predict(data) == ranker.predict(data)).all())
True
"""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as dump_tensors

from directranker._version import __version__
from directranker.data.files import write_folder_atomically
from directranker.data.transforms import TRANSFORMS
from directranker.errors import StorageError
from directranker.nn import DirectRankerNet
from directranker.rankers import DirectRanker, Ensemble, LambdaDirectRanker, ListNet, Ranker, RankNet
from directranker.training import EpochRecord

__all__ = ["load_ranker", "save_ranker"]

FORMAT = "directranker model"
VERSION = 1
HEADER, WEIGHTS = "header.json", "weights.safetensors"
CLASSES: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (DirectRanker, RankNet, LambdaDirectRanker, ListNet, Ensemble, *TRANSFORMS.values())
}
# What a loaded ranker does without: it is not trained, and its transform is saved fitted.
LEFT_OUT = ("callbacks", "checkpoint", "progress", "random_state", "transform", "ranker")
Arrays = dict[str, NDArray[Any]]


def save_ranker(ranker: Ranker, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a fitted ranker to a folder, all or nothing."""
    arrays: Arrays = {}
    words = _words_of(ranker, "", arrays)
    weights = dump_tensors({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    versions = {name: version(name) for name in ("numpy", "torch", "scikit-learn")}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "ranker": words,
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        "versions": {"directranker": __version__, **versions},
    }
    text = json.dumps(header, indent=1, allow_nan=False)
    with write_folder_atomically(folder, overwrite=overwrite) as temporary:
        (temporary / WEIGHTS).write_bytes(weights)
        (temporary / HEADER).write_text(text, encoding="utf-8")


def load_ranker(folder: str | Path) -> Ranker:
    """Read a ranker that `save_ranker` wrote; its scores are bit-identical."""
    folder = Path(folder)
    header = _read_header(folder)
    try:
        weights = (folder / WEIGHTS).read_bytes()
    except FileNotFoundError:
        raise StorageError(f"{folder / WEIGHTS} is missing; the model is not complete") from None
    if hashlib.sha256(weights).hexdigest() != header.get("weights_sha256"):
        raise StorageError(f"{folder / WEIGHTS} is not the file that was saved; it is damaged or swapped")
    try:
        ranker = _from_words(header["ranker"], "", load_tensors(weights))
    except (SafetensorError, KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise StorageError(f"{folder}: the parts do not fit together ({error})") from None
    if not isinstance(ranker, Ranker):
        raise StorageError(f"{folder} holds no ranker but a {type(ranker).__name__}")
    return ranker


def _words_of(estimator: Any, prefix: str, arrays: Arrays) -> dict[str, Any]:
    """What JSON can hold of a fitted estimator; arrays go to `arrays` under their names behind the prefix."""
    name = type(estimator).__name__
    if CLASSES.get(name) is not type(estimator):
        raise TypeError(f"{name} is not a class of directranker, so it cannot be saved")
    fitted: dict[str, Any] = {}
    for key, value in vars(estimator).items():
        if key.endswith("_") and not key.startswith("_"):
            fitted[key] = _word(key, value, f"{prefix}{key}", arrays)
    return {"class": name, "parameters": _parameters(estimator), "fitted": fitted}


def _word(key: str, value: Any, name: str, arrays: Arrays) -> Any:
    if isinstance(value, np.ndarray) and value.dtype != object:
        arrays[name] = value
        return {"array": name}
    if isinstance(value, torch.nn.Module):
        arrays |= {f"{name}/{part}": tensor.numpy() for part, tensor in value.state_dict().items()}
        return {"net": name}
    if key == "history_":
        return {"history": [[r.epoch, r.cost, r.metric, r.learning_rate, r.seconds] for r in value]}
    if key == "rankers_":
        return {"rankers": [_words_of(one, f"{name}/{i}/", arrays) for i, one in enumerate(value)]}
    if key == "transform_":
        return {"transform": _words_of(value, f"{name}/", arrays)}
    return {"value": value.tolist() if isinstance(value, np.ndarray) else value}


def _parameters(estimator: Any) -> dict[str, Any]:
    """The parameters that differ from their defaults; one that is a function is an error."""
    defaults = type(estimator)().get_params(deep=False)
    kept = {}
    for name, value in estimator.get_params(deep=False).items():
        if name in LEFT_OUT or value is defaults[name] or value == defaults[name]:
            continue
        try:
            kept[name] = json.loads(json.dumps(value))
        except TypeError:
            raise TypeError(
                f"{name} is {value!r}, which cannot be saved as text; models with functions or nets of your "
                "own can be pickled"
            ) from None
    return kept


def _from_words(words: dict[str, Any], prefix: str, arrays: Arrays) -> Any:
    kind = CLASSES[words["class"]]
    parameters = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in words["parameters"].items()
    }
    estimator = kind(**parameters)
    for key, word in words["fitted"].items():
        if not key.endswith("_") or key.startswith("_"):
            raise ValueError(f"{key!r} is no fitted attribute")
        if "net" not in word:
            setattr(estimator, key, _value(word, f"{prefix}{key}", arrays))
    if isinstance(estimator, DirectRanker):
        estimator.net_ = _net(estimator, f"{prefix}net_/", arrays)
    return estimator


def _value(word: dict[str, Any], name: str, arrays: Arrays) -> Any:
    (kind, content), *_ = word.items()
    if kind == "array":
        return arrays[content]
    if kind == "history":
        return [EpochRecord(*record) for record in content]
    if kind == "rankers":
        return [_from_words(one, f"{name}/{i}/", arrays) for i, one in enumerate(content)]
    if kind == "transform":
        return _from_words(content, f"{name}/", arrays)
    return np.array(content, dtype=object) if name.endswith("feature_names_in_") else content


def _net(ranker: DirectRanker, prefix: str, arrays: Arrays) -> DirectRankerNet:
    weights = {
        name.removeprefix(prefix): torch.from_numpy(array.copy())
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
    with torch.device("meta"):  # no memory for shapes that a header only claims
        net = ranker.build_net()
    net.load_state_dict(weights, assign=True)
    return net.eval()


def _read_header(folder: Path) -> dict[str, Any]:
    path = folder / HEADER
    if not path.is_file():
        raise StorageError(f"{folder} is not a saved model: it has no {HEADER}")
    try:
        header = json.loads(path.read_bytes())
        found, written = header["format"], header["version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StorageError(f"{path}: damaged header ({error})") from None
    if found != FORMAT:
        raise StorageError(f"{path}: not the header of a model but of {found!r}")
    if written != VERSION:
        raise StorageError(f"{path}: format version {written!r}; this directranker reads {VERSION}")
    return dict(header)
