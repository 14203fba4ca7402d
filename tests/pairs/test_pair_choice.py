"""The pairs of queries: the paper's advantages as laws, and tables against a reference search."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from directranker.pairs import group_by_label, pair_table
from directranker.pairs.pair_table import sum_pair_weights

LABELS = st.sampled_from([0.0, 1.0, 2.0, 2.5, 7.0])
QUERIES = st.lists(st.lists(LABELS, max_size=7), max_size=4)


def flatten(queries: list[list[float]]) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], list[int]]:
    offsets = np.concatenate([[0], np.cumsum([len(query) for query in queries])]).astype(int)
    return np.array([label for query in queries for label in query], dtype=np.float64), offsets.tolist()


@settings(max_examples=100)
@given(QUERIES)
def test_each_document_is_paired_with_every_less_relevant_one_once(queries: list[list[float]]) -> None:
    labels, offsets = flatten(queries)
    table = pair_table(labels, offsets)
    found = list(zip(table.query.tolist(), table.higher.tolist(), table.lower.tolist(), strict=True))
    expected = {
        (query, i, j)
        for query, (start, stop) in enumerate(pairwise(offsets))
        for i in range(start, stop)
        for j in range(start, stop)
        if labels[i] > labels[j]
    }
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert sum_pair_weights(group_by_label(labels, offsets), adjacent=False).sum() == len(found)


@settings(max_examples=100)
@given(QUERIES)
def test_adjacent_classes_have_no_label_of_the_query_between(queries: list[list[float]]) -> None:
    labels, offsets = flatten(queries)
    all_pairs, table = pair_table(labels, offsets), pair_table(labels, offsets, pairs="adjacent")
    found = set(zip(table.higher.tolist(), table.lower.tolist(), strict=True))
    for query, i, j in zip(all_pairs.query, all_pairs.higher, all_pairs.lower, strict=True):
        query_labels = labels[offsets[query] : offsets[query + 1]]
        between = ((query_labels > labels[j]) & (query_labels < labels[i])).any()
        assert ((int(i), int(j)) in found) == (not between)
    assert sum_pair_weights(group_by_label(labels, offsets), adjacent=True).sum() == table.n_pairs


@settings(max_examples=100)
@given(QUERIES)
def test_label_order_is_falling_and_stable(queries: list[list[float]]) -> None:
    labels, offsets = flatten(queries)
    classes = group_by_label(labels, offsets)
    rows = np.arange(len(labels)) if classes.rows is None else classes.rows
    expected = [
        row
        for start, stop in pairwise(offsets)
        for row in sorted(range(start, stop), key=lambda row: -labels[row])
    ]
    assert rows.tolist() == expected
    np.testing.assert_array_equal(classes.relevance, labels[expected])
    np.testing.assert_array_equal(classes.to_row_order(classes.to_label_order(labels)), labels)
    assert classes.n_classes.tolist() == [len(set(query)) for query in queries]


@pytest.mark.parametrize("pairs", ["all", "adjacent"])
def test_pairs_are_sampled_uniformly(pairs: str) -> None:
    labels = [2.0, 0.0, 1.0, 0.0, 1.0, 3.0, 0.0]
    all_pairs = pair_table(labels, pairs=pairs)
    sampled = pair_table(np.tile(labels, 4000), np.arange(4001) * 7, pairs=pairs, max_pairs=3, seed=11)
    assert sampled.n_pairs == 12_000
    starts = sampled.query * 7
    counts: dict[tuple[int, int], int] = dict.fromkeys(
        zip(all_pairs.higher.tolist(), all_pairs.lower.tolist(), strict=True), 0
    )
    for i, j in zip((sampled.higher - starts).tolist(), (sampled.lower - starts).tolist(), strict=True):
        counts[i, j] += 1
    mean = 12_000 / len(counts)
    chi_square = sum((count - mean) ** 2 / mean for count in counts.values())
    # Its mean is n − 1, its variance 2 (n − 1).
    assert abs(chi_square - (len(counts) - 1)) < 4 * np.sqrt(2 * (len(counts) - 1))


def test_the_sample_of_a_query_does_not_depend_on_other_queries() -> None:
    labels = np.arange(20.0)
    alone = pair_table(labels, max_pairs=5, seed=3)
    with_other = pair_table(np.concatenate([labels, labels[:7]]), [0, 20, 27], max_pairs=5, seed=3)
    np.testing.assert_array_equal(with_other.higher[:5], alone.higher)
    assert pair_table(labels, max_pairs=5, seed=4).higher.tolist() != alone.higher.tolist()


def test_sampling_a_long_query_with_many_classes() -> None:
    table = pair_table(np.arange(200_000), max_pairs=1000, seed=0)  # of 2 · 10^10 pairs
    assert table.n_pairs == 1000
    assert (table.higher > table.lower).all()
    assert len(set(table.higher.tolist())) > 950


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs": "al"}, r"pairs 'al' is unknown; did you mean 'all'\?"),
        ({"max_pairs": -1}, "max_pairs is -1"),
        ({"offsets": [0, 2]}, "offsets go from 0 to 2"),
    ],
)
def test_unknown_options_and_wrong_offsets_raise(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pair_table([1, 0, 2], **options)  # type: ignore[arg-type]
