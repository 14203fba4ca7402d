"""Kept columns: values of each row that are neither a feature nor the label, such as a date to split by.

A kept column is an Arrow array of int64, float64, text, dates or timestamps; booleans become 0 and 1, and NaN
becomes a null. Timestamps with a time zone are stored in UTC.

>>> kept = as_kept_columns({"day": np.array(["2024-05-01", "NaT"], "datetime64[D]")}, 2, ())
>>> kept["day"].type, kept["day"].null_count
(DataType(date32[day]), 1)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from directranker.arrays import IntArray
from directranker.data.texts import take_texts
from directranker.errors import DataError

__all__ = [
    "KEPT_TYPES",
    "KeptColumns",
    "are_columns_equal",
    "as_kept_columns",
    "concatenate_kept",
    "restore_kept",
    "split_kept",
    "take_kept",
]

KeptColumns: TypeAlias = Mapping[str, Any]  # pyarrow.Array, which has no type stubs
"""The values of each kept column, by name."""
UNITS = ("s", "ms", "us", "ns")
KEPT_TYPES: Mapping[str, pa.DataType] = {
    str(dtype): dtype
    for dtype in (
        pa.int64(),
        pa.float64(),
        pa.large_string(),
        pa.date32(),
        *(pa.timestamp(unit, zone) for unit in UNITS for zone in (None, "UTC")),
    )
}
"""The types of kept columns by name."""


def as_kept_columns(columns: KeptColumns, n_rows: int, feature_names: Sequence[str]) -> KeptColumns:
    """Return valid columns of `n_rows` values; raise if one is named like a feature."""
    valid = {}
    for name, values in columns.items():
        if name in feature_names:
            raise DataError(f"{name!r} is kept and a feature; a column is one of them")
        array = _to_arrow(values)
        if len(array) != n_rows:
            raise ValueError(f"{len(array)} values of {name!r} for {n_rows} rows; give one per row")
        valid[name] = _convert(array, name)
    return MappingProxyType(valid)


def _to_arrow(values: Any) -> Any:
    array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values, from_pandas=True)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _convert(array: Any, name: str) -> Any:
    """Convert to one of the types of kept columns."""
    if pa.types.is_dictionary(array.type):
        # Arrow cannot decode the string views that polars makes.
        is_view = pa.types.is_string_view(array.type.value_type)
        values = array.dictionary.cast(pa.large_string()) if is_view else array.dictionary
        array = pa.DictionaryArray.from_arrays(array.indices, values).dictionary_decode()
    target = _find_type(array.type)
    if target is None:
        raise DataError(
            f"column {name!r} holds {array.type}; a kept column holds numbers, text, dates or timestamps"
        )
    try:
        if pa.types.is_boolean(array.type):
            array = array.cast(pa.int8())
        array = array if array.type == target else array.cast(target)
        if target == pa.large_string():
            array.validate(full=True)  # a file may hold text that is not UTF-8
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"column {name!r}: {error}") from None
    return _nan_to_null(array) if target == pa.float64() else array


def _find_type(dtype: pa.DataType) -> pa.DataType | None:
    types = pa.types
    if types.is_integer(dtype) or types.is_boolean(dtype):
        return pa.int64()
    if types.is_floating(dtype) or types.is_decimal(dtype):
        return pa.float64()
    if types.is_date(dtype):
        return pa.date32()
    if types.is_timestamp(dtype):
        return pa.timestamp(dtype.unit, None if dtype.tz is None else "UTC")
    is_text = types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype)
    return pa.large_string() if is_text or types.is_null(dtype) else None


def _nan_to_null(array: Any) -> Any:
    import pyarrow.compute as pc  # noqa: PLC0415 - slow to import

    is_nan = pc.is_nan(array)
    return pc.if_else(is_nan, pa.scalar(None, pa.float64()), array) if pc.any(is_nan).as_py() else array


def take_kept(columns: KeptColumns, rows: slice | IntArray) -> KeptColumns:
    """Return the values of these rows; a slice is a view.

    >>> take_kept({"year": pa.array([2023, 2024])}, np.array([1]))["year"].to_pylist()
    [2024]
    """
    return {name: take_texts(values, rows) for name, values in columns.items()}


def concatenate_kept(parts: Sequence[KeptColumns]) -> KeptColumns:
    """Concatenate columns; raise unless all parts have the same ones.

    >>> concatenate_kept([{"year": pa.array([2023])}, {"year": pa.array([2024.5])}])["year"].to_pylist()
    [2023.0, 2024.5]
    """
    names = {name: None for part in parts for name in part}
    for name in names:
        if not all(name in part for part in parts):
            raise DataError(f"column {name!r} is kept in one data set but not in another; keep it in all")
    return {name: _concatenate(name, [part[name] for part in parts]) for name in names}


def _concatenate(name: str, arrays: list[Any]) -> Any:
    types = {array.type for array in arrays}
    if types == {pa.int64(), pa.float64()}:
        arrays = [array.cast(pa.float64()) for array in arrays]
    elif len(types) > 1:
        shown = " and ".join(sorted(map(str, types)))
        raise DataError(f"column {name!r} holds {shown} in different data sets; give it one type")
    return pa.concat_arrays(arrays)


def are_columns_equal(one: KeptColumns, other: KeptColumns) -> bool:
    """Whether both have the same columns with the same types and values."""
    return one.keys() == other.keys() and all(values.equals(other[name]) for name, values in one.items())


def split_kept(array: Any) -> tuple[Any, NDArray[np.uint8] | None]:
    """Return values without nulls, as int64, float64 or text, and which are valid: None if all are.

    >>> values, valid = split_kept(pa.array(["2024-05-01", None]).cast(pa.date32()))
    >>> values.tolist(), valid.tolist()
    ([19844, 0], [1, 0])
    >>> restore_kept("date32[day]", values, valid).to_pylist()
    [datetime.date(2024, 5, 1), None]
    """
    valid = array.is_valid().to_numpy(zero_copy_only=False).astype(np.uint8) if array.null_count else None
    if array.type == pa.large_string():
        return array.fill_null(""), valid
    raw = array.cast(pa.int32()) if array.type == pa.date32() else array
    storage = pa.float64() if array.type == pa.float64() else pa.int64()
    return raw.cast(storage).fill_null(0).to_numpy(), valid


def restore_kept(type_name: str, values: Any, valid: NDArray[np.uint8] | None) -> Any:
    """Return the column that `split_kept` has split; raise if the values do not fit the type."""
    import pyarrow.compute as pc  # noqa: PLC0415 - slow to import

    if type_name not in KEPT_TYPES:
        raise DataError(f"{type_name!r} is not a type of kept columns")
    dtype = KEPT_TYPES[type_name]
    array = values if isinstance(values, pa.Array) else pa.array(values)
    expected = dtype if dtype in (pa.float64(), pa.large_string()) else pa.int64()
    if array.type != expected or (valid is not None and valid.shape != (len(array),)):
        raise DataError(f"a kept column of {type_name} has values of {array.type}")
    if dtype == pa.date32():
        array = array.cast(pa.int32())
    if array.type != dtype:
        array = array.view(dtype)
    return array if valid is None else pc.if_else(pa.array(valid != 0), array, pa.scalar(None, dtype))
