"""The contract of all rankers: scores, ranks, comparisons, tables, pickling and scikit-learn's tools."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from quick_rankers import RANKERS, as_arrays
from sklearn.base import clone
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from directranker import (
    QueryWarning,
    QueryZScore,
    RankingDataset,
    evaluate,
    evaluate_per_query,
    example_dataset,
    load_ranker,
)
from directranker.rankers import DirectRanker, Ranker, RankSVM


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(60))


@pytest.fixture(params=RANKERS)
def ranker(request: pytest.FixtureRequest) -> Ranker:
    unfitted: Ranker = clone(RANKERS[request.param])
    return unfitted


def test_it_is_better_than_chance(ranker: Ranker) -> None:
    train, test = example_dataset().split(0.7, random_state=0)
    ranker.fit(train)
    chance = evaluate(test.relevance, np.zeros(test.n_documents), offsets=test.offsets, convention="paper")
    assert ranker.score(test) > chance["ndcg@10"] + 0.02


def test_the_seed_determines_the_scores(ranker: Ranker, data: RankingDataset) -> None:
    before = ranker.get_params(deep=False)
    one = ranker.fit(data).predict(data)
    assert ranker.get_params(deep=False) == before
    other = clone(ranker).fit(data).predict(data)
    np.testing.assert_array_equal(one, other)
    assert one.dtype == np.float32
    assert one.shape == (data.n_documents,)


def test_rows_in_any_order_and_ids_of_any_kind(ranker: Ranker, data: RankingDataset) -> None:
    X, y, qid = as_arrays(data)
    scores = ranker.fit(X, y, qid=qid).predict(X, qid=qid)
    shuffled = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_allclose(ranker.predict(X[shuffled], qid=qid[shuffled]), scores[shuffled], atol=1e-5)
    names = np.array([f"query {query}" for query in qid])
    again = clone(ranker).fit(X, y, qid=names).predict(X, qid=names)
    np.testing.assert_array_equal(again, scores)
    mixed = RankingDataset.from_arrays(X[shuffled], y[shuffled], qid=names[shuffled])
    given = ranker.rank(X[shuffled], qid=names[shuffled])
    np.testing.assert_array_equal(mixed.to_source_order(ranker.rank(mixed)), given)
    assert ranker.score(mixed) == ranker.score(X[shuffled], y[shuffled], qid=names[shuffled])


def test_tables_and_data_sets(ranker: Ranker, data: RankingDataset) -> None:
    X, y, qid = as_arrays(data)
    names = list(data.feature_names)
    scores = ranker.fit(data).predict(data)
    for frame in (pl.DataFrame(X, schema=names), pd.DataFrame(X, columns=names)):
        ranker.fit(frame, y, qid=qid)
        np.testing.assert_array_equal(ranker.predict(frame, qid=qid), scores)
    with pytest.raises(ValueError, match="feature names should match"):
        ranker.predict(frame[names[::-1]])
    named = RankingDataset.from_arrays(X, y, qid=qid, feature_names=[f"f{i}" for i in range(X.shape[1])])
    with pytest.raises(ValueError, match=r"X lacks 'feature_1', .* and \d+ more, which"):
        ranker.predict(named)
    with pytest.raises(ValueError, match="X has 3 features"):
        ranker.predict(RankingDataset.from_arrays(X[:, :3], y, qid=qid))


def test_rank_compare_and_score_follow_the_scores(ranker: Ranker, data: RankingDataset) -> None:
    X, y, qid = as_arrays(data)
    ranker.fit(X, y, qid=qid)
    scores, ranks = ranker.predict(X, qid=qid), ranker.rank(X, qid=qid)
    for query in data.query_ids[:10]:
        rows = np.flatnonzero(qid == query)
        assert sorted(ranks[rows]) == list(range(1, len(rows) + 1))
        assert np.all(np.diff(scores[rows][np.argsort(ranks[rows])]) <= 0)
    half = (np.arange(data.n_queries) % 2).astype(float)
    weighted = evaluate_per_query(y, scores, qid=qid, metrics="ndcg@10", convention="paper")["ndcg@10"]
    assert ranker.score(data, sample_weight=half) == pytest.approx(np.nanmean(weighted[half == 1]))
    A, B = X[:50], X[50:100]
    r = ranker.compare(A, B)
    np.testing.assert_array_equal(r, -ranker.compare(B, A))
    both = ranker.predict(np.concatenate([A, B])).astype(
        float
    )  # the scores of an ensemble depend on the query
    np.testing.assert_array_equal(np.sign(r), np.sign(both[:50] - both[50:]))
    assert np.array_equal(ranker.compare(A, A), np.zeros(50))
    expected = evaluate(y, scores, qid=qid, metrics="ndcg@10", convention="paper")["ndcg@10"]
    assert ranker.score(X, y, qid=qid) == ranker.score(data) == expected


def test_pickling(ranker: Ranker, data: RankingDataset) -> None:
    ranker.fit(data)
    again = pickle.loads(pickle.dumps(ranker))  # noqa: S301 - our own bytes
    np.testing.assert_array_equal(again.predict(data), ranker.predict(data))


def test_search_and_cross_validation_by_query(data: RankingDataset) -> None:
    X, y, qid = as_arrays(data)
    ranker = DirectRanker(
        max_epochs=2, random_state=0, hidden_layers=(4,), transform="standard", teacher=None
    )
    with sklearn.config_context(enable_metadata_routing=True):
        grid = {"learning_rate": [1e-3, 1e-2]}
        search = GridSearchCV(ranker, grid, cv=GroupKFold(3)).fit(X, y, qid=qid, groups=qid)
        pipeline = make_pipeline(StandardScaler(), ranker)
        params = {"qid": qid, "groups": qid}
        validated = cross_validate(pipeline, X, y, cv=GroupKFold(3), params=params)
    for fold, (train, test) in enumerate(GroupKFold(3).split(X, y, qid)):
        fitted = clone(ranker).set_params(**search.best_params_).fit(X[train], y[train], qid=qid[train])
        expected = fitted.score(X[test], y[test], qid=qid[test])
        assert search.cv_results_[f"split{fold}_test_score"][search.best_index_] == pytest.approx(expected)
    assert np.all(validated["test_score"] > 0)


def test_a_table_indexed_by_query_is_scored_by_query_in_scikit_learn() -> None:
    """Without metadata routing, scikit-learn passes the index but not `qid`."""
    data = example_dataset().select(range(30))
    X, y, qid = as_arrays(data)
    table = pd.DataFrame(X, columns=list(data.feature_names), index=pd.Index(qid, name="qid"))
    cv, ranker = GroupKFold(3), RankSVM()
    expected = []
    for train, test in cv.split(X, y, qid):
        fitted = clone(ranker).fit(X[train], y[train], qid=qid[train])
        expected.append(fitted.score(X[test], y[test], qid=qid[test]))
    scaled = make_pipeline(StandardScaler().set_output(transform="pandas"), ranker)
    for one in (ranker, scaled):
        scores = cross_val_score(one, table, y, groups=qid, cv=cv)
        np.testing.assert_allclose(scores, expected, rtol=1e-3)
        search = GridSearchCV(one, {}, cv=cv).fit(table, y, groups=qid)
        assert search.best_score_ == pytest.approx(np.mean(scores))
        assert one.fit(table, y).score(table, y) == pytest.approx(RankSVM().fit(data).score(data), rel=1e-3)
    ranker.fit(table, y)
    by_index = permutation_importance(ranker, table, y, n_repeats=2, random_state=0)
    ranker.fit(X, y, qid=qid)
    by_hand = permutation_importance(
        ranker, X, y, n_repeats=2, random_state=0, scoring=lambda one, X, y: one.score(X, y, qid=qid)
    )
    np.testing.assert_allclose(by_index.importances, by_hand.importances)
    ranks = ranker.rank(X, qid=qid)
    np.testing.assert_array_equal(ranker.fit(table, y).rank(table), ranks)
    levels = table.set_index(np.arange(len(X)), append=True)  # (qid, row)
    assert ranker.score(levels, y) == ranker.score(table, y)
    np.testing.assert_array_equal(QueryZScore().fit_transform(table), QueryZScore().fit_transform(X, qid=qid))


def test_a_score_without_the_queries_of_the_fit_warns_once(tmp_path: Path) -> None:
    data = example_dataset().select(range(30))
    X, y, qid = as_arrays(data)
    ranker = RankSVM().fit(data)
    ranker.save(tmp_path / "model")
    pipeline = make_pipeline(StandardScaler(), RankSVM()).fit(X, y, ranksvm__qid=qid)
    for score in (ranker.score, load_ranker(tmp_path / "model").score, pipeline.score):
        with pytest.warns(QueryWarning, match=r"fitted with queries but is scored without them.*pass qid"):
            score(X, y)
        score(X, y)  # no second warning
    ranker.score(X[:10], y[:10], qid=[0] * 10)  # explicitly one query
    RankSVM().fit(X, y).score(X, y)  # fitted as one query
