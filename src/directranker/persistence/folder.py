"""A fitted ranker as a folder: numbers in safetensors, trees in LightGBM's text, all else in a JSON header.

Never a pickle: loading makes no object but those of a fixed table of classes, and looks through trees before
LightGBM sees them, so a folder from anywhere cannot run code. The header has the checksums of all other files
and, as its last entry, that of its own text before it, so no byte of a model can change unnoticed. Checksums
are against damage: whoever makes a folder can make them right, and what loads is then safe but theirs.

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
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as dump_tensors

from directranker import rankers
from directranker._version import __version__
from directranker.data.files import write_folder_atomically
from directranker.data.folder_swap import read_unchanged
from directranker.encoding import TRANSFORMS
from directranker.errors import StorageError
from directranker.persistence.fitted_checks import check_fitted
from directranker.persistence.trusted_nets import net_from_words, words_of_net
from directranker.rankers.base import Ranker
from directranker.rankers.nets.direct_ranker import DirectRanker
from directranker.rankers.rounds import RoundRecord
from directranker.rankers.trees.model_text import trees_from_text
from directranker.training.records import EpochRecord

__all__ = [
    "MOST_BYTES",
    "load_ranker",
    "read_plain_file",
    "read_versions",
    "save_ranker",
    "sealed_header",
    "write_ranker",
]

FORMAT = "directranker model"
VERSION = 2
OLDER_VERSIONS = (1,)  # had no checksum of the header; all else is the same
SEAL = re.compile(rb',\n "header_sha256": "([0-9a-f]{64})"\n}\Z')
HEADER, WEIGHTS, TREES = "header.json", "weights.safetensors", "trees{}.txt"
# What is read from a folder that nobody vouches for; in memory it may be some times as much.
MOST_BYTES = {HEADER: 16 << 20, WEIGHTS: 256 << 20, TREES: 40 << 20}
# The rankers that can be saved; each is imported when one is.
RANKERS = tuple(name for name in rankers.__all__ if name != "Ranker")
TRANSFORM_CLASSES: dict[str, type[Any]] = {kind.__name__: kind for kind in TRANSFORMS.values()}
RECORDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (EpochRecord, RoundRecord)}
# What a loaded ranker does without: it is not trained, and its transform is saved fitted.
LEFT_OUT = ("callbacks", "checkpoint", "progress", "random_state", "teacher", "transform", "ranker")


# What parts raise that do not fit together.
_MISFITS = (SafetensorError, KeyError, TypeError, ValueError, AttributeError, RuntimeError, ArithmeticError)


class Parts(NamedTuple):
    """What stands beside the header: arrays by name, texts of trees by their file's name, trusted classes."""

    arrays: dict[str, NDArray[Any]]
    trees: dict[str, str]
    trust: Sequence[type] = ()


def save_ranker(ranker: Ranker, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a fitted ranker to a folder, all or nothing."""
    files = _files_of(ranker)  # before there is a folder: a ranker that cannot be saved leaves none
    with write_folder_atomically(folder, overwrite=overwrite) as temporary:
        _write_files(files, temporary)


def write_ranker(ranker: Ranker, folder: Path) -> None:
    """Write the files of a fitted ranker to a folder that is there, for those who add files of their own."""
    _write_files(_files_of(ranker), folder)


def _write_files(files: Mapping[str, bytes], folder: Path) -> None:
    for name, content in files.items():
        (folder / name).write_bytes(content)


def _files_of(ranker: Ranker) -> dict[str, bytes]:
    parts = Parts({}, {})
    words = _words_of(ranker, "", parts)
    weights = dump_tensors({name: np.ascontiguousarray(array) for name, array in parts.arrays.items()})
    trees = {name: text.encode() for name, text in parts.trees.items()}
    versions = {name: version(name) for name in ("lightgbm", "numpy", "torch", "scikit-learn")}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "ranker": words,
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        "trees_sha256": {name: hashlib.sha256(text).hexdigest() for name, text in trees.items()},
        "versions": {"directranker": __version__, **versions},
    }
    return {WEIGHTS: weights, **trees, HEADER: sealed_header(header)}


def sealed_header(header: Mapping[str, Any]) -> bytes:
    """A header as text that ends in the checksum of what comes before.

    >>> print(sealed_header({"format": "x"}).decode()[:41])
    {
     "format": "x",
     "header_sha256": "8478
    """
    text = json.dumps(header, indent=1, allow_nan=False, default=_plain).encode().removesuffix(b"\n}")
    return text + f',\n "header_sha256": "{hashlib.sha256(text).hexdigest()}"\n}}'.encode()


def load_ranker(folder: str | Path, *, trust: Sequence[type] = ()) -> Ranker:
    """Read a ranker that `save_ranker` wrote; its scores are bit-identical.

    A feature net of the user's own is made only if its class is among those to `trust`. Files of more than
    256 MB, or 40 MB of trees, are read only if any class is trusted, the ranker's own for example.
    """
    return read_unchanged(Path(folder), lambda found: _load(found, trust))


def _load(folder: Path, trust: Sequence[type]) -> Ranker:
    header = _read_header(folder)
    weights = _read_part(folder, WEIGHTS, header.get("weights_sha256"), _most(WEIGHTS, trust))
    trees = _read_trees(folder, header.get("trees_sha256", {}), _most(TREES, trust))
    try:
        kind = _class_of(header["ranker"]["class"])
        parts = Parts(load_tensors(weights), trees, trust)
        ranker = _from_words(header["ranker"], "", parts) if issubclass(kind, Ranker) else None
    except PermissionError as error:  # of a net that is not trusted
        raise StorageError(f"{folder}: {error}") from None
    except _MISFITS as error:
        raise StorageError(f"{folder}: the parts do not fit together ({error})") from None
    if not isinstance(ranker, Ranker):
        raise StorageError(f"{folder} holds no ranker but a {kind.__name__}")
    return ranker


def read_versions(folder: str | Path) -> dict[str, str]:
    """The versions of the packages that a saved ranker was made by."""
    versions = _read_header(Path(folder)).get("versions")
    return {str(name): str(one) for name, one in versions.items()} if isinstance(versions, dict) else {}


def _class_of(name: str) -> type[Any]:
    """A class of the two tables, and no other."""
    kind: type[Any] = getattr(rankers, name) if name in RANKERS else TRANSFORM_CLASSES[name]
    return kind


def _most(kind: str, trust: Sequence[type]) -> float:
    return math.inf if trust else MOST_BYTES[kind]


def read_plain_file(path: Path, most: float, advice: str) -> bytes:
    """The bytes of a file, which must be one: a device may have no end, and a pipe no beginning."""
    if not path.is_file():
        raise StorageError(f"{path} is missing or no file; the model is not complete")
    size = path.stat().st_size
    if size > most:
        raise StorageError(f"{path} has {size:,} bytes, where at most {most:,} are read; {advice}")
    return path.read_bytes()


def _read_part(folder: Path, name: str, checksum: object, most: float) -> bytes:
    advice = (
        "if you know where it comes from, give load_ranker the ranker's class, trust=[DirectRanker], or the "
        "command its name, --trust DirectRanker"
    )
    content = read_plain_file(folder / name, most, advice)
    if hashlib.sha256(content).hexdigest() != checksum:
        raise StorageError(f"{folder / name} is not the file that was saved; it is damaged or swapped")
    return content


def _read_trees(folder: Path, checksums: object, most: float) -> dict[str, str]:
    if not isinstance(checksums, dict) or not all(map(re.compile(r"trees(-\d+)?\.txt").fullmatch, checksums)):
        raise StorageError(f"{folder / HEADER}: damaged header (trees_sha256 names no files of trees)")
    texts = {}
    for name in checksums:
        texts[name] = _read_part(folder, name, checksums[name], most).decode(errors="replace")
        most -= len(texts[name])  # for all of them together
    return texts


def _words_of(estimator: Any, prefix: str, parts: Parts) -> dict[str, Any]:
    """What JSON can hold of a fitted estimator; arrays go to `parts` under their names behind the prefix."""
    name = type(estimator).__name__
    if name not in (*RANKERS, *TRANSFORM_CLASSES) or _class_of(name) is not type(estimator):
        raise TypeError(f"{name} is not a class of directranker, so it cannot be saved")
    fitted: dict[str, Any] = {}
    for key, value in vars(estimator).items():
        if key.endswith("_") and not key.startswith("_"):
            fitted[key] = _word(key, value, f"{prefix}{key}", parts)
    if isinstance(estimator, DirectRanker):
        for part, tensor in estimator.net_.state_dict().items():
            parts.arrays[f"{prefix}net_/{part}"] = tensor.numpy()
        fitted["net_"] = {"net": f"{prefix}net_"}
    return {"class": name, "parameters": _parameters(estimator), "fitted": fitted}


def _word(key: str, value: Any, name: str, parts: Parts) -> Any:
    if isinstance(value, np.ndarray) and value.dtype != object:
        parts.arrays[name] = value
        return {"array": name}
    if key == "booster_":
        file = TREES.format(f"-{len(parts.trees) + 1}" if parts.trees else "")
        parts.trees[file] = value.model_to_string()
        return {"trees": file}
    if key == "history_":
        kind = type(value[0]).__name__ if value else "EpochRecord"
        # JSON has no nan, which stands where a metric counts no query.
        rows = [
            ["nan" if entry is not None and np.isnan(entry) else entry for entry in astuple(record)]
            for record in value
        ]
        return {"history": rows, "of": kind}
    if key in ("rankers_", "transform_"):
        return _words_within(key, value, name, parts)
    return {"value": value.tolist() if isinstance(value, np.ndarray) else value}


def _words_within(key: str, value: Any, name: str, parts: Parts) -> dict[str, Any]:
    if key == "transform_":
        return {"transform": _words_of(value, f"{name}/", parts)}
    return {"rankers": [_words_of(one, f"{name}/{i}/", parts) for i, one in enumerate(value)]}


def _parameters(estimator: Any) -> dict[str, Any]:
    """The parameters that differ from their defaults; one that is a function is an error."""
    defaults = type(estimator)().get_params(deep=False)
    kept = {}
    for name, value in estimator.get_params(deep=False).items():
        if name in LEFT_OUT or _is_default(value, defaults[name]):
            continue
        if name == "feature_net":
            kept[name] = words_of_net(value)
            continue
        try:
            kept[name] = json.loads(json.dumps(value, default=_plain))
        except TypeError:
            raise TypeError(
                f"{name} is {value!r}, which cannot be saved as text; models with functions of your own can "
                "be pickled"
            ) from None
    return kept


def _is_default(value: Any, default: Any) -> bool:
    # An array is compared value by value, and no default is one.
    return value is default or bool(not isinstance(value, np.ndarray) and value == default)


def _plain(value: Any) -> Any:
    """A number or an array of NumPy as JSON takes it."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is nothing that JSON holds")


def _from_words(words: dict[str, Any], prefix: str, parts: Parts) -> Any:
    kind = _class_of(words["class"])
    parameters = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in words["parameters"].items()
    }
    if parameters.get("feature_net") is not None:
        parameters["feature_net"] = net_from_words(parameters["feature_net"], parts.trust)
    estimator = kind(**parameters)
    for key, word in words["fitted"].items():
        if not key.endswith("_") or key.startswith("_"):
            raise ValueError(f"{key!r} is no fitted attribute")
        if "net" not in word:
            setattr(estimator, key, _value(word, f"{prefix}{key}", parts))
    check_fitted(estimator)
    if isinstance(estimator, DirectRanker):
        own = f"{prefix}net_/"
        arrays = {name: array for name, array in parts.arrays.items() if name.startswith(own)}
        estimator.take_weights({name.removeprefix(own): array for name, array in arrays.items()})
    if words["class"] == "LambdaMART" and estimator.booster_.num_feature() != estimator.n_features_in_:
        raise ValueError("the trees are for another number of features")
    return estimator


def _value(word: dict[str, Any], name: str, parts: Parts) -> Any:
    (kind, content), *_ = word.items()
    if kind == "array":
        return parts.arrays[content]
    if kind == "trees":
        return trees_from_text(parts.trees[content])
    if kind == "history":
        kind_of_record = RECORDS[word["of"]]
        return [
            kind_of_record(*(np.nan if entry == "nan" else entry for entry in record)) for record in content
        ]
    if kind == "rankers":
        return [_from_words(one, f"{name}/{i}/", parts) for i, one in enumerate(content)]
    if kind == "transform":
        return _from_words(content, f"{name}/", parts)
    return np.array(content, dtype=object) if name.endswith("feature_names_in_") else content


def _read_header(folder: Path) -> dict[str, Any]:
    path = folder / HEADER
    if not folder.exists():
        raise StorageError(f"{folder} does not exist; give the folder of a saved model")
    if not path.is_file():
        raise StorageError(f"{folder} is not a saved model: it has no {HEADER}")
    text = read_plain_file(path, MOST_BYTES[HEADER], "no ranker has so long a header")
    try:
        header = json.loads(text)
        found, written = header["format"], header["version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StorageError(f"{path}: damaged header ({error})") from None
    if found != FORMAT:
        raise StorageError(f"{path}: not the header of a model but of {found!r}")
    if type(written) is not int or written not in (VERSION, *OLDER_VERSIONS):
        raise StorageError(
            f"{path}: format version {written!r}; this directranker reads versions 1 to {VERSION}, so "
            "update it, or train and save the ranker with this one"
        )
    if written == VERSION or "header_sha256" in header:
        _check_seal(path, text)
    return dict(header)


def _check_seal(path: Path, text: bytes) -> None:
    seal = SEAL.search(text)
    if seal is None or hashlib.sha256(text[: seal.start()]).hexdigest() != seal[1].decode():
        raise StorageError(f"{path} is not the file that was saved; it is damaged or was edited")
