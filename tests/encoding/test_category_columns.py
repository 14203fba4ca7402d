"""Categories and vectors in the transforms: literal twins, the compact form, names, hostile files."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from directranker.data.column_kinds import ColumnKinds
from directranker.encoding import AutoTransform, InContext, PiecewiseLinear, SignedLog, Standard
from directranker.encoding.category_columns import assign_columns
from directranker.encoding.filled_bins import fill_bins

NAMES = ["price", "brand", "seller", "text[0]", "text[1]", "colour"]
KINDS = ColumnKinds.of(NAMES, {"brand": 5, "seller": 60, "colour": 1})
QID = np.repeat(np.arange(30), 10)


@pytest.fixture
def table() -> NDArray[np.float32]:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 6)).astype(np.float32)
    rows[:, 1] = rng.choice(5, p=[0.4, 0.3, 0.2, 0.07, 0.03], size=300)
    rows[:, 2] = (60 * rng.random(300) ** 4).astype(int)
    rows[:, 5] = 0
    rows[::13, 1] = np.nan
    return rows


def literal_columns(
    values: NDArray[np.float32], train: NDArray[np.float32], min_count: int
) -> list[list[int]]:
    """One column per frequent value, one for rare and unseen ones, one for missing values."""
    counts = {code: int((train == code).sum()) for code in np.unique(train[~np.isnan(train)])}
    frequent = [code for code, count in counts.items() if count >= min_count]
    has_rare = len(frequent) < len(counts)
    rows = []
    for value in values:
        row = [int(value == code) for code in frequent]
        if has_rare:
            row.append(int(not np.isnan(value) and value not in frequent))
        if np.isnan(train).any():
            row.append(int(np.isnan(value)))
        rows.append(row)
    return rows


@pytest.mark.parametrize("min_count", [1, 10, 30])
def test_a_category_is_encoded_literally(table: NDArray[np.float32], min_count: int) -> None:
    transform = PiecewiseLinear(4, min_category_count=min_count).fit(table, qid=QID, kinds=KINDS)
    new = table.copy()
    new[:8, 1] = [-1, np.nan, 4, 0, 7, 1e30, -np.inf, 2]
    new[6, 1] = -3
    names = transform.get_feature_names_out(NAMES).tolist()
    for feature, name in ((1, "brand"), (2, "seller")):
        columns = [index for index, one in enumerate(names) if one.startswith(name)]
        expected = literal_columns(new[:, feature], table[:, feature], min_count)
        np.testing.assert_array_equal(transform.transform(new)[:, columns], expected)


def test_columns_are_named_by_their_values(table: NDArray[np.float32]) -> None:
    transform = PiecewiseLinear(1, min_category_count=30).fit(table, qid=QID, kinds=KINDS)
    brands = {"brand": ["Acme", "Bolt", "Core", "Dune", "Echo"]}
    names = transform.get_feature_names_out(NAMES, brands).tolist()
    assert names[1:6] == ["brand=Acme", "brand=Bolt", "brand=Core", "brand[rare]", "brand[missing]"]
    assert transform.get_feature_names_out(NAMES)[1] == "brand=0"
    assert not any(name.startswith("colour") for name in names)  # constant


@pytest.mark.parametrize("transform", [PiecewiseLinear(4, min_category_count=10), InContext(4)])
def test_filled_bins_are_the_encoding(
    table: NDArray[np.float32], transform: PiecewiseLinear | InContext
) -> None:
    transform.fit(table, qid=QID, kinds=KINDS)
    new = table.copy()
    new[:4, 1] = [-1, 99, np.nan, 4]
    encoded = transform.transform(new, qid=QID)
    bins = transform
    if isinstance(transform, InContext):
        new, bins = transform.with_context(new, QID), transform.bins
        assert not any(" of brand" in name for name in transform.get_feature_names_out(NAMES))
    assert isinstance(bins, PiecewiseLinear)
    filled = fill_bins(bins, new)
    literal = np.zeros_like(encoded)
    for row in range(len(new)):
        for reached, fraction in zip(filled.columns[row], filled.fractions[row], strict=True):
            literal[row, reached] = fraction
            column = reached
            while not filled.is_first[column]:
                column -= 1
                literal[row, column] = 1
    np.testing.assert_array_equal(encoded, literal)


def test_the_most_frequent_values_get_the_columns() -> None:
    columns, n_columns = assign_columns(np.array([5, 9, 0, 7, 9]), min_count=1, max_columns=2)
    assert (columns.tolist(), n_columns) == ([2, 2, 0, 2, 2, 1], 3)
    columns, n_columns = assign_columns(np.array([5, 0, 9]), min_count=1, max_columns=5)
    assert (columns.tolist(), n_columns) == ([-1, 0, -1, 1], 2)  # without rare values, unseen ones have none


def test_a_category_of_the_query_has_no_columns(table: NDArray[np.float32]) -> None:
    table[:, 1] = QID % 5
    transform = PiecewiseLinear(min_category_count=1).fit(table, qid=QID, kinds=KINDS)
    assert transform.n_category_columns_[1] == 0
    assert PiecewiseLinear(min_category_count=1).fit(table, kinds=KINDS).n_category_columns_[1] == 5


def test_dimensions_of_a_vector_share_one_scale(table: NDArray[np.float32]) -> None:
    table[:, 4] = 3 + 2 * table[:, 4]
    vector = table[:, 3:5].astype(np.float64)
    bins = PiecewiseLinear().fit(table, kinds=KINDS)
    for feature in (3, 4):
        assert bins._get_edges(feature).tolist() == [table[:, 3:5].min(), table[:, 3:5].max()]
    for transform, values in (
        (Standard(), vector),
        (AutoTransform(), vector),
        (SignedLog(), np.copysign(np.log1p(np.abs(vector)), vector)),
    ):
        encoded = transform.fit(table, kinds=KINDS).transform(table)[:, 3:5]
        np.testing.assert_allclose(encoded, (values - values.mean()) / values.std(), rtol=1e-5, atol=1e-6)
    assert not np.allclose(
        Standard().fit(table).transform(table)[:, 3:5], Standard().fit_transform(table, kinds=KINDS)[:, 3:5]
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"category_columns_": np.full(63 + 6 + 2 - 3, 9, dtype=np.int64)},
        {"category_columns_": np.full(3, -1, dtype=np.int64)},
        {"category_offsets_": np.array([0, 0, 6, 2**40, 67, 67, 69])},
        {"category_offsets_": np.array([0, 0, 67, 6, 67, 67, 69])},
        {"n_category_columns_": np.full(6, 2**40, dtype=np.int64)},
        {"n_category_columns_": np.zeros(6, dtype=np.int64)},
        {"category_columns_": np.zeros(69)},
    ],
)
def test_arrays_of_a_file_are_checked(
    table: NDArray[np.float32], changes: dict[str, NDArray[np.generic]]
) -> None:
    transform = PiecewiseLinear(min_category_count=10).fit(table, qid=QID, kinds=KINDS)
    state = {name: value for name, value in vars(transform).items() if name.endswith("_")}
    PiecewiseLinear()._restore(state)
    with pytest.raises(ValueError, match="categor"):
        PiecewiseLinear()._restore({**state, **changes})


def test_bins_that_were_saved_before_categories_are_restored(table: NDArray[np.float32]) -> None:
    transform = PiecewiseLinear().fit(table)
    old = {
        name: value for name, value in vars(transform).items() if name.endswith("_") and "categor" not in name
    }
    restored = PiecewiseLinear()
    restored._restore(old)
    np.testing.assert_array_equal(restored.transform(table), transform.transform(table))


def test_kinds_must_match_the_columns(table: NDArray[np.float32]) -> None:
    with pytest.raises(ValueError, match="kinds are of 2 columns, but X has 6"):
        PiecewiseLinear().fit(table, kinds=ColumnKinds.numbers(2))
