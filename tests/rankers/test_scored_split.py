"""ScoredSplit: encoded columns equal the output of the transform in any order of access."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from directranker import AdaRank, DataError, ESRank, RankSVM, example_dataset
from directranker.arrays import FloatArray
from directranker.encoding import QueryMinMax
from directranker.metrics import Metric
from directranker.rankers.linear import scored_split
from directranker.rankers.linear.base import LinearRanker
from directranker.rankers.linear.scored_split import EncodedColumns, ScoredSplit
from directranker.training.data import TrainingData


@pytest.fixture
def data() -> TrainingData:
    """Queries in another order than in the table."""
    whole = example_dataset().select(range(30))
    table = TrainingData(whole.features, None, whole.relevance, whole.offsets)
    return table.take(np.random.default_rng(0).permutation(30)[:25])


@pytest.mark.parametrize("max_cached_bytes", [0, 1 << 20])
def test_columns_equal_those_of_the_whole_table(
    max_cached_bytes: int, data: TrainingData, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scored_split, "MAX_CACHED_BYTES", max_cached_bytes)
    monkeypatch.setattr(scored_split, "ROWS_PER_BLOCK", 40)
    monkeypatch.setattr(scored_split, "COLUMNS_IN_FIRST_PASS", 2)
    transform = QueryMinMax().fit(data.features)
    expected = transform.transform(data.features, qid=data.query_of_row)
    columns = EncodedColumns(data, transform)
    np.testing.assert_array_equal(columns.get_column(7), expected[:, 7])
    blocks = list(EncodedColumns(data, transform).iterate_blocks())
    assert len(blocks) > 5
    np.testing.assert_array_equal(np.concatenate([block.T for _, block in blocks]), expected)
    table = np.random.default_rng(1).normal(size=(77, 50)).astype(np.float32)  # with incomplete tiles
    np.testing.assert_array_equal(scored_split.transpose(table), table.T)
    assert [queries.start for queries, _ in blocks[1:]] == [queries.stop for queries, _ in blocks[:-1]]
    for column in (7, 3, 0, 19, 7):
        np.testing.assert_array_equal(columns.get_column(column, [3, 3, 7, 5, 4]), expected[:, column])


@pytest.mark.parametrize(("max_cached_bytes", "n_passes"), [(0, 1 + 5), (1 << 20, 1)])
def test_there_are_few_passes_over_the_data(
    max_cached_bytes: int, n_passes: int, data: TrainingData, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scored_split, "MAX_CACHED_BYTES", max_cached_bytes)
    monkeypatch.setattr(scored_split, "COLUMNS_IN_FIRST_PASS", 2)  # then 2, 4, 8 and the last 4
    columns = EncodedColumns(data, QueryMinMax().fit(data.features))
    passes = []
    encode = columns._encode

    def count_and_encode(documents: slice) -> Any:
        passes.append(documents)
        return encode(documents)

    monkeypatch.setattr(columns, "_encode", count_and_encode)
    list(columns.iterate_blocks())
    for column in range(20):
        columns.get_column(column, range(20))
    assert len(passes) == n_passes  # the data is one block


def test_scores_and_metrics_equal_the_direct_computation(data: TrainingData) -> None:
    transform, metric = QueryMinMax().fit(data.features), Metric("average_precision")
    encoded = transform.transform(data.features, qid=data.query_of_row).astype(np.float64)
    split = ScoredSplit(data, transform, metric)

    def compute_directly(scores: FloatArray) -> FloatArray:
        return metric.per_query(data.relevance, scores, offsets=data.offsets)

    split.add_column(2, 0.5)
    split.add_column(1, -3.0)
    scores = 0.5 * encoded[:, 2] - 3.0 * encoded[:, 1]
    np.testing.assert_allclose(split.scores, scores)
    assert split.compute_fitness() == pytest.approx(np.nanmean(compute_directly(scores)))
    np.testing.assert_allclose(
        split.compute_fitness_of_steps(4, np.array([1.0, -2.0])),
        [np.nanmean(compute_directly(scores + step * encoded[:, 4])) for step in (1, -2)],
    )
    np.testing.assert_allclose(
        split.compute_per_query_after(4, -2.0), np.nan_to_num(compute_directly(scores - 2 * encoded[:, 4]))
    )
    for sign in (1.0, -1.0):
        expected = [np.nan_to_num(compute_directly(sign * column)) for column in encoded.T]
        np.testing.assert_allclose(split.compute_per_column(sign), expected)


def test_many_documents_are_scored_in_threads() -> None:
    rng = np.random.default_rng(0)
    features, relevance = (
        rng.random((250_000, 1), dtype=np.float32),
        rng.integers(0, 2, 250_000).astype(float),
    )
    data = TrainingData(features, None, relevance, np.arange(0, 250_001, 100))
    split = ScoredSplit(data, QueryMinMax().fit(features), Metric("ndcg", 10))
    split.add_column(0, 2.0)
    np.testing.assert_array_equal(split.scores, 2.0 * split.columns.get_column(0))


@pytest.mark.parametrize("kind", [AdaRank, RankSVM, ESRank])
def test_a_missing_value_raises_with_its_row_and_column(kind: type[LinearRanker]) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["price", "sold", "age"])
    frame.loc[7, "sold"] = np.nan
    qid, grades = rng.permutation(np.arange(40) % 5), rng.integers(0, 3, size=40)
    with pytest.raises(DataError, match=r"^X has nan in row 7, column 'sold' after the transform"):
        kind(transform="none").fit(frame, grades, qid=qid)
