"""Statistics of categories: the literal formula, no leak of a query's own labels, hostile files."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from directranker.data.column_kinds import ColumnKinds
from directranker.encoding.category_statistics import RESOLUTION, CategoryStatistics

KINDS = ColumnKinds.of(["price", "brand"], {"brand": 7})
Arrays = tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]


@pytest.fixture
def arrays() -> Arrays:
    rng = np.random.default_rng(1)
    table = np.column_stack([rng.normal(size=80), rng.integers(6, size=80)]).astype(np.float32)
    table[::9, 1] = np.nan
    qid = rng.permutation(np.repeat(np.arange(16), 5))
    return table, rng.integers(0, 4, size=80).astype(np.float64), qid, rng.integers(0, 3, size=80) + 0.5


def literal_statistic(code: float, arrays: Arrays, queries: NDArray[np.int64], prior: float) -> float:
    """Σ w (label − mean label of the query) / (Σ w + prior), over the rows of these queries with the code."""
    table, labels, qid, weights = arrays
    total, count = 0.0, prior
    for row, value in enumerate(table[:, 1]):
        if qid[row] in queries and (value == code or (np.isnan(value) and np.isnan(code))):
            of_query = qid == qid[row]
            mean = (weights * labels)[of_query].sum() / weights[of_query].sum()
            total += weights[row] * (labels[row] - mean)
            count += weights[row]
    return total / count


def test_statistics_are_the_literal_formula(arrays: Arrays) -> None:
    table, labels, qid, weights = arrays
    statistics = CategoryStatistics(prior=3.0).fit(table, labels, qid=qid, kinds=KINDS, sample_weight=weights)
    codes = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, np.nan]
    rows = np.array([[9.0, code] for code in codes], dtype=np.float32)
    expected = [literal_statistic(code, arrays, np.unique(qid), 3.0) for code in codes]
    np.testing.assert_allclose(statistics.transform(rows)[:, 1], expected, atol=4 * RESOLUTION)
    assert (statistics.transform(rows)[:, 0] == 9).all()
    unseen = np.array([[0, 6], [0, -1], [0, 1e30], [0, -1e30], [0, 7]], dtype=np.float32)
    assert (statistics.transform(unseen)[:, 1] == 0).all()


def test_training_rows_have_statistics_of_earlier_queries(arrays: Arrays) -> None:
    table, labels, qid, weights = arrays
    statistics = CategoryStatistics(prior=3.0, random_state=5)
    trained = statistics.fit_transform(table, labels, qid=qid, kinds=KINDS, sample_weight=weights)[:, 1]
    in_order_of_appearance = list(dict.fromkeys(qid.tolist()))
    order = [in_order_of_appearance[index] for index in np.random.default_rng(5).permutation(16)]
    for row in range(80):
        earlier = np.array(order[: order.index(qid[row])], dtype=np.int64)
        expected = literal_statistic(table[row, 1], arrays, earlier, 3.0)
        assert trained[row] == pytest.approx(expected, abs=4 * RESOLUTION)


def test_labels_of_a_query_do_not_reach_its_own_rows(arrays: Arrays) -> None:
    table, labels, qid, _ = arrays
    before = CategoryStatistics().fit_transform(table, labels, qid=qid, kinds=KINDS)[:, 1]
    changed_others = False
    for query in np.unique(qid):
        changed = labels.copy()
        changed[qid == query] = 3 - changed[qid == query]
        after = CategoryStatistics().fit_transform(table, changed, qid=qid, kinds=KINDS)[:, 1]
        np.testing.assert_array_equal(after[qid == query], before[qid == query])
        changed_others |= bool((after != before).any())
    assert changed_others


def test_a_column_without_information_is_not_correlated_with_the_labels() -> None:
    """Statistics of all other queries would be: their sum is the total minus the row's own label."""
    rng = np.random.default_rng(0)
    table = rng.integers(4, size=(20_000, 1)).astype(np.float32)
    labels, qid = rng.integers(0, 2, size=20_000).astype(float), np.repeat(np.arange(2_000), 10)
    kinds = ColumnKinds.of(["x"], {"x": 4})
    found = CategoryStatistics().fit_transform(table, labels, qid=qid, kinds=kinds)[:, 0]
    for code in range(4):
        own = table[:, 0] == code
        assert abs(np.corrcoef(found[own], labels[own])[0, 1]) < 0.05


def test_a_constant_within_queries_has_no_statistic() -> None:
    rng = np.random.default_rng(0)
    table = np.repeat(rng.integers(30, size=100), 7)[:, None].astype(np.float32)
    kinds, qid = ColumnKinds.of(["x"], {"x": 30}), np.repeat(np.arange(100), 7)
    labels = rng.random(700)
    statistics = CategoryStatistics()
    assert not statistics.fit_transform(table, labels, qid=qid, kinds=kinds).any()
    assert not statistics.statistics_.any()
    appended = CategoryStatistics(append=True).fit(table, labels, qid=qid, kinds=kinds)
    assert len(appended.features_) == 0


def make_sparse(n_values: int, *, n_rows: int = 2_000) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    rng = np.random.default_rng(2)
    return rng.integers(n_values, size=(n_rows, 1)).astype(np.float32), rng.integers(0, 3, n_rows).astype(
        float
    )


@pytest.mark.parametrize(
    ("n_values", "held_out", "appends"),
    [
        (20, None, False),  # each value has a column of its own
        (300, None, True),
        (300, "new", False),
        (300, "known", True),
        (2_000, None, False),  # half of the values are in one query only
    ],
)
def test_statistics_are_appended_for_rare_but_known_values(
    n_values: int, held_out: str | None, appends: bool
) -> None:
    table, labels = make_sparse(n_values)
    kinds = ColumnKinds.of(["x"], {"x": n_values})
    rows = {None: None, "new": np.full_like(table, -1), "known": table}[held_out]
    statistics = CategoryStatistics(append=True)
    changed = statistics.fit_transform(table, labels, qid=np.arange(2_000) // 10, kinds=kinds, held_out=rows)
    assert changed.shape[1] == 1 + appends
    np.testing.assert_array_equal(changed[:, 0], table[:, 0])
    new_kinds = statistics.change_kinds(kinds)
    assert new_kinds.n_categories.tolist() == [n_values, 0][: 1 + appends]
    assert statistics.feature_of_column.tolist() == [0, 0][: 1 + appends]


def test_replaced_columns_are_numbers(arrays: Arrays) -> None:
    table, labels, qid, _ = arrays
    statistics = CategoryStatistics().fit(table, labels, qid=qid, kinds=KINDS)
    assert statistics.change_kinds(KINDS).are_numbers
    assert statistics.transform(table).shape == table.shape


@pytest.mark.parametrize(
    "changes",
    [
        {"features_": np.array([2])},
        {"features_": np.array([-1])},
        {"features_": np.array([1, 1])},
        {"features_": np.array([[1]])},
        {"statistic_offsets_": np.array([0, 2**40])},
        {"statistic_offsets_": np.array([0, 1])},
        {"statistic_offsets_": np.array([3, 9])},
        {"statistics_": np.full(9, np.nan, dtype=np.float32)},
        {"statistics_": np.zeros(9)},
    ],
)
def test_arrays_of_a_file_are_checked(arrays: Arrays, changes: dict[str, NDArray[np.generic]]) -> None:
    table, labels, qid, _ = arrays
    statistics = CategoryStatistics().fit(table, labels, qid=qid, kinds=KINDS)
    state = {name: value for name, value in vars(statistics).items() if name.endswith("_")}
    CategoryStatistics()._restore(state)
    with pytest.raises(ValueError, match="of CategoryStatistics"):
        CategoryStatistics()._restore({**state, **changes})
