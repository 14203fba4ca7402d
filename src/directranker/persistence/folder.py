"""A fitted ranker as a folder: arrays in safetensors, trees in LightGBM's text format, the rest in JSON.

No pickle is involved. Loading creates only objects of registered classes, and validates trees before LightGBM
parses them, so an untrusted folder cannot run code. The header has the checksums of all other files and, as
its last entry, the checksum of the header's own preceding text, so any changed byte is detected. Checksums
protect against damage, not against forgery: the author of a folder can compute them.

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
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as dump_tensors
from sklearn.pipeline import Pipeline

from directranker._version import __version__
from directranker.data.files import write_folder_atomically
from directranker.data.folder_swap import read_consistently
from directranker.errors import StorageError
from directranker.persistence.state import (
    PIPELINE,
    TREES,
    Contents,
    decode_estimator,
    decode_pipeline,
    encode_estimator,
    encode_pipeline,
    find_class,
    json_value,
)
from directranker.rankers.base import Ranker

__all__ = [
    "MAX_BYTES",
    "load_ranker",
    "read_regular_file",
    "read_versions",
    "save_ranker",
    "seal_header",
    "write_ranker",
]

FORMAT = "directranker model"
VERSION = 2
SEAL = re.compile(rb',\n "header_sha256": "([0-9a-f]{64})"\n}\Z')
HEADER, WEIGHTS = "header.json", "weights.safetensors"
# The limits for an untrusted folder; it may take several times as much memory.
MAX_BYTES = {HEADER: 16 << 20, WEIGHTS: 256 << 20, TREES: 40 << 20}


# Raised where the contents do not match.
_MISMATCHES = (
    SafetensorError,
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    RuntimeError,
    ArithmeticError,
)


def save_ranker(ranker: Ranker | Pipeline, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a fitted ranker, or a pipeline of known transformers that ends with one, to a folder, atomically.

    The transformers are scikit-learn's scalers, encoders, `SimpleImputer`, `QuantileTransformer`,
    `PowerTransformer`, `ColumnTransformer`, `Pipeline`, `FunctionTransformer` without a function, and all of
    ours. Another step raises an error that names it.
    """
    files = _encode_files(ranker)  # first, so that a ranker that cannot be saved leaves no folder
    with write_folder_atomically(folder, overwrite=overwrite) as temporary:
        _write_files(files, temporary)


def write_ranker(ranker: Ranker | Pipeline, folder: Path) -> None:
    """Write the files of a fitted ranker to an existing folder, to which the caller may add files."""
    _write_files(_encode_files(ranker), folder)


def _write_files(files: Mapping[str, bytes], folder: Path) -> None:
    for name, content in files.items():
        (folder / name).write_bytes(content)


def _encode_files(ranker: Ranker | Pipeline) -> dict[str, bytes]:
    contents = Contents({}, {})
    if isinstance(ranker, Pipeline):
        entry = encode_pipeline(ranker, contents)
    else:
        entry = encode_estimator(ranker, "", contents)
    weights = dump_tensors({name: np.ascontiguousarray(array) for name, array in contents.arrays.items()})
    trees = {name: text.encode() for name, text in contents.texts.items()}
    versions = {name: version(name) for name in ("lightgbm", "numpy", "torch", "scikit-learn")}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "ranker": entry,
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        "trees_sha256": {name: hashlib.sha256(text).hexdigest() for name, text in trees.items()},
        "versions": {"directranker": __version__, **versions},
    }
    return {WEIGHTS: weights, **trees, HEADER: seal_header(header)}


def seal_header(header: Mapping[str, object]) -> bytes:
    """Encode a header as JSON that ends with the checksum of the text before it.

    >>> print(seal_header({"format": "x"}).decode()[:41])
    {
     "format": "x",
     "header_sha256": "8478
    """
    text = json.dumps(header, indent=1, allow_nan=False, default=json_value).encode().removesuffix(b"\n}")
    return text + f',\n "header_sha256": "{hashlib.sha256(text).hexdigest()}"\n}}'.encode()


def load_ranker(folder: str | Path, *, trust: Sequence[type] = ()) -> Ranker | Pipeline:
    """Load a ranker or a pipeline that `save_ranker` wrote; its scores are bit-identical.

    A custom feature net is created only if `trust` contains its class. Files of more than 256 MB, or 40 MB of
    trees, are read only if `trust` is not empty; it may contain the ranker's class.
    """
    return read_consistently(Path(folder), lambda found: _load(found, trust))


def _load(folder: Path, trust: Sequence[type]) -> Ranker | Pipeline:
    header = _read_header(folder)
    weights = _read_checked(folder, WEIGHTS, header.get("weights_sha256"), _max_bytes(WEIGHTS, trust))
    trees = _read_trees(folder, header.get("trees_sha256", {}), _max_bytes(TREES, trust))
    try:
        entry = header["ranker"]
        contents = Contents(load_tensors(weights), trees, trust)
        if entry["class"] == PIPELINE:
            return decode_pipeline(entry, contents)
        kind = find_class(entry["class"])
        ranker = decode_estimator(entry, "", contents) if issubclass(kind, Ranker) else None
    except PermissionError as error:  # a net that is not trusted
        raise StorageError(f"{folder}: {error}") from None
    except _MISMATCHES as error:
        raise StorageError(f"{folder}: the contents do not match ({error})") from None
    if not isinstance(ranker, Ranker):
        raise StorageError(f"{folder} holds a {kind.__name__}, which is not a ranker")
    return ranker


def read_versions(folder: str | Path) -> dict[str, str]:
    """Read the package versions that a ranker was saved with."""
    versions = _read_header(Path(folder)).get("versions")
    return {str(name): str(one) for name, one in versions.items()} if isinstance(versions, dict) else {}


def _max_bytes(kind: str, trust: Sequence[type]) -> float:
    return math.inf if trust else MAX_BYTES[kind]


def read_regular_file(path: Path, max_bytes: float, advice: str) -> bytes:
    """Read a regular file; raise for devices and pipes, which may never end, and for large files."""
    if not path.is_file():
        raise StorageError(f"{path} is missing or not a regular file; the model is incomplete")
    size = path.stat().st_size
    if size > max_bytes:
        raise StorageError(f"{path} has {size:,} bytes, more than the limit of {max_bytes:,}; {advice}")
    return path.read_bytes()


def _read_checked(folder: Path, name: str, checksum: object, max_bytes: float) -> bytes:
    advice = (
        "if you trust its source, pass the ranker's class, load_ranker(…, trust=[DirectRanker]), or on the "
        "command line its name, --trust DirectRanker"
    )
    content = read_regular_file(folder / name, max_bytes, advice)
    if hashlib.sha256(content).hexdigest() != checksum:
        raise StorageError(
            f"{folder / name} does not match its checksum; the file is damaged or was replaced"
        )
    return content


def _read_trees(folder: Path, checksums: object, max_bytes: float) -> dict[str, str]:
    if not isinstance(checksums, dict) or not all(map(re.compile(r"trees(-\d+)?\.txt").fullmatch, checksums)):
        raise StorageError(f"{folder / HEADER}: damaged header (trees_sha256 has invalid file names)")
    texts = {}
    for name in checksums:
        texts[name] = _read_checked(folder, name, checksums[name], max_bytes).decode(errors="replace")
        max_bytes -= len(texts[name])  # the limit is for all of them together
    return texts


def _read_header(folder: Path) -> dict[str, Any]:
    path = folder / HEADER
    if not folder.exists():
        raise StorageError(f"{folder} does not exist; give the folder of a saved model")
    if not path.is_file():
        raise StorageError(f"{folder} is not a saved model: it has no {HEADER}")
    text = read_regular_file(path, MAX_BYTES[HEADER], "no ranker has such a long header")
    try:
        header = json.loads(text)
        kind, version_found = header["format"], header["version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StorageError(f"{path}: damaged header ({error})") from None
    if kind != FORMAT:
        raise StorageError(f"{path}: not the header of a model but of {kind!r}")
    if type(version_found) is not int or version_found != VERSION:
        raise StorageError(
            f"{path}: format version {version_found!r}; this directranker reads version {VERSION}; update "
            "directranker, or train and save the ranker again with this version"
        )
    _check_seal(path, text)
    return dict(header)


def _check_seal(path: Path, text: bytes) -> None:
    seal = SEAL.search(text)
    if seal is None or hashlib.sha256(text[: seal.start()]).hexdigest() != seal[1].decode():
        raise StorageError(f"{path} does not match its checksum; the file is damaged or was edited")
