"""Splits by a column, such as a date: earlier queries before later ones, never through a value or a query.

>>> values = np.array([3, 1, 2, 1, 2])
>>> [queries.tolist() for queries in partition_by_values(values, [2, 4], "day")]
[[1, 3], [2, 4], [0]]
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from directranker.arrays import BoolArray, IntArray, query_of_rows
from directranker.data.checking import check_fractions
from directranker.data.dataset import RankingDataset
from directranker.errors import DataError
from directranker.suggestions import describe_unknown_name

__all__ = [
    "QueryValues",
    "check_chronological",
    "partition_by_values",
    "partition_forward",
    "read_query_values",
    "split_dataset_by",
]

QueryValues: TypeAlias = NDArray[Any]  # int64 or float64
"""A number per query to sort by; dates and times count from 1970 on."""
MIN_TRAINING = 0.5
"""The fraction of the queries before the first block of a forward split."""


def split_dataset_by(
    data: RankingDataset, column: str, fractions: Sequence[float]
) -> tuple[RankingDataset, ...]:
    """Split queries by the value of a column; see `RankingDataset.split_by`."""
    check_fractions(fractions)
    boundaries = np.rint(np.cumsum(fractions) * data.n_queries).astype(int).tolist()
    values = read_query_values(data, column)
    return tuple(data.select(queries) for queries in partition_by_values(values, boundaries, column))


def partition_by_values(values: QueryValues, boundaries: Sequence[int], column: str) -> list[IntArray]:
    """Cut the queries in the order of their values at the changes of value nearest to the boundaries.

    Query indices within a group are ascending. An empty group raises.
    """
    order = np.argsort(values, kind="stable")
    in_order = values[order]
    changes = np.flatnonzero(in_order[1:] != in_order[:-1]) + 1  # each is a possible cut
    cuts = [int(changes[np.abs(changes - boundary).argmin()]) for boundary in boundaries if len(changes)]
    if not cuts or any(low >= high for low, high in pairwise(cuts)):
        n_values = len(changes) + (len(values) > 0)
        raise DataError(
            f"cannot cut {len(values)} queries by {column!r} into {len(boundaries) + 1} groups of the wanted "
            f"sizes: it has {n_values} different {'value' if n_values == 1 else 'values'}, and queries with "
            "the same value stay together; ask for fewer or other groups, or choose a finer column"
        )
    return [np.sort(group) for group in np.split(order, cuts)]


def partition_forward(values: QueryValues, n_blocks: int, column: str) -> list[IntArray]:
    """Return the earlier half of the queries, and the later half in blocks of about equal size.

    >>> [queries.tolist() for queries in partition_forward(np.arange(8), 2, "day")]
    [[0, 1, 2, 3], [4, 5], [6, 7]]
    """
    fractions = MIN_TRAINING + (1 - MIN_TRAINING) * np.arange(n_blocks) / n_blocks
    return partition_by_values(values, np.rint(fractions * len(values)).astype(int).tolist(), column)


def check_chronological(splits: dict[str, RankingDataset], column: str) -> None:
    """Raise unless all queries of each data set are before those of the next.

    >>> day = {"day": pa.array([3])}
    >>> one = RankingDataset(np.zeros((1, 1), np.float32), [1.0], [0, 1], [7], kept=day)
    >>> check_chronological({"train": one, "test": one}, "day")
    Traceback (most recent call last):
    directranker.errors.DataError: train has queries that are not before those of test by 'day'
    """
    filled = {name: data for name, data in splits.items() if data.n_queries}
    for (name, earlier), (other, later) in pairwise(filled.items()):
        if read_query_values(earlier, column).max() >= read_query_values(later, column).min():
            raise DataError(f"{name} has queries that are not before those of {other} by {column!r}")


def read_query_values(data: RankingDataset, column: str) -> QueryValues:
    """Return the value of each query in a kept column or a numeric feature; raise if it is not unique."""
    values, is_missing = _read_row_values(data, column)
    if is_missing.any():
        raise DataError(
            f"{_describe_row(data, int(is_missing.argmax()))} has no value of {column!r}; fill it in, or "
            "leave the query out"
        )
    lengths = np.diff(data.offsets)
    if not lengths.all():
        query = data.query_ids[lengths == 0][0]
        raise DataError(f"query {query} has no documents, and so no value of {column!r}; leave it out")
    first = data.offsets[:-1][query_of_rows(data.offsets)]
    differs = values != values[first]
    if differs.any():
        row = int(differs.argmax())
        one, other = (f"{_format_value(data, column, at)} in row {_source_row(data, at)}"
                      for at in (int(first[row]), row))  # fmt: skip
        query = data.query_ids[query_of_rows(data.offsets)[row]]
        raise DataError(
            f"query {query} has several values of {column!r}: {one}, {other}; give the query one, such as "
            "the earliest"
        )
    return values[data.offsets[:-1]]


def _read_row_values(data: RankingDataset, column: str) -> tuple[QueryValues, BoolArray]:
    """Return a sortable number per row, and which are missing."""
    if column in data.kept:
        array = data.kept[column]
        if array.type == pa.large_string():
            array = _parse_times(array, data, column)
        missing = array.is_null().to_numpy(zero_copy_only=False)
        if array.type == pa.float64():
            return array.fill_null(0.0).to_numpy(), missing
        whole = array.cast(pa.int32()) if array.type == pa.date32() else array
        return whole.cast(pa.int64()).fill_null(0).to_numpy(), missing
    if column in data.categories:
        raise DataError(
            f"{column!r} is a categorical feature, which has no order; read the data with keep=[{column!r}]"
        )
    if column not in data.feature_names:
        known = [*data.kept, *data.feature_names]
        raise DataError(
            f"{describe_unknown_name('column', column, known)}; read the data with keep=[{column!r}]"
        )
    values = data.features[:, data.feature_names.index(column)]
    return values, np.isnan(values)


def _parse_times(texts: Any, data: RankingDataset, column: str) -> Any:
    """Parse dates and times in the notation of ISO 8601, whose order is not that of other texts."""
    for dtype in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            return texts.cast(dtype)
        except pa.ArrowInvalid:
            continue
    row = next(row for row, text in enumerate(texts.to_pylist()) if text is not None and not _is_time(text))
    raise DataError(
        f"column {column!r} holds {texts[row].as_py()!r} in row {_source_row(data, row)}, not a date such as "
        "2024-05-31; convert the column to dates or numbers"
    )


def _is_time(text: str) -> bool:
    try:
        pa.array([text]).cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return False
    return True


def _format_value(data: RankingDataset, column: str, row: int) -> str:
    if column in data.kept:
        return str(data.kept[column][row].as_py())
    return f"{data.features[row, data.feature_names.index(column)]:g}"


def _source_row(data: RankingDataset, row: int) -> int:
    return row if data.original_rows is None else int(data.original_rows[row])


def _describe_row(data: RankingDataset, row: int) -> str:
    query = data.query_ids[query_of_rows(data.offsets)[row]]
    return f"row {_source_row(data, row)} of query {query}"
