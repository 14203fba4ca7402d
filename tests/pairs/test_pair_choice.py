"""Which documents meet: the paper's advantages as laws, and tables against a literal search."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from directranker.pairs import classes_of, pair_table
from directranker.pairs.pair_table import pair_totals

LABELS = st.sampled_from([0.0, 1.0, 2.0, 2.5, 7.0])
QUERIES = st.lists(st.lists(LABELS, max_size=7), max_size=4)


def flat(queries: list[list[float]]) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], list[int]]:
    offsets = np.concatenate([[0], np.cumsum([len(query) for query in queries])]).astype(int)
    return np.array([label for query in queries for label in query], dtype=np.float64), offsets.tolist()


@settings(max_examples=100)
@given(QUERIES)
def test_the_more_relevant_meets_every_less_relevant_document_once(queries: list[list[float]]) -> None:
    labels, offsets = flat(queries)
    table = pair_table(labels, offsets)
    found = list(zip(table.query.tolist(), table.more.tolist(), table.less.tolist(), strict=True))
    expected = {
        (query, i, j)
        for query, (start, stop) in enumerate(pairwise(offsets))
        for i in range(start, stop)
        for j in range(start, stop)
        if labels[i] > labels[j]
    }
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert pair_totals(classes_of(labels, offsets), neighbours=False).sum() == len(found)


@settings(max_examples=100)
@given(QUERIES)
def test_neighbouring_classes_have_no_label_of_the_query_between(queries: list[list[float]]) -> None:
    labels, offsets = flat(queries)
    every, table = pair_table(labels, offsets), pair_table(labels, offsets, pairs="adjacent")
    found = set(zip(table.more.tolist(), table.less.tolist(), strict=True))
    for query, i, j in zip(every.query, every.more, every.less, strict=True):
        own = labels[offsets[query] : offsets[query + 1]]
        between = ((own > labels[j]) & (own < labels[i])).any()
        assert ((int(i), int(j)) in found) == (not between)
    assert pair_totals(classes_of(labels, offsets), neighbours=True).sum() == table.n_pairs


@settings(max_examples=100)
@given(QUERIES)
def test_places_fall_in_label_and_stay_in_input_order_among_equals(queries: list[list[float]]) -> None:
    labels, offsets = flat(queries)
    classes = classes_of(labels, offsets)
    rows = np.arange(len(labels)) if classes.rows is None else classes.rows
    expected = [
        row
        for start, stop in pairwise(offsets)
        for row in sorted(range(start, stop), key=lambda row: -labels[row])
    ]
    assert rows.tolist() == expected
    np.testing.assert_array_equal(classes.relevance, labels[expected])
    np.testing.assert_array_equal(classes.by_row(classes.by_place(labels)), labels)
    assert classes.n_classes.tolist() == [len(set(query)) for query in queries]


@pytest.mark.parametrize("pairs", ["all", "adjacent"])
def test_each_pair_is_drawn_equally_often(pairs: str) -> None:
    labels = [2.0, 0.0, 1.0, 0.0, 1.0, 3.0, 0.0]
    every = pair_table(labels, pairs=pairs)
    draws = pair_table(np.tile(labels, 4000), np.arange(4001) * 7, pairs=pairs, max_pairs=3, seed=11)
    assert draws.n_pairs == 12_000
    places = draws.query * 7
    counts: dict[tuple[int, int], int] = dict.fromkeys(
        zip(every.more.tolist(), every.less.tolist(), strict=True), 0
    )
    for i, j in zip((draws.more - places).tolist(), (draws.less - places).tolist(), strict=True):
        counts[i, j] += 1
    mean = 12_000 / len(counts)
    chi_square = sum((count - mean) ** 2 / mean for count in counts.values())
    # Its mean is n − 1, its variance 2 (n − 1).
    assert abs(chi_square - (len(counts) - 1)) < 4 * np.sqrt(2 * (len(counts) - 1))


def test_draws_of_a_query_do_not_depend_on_other_queries() -> None:
    labels = np.arange(20.0)
    alone = pair_table(labels, max_pairs=5, seed=3)
    beside = pair_table(np.concatenate([labels, labels[:7]]), [0, 20, 27], max_pairs=5, seed=3)
    np.testing.assert_array_equal(beside.more[:5], alone.more)
    assert pair_table(labels, max_pairs=5, seed=4).more.tolist() != alone.more.tolist()


def test_long_lists_of_many_classes_are_drawn_from_at_once() -> None:
    table = pair_table(np.arange(200_000), max_pairs=1000, seed=0)  # of 2 · 10^10 pairs
    assert table.n_pairs == 1000
    assert (table.more > table.less).all()
    assert len(set(table.more.tolist())) > 950


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs": "al"}, r"pairs 'al' is unknown; did you mean 'all'\?"),
        ({"max_pairs": -1}, "max_pairs is -1"),
        ({"offsets": [0, 2]}, "offsets go from 0 to 2"),
    ],
)
def test_wrong_words_and_offsets_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pair_table([1, 0, 2], **options)  # type: ignore[arg-type]
