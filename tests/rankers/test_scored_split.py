"""A part under a linear scorer: columns as the transform makes them, however they are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from directranker import AdaRank, DataError, ESRank, RankSVM, example_dataset
from directranker.encoding import QueryMinMax
from directranker.metrics import Metric
from directranker.rankers.linear import scored_split as scored_part
from directranker.rankers.linear.base import LinearRanker
from directranker.rankers.linear.scored_split import EncodedColumns, ScoredSplit
from directranker.training.data import TrainingData


@pytest.fixture
def data() -> TrainingData:
    """Queries in another order than the table's."""
    whole = example_dataset().select(range(30))
    table = TrainingData(whole.features, None, whole.relevance, whole.offsets)
    return table.take(np.random.default_rng(0).permutation(30)[:25])


@pytest.mark.parametrize("kept_bytes", [0, 1 << 20])
def test_columns_come_as_from_the_whole_table(
    kept_bytes: int, data: TrainingData, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scored_part, "KEPT_BYTES", kept_bytes)
    monkeypatch.setattr(scored_part, "ROWS_PER_BLOCK", 40)
    monkeypatch.setattr(scored_part, "COLUMNS_AT_FIRST", 2)
    transform = QueryMinMax().fit(data.features)
    expected = transform.transform(data.features, qid=data.query_of_row)
    columns = EncodedColumns(data, transform)
    np.testing.assert_array_equal(columns.column(7), expected[:, 7])
    blocks = list(EncodedColumns(data, transform).blocks())
    assert len(blocks) > 5
    np.testing.assert_array_equal(np.concatenate([block.T for _, block in blocks]), expected)
    table = np.random.default_rng(1).normal(size=(77, 50)).astype(np.float32)  # tiles that are not full
    np.testing.assert_array_equal(scored_part.by_column(table), table.T)
    assert [queries.start for queries, _ in blocks[1:]] == [queries.stop for queries, _ in blocks[:-1]]
    for number in (7, 3, 0, 19, 7):
        np.testing.assert_array_equal(columns.column(number, [3, 3, 7, 5, 4]), expected[:, number])


@pytest.mark.parametrize(("kept_bytes", "n_passes"), [(0, 1 + 5), (1 << 20, 1)])
def test_few_passes_over_the_data(
    kept_bytes: int, n_passes: int, data: TrainingData, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scored_part, "KEPT_BYTES", kept_bytes)
    monkeypatch.setattr(scored_part, "COLUMNS_AT_FIRST", 2)  # then 2, 4, 8 and the last 4
    columns = EncodedColumns(data, QueryMinMax().fit(data.features))
    passes = []
    encode = columns._encode

    def counted(documents: slice) -> Any:
        passes.append(documents)
        return encode(documents)

    monkeypatch.setattr(columns, "_encode", counted)
    list(columns.blocks())
    for number in range(20):
        columns.column(number, range(20))
    assert len(passes) == n_passes  # the data is one block


def test_scores_and_their_metric(data: TrainingData) -> None:
    transform, metric = QueryMinMax().fit(data.features), Metric("average_precision")
    encoded = transform.transform(data.features, qid=data.query_of_row).astype(np.float64)
    part = ScoredSplit(data, transform, metric)

    def direct(scores: np.ndarray) -> np.ndarray:
        return metric.per_query(data.relevance, scores, offsets=data.offsets)

    part.add(2, 0.5)
    part.add(1, -3.0)
    scores = 0.5 * encoded[:, 2] - 3.0 * encoded[:, 1]
    np.testing.assert_allclose(part.scores, scores)
    assert part.fitness() == pytest.approx(np.nanmean(direct(scores)))
    np.testing.assert_allclose(
        part.fitness_of_steps(4, np.array([1.0, -2.0])),
        [np.nanmean(direct(scores + step * encoded[:, 4])) for step in (1, -2)],
    )
    np.testing.assert_allclose(
        part.per_query_after(4, -2.0), np.nan_to_num(direct(scores - 2 * encoded[:, 4]))
    )
    for sign in (1.0, -1.0):
        expected = [np.nan_to_num(direct(sign * column)) for column in encoded.T]
        np.testing.assert_allclose(part.per_column(sign), expected)


def test_many_documents_are_added_in_threads() -> None:
    rng = np.random.default_rng(0)
    features, relevance = (
        rng.random((250_000, 1), dtype=np.float32),
        rng.integers(0, 2, 250_000).astype(float),
    )
    data = TrainingData(features, None, relevance, np.arange(0, 250_001, 100))
    part = ScoredSplit(data, QueryMinMax().fit(features), Metric("ndcg", 10))
    part.add(0, 2.0)
    np.testing.assert_array_equal(part.scores, 2.0 * part.columns.column(0))


@pytest.mark.parametrize("kind", [AdaRank, RankSVM, ESRank])
def test_a_missing_value_is_reported_with_the_users_row_and_column(kind: type[LinearRanker]) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["price", "sold", "age"])
    frame.loc[7, "sold"] = np.nan
    qid, grades = rng.permutation(np.arange(40) % 5), rng.integers(0, 3, size=40)
    with pytest.raises(DataError, match=r"^X has nan in row 7, column 'sold' after the transform"):
        kind(transform="none").fit(frame, grades, qid=qid)
