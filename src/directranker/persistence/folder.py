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
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as dump_tensors

from directranker._version import __version__
from directranker.data.files import write_folder_atomically
from directranker.data.folder_swap import read_consistently
from directranker.errors import StorageError
from directranker.persistence.state import (
    TREES,
    Parts,
    decode_estimator,
    encode_estimator,
    json_value,
    known_class,
)
from directranker.rankers.base import Ranker

__all__ = [
    "MAX_BYTES",
    "load_ranker",
    "read_plain_file",
    "read_versions",
    "save_ranker",
    "sealed_header",
    "write_ranker",
]

FORMAT = "directranker model"
VERSION = 2
SEAL = re.compile(rb',\n "header_sha256": "([0-9a-f]{64})"\n}\Z')
HEADER, WEIGHTS = "header.json", "weights.safetensors"
# What is read from a folder that nobody vouches for; in memory it may be some times as much.
MAX_BYTES = {HEADER: 16 << 20, WEIGHTS: 256 << 20, TREES: 40 << 20}


# What parts raise that do not fit together.
_MISFITS = (SafetensorError, KeyError, TypeError, ValueError, AttributeError, RuntimeError, ArithmeticError)


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
    entry = encode_estimator(ranker, "", parts)
    weights = dump_tensors({name: np.ascontiguousarray(array) for name, array in parts.arrays.items()})
    trees = {name: text.encode() for name, text in parts.texts.items()}
    versions = {name: version(name) for name in ("lightgbm", "numpy", "torch", "scikit-learn")}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "ranker": entry,
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
    text = json.dumps(header, indent=1, allow_nan=False, default=json_value).encode().removesuffix(b"\n}")
    return text + f',\n "header_sha256": "{hashlib.sha256(text).hexdigest()}"\n}}'.encode()


def load_ranker(folder: str | Path, *, trust: Sequence[type] = ()) -> Ranker:
    """Read a ranker that `save_ranker` wrote; its scores are bit-identical.

    A feature net of the user's own is made only if its class is among those to `trust`. Files of more than
    256 MB, or 40 MB of trees, are read only if any class is trusted, the ranker's own for example.
    """
    return read_consistently(Path(folder), lambda found: _load(found, trust))


def _load(folder: Path, trust: Sequence[type]) -> Ranker:
    header = _read_header(folder)
    weights = _read_part(folder, WEIGHTS, header.get("weights_sha256"), _most(WEIGHTS, trust))
    trees = _read_trees(folder, header.get("trees_sha256", {}), _most(TREES, trust))
    try:
        parts = Parts(load_tensors(weights), trees, trust)
        kind = known_class(header["ranker"]["class"])
        ranker = decode_estimator(header["ranker"], "", parts) if issubclass(kind, Ranker) else None
    except PermissionError as error:  # of a net that is not trusted
        raise StorageError(f"{folder}: {error}") from None
    except _MISFITS as error:
        raise StorageError(f"{folder}: the parts do not fit together ({error})") from None
    if not isinstance(ranker, Ranker):
        raise StorageError(f"{folder} holds a {kind.__name__}, which is not a ranker")
    return ranker


def read_versions(folder: str | Path) -> dict[str, str]:
    """The versions of the packages that a saved ranker was made by."""
    versions = _read_header(Path(folder)).get("versions")
    return {str(name): str(one) for name, one in versions.items()} if isinstance(versions, dict) else {}


def _most(kind: str, trust: Sequence[type]) -> float:
    return math.inf if trust else MAX_BYTES[kind]


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


def _read_header(folder: Path) -> dict[str, Any]:
    path = folder / HEADER
    if not folder.exists():
        raise StorageError(f"{folder} does not exist; give the folder of a saved model")
    if not path.is_file():
        raise StorageError(f"{folder} is not a saved model: it has no {HEADER}")
    text = read_plain_file(path, MAX_BYTES[HEADER], "no ranker has so long a header")
    try:
        header = json.loads(text)
        found, written = header["format"], header["version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StorageError(f"{path}: damaged header ({error})") from None
    if found != FORMAT:
        raise StorageError(f"{path}: not the header of a model but of {found!r}")
    if type(written) is not int or written != VERSION:
        raise StorageError(
            f"{path}: format version {written!r}; this directranker reads version {VERSION}, so update "
            "it, or train and save the ranker with this one"
        )
    _check_seal(path, text)
    return dict(header)


def _check_seal(path: Path, text: bytes) -> None:
    seal = SEAL.search(text)
    if seal is None or hashlib.sha256(text[: seal.start()]).hexdigest() != seal[1].decode():
        raise StorageError(f"{path} is not the file that was saved; it is damaged or was edited")
