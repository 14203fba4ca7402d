"""Categorical columns: codes in the feature table, and a vocabulary of their values.

A code is the index of a value in the sorted vocabulary, as a float32 like all features: exact for up to 2²⁴
values. NaN is a missing value. A ranker recodes its input into the vocabulary of its training data, where a
value that it does not know has the code −1.

>>> codes, vocabulary = encode_values(pa.chunked_array([["red", None, "blue"]]), "colour")
>>> codes.tolist(), vocabulary.to_pylist()
([1.0, nan, 0.0], ['blue', 'red'])
>>> recode(codes, vocabulary, into=pa.array(["green", "red"], pa.large_string())).tolist()
[1.0, nan, -1.0]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from directranker.arrays import Features, Float32Array, IntArray
from directranker.data.texts import Texts
from directranker.errors import DataError

__all__ = [
    "UNSEEN",
    "Categories",
    "as_categories",
    "decode",
    "encode_values",
    "is_category_type",
    "merge_categories",
    "recode",
]

Categories: TypeAlias = Mapping[str, Texts]
"""The sorted vocabulary of each categorical feature, by name."""
UNSEEN = -1.0
"""The code of a value that is not in the vocabulary."""
MAX_CATEGORIES = 2**24  # float32 holds all integers up to this one
BLOCK_ROWS = 4096  # whose codes fit the cache


def is_category_type(dtype: pa.DataType) -> bool:
    """Whether an Arrow type holds text, or values of a dictionary."""
    is_text = pa.types.is_string(dtype) or pa.types.is_large_string(dtype) or pa.types.is_string_view(dtype)
    return bool(is_text or pa.types.is_dictionary(dtype))


def encode_values(column: pa.ChunkedArray, name: str, *, first_row: int = 0) -> tuple[Float32Array, Texts]:
    """Return the code of each value, and the vocabulary; `name` and `first_row` are for errors."""
    import pyarrow.compute as pc  # noqa: PLC0415 - slow to import

    encoded = _as_one_dictionary(column)
    texts = _to_texts(encoded, name, first_row).dictionary_encode()  # -0.0 and 0.0 are one category
    values = texts.dictionary
    if len(values) > MAX_CATEGORIES:
        raise DataError(
            f"column {name!r} has {len(values):,} categories; at most {MAX_CATEGORIES:,} are possible, so "
            "leave it out, or group its values"
        )
    order = pc.sort_indices(values)
    rank = np.empty(len(values), dtype=np.float32)
    rank[order.to_numpy()] = np.arange(len(values), dtype=np.float32)
    rank_of_text = np.append(rank, np.float32(np.nan))[texts.indices.fill_null(len(values)).to_numpy()]
    indices = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    codes: Float32Array = np.append(rank_of_text, np.float32(np.nan))[indices]
    return codes, values.take(order)


def _as_one_dictionary(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Encode a column by one dictionary."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    chunks = column.chunks or [pa.array([], column.type)]
    if pa.types.is_string_view(column.type.value_type):  # of polars, which Arrow cannot unify
        chunks = [
            pa.DictionaryArray.from_arrays(one.indices, one.dictionary.cast(pa.large_string()))
            for one in chunks
        ]
    if 2 * sum(len(one.dictionary) for one in chunks) > len(column):
        # Of many different values: unifying dictionaries would take seconds per million values.
        return pa.concat_arrays([one.dictionary.take(one.indices) for one in chunks]).dictionary_encode()
    return pa.chunked_array(chunks).unify_dictionaries().combine_chunks()


def _to_texts(encoded: pa.DictionaryArray, name: str, first_row: int) -> pa.Array:
    """Convert the values of a dictionary to text; empty text and NaN are missing.

    Whole numbers have no decimal point, and booleans are true and false.
    """
    import pyarrow.compute as pc  # noqa: PLC0415 - slow to import

    values = encoded.dictionary
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)  # as pandas means it
        numbers = values.to_numpy(zero_copy_only=False)
        fractional = np.isfinite(numbers) & (numbers != np.rint(numbers)) | np.isinf(numbers)
        if fractional.any():
            index = int(np.argmax(fractional))
            row = int(pc.index(encoded.indices, index).as_py())
            raise DataError(
                f"column {name!r} holds {numbers[index]} in row {first_row + row}; a category is a string or "
                "a whole number"
            )
        values = values.cast(pa.int64())
    texts = values.cast(pa.large_string())
    texts.validate(full=True)  # a file may hold text that is not UTF-8
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)


def recode(codes: Float32Array, vocabulary: Texts, *, into: Texts) -> Float32Array:
    """Return the codes of the same values in another vocabulary; −1 where it does not have them."""
    if vocabulary.equals(into):
        return codes
    known = ~np.isnan(codes)
    recoded = np.full(len(codes), np.nan, dtype=np.float32)
    recoded[known] = _find(vocabulary, into).astype(np.float32)[codes[known].astype(np.int64)]
    return recoded


def _find(values: Texts, vocabulary: Texts) -> IntArray:
    """Return the index of each value in a vocabulary, −1 where it is not there."""
    import pyarrow.compute as pc  # noqa: PLC0415 - slow to import

    found: IntArray = pc.index_in(values, value_set=vocabulary).fill_null(-1).to_numpy().astype(np.int64)
    return found


def decode(codes: Float32Array, vocabulary: Texts) -> Any:
    """Return the values of codes as an Arrow dictionary array.

    >>> decode(np.array([1, np.nan], np.float32), pa.array(["a", "b"], pa.large_string())).to_pylist()
    ['b', None]
    """
    missing = np.isnan(codes)
    indices = pa.array(np.where(missing, 0, codes).astype(np.int32), mask=missing)
    return pa.DictionaryArray.from_arrays(indices, vocabulary)


def merge_categories(parts: Sequence[Categories]) -> Categories:
    """Return the vocabularies of the values of all parts.

    >>> merge_categories([{"a": pa.array(["x"])}, {"a": pa.array(["w"])}])["a"].to_pylist()
    ['w', 'x']
    """
    import pyarrow.compute as pc  # noqa: PLC0415 - slow to import

    merged = {}
    for name, first in parts[0].items():
        vocabularies = [part[name].cast(pa.large_string()) for part in parts]
        if all(vocabulary.equals(first) for vocabulary in vocabularies):
            merged[name] = first
        else:
            values = pc.unique(pa.chunked_array(vocabularies))
            merged[name] = values.take(pc.sort_indices(values))
    return merged


def as_categories(
    categories: Categories, features: Features, feature_names: Sequence[str]
) -> Mapping[str, Texts]:
    """Return vocabularies in the order of the features; raise unless all codes are in them."""
    unknown = [name for name in categories if name not in set(feature_names)]
    if unknown:
        raise DataError(f"there are categories of {unknown[0]!r}, which is not a feature")
    valid, indices = {}, []
    for index, name in enumerate(feature_names):
        if name in categories:
            valid[name] = _as_vocabulary(categories[name], name)
            indices.append(index)
    _check_codes(features, np.array(indices, dtype=np.int64), valid)
    return MappingProxyType(valid)


def _as_vocabulary(values: Any, name: str) -> Texts:
    import pyarrow.compute as pc  # noqa: PLC0415 - slow to import

    vocabulary = values if isinstance(values, pa.Array) else pa.array(list(values), pa.large_string())
    vocabulary = vocabulary.cast(pa.large_string())
    if vocabulary.null_count or len(vocabulary) > MAX_CATEGORIES:
        raise DataError(f"the categories of {name!r} are not {MAX_CATEGORIES:,} strings or fewer")
    if len(vocabulary) and vocabulary[0].as_py() == "":
        raise DataError(f"the categories of {name!r} include the empty string; give NaN as its code instead")
    if len(vocabulary) > 1 and not pc.all(pc.less(vocabulary[:-1], vocabulary[1:])).as_py():
        raise DataError(f"the categories of {name!r} are not sorted, or one is there twice")
    return vocabulary


def _check_codes(features: Features, indices: IntArray, categories: Categories) -> None:
    """Raise unless these columns hold the codes of their categories."""
    counts = np.array([len(values) for values in categories.values()], dtype=np.float32)
    for start in range(0, len(features) if len(indices) else 0, BLOCK_ROWS):
        codes = features[start : start + BLOCK_ROWS, indices]
        is_valid = np.isnan(codes) | ((codes >= 0) & (codes < counts) & (codes == np.rint(codes)))
        if not is_valid.all():
            column = int(np.argwhere(~is_valid)[0][1])
            name, n_categories = list(categories)[column], int(counts[column])
            raise DataError(
                f"feature {name!r} has a code that is none of its {n_categories} categories; give the index "
                "of a category, or NaN where it is missing"
            )
