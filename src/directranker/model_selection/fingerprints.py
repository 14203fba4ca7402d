"""Checksums of what a result depends on besides its parameters: the data, our code and package versions.

>>> from directranker.data.synthetic import example_dataset
>>> data = example_dataset()
>>> data_fingerprint(data) == data_fingerprint(data.select(range(data.n_queries)))
True
>>> data_fingerprint(data) == data_fingerprint(data.binarise(1))
False
"""

from __future__ import annotations

import functools
import hashlib
import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from directranker.data.dataset import RankingDataset

__all__ = [
    "SOURCES",
    "VERSIONED_PACKAGES",
    "code_fingerprint",
    "data_fingerprint",
    "environment_fingerprint",
]

SOURCES = (
    "arrays.py",
    "compilation.py",
    "costs",
    "data",
    "description",
    "encoding",
    "explanation.py",
    "fitted_checks.py",
    "metrics",
    "nn",
    "pairs",
    "parameters.py",
    "rankers",
    "training",
    "model_selection/diagnostics.py",
    "model_selection/fitting.py",
)
"""The files and folders of the package that can change a result."""
VERSIONED_PACKAGES = ("numpy", "torch", "lightgbm", "numba", "scikit-learn", "scipy")
BLOCK_BYTES = 1 << 24


def data_fingerprint(data: RankingDataset) -> str:
    """Compute the checksum of features with their names and categories, labels and offsets.

    Rankers do not see ids. Pipelines select columns by name, so names count.
    """
    digest = hashlib.sha256()
    for array in (data.features, data.relevance, data.offsets):
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        _update_blockwise(digest, array)
    ids = () if data.columns is None else data.columns.categorical
    vocabularies = {name: values.to_pylist() for name, values in data.categories.items()}
    columns = [data.feature_names, vocabularies, [name for name in ids if name in vocabularies]]
    digest.update(json.dumps(columns).encode())
    return digest.hexdigest()


def _update_blockwise(digest: hashlib._Hash, array: NDArray[np.generic]) -> None:
    rows = max(1, BLOCK_BYTES // max(1, array.nbytes // max(1, len(array))))
    for start in range(0, len(array), rows):
        digest.update(np.ascontiguousarray(array[start : start + rows]).data)


@functools.cache
def code_fingerprint() -> str:
    """Compute the checksum of the files in `SOURCES`, as they are when a process first asks."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for name in SOURCES:
        path = package / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(f"{file.relative_to(package).as_posix()}\n".encode() + file.read_bytes())
    return digest.hexdigest()


@functools.cache
def environment_fingerprint() -> str:
    """Compute the checksum of the code and of the versions of `VERSIONED_PACKAGES`."""
    versions = [f"{name} {version(name)}" for name in VERSIONED_PACKAGES]
    return hashlib.sha256("\n".join([code_fingerprint(), *versions]).encode()).hexdigest()
