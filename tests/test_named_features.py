"""Named features, as in any table: no warnings about names that the caller gave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from directranker import (
    DataError,
    OrderClassifier,
    RankingDataset,
    RankSVM,
    Standard,
    example_dataset,
    explain_difference,
    export_ranker,
)
from directranker.experiments.neighbours import compare_neighbours


@pytest.fixture(scope="module")
def named() -> RankingDataset:
    data = example_dataset().select(range(30))
    names = [f"field_{number}" for number in range(data.n_features)]
    return RankingDataset.from_arrays(data.features, data.relevance, qid=data.qid, feature_names=names)


@pytest.fixture(scope="module")
def ranker(named: RankingDataset) -> RankSVM:
    return RankSVM().fit(named)


def test_explanations(named: RankingDataset, ranker: RankSVM) -> None:
    found = explain_difference(ranker, named.select([3]), better=1, worse=0)
    scores = ranker.predict(named.select([3]))
    assert found.names == named.feature_names
    assert found.difference == pytest.approx(float(scores[1] - scores[0]))


def test_neighbours(named: RankingDataset, ranker: RankSVM) -> None:
    found = compare_neighbours(ranker, named, query=str(named.query_ids[3]))
    assert found.scores.tolist() == sorted(ranker.predict(named.select([3])).tolist(), reverse=True)


def test_exports(named: RankingDataset, ranker: RankSVM, tmp_path: Path) -> None:
    parity = export_ranker(ranker, tmp_path / "svm", to="solr", rows=named)
    assert (parity.n_documents, parity.n_queries) == (named.n_documents, named.n_queries)


def test_missing_and_new_features_are_named(named: RankingDataset, ranker: RankSVM) -> None:
    table = named.to_frame("pyarrow")
    with pytest.raises(ValueError, match=r"X has 19 features, .* with 20; it lacks 'field_3'$"):
        ranker.predict(RankingDataset.from_frame(table.drop_columns(["field_3"])))
    more = table.append_column("price", table["field_1"])
    with pytest.raises(ValueError, match=r"X has 21 features, .* with 20; 'price' is new$"):
        ranker.predict(RankingDataset.from_frame(more))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["a", "b"] * 10, "column 'brand' holds 'a' in row 0, not a number; encode it, or leave it out"),
        ([[1, 2], [3]] * 10, r"column 'brand' holds \[1,? 2\] in row 0, not a number"),
        (pd.Categorical(["a", "b"] * 10), "column 'brand' holds 'a' in row 0, not a number"),
        (
            [pd.Timestamp("2026-01-01")] * 20,
            "column 'brand' holds 2026-01-01T00:00:00.* in row 0, not a number",
        ),
    ],
)
def test_non_numeric_column_is_named(column: Any, message: str) -> None:
    numbers = {"price": pd.array([1, None] * 10, dtype="Int64"), "new": [True, False] * 10}
    frame, y = pd.DataFrame({**numbers, "brand": column}), np.arange(20) % 2
    for estimator in (RankSVM(), OrderClassifier(), Standard()):
        with pytest.raises(DataError, match=message):
            estimator.fit(frame, y)
    with pytest.raises(DataError, match=message):
        RankSVM().fit(pl.from_pandas(frame), y)
    assert RankSVM().fit(frame[["price", "new"]], y).n_features_in_ == 2
