"""The features of a table, filled batch by batch.

>>> from directranker.data.column_roles import ColumnRoles, resolve_feature_columns
>>> schema = pa.schema([("price", pa.float64()), ("brand", pa.string())])
>>> columns = resolve_feature_columns(schema, ColumnRoles(features=("price", "brand")))
>>> table = FeatureTable.allocate(columns, 2)
>>> table.fill(0, pa.record_batch({"price": [1.5, None], "brand": ["b", "a"]}))
>>> table.encode_categories()["brand"].to_pylist(), table.features.tolist()
(['a', 'b'], [[1.5, 1.0], [nan, 0.0]])
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from directranker.arrays import Features, FloatArray
from directranker.data.categories import encode_values
from directranker.data.column_roles import (
    FeatureColumn,
    name_column_in_errors,
)
from directranker.data.dates import Times, count_days, find_newest, read_clock, read_times
from directranker.data.grouping import Grouping
from directranker.data.texts import Texts
from directranker.data.vectors import compare_rows
from directranker.errors import DataError

__all__ = ["FeatureTable"]

MAX_THREADS = min(4, os.cpu_count() or 1)


@dataclass(frozen=True)
class FeatureTable:
    """The features of a table; categories and ages within a query are known at the end."""

    columns: tuple[FeatureColumn, ...]
    features: Features
    chunks: dict[str, dict[int, pa.Array]]
    """The values of categorical columns, by their first row."""
    times: dict[str, Times]
    """The dates whose age depends on the other documents of the query."""

    @classmethod
    def allocate(cls, columns: tuple[FeatureColumn, ...], n_rows: int) -> FeatureTable:
        """Allocate the features of these columns."""
        n_features = sum(len(column.feature_names) for column in columns)
        chunks: dict[str, dict[int, pa.Array]] = {
            column.name: {} for column in columns if column.kind == "category"
        }
        features = _allocate_features(n_rows, n_features)
        times = {
            column.name: np.empty(n_rows, "datetime64[us]")
            for column in columns
            if column.kind == "date" and column.other is None
        }
        return cls(columns, features, chunks, times)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of all features."""
        return tuple(name for column in self.columns for name in column.feature_names)

    def fill_all(self, batches: Sequence[pa.RecordBatch], first_row: int = 0) -> None:
        """Fill all rows, several batches at a time."""
        starts = np.cumsum([0, *(batch.num_rows for batch in batches)]).tolist()
        with ThreadPoolExecutor(MAX_THREADS) as pool:
            for _ in pool.map(lambda row, batch: self.fill(row, batch, first_row), starts, batches):
                pass

    def fill(self, row: int, batch: pa.RecordBatch, first_row: int = 0) -> None:
        """Fill the rows from `row` on with those of a batch; errors count them from `first_row` on."""
        rows, index = slice(row, row + batch.num_rows), 0
        for column in self.columns:
            stop = index + len(column.feature_names)
            with name_column_in_errors(column.name):
                self._fill_column(column, batch, rows, self.features[rows, index:stop], first_row + row)
            index = stop

    def _fill_column(
        self, column: FeatureColumn, batch: pa.RecordBatch, rows: slice, block: Features, first_row: int
    ) -> None:
        values = batch.column(column.name)
        if column.kind == "number":
            block[:, 0] = _to_float32(values, column.name, first_row)
        elif column.kind == "category":
            is_encoded = pa.types.is_dictionary(values.type)
            self.chunks[column.name][rows.start] = values if is_encoded else values.dictionary_encode()
        elif column.kind == "vector":
            block[:] = _narrow(_read_vectors(values, column.name, first_row), column.name, first_row)
        elif column.kind == "comparison":
            assert column.other is not None  # noqa: S101 - a comparison has two columns
            other = _read_vectors(batch.column(column.other), column.other, first_row)
            compared = compare_rows(_read_vectors(values, column.name, first_row), other)
            block[:] = _narrow(compared, column.name, first_row)
        else:
            self._fill_date(column, batch, rows, block, first_row)

    def _fill_date(
        self, column: FeatureColumn, batch: pa.RecordBatch, rows: slice, block: Features, first_row: int
    ) -> None:
        values = batch.column(column.name)
        times = read_times(values, column.name, first_row)
        block[:, 1:] = read_clock(values, column.name, first_row)[:, 3 - len(column.feature_names) :]
        if column.other is None:
            self.times[column.name][rows] = times
        else:
            with name_column_in_errors(column.other):
                reference = read_times(batch.column(column.other), column.other, first_row)
            block[:, 0] = count_days(times, reference)

    def measure_ages(self, grouping: Grouping) -> None:
        """Fill in the ages that are counted back from the newest document of the query."""
        order = slice(None) if grouping.order is None else grouping.order
        for index, name in enumerate(self.feature_names):
            date = name.removesuffix("[age]")
            if name != date and date in self.times:
                times = self.times[date][order]
                self.features[order, index] = count_days(times, find_newest(times, grouping.offsets))

    def encode_categories(self, first_row: int = 0) -> dict[str, Texts]:
        """Fill in the codes of categories, and return the vocabularies."""
        indices = [index for index, name in enumerate(self.feature_names) if name in self.chunks]
        with ThreadPoolExecutor(MAX_THREADS) as pool:
            vocabularies = list(pool.map(lambda index: self._encode(index, first_row), indices))
        return {self.feature_names[index]: texts for index, texts in zip(indices, vocabularies, strict=True)}

    def _encode(self, index: int, first_row: int) -> Texts:
        name = self.feature_names[index]
        chunks = [chunk for _, chunk in sorted(self.chunks[name].items())]
        with name_column_in_errors(name):
            column = pa.chunked_array(chunks or [pa.nulls(0)])
            self.features[:, index], vocabulary = encode_values(column, name, first_row=first_row)
        return vocabulary


def _allocate_features(n_rows: int, n_features: int) -> Features:
    """Allocate the features of as many rows as a table claims to have."""
    try:
        return np.empty((n_rows, n_features), dtype=np.float32)
    except (MemoryError, ValueError):
        size = f"{n_rows} rows of {n_features} features, {n_rows * n_features * 4 / 1e9:.0f} GB"
        raise DataError(f"{size} as a dense array, do not fit in memory") from None


def _read_vectors(values: pa.Array, name: str, first_row: int) -> FloatArray:
    if values.null_count:
        row = first_row + int(values.is_null().to_numpy(zero_copy_only=False).argmax())
        raise DataError(f"column {name!r}: the list in row {row} is null; give every row a list")
    flat: FloatArray = values.flatten().cast(pa.float64()).to_numpy(zero_copy_only=False)
    return flat.reshape(len(values), values.type.list_size)


def _to_float32(column: pa.Array, name: str, first_row: int) -> Features:
    return _narrow(column.cast(pa.float64()).to_numpy(zero_copy_only=False), name, first_row)


def _narrow(values: FloatArray, name: str, first_row: int) -> Features:
    """Round to float32; raise where a finite number, one or several per row, does not fit."""
    with np.errstate(over="ignore"):
        rounded: Features = values.astype(np.float32)
    overflow = np.isinf(rounded)
    if overflow.any():
        overflow &= np.isfinite(values)
    if overflow.any():
        row = first_row + int(np.argwhere(overflow)[0][0])
        raise DataError(
            f"{values[overflow][0]} in row {row}, column {name!r} does not fit float32; rescale the column"
        )
    return rounded
