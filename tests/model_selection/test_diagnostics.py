"""A closer look: scores, r and explanations of the shown queries, exactly those of the ranker."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from directranker import DirectRanker, RankingDataset, RankSVM, example_dataset, explain_difference
from directranker.model_selection.diagnostics import collect_diagnostics, explained_rows, shown_queries


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(30))


def test_what_is_shown_is_what_the_ranker_says(data: RankingDataset) -> None:
    ranker = DirectRanker(max_epochs=3, hidden_layers=(8,), activation="tanh", random_state=0).fit(data)
    shown = shown_queries(data, 3)
    look = json.loads(
        json.dumps(collect_diagnostics(ranker, data, ranker.predict(data), shown), allow_nan=False)
    )
    assert [record["epoch"] for record in look["history"]] == [1, 2, 3]
    for query, number in zip(look["queries"], shown, strict=True):
        one = data.select([number])
        scores = ranker.predict(one)
        np.testing.assert_allclose(query["scores"], scores, rtol=1e-6)
        order = np.argsort(-scores, kind="stable")
        r = ranker.compare(one.features[order[:-1]], one.features[order[1:]])
        np.testing.assert_allclose(query["r"], r, atol=1e-6)
        rows = explained_rows(one.relevance)
        pairs = list(combinations(rows, 2))
        assert len(query["why"]["adds"]) == len(pairs) == 45
        for place in (0, 20, 44):
            better, worse = pairs[place]
            exact = explain_difference(ranker, one, better=better, worse=worse)
            parts = query["why"]["adds"][place]
            assert sum(parts) + query["why"]["others"][place] == pytest.approx(exact.difference, abs=1e-5)
            np.testing.assert_allclose(
                parts,
                exact.contributions[query["why"]["features"][place]],
                atol=2e-2 * abs(max(parts, key=abs)),
            )


def test_shown_queries_have_documents_of_two_labels() -> None:
    labels = np.array([0, 0, 1, 0, 1, 1, 0, 1])
    data = RankingDataset.from_arrays(np.zeros((8, 1)), labels, qid=[1, 1, 2, 2, 3, 3, 4, 4])
    assert shown_queries(data, 9) == (1, 3)
    assert shown_queries(data, 1) == (1,)
    assert shown_queries(data.select([0]), 5) == ()


def test_every_label_is_among_the_explained() -> None:
    labels = np.array([0.0] * 50 + [1.0] * 50 + [2.0])
    rows = explained_rows(labels)
    assert len(rows) == 10
    assert set(labels[rows]) == {0.0, 1.0, 2.0}
    assert rows == sorted(rows)


def test_estimators_of_others_have_scores_only(data: RankingDataset) -> None:
    model = Ridge().fit(data.features, data.relevance)
    look = collect_diagnostics(model, data, model.predict(data.features), (0,))
    assert look["history"] == []
    assert set(look["queries"][0]) == {"number", "scores"}
    own = collect_diagnostics(RankSVM().fit(data), data, np.zeros(data.n_documents), (0,))
    assert own["queries"][0]["why"]["method"] == "weights times differences"


def test_scores_that_are_no_numbers_are_not_shown(data: RankingDataset) -> None:
    ranker = RankSVM().fit(data)
    look = collect_diagnostics(ranker, data, np.full(data.n_documents, np.nan, dtype=np.float32), (0, 1))
    assert look["queries"] == []
    json.dumps(look, allow_nan=False)
