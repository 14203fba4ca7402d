"""A data set saved as a folder that opens in milliseconds, memory-mapped, even if larger than memory.

The folder holds one `.npy` file per array and `header.json`, which states the format's version and each
file's dtype, shape, size and SHA-256. Writes are atomic.

>>> import tempfile
>>> from pathlib import Path
>>> data = RankingDataset.from_arrays([[1.0], [2.0]], [0, 1], qid=["a", "b"])
>>> with tempfile.TemporaryDirectory() as folder:
...     data.save(Path(folder) / "saved")
...     RankingDataset.load(Path(folder) / "saved", verify=True).equals(data)
True
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import operator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from directranker._version import __version__
from directranker.data.column_roles import ColumnRoles
from directranker.data.dataset import RankingDataset
from directranker.data.files import write_folder_atomically
from directranker.data.folder_swap import read_consistently
from directranker.data.grouping import QueryIds
from directranker.data.kept_columns import restore_kept, split_kept
from directranker.data.texts import Texts, texts_from_buffers
from directranker.errors import DataError, StorageError

__all__ = ["HEADER", "is_saved_dataset", "load_dataset", "save_dataset"]

FORMAT = "directranker data set"
VERSION = 2
HEADER = "header.json"
BLOCK_BYTES = 1 << 24
DTYPES = ("<f4", "<f8", "<i8", "|u1")


def is_saved_dataset(folder: str | Path) -> bool:
    """Whether a folder has the header that `save_dataset` writes."""
    return (Path(folder) / HEADER).is_file()


def save_dataset(data: RankingDataset, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write all arrays, a block at a time, then the header with their checksums."""
    with write_folder_atomically(folder, overwrite=overwrite) as temporary:
        parts = {name: _write_array(temporary / name, array) for name, array in _collect_arrays(data).items()}
        header = {
            "format": FORMAT,
            "version": VERSION,
            "written_by": f"directranker {__version__}",
            "n_documents": data.n_documents,
            "n_queries": data.n_queries,
            "n_features": data.n_features,
            "feature_names": data.feature_names,
            "categorical": list(data.categories),
            "kept": {name: str(values.type) for name, values in data.kept.items()},
            "columns": None if data.columns is None else asdict(data.columns),
            "parts": parts,
        }
        (temporary / HEADER).write_text(json.dumps(header, indent=1), encoding="utf-8")


def load_dataset(folder: str | Path, *, verify: bool = False) -> RankingDataset:
    """Open a saved data set; `verify` also reads every byte and compares the checksums."""
    return read_consistently(Path(folder), lambda found: _load(found, verify=verify))


def _load(folder: Path, *, verify: bool) -> RankingDataset:
    header = _read_header(folder)
    arrays = {}
    for name, stated in header["parts"].items():
        arrays[name] = _open_array(folder / Path(name).name, stated, verify=verify)
    try:
        return _build_dataset(header, arrays)
    except (AttributeError, DataError, KeyError, TypeError, ValueError) as error:
        raise StorageError(f"{folder}: the arrays do not fit together ({error})") from None


def _collect_arrays(data: RankingDataset) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {
        "features.npy": data.features,
        "relevance.npy": data.relevance,
        "offsets.npy": data.offsets,
    }
    if data.query_ids.dtype == np.int64:
        arrays["query_ids.npy"] = data.query_ids
    else:
        arrays |= _split_texts("query_ids", pa.array(data.query_ids, pa.large_string()))
    if data.document_texts is not None:
        arrays |= _split_texts("documents", data.document_texts)
    if data.comment_texts is not None:
        arrays |= _split_texts("comments", data.comment_texts)
    if data.original_rows is not None:
        arrays["original_rows.npy"] = data.original_rows
    for number, vocabulary in enumerate(data.categories.values()):
        arrays |= _split_texts(f"categories_{number}", vocabulary)
    for number, kept in enumerate(data.kept.values()):
        arrays |= _split_kept(f"kept_{number}", kept)
    return arrays


def _split_kept(name: str, column: Any) -> dict[str, NDArray[Any]]:
    values, valid = split_kept(column)
    arrays = {f"{name}.npy": values} if isinstance(values, np.ndarray) else _split_texts(name, values)
    return arrays if valid is None else arrays | {f"{name}.valid.npy": valid}


def _split_texts(name: str, texts: Texts) -> dict[str, NDArray[Any]]:
    _, offsets_buffer, letters_buffer = texts.buffers()
    first, stop = texts.offset, texts.offset + len(texts) + 1
    if offsets_buffer is None:
        offsets = np.zeros(1, dtype=np.int64)
    else:
        offsets = np.frombuffer(offsets_buffer, dtype=np.int64)[first:stop]
    letters = np.zeros(0, np.uint8) if letters_buffer is None else np.frombuffer(letters_buffer, np.uint8)
    return {
        f"{name}.offsets.npy": offsets - offsets[0],
        f"{name}.letters.npy": letters[offsets[0] : offsets[-1]],
    }


def _format_array_header(dtype: str, shape: tuple[int, ...]) -> bytes:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": dtype, "fortran_order": False, "shape": shape})
    return header.getvalue()


def _write_array(path: Path, array: NDArray[Any]) -> dict[str, Any]:
    rows = max(1, BLOCK_BYTES // max(1, array.itemsize * math.prod(array.shape[1:])))
    with path.open("wb") as file:
        file.write(_format_array_header(array.dtype.str, array.shape))
        for start in range(0, len(array), rows):
            file.write(np.ascontiguousarray(array[start : start + rows]).data)
    return {
        "dtype": array.dtype.str,
        "shape": array.shape,
        "bytes": path.stat().st_size,
        "sha256": _compute_checksum(path),
    }


def _compute_checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_header(folder: Path) -> dict[str, Any]:
    path = folder / HEADER
    if not folder.exists():
        raise FileNotFoundError(f"{folder} does not exist")
    if not path.is_file():
        raise StorageError(f"{folder} is not a saved data set: it has no {HEADER}")
    try:
        header = json.loads(path.read_bytes())
        if header["format"] != FORMAT:
            raise StorageError(f"{path}: this is the header of {header['format']!r}, not of a data set")
        if header["version"] != VERSION:
            raise StorageError(
                f"{path}: format version {header['version']}, this directranker reads {VERSION}; "
                "convert the original data again"
            )
        valid: dict[str, Any] = header | {"parts": dict(header["parts"])}
    except StorageError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise StorageError(f"{path}: damaged header ({type(error).__name__}: {error})") from None
    return valid


def _open_array(path: Path, stated: Any, *, verify: bool) -> NDArray[Any]:
    """Memory-map a file; raise unless its size and first bytes match its stated dtype and shape."""
    if not path.is_file():
        raise StorageError(f"{path} is missing; the data set is incomplete")
    try:
        dtype, shape = str(stated["dtype"]), tuple(map(operator.index, stated["shape"]))
        checksum = stated["sha256"]
    except (TypeError, KeyError):
        raise StorageError(f"{path}: the header does not state its dtype, shape and checksum") from None
    if dtype not in DTYPES or any(length < 0 for length in shape):
        raise StorageError(f"{path}: the header states dtype {dtype} and shape {shape}, which is invalid")
    expected = _format_array_header(dtype, shape)
    size = path.stat().st_size
    if size != len(expected) + math.prod(shape) * np.dtype(dtype).itemsize:
        raise StorageError(f"{path} has {size} bytes, unlike the header says; it is truncated or changed")
    with path.open("rb") as file:
        if file.read(len(expected)) != expected:
            raise StorageError(f"{path} does not begin as the header says; it is damaged or swapped")
    if verify and _compute_checksum(path) != checksum:
        raise StorageError(f"{path} has another checksum than when it was saved; it is damaged")
    if math.prod(shape) == 0:  # an empty file cannot be mapped
        return np.empty(shape, dtype)
    return np.memmap(path, dtype, mode="r", offset=len(expected), shape=shape)


def _build_dataset(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> RankingDataset:
    return RankingDataset(
        features=_check_dtype(arrays["features.npy"], np.float32),
        relevance=_check_dtype(arrays["relevance.npy"], np.float64),
        offsets=_check_dtype(arrays["offsets.npy"], np.int64),
        query_ids=_read_query_ids(arrays),
        feature_names=tuple(header["feature_names"]),
        document_texts=_read_texts(arrays, "documents"),
        comment_texts=_read_texts(arrays, "comments"),
        original_rows=arrays.get("original_rows.npy"),
        categories=_read_categories(header["categorical"], arrays),
        columns=None if header["columns"] is None else ColumnRoles(**header["columns"]),
        kept={
            name: _read_kept(arrays, f"kept_{number}", dtype)
            for number, (name, dtype) in enumerate(header["kept"].items())
        },
    )


def _read_kept(arrays: dict[str, NDArray[Any]], name: str, dtype: str) -> Any:
    texts, valid = _read_texts(arrays, name), arrays.get(f"{name}.valid.npy")
    values = arrays[f"{name}.npy"] if texts is None else texts
    return restore_kept(dtype, values, None if valid is None else _check_dtype(valid, np.uint8))


def _read_categories(names: list[str], arrays: dict[str, NDArray[Any]]) -> dict[str, Texts]:
    vocabularies = {name: _read_texts(arrays, f"categories_{number}") for number, name in enumerate(names)}
    for name, vocabulary in vocabularies.items():
        if vocabulary is None:
            raise DataError(f"the categories of {name!r} are missing")
    return vocabularies


def _check_dtype(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    if array.dtype != dtype:
        raise DataError(f"an array has dtype {array.dtype}; expected {np.dtype(dtype)}")
    return array


def _read_query_ids(arrays: dict[str, NDArray[Any]]) -> QueryIds:
    texts = _read_texts(arrays, "query_ids")
    return arrays["query_ids.npy"] if texts is None else np.array(texts.to_pylist(), dtype=object)


def _read_texts(arrays: dict[str, NDArray[Any]], name: str) -> Texts | None:
    if f"{name}.offsets.npy" not in arrays:
        return None
    offsets = _check_dtype(arrays[f"{name}.offsets.npy"], np.int64)
    return texts_from_buffers(offsets, _check_dtype(arrays[f"{name}.letters.npy"], np.uint8), name)
