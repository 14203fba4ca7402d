"""Diagnostics: scores, r and explanations of the example queries equal those of the ranker."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from directranker import DirectRanker, RankingDataset, RankSVM, example_dataset, explain_difference
from directranker.model_selection.diagnostics import (
    collect_diagnostics,
    select_example_queries,
    select_explained_rows,
)


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(30))


def test_diagnostics_equal_the_rankers_output(data: RankingDataset) -> None:
    ranker = DirectRanker(max_epochs=3, hidden_layers=(8,), activation="tanh", random_state=0).fit(data)
    examples = select_example_queries(data, 3)
    diagnostics = json.loads(
        json.dumps(collect_diagnostics(ranker, data, ranker.predict(data), examples), allow_nan=False)
    )
    assert [record["epoch"] for record in diagnostics["history"]] == [1, 2, 3]
    for query, number in zip(diagnostics["queries"], examples, strict=True):
        one = data.select([number])
        scores = ranker.predict(one)
        np.testing.assert_allclose(query["scores"], scores, rtol=1e-6)
        order = np.argsort(-scores, kind="stable")
        r = ranker.compare(one.features[order[:-1]], one.features[order[1:]])
        np.testing.assert_allclose(query["r"], r, atol=1e-6)
        rows = select_explained_rows(one.relevance)
        pairs = list(combinations(rows, 2))
        assert len(query["why"]["adds"]) == len(pairs) == 45
        for index in (0, 20, 44):
            better, worse = pairs[index]
            exact = explain_difference(ranker, one, better=better, worse=worse)
            contributions = query["why"]["adds"][index]
            total = sum(contributions) + query["why"]["others"][index]
            assert total == pytest.approx(exact.difference, abs=1e-5)
            np.testing.assert_allclose(
                contributions,
                exact.contributions[query["why"]["features"][index]],
                atol=2e-2 * abs(max(contributions, key=abs)),
            )


def test_example_queries_have_documents_of_two_labels() -> None:
    labels = np.array([0, 0, 1, 0, 1, 1, 0, 1])
    data = RankingDataset.from_arrays(np.zeros((8, 1)), labels, qid=[1, 1, 2, 2, 3, 3, 4, 4])
    assert select_example_queries(data, 9) == (1, 3)
    assert select_example_queries(data, 1) == (1,)
    assert select_example_queries(data.select([0]), 5) == ()


def test_explained_rows_include_every_label() -> None:
    labels = np.array([0.0] * 50 + [1.0] * 50 + [2.0])
    rows = select_explained_rows(labels)
    assert len(rows) == 10
    assert set(labels[rows]) == {0.0, 1.0, 2.0}
    assert rows == sorted(rows)


def test_other_estimators_have_scores_only(data: RankingDataset) -> None:
    model = Ridge().fit(data.features, data.relevance)
    diagnostics = collect_diagnostics(model, data, model.predict(data.features), (0,))
    assert diagnostics["history"] == []
    assert set(diagnostics["queries"][0]) == {"number", "scores"}
    linear = collect_diagnostics(RankSVM().fit(data), data, np.zeros(data.n_documents), (0,))
    assert linear["queries"][0]["why"]["method"] == "weights times differences"


def test_nan_scores_are_left_out(data: RankingDataset) -> None:
    ranker = RankSVM().fit(data)
    diagnostics = collect_diagnostics(
        ranker, data, np.full(data.n_documents, np.nan, dtype=np.float32), (0, 1)
    )
    assert diagnostics["queries"] == []
    json.dumps(diagnostics, allow_nan=False)
