"""Splits by a column: earlier queries first, never through a value or a query."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from directranker.data.dataset import RankingDataset
from directranker.data.splitting import partition_by_values, partition_forward
from directranker.errors import DataError


def literal_partition(values: Sequence[int], boundaries: Sequence[int]) -> list[list[int]] | None:
    """The same, cut by cut: of all places between different values, the nearest, the earlier of two."""
    order = sorted(range(len(values)), key=lambda query: (values[query], query))
    possible = [n for n in range(1, len(order)) if values[order[n]] != values[order[n - 1]]]
    cuts = []
    for boundary in boundaries:
        if not possible:
            return None
        cuts.append(min(possible, key=lambda cut: (abs(cut - boundary), cut)))
    if sorted(set(cuts)) != cuts:
        return None
    edges = [0, *cuts, len(order)]
    return [sorted(order[start:stop]) for start, stop in pairwise(edges)]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=30), st.lists(st.integers(0, 30), min_size=1, max_size=3)
)
def test_partition_is_the_literal_one(values: list[int], boundaries: list[int]) -> None:
    boundaries = sorted(boundaries)
    expected = literal_partition(values, boundaries)
    if expected is None:
        with pytest.raises(DataError, match="queries with the same value stay together"):
            partition_by_values(np.array(values), boundaries, "day")
        return
    groups = partition_by_values(np.array(values), boundaries, "day")
    assert [group.tolist() for group in groups] == expected
    for earlier, later in pairwise(groups):
        assert max(values[query] for query in earlier) < min(values[query] for query in later)


def test_infinite_and_huge_values_are_never_cut() -> None:
    infinite = np.array([np.inf, 1.0, np.inf, -np.inf, -np.inf])
    assert [group.tolist() for group in partition_by_values(infinite, [2, 3], "x")] == [[3, 4], [1], [0, 2]]
    with pytest.raises(DataError, match="it has 1 different value"):
        partition_by_values(np.full(4, np.inf), [2], "x")
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    assert [g.tolist() for g in partition_by_values(np.array([high, low]), [1], "x")] == [[1], [0]]


def test_forward_blocks_train_on_at_least_half() -> None:
    sizes = [len(group) for group in partition_forward(np.arange(120), 6, "day")]
    assert sizes == [60, 10, 10, 10, 10, 10, 10]


def make_data(days: Sequence[Any], **columns: Any) -> RankingDataset:
    """Two documents per query; rows alternate between the queries."""
    n = len(days)
    frame = pd.DataFrame(
        {"qid": [*range(n)] * 2, "relevance": [0] * n + [1] * n, "f": 0.5, "day": [*days] * 2}
    )
    return RankingDataset.from_frame(frame.assign(**columns), keep=["day"])


KINDS: dict[str, Any] = {
    "number": [5, 3, 4, 1, 2],
    "date": pd.to_datetime([f"2024-01-0{day}" for day in (5, 3, 4, 1, 2)]).date,
    "timestamp": pd.to_datetime([f"2024-01-0{day}" for day in (5, 3, 4, 1, 2)]),
    "ISO text": [f"2024-01-0{day}" for day in (5, 3, 4, 1, 2)],
    "ISO text with zone": [f"2024-01-01T0{day}:00:00Z" for day in (5, 3, 4, 1, 2)],
}


@pytest.mark.parametrize("kind", KINDS)
def test_split_by_orders_queries_by_time(kind: str) -> None:
    splits = make_data(KINDS[kind]).split_by("day", 0.6, 0.2)
    assert [split.query_ids.tolist() for split in splits] == [[1, 3, 4], [2], [0]]
    assert [split.kept["day"].null_count for split in splits] == [0, 0, 0]


def test_split_by_a_numeric_feature() -> None:
    data = RankingDataset.from_arrays([[5], [3], [4]], [0, 1, 0], qid=[7, 8, 9], feature_names=["day"])
    assert [split.query_ids.tolist() for split in data.split_by("day", 0.3, 0.3)] == [[8], [9], [7]]


def test_bad_columns_raise_and_name_query_and_row() -> None:
    data = make_data([5, 3, 4, 1, 2])
    with pytest.raises(DataError, match=r"column 'dya' is unknown; did you mean 'day'\?.*keep=\['dya'\]"):
        data.split_by("dya", 0.5)
    several = make_data([5, 3, 4], day=[5, 3, 4, 5, 1, 4])
    with pytest.raises(DataError, match=r"query 1 has several values of 'day': 3 in row 1, 1 in row 4"):
        several.split_by("day", 0.5)
    missing = make_data([5, 3, 4], day=[5, 3, 4, 5, 3, None])
    with pytest.raises(DataError, match=r"row 5 of query 2 has no value of 'day'"):
        missing.split_by("day", 0.5)
    with pytest.raises(DataError, match=r"row 2 of query 2 has no value of 'day'"):
        make_data([5.0, 3.0, np.nan]).split_by("day", 0.5)
    with pytest.raises(DataError, match=r"'day' holds '31/12/2023' in row 0, not a date such as 2024-05-31"):
        make_data(["31/12/2023", "2024-01-01"]).split_by("day", 0.5)
    brands = pa.table({"qid": [1, 2], "relevance": [0, 1], "f": [0.5, 1], "brand": ["a", "b"]})
    with pytest.raises(
        DataError, match=r"'brand' is a categorical feature, which has no order; .*keep=\['brand'"
    ):
        RankingDataset.from_frame(brands).split_by("brand", 0.5)


def test_too_coarse_columns_raise() -> None:
    with pytest.raises(
        DataError, match=r"cannot cut 4 queries by 'day' into 3 groups .* it has 2 different values"
    ):
        make_data([1, 1, 2, 2]).split_by("day", 0.5, 0.25)
    with pytest.raises(ValueError, match="sum to less than 1"):
        make_data([1, 2]).split_by("day", 0.5, 0.5)
    with pytest.raises(DataError, match="has 0 different values"):
        make_data([1, 2]).select([]).split_by("day", 0.5)
