"""Named features, as of any table: no spurious warnings about feature names."""

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
    explanation = explain_difference(ranker, named.select([3]), better=1, worse=0)
    scores = ranker.predict(named.select([3]))
    assert explanation.names == named.feature_names
    assert explanation.difference == pytest.approx(float(scores[1] - scores[0]))


def test_neighbours(named: RankingDataset, ranker: RankSVM) -> None:
    comparison = compare_neighbours(ranker, named, query=str(named.query_ids[3]))
    assert comparison.scores.tolist() == sorted(ranker.predict(named.select([3])).tolist(), reverse=True)


def test_exports(named: RankingDataset, ranker: RankSVM, tmp_path: Path) -> None:
    parity = export_ranker(ranker, tmp_path / "svm", to="solr", rows=named)
    assert (parity.n_documents, parity.n_queries) == (named.n_documents, named.n_queries)


def test_features_are_looked_up_by_name(named: RankingDataset, ranker: RankSVM) -> None:
    table, scores = named.to_frame("pyarrow"), ranker.predict(named)
    with pytest.raises(DataError, match=r"X lacks 'field_3', which RankSVM was fitted with$"):
        ranker.predict(RankingDataset.from_frame(table.drop_columns(["field_3"])))
    more = table.append_column("price", table["field_1"])
    for changed in (more, more.select(more.column_names[::-1])):
        np.testing.assert_array_equal(ranker.predict(RankingDataset.from_frame(changed)), scores)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            [[1, 2], [3]] * 10,
            r"column 'brand' holds (\[1,? 2\] in row 0, not a|large_list.*neither a) number",
        ),
        (
            [pd.Timestamp("2026-01-01")] * 20,
            "column 'brand' holds (2026-01-01T00:00:00.* in row 0, not a|timestamp.*neither a) number",
        ),
    ],
)
def test_errors_name_a_non_numeric_column(column: Any, message: str) -> None:
    numbers = {"price": pd.array([1, None] * 10, dtype="Int64"), "new": [True, False] * 10}
    frame, y = pd.DataFrame({**numbers, "brand": column}), np.arange(20) % 2
    for estimator in (RankSVM(), OrderClassifier(), Standard()):
        with pytest.raises(DataError, match=message):
            estimator.fit(frame, y)
    with pytest.raises(DataError, match=message):
        RankSVM().fit(pl.from_pandas(frame), y)
    assert RankSVM().fit(frame[["price", "new"]], y).n_features_in_ == 2
