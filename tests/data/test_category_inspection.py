"""Inspection of categorical and vector columns: counts, and no findings about codes as numbers."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from directranker.data.category_inspection import CategorySummary, summarise_categories
from directranker.data.dataset import RankingDataset
from directranker.data.inspection import inspect_dataset, inspect_fold

from inspection_cases import findings


def make_data(n_queries: int = 30, length: int = 6, **columns: Any) -> RankingDataset:
    rng = np.random.default_rng(1)
    n = n_queries * length
    frame = pd.DataFrame({"qid": np.repeat(np.arange(n_queries), length)})
    frame["relevance"] = np.tile(np.arange(length) % 3, n_queries)
    frame["price"] = rng.normal(size=n)
    for name, values in columns.items():
        frame[name] = values(n) if callable(values) else values
    return RankingDataset.from_frame(frame)


def choose(values: list[str | None], n: int, seed: int = 0) -> list[str | None]:
    return [values[i] for i in np.random.default_rng(seed).integers(len(values), size=n)]


def literal_summary(name: str, values: list[str | None], qid: list[int]) -> CategorySummary:
    """The same, value by value."""
    counts: Counter[str] = Counter()
    queries: dict[str, set[int]] = defaultdict(set)
    for value, query in zip(values, qid, strict=True):
        if value is not None:
            counts[value] += 1
            queries[value].add(query)
    ordered = sorted(counts, key=lambda value: (-counts[value], value))
    return CategorySummary(
        name,
        n_values=len(counts),
        most_frequent=tuple((value, counts[value]) for value in ordered[:3]),
        n_missing=values.count(None),
        n_in_one_query=sum(counts[value] for value, found in queries.items() if len(found) == 1),
    )


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([None, "a", "b", "c", "é", "z"]), st.integers(0, 3)), min_size=1))
def test_summaries_are_the_literal_ones(rows: list[tuple[str | None, int]]) -> None:
    values, qid = [value for value, _ in rows], [query for _, query in rows]
    brand = pd.Series(values, dtype="string")
    frame = pd.DataFrame({"qid": qid, "relevance": 0, "brand": brand})
    data = RankingDataset.from_frame(frame)
    assert summarise_categories(data) == (literal_summary("brand", values, qid),)
    # A selection keeps the vocabulary; its summary counts only what it has.
    some = data.select([0])
    kept = [(value, query) for value, query in rows if query == data.query_ids[0]]
    expected = literal_summary("brand", [value for value, _ in kept], [query for _, query in kept])
    assert summarise_categories(some) == (expected,)


def test_codes_are_not_numbers() -> None:
    """A category whose codes order documents like the label, equal a number and have missing values."""
    labels = np.tile(np.arange(6) % 3, 30)
    words = np.array(["bad", "fine", "good"])[labels]
    by_kind = findings(make_data(grade=words))
    assert "leaking-features" not in by_kind
    codes = make_data(
        number=(np.arange(180) % 3).astype(float), brand=np.array(["a", "b", "c"])[np.arange(180) % 3]
    )
    np.testing.assert_array_equal(codes.features[:, 1], codes.features[:, 2])
    assert "duplicate-features" not in findings(codes)
    missing = make_data(brand=lambda n: choose(["a", "b", None], n))
    assert findings(missing) == {}
    leak = make_data(level=labels.astype(float))  # the same values as numbers do leak
    assert findings(leak)["leaking-features"].examples[0].startswith("'level'")


def test_equal_categories_are_duplicates_only_with_equal_values() -> None:
    brand = np.array(["a", "b", "c"])[np.arange(180) % 3]
    assert findings(make_data(one=brand, two=brand))["duplicate-features"].examples == ("'two' equals 'one'",)
    other = np.array(["x", "y", "z"])[np.arange(180) % 3]
    assert "duplicate-features" not in findings(make_data(one=brand, two=other))


def test_missing_categories_may_leak() -> None:
    labels = np.tile(np.arange(6) % 3, 30)
    data = make_data(basket=np.array([None, "a", "b"])[labels])
    assert "leaking-features" not in findings(data)  # only the codes of "a" and "b" have an order
    clicked = np.where(labels >= 1, choose(["a", "b"], 180), None)
    frame = data.to_frame("pandas").assign(relevance=np.minimum(labels, 1), basket=clicked)
    assert findings(RankingDataset.from_frame(frame))["leaking-features"].examples[0].startswith("'basket'")


def test_identifying_and_rare_columns() -> None:
    data = make_data(
        sku=lambda n: [f"s{i}" for i in range(n)],
        horse=lambda n: [f"h{i // 3}" for i in range(n)],
        brand=lambda n: choose(["a", "b"], n),
        seller=lambda n: np.arange(n) + 5000,
    )
    by_kind = findings(data)
    assert list(by_kind) == ["ids-as-numbers", "identifying-columns", "rare-categories"]
    assert by_kind["identifying-columns"].examples == ("'sku' (180 values in 180 documents)",)
    assert by_kind["rare-categories"].examples == ("'horse' (100 % of the documents)",)
    assert by_kind["rare-categories"].message.startswith("1 of 3 categorical columns (33 %) has many values")
    assert by_kind["ids-as-numbers"].examples == ("'seller'",)
    assert findings(make_data(brand=lambda n: choose(["a", "b"], n))) == {}


def test_constant_and_all_missing_categories() -> None:
    by_kind = findings(make_data(shop="one", nothing=lambda n: pd.Series([None] * n, dtype="string")))
    assert by_kind["constant-features"].examples == ("'shop'",)
    assert by_kind["missing-features"].examples == ("'nothing'",)


def test_vectors_are_one_group() -> None:
    columns: dict[str, Any] = {f"text[{i}]": float(i) for i in range(5)}
    data = make_data(**columns)
    inspection = inspect_dataset(data)
    assert inspection.vectors == {"text": 5}
    (finding,) = inspection.findings
    assert finding.message.startswith("5 of 6 features (83 %) have the same value in every document")
    assert finding.examples == ("'text' (5 of 5 dimensions)",)


def test_unseen_categories_between_splits() -> None:
    train = make_data(brand=lambda n: choose(["a", "b"], n))
    test = make_data(brand=lambda n: ["a"] * (n - 9) + ["new"] * 9)
    found = {one.kind: one for one in inspect_fold({"train": train, "test": test}).findings}
    assert found["unseen-categories"].message == (
        "1 of 1 categorical column (100 %) of test has values that train does not have, "
        "e.g. 'brand': 'new', in 5 % of the documents"
    )
    # Values of the vocabulary that do not occur in a selection count as unseen too.
    both = make_data(brand=lambda n: ["a"] * (n // 2) + ["b"] * (n // 2))
    first, second = both.select(range(15)), both.select(range(15, 30))
    (finding,) = inspect_fold({"train": first, "test": second}).findings
    assert finding.examples == ("'brand': 'b', in 100 % of the documents",)


def test_a_category_that_is_a_number_elsewhere_is_reported() -> None:
    one, other = make_data(brand=lambda n: choose(["1", "2"], n)), make_data(brand=lambda n: np.arange(n) % 3)
    found = {finding.kind: finding for finding in inspect_fold({"train": one, "test": other}).findings}
    assert found["differing-features"].examples == ("'brand' is a category in train but not in test",)


def test_json(tmp_path: Path) -> None:
    result = inspect_dataset(make_data(brand=lambda n: choose(["a", None], n))).to_dict()
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert result["categories"][0]["most_frequent"][0][0] == "a"


def test_repr_and_describe() -> None:
    frame = pd.DataFrame({"qid": [1, 1], "relevance": [0, 1], "price": [1.5, np.nan], "brand": ["a", None]})
    frame = frame.assign(day=pd.to_datetime("2024-01-01"), **{"e[0]": 1.0, "e[1]": -2.0})
    data = RankingDataset.from_frame(frame, keep=["day"])
    assert repr(data) == "RankingDataset(2 documents, 1 query, 4 features (1 categorical), 1 kept column)"
    assert data.describe().splitlines() == [
        "column  kind                 values      missing",
        "price   number               1.5 to 1.5  1",
        "brand   category             1: a        1",
        "e       vector of 2          -2 to 1     0",
        "day     kept, timestamp[us]              0",
    ]


@pytest.mark.parametrize("n_rows", [0, 1])
def test_tiny_data(n_rows: int) -> None:
    frame = pd.DataFrame({"qid": [1], "relevance": [0], "brand": ["a"]})
    data = RankingDataset.from_frame(frame).select(range(n_rows))
    inspection = inspect_dataset(data)
    assert inspection.categories[0].n_values == n_rows
    assert data.describe().startswith("column")
