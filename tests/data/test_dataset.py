"""Data sets in memory: grouping, selection, splitting, and invalid input."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from directranker.data.concatenation import concatenate
from directranker.data.dataset import RankingDataset
from directranker.data.grouping import group_by_query
from directranker.errors import DataError


def make_small(n_queries: int = 6, seed: int = 0) -> RankingDataset:
    """Make queries of one to three documents, with document ids."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(1, 4, n_queries))
    n = len(qid)
    return RankingDataset.from_arrays(
        rng.normal(size=(n, 2)), rng.integers(0, 3, n), qid=qid, document_ids=[f"d{i}" for i in range(n)]
    )


query_ids = st.one_of(
    st.lists(st.integers(-3, 3), max_size=30), st.lists(st.sampled_from("abc"), max_size=30)
)


@given(query_ids)
def test_grouping_matches_a_literal_implementation(qid: list[int | str]) -> None:
    grouping = group_by_query(qid, n_rows=len(qid))
    rows: dict[int | str, list[int]] = {}
    for row, query in enumerate(qid):
        rows.setdefault(query, []).append(row)
    assert grouping.query_ids.tolist() == list(rows)
    assert np.diff(grouping.offsets).tolist() == list(map(len, rows.values()))
    order = range(len(qid)) if grouping.order is None else grouping.order.tolist()
    assert list(order) == [row for group in rows.values() for row in group]


@given(query_ids)
def test_to_source_order_inverts_the_grouping(qid: list[int] | list[str]) -> None:
    rows = np.arange(len(qid), dtype=np.float32)
    data = RankingDataset.from_arrays(rows[:, None], rows, qid=qid)
    np.testing.assert_array_equal(data.to_source_order(data.features[:, 0]), rows)
    assert data.to_source_order(data.qid).tolist() == qid


def test_document_ids_move_with_their_rows() -> None:
    data = RankingDataset.from_arrays(
        [[0.0], [1.0], [2.0]], [0, 1, 2], qid=[1, 2, 1], document_ids=["a", "b", "c"]
    )
    assert data.document_ids is not None
    assert data.document_ids.tolist() == ["a", "c", "b"]
    assert data.qid.tolist() == [1, 1, 2]


def test_dataset_is_immutable() -> None:
    data = make_small()
    for array in (data.features, data.relevance, data.offsets, data.query_ids, data.qid, data.document_ids):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[-1]
    with pytest.raises(FrozenInstanceError):
        data.relevance = np.zeros(3)  # type: ignore[misc]
    X = np.zeros((1, 1), dtype=np.float32)
    RankingDataset.from_arrays(X, [0])
    X[0] = 1  # the caller's array stays writable


def test_select_returns_complete_queries() -> None:
    data = make_small()
    for queries in ([4, 1], [2, 3, 4], [], data.query_ids % 2 == 0):
        selected = data.select(queries)
        indices = np.flatnonzero(queries) if isinstance(queries, np.ndarray) else queries
        assert selected.query_ids.tolist() == [data.query_ids[index] for index in indices]
        rows = [row for q in indices for row in range(data.offsets[q], data.offsets[q + 1])]
        np.testing.assert_array_equal(selected.features, data.features[rows])
        np.testing.assert_array_equal(selected.relevance, data.relevance[rows])
        assert selected.document_ids is not None
        assert selected.document_ids.tolist() == [f"d{row}" for row in rows]
        assert selected.to_source_order(selected.document_ids).tolist() == [f"d{row}" for row in sorted(rows)]
    assert np.shares_memory(data.select([1, 2]).features, data.features)


def test_split_keeps_queries_together_and_is_reproducible() -> None:
    data = make_small(50)
    splits = data.split(0.6, 0.2, random_state=3)
    assert [split.n_queries for split in splits] == [30, 10, 10]
    assert sorted(query for split in splits for query in split.query_ids) == list(range(50))
    assert sum(split.n_documents for split in splits) == data.n_documents
    again = data.split(0.6, 0.2, random_state=3)
    assert all(one.equals(other) for one, other in zip(splits, again, strict=True))
    assert not data.split(0.5, random_state=4)[0].equals(data.split(0.5, random_state=5)[0])
    for fractions in ((), (0.5, 0.5)):
        with pytest.raises(ValueError, match="positive and sum to less than 1"):
            data.split(*fractions)
    for fraction in (0.0, -1.0, 1, "half", None):
        with pytest.raises(ValueError, match=r"a fraction is .*; give a number between 0 and 1"):
            data.split(fraction)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="random_state is 'seven'; give None, a whole number"):
        data.split(0.5, random_state="seven")  # type: ignore[arg-type]


def test_binarise_and_queries_with_a_relevant_document() -> None:
    data = RankingDataset.from_arrays(np.zeros((5, 1)), [0, 1, 2, 1, 0], qid=[1, 1, 2, 3, 4])
    assert data.binarise(2).relevance.tolist() == [0, 0, 1, 0, 0]
    for threshold in (float("nan"), "one", None):
        for method in (data.binarise, data.only_queries_with_relevant):
            with pytest.raises(ValueError, match=r"threshold is .*; give the lowest label"):
                method(threshold)  # type: ignore[arg-type]
    assert data.only_queries_with_relevant().query_ids.tolist() == [1, 2, 3]
    assert data.only_queries_with_relevant(2).query_ids.tolist() == [2]


def test_concatenate() -> None:
    data = make_small()
    first, second = data.select([0, 1, 2]), data.select([3, 4, 5])
    assert concatenate([first, second]).equals(data)
    with pytest.raises(DataError, match="3 query ids are in more than one data set, such as 0"):
        concatenate([first, first])
    merged = concatenate([first, first], shared_queries="merge")
    assert merged.n_queries == 3
    assert merged.n_documents == 2 * first.n_documents
    strings = RankingDataset.from_arrays([[1.0, 2.0]], [0], qid=["x"])
    with pytest.raises(DataError, match="mix int and str"):
        concatenate([first, strings])
    other = RankingDataset.from_arrays([[1.0]], [0], qid=[99])
    with pytest.raises(DataError, match="features differ"):
        concatenate([first, other])


@given(arrays(np.float32, (3, 2)))
def test_equals_compares_bits(X: np.ndarray) -> None:
    one = RankingDataset.from_arrays(X, [0, 1, 2])
    assert one.equals(RankingDataset.from_arrays(X.copy(), [0, 1, 2]))
    assert not one.equals(RankingDataset.from_arrays(X, [0, 1, 3]))
    assert not one.equals(RankingDataset.from_arrays(X, [0, 1, 2], feature_names=["a", "b"]))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"X": [[1.0]], "y": [0], "qid": [1, 2]}, ValueError, "qid has 2 entries for 1 rows"),
        ({"X": [1.0], "y": [0]}, ValueError, "features have 1 dimensions"),
        ({"X": [[1.0]], "y": [0, 1]}, ValueError, r"labels have shape \(2,\) for 1 rows"),
        ({"X": [[1.0]], "y": [np.nan]}, DataError, "label nan in row 0"),
        ({"X": [[1.0]], "y": ["good"]}, DataError, "label 'good' in row 0 is not a number"),
        ({"X": [["a"]], "y": [0]}, DataError, "column 0 holds 'a' in row 0, not a number"),
        ({"X": [[0.0, 1e39]], "y": [0]}, DataError, r"1e\+39 in row 0, column 1 does not fit float32"),
        (
            {"X": [[0.0, 1e39]], "y": [0], "feature_names": ["price", "sold"]},
            DataError,
            r"1e\+39 in row 0, column 'sold' does not fit float32",
        ),
        (
            {"X": [[1.0]] * 2, "y": ["1", "2"]},
            DataError,
            "label '1' in row 0 is not a number; map the grades",
        ),
        ({"X": [[1.0]] * 2, "y": [1, "x"]}, DataError, "label 'x' in row 1 is not a number"),
        ({"X": [[1.0]] * 2, "y": [[1, 2], [3]]}, DataError, r"label \[1, 2\] in row 0 is not a number"),
        (
            {"X": [[1.0]], "y": np.array(["2026-01-01"], "M8[D]")},
            DataError,
            "label 2026-01-01 in row 0 is not",
        ),
        ({"X": [[1.0]], "y": [1j]}, DataError, r"label 1j in row 0 is not a number"),
        ({"X": [[1j]], "y": [0]}, TypeError, "complex"),
        ({"X": [[1.0]], "y": [0], "qid": [None]}, DataError, r"query id of type NoneType \(row 0: None\)"),
        ({"X": [[1.0]], "y": [0], "qid": np.array([1.5])}, DataError, "query id 1.5 in row 0"),
        ({"X": [[1.0]], "y": [0], "qid": np.array([True])}, TypeError, "dtype bool"),
        ({"X": [[1.0]], "y": [0], "qid": [[1]]}, ValueError, r"qid has shape \(1, 1\)"),
        ({"X": [[1.0]], "y": [0], "qid": [2**70]}, DataError, "does not fit 64 bits"),
        ({"X": [[1.0]], "y": [0], "document_ids": ["a", "b"]}, ValueError, "2 document ids for 1 rows"),
        ({"X": [[1.0]], "y": [0], "feature_names": ["a", "b"]}, ValueError, "2 feature names for 1 features"),
        ({"X": [[1.0, 2.0]], "y": [0], "feature_names": ["a", "a"]}, ValueError, "'a' is used twice"),
    ],
)
def test_invalid_arrays_raise(arguments: dict[str, object], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        RankingDataset.from_arrays(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("queries", "error", "message"),
    [
        ([6], IndexError, "query index 6 is out of range; give indices from 0 to 5"),
        ([-1], IndexError, "query index -1 is out of range"),
        ([1, 1], ValueError, "selected twice"),
        ([True], ValueError, "mask of shape"),
        ([0.5], TypeError, "give query indices or a boolean mask"),
    ],
)
def test_invalid_selections_raise(queries: list[object], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        make_small().select(queries)  # type: ignore[arg-type]


def test_invalid_offsets_and_ids_raise() -> None:
    X, y = np.zeros((2, 1), dtype=np.float32), np.zeros(2)
    with pytest.raises(ValueError, match="offsets go from 0 to 1"):
        RankingDataset(X, y, np.array([0, 1]), np.array([1]))
    with pytest.raises(ValueError, match="query id is used twice"):
        RankingDataset(X, y, np.array([0, 1, 2]), np.array([1, 1]))
    with pytest.raises(ValueError, match="1 query ids for 2 queries"):
        RankingDataset(X, y, np.array([0, 1, 2]), np.array([1]))
