"""What every ranker promises, tested on all of them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from directranker import DataError, RankingDataset, evaluate, evaluate_per_query, example_dataset
from directranker.metrics import Metric
from directranker.rankers import (
    AdaRank,
    CoordinateAscent,
    DirectRanker,
    Ensemble,
    ESRank,
    IESRRank,
    IESVMRank,
    LambdaDirectRanker,
    LambdaMART,
    ListNet,
    Ranker,
    RankNet,
    RankSVM,
)
from directranker.rankers.training_data import TrainingData
from directranker.rankers.validation import split_off_validation

QUICK: dict[str, Any] = {"max_epochs": 3, "random_state": 0, "hidden_layers": (8,)}
RANKERS: dict[str, Ranker] = {
    "DirectRanker": DirectRanker(**QUICK),
    "DirectRanker.paper": DirectRanker.paper(random_state=0, max_steps=30, hidden_layers=(8,)),
    "RankNet": RankNet(**QUICK),
    "LambdaDirectRanker": LambdaDirectRanker(**QUICK),
    "ListNet": ListNet(**QUICK),
    "AdaRank": AdaRank(max_rounds=20, random_state=0),
    "CoordinateAscent": CoordinateAscent(restarts=2, max_rounds=2, n_steps=5, random_state=0),
    "ESRank": ESRank(generations=60, random_state=0),
    "IESRRank": IESRRank(generations=20, random_state=0),
    "IESVMRank": IESVMRank(generations=20, random_state=0),
    "RankSVM": RankSVM(),
    "LambdaMART": LambdaMART(max_trees=20, random_state=0),
    "LambdaMART.map": LambdaMART.ranklib(max_trees=20, metric="map", random_state=0),
    "Ensemble": Ensemble(DirectRanker(**QUICK), 2, random_state=0),
    "Ensemble, in lists": Ensemble(
        DirectRanker(**QUICK), 2, vary={"transform": ["in-context", "piecewise-linear"]}, random_state=0
    ),
}


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(60))


@pytest.fixture(params=RANKERS)
def ranker(request: pytest.FixtureRequest) -> Ranker:
    fresh: Ranker = clone(RANKERS[request.param])
    return fresh


def arrays(data: RankingDataset) -> tuple[Any, Any, Any]:
    return data.features, data.relevance, data.qid


def test_it_learns(ranker: Ranker) -> None:
    train, test = example_dataset().split(0.7, random_state=0)
    ranker.fit(train)
    chance = evaluate(test.relevance, np.zeros(test.n_documents), offsets=test.offsets, convention="paper")
    assert ranker.score(test) > chance["ndcg@10"] + 0.02


def test_same_seed_same_scores_and_the_arguments_stay(ranker: Ranker, data: RankingDataset) -> None:
    before = ranker.get_params(deep=False)
    one = ranker.fit(data).predict(data)
    assert ranker.get_params(deep=False) == before
    other = clone(ranker).fit(data).predict(data)
    np.testing.assert_array_equal(one, other)
    assert one.dtype == np.float32
    assert one.shape == (data.n_documents,)


def test_rows_in_any_order_and_ids_of_any_kind(ranker: Ranker, data: RankingDataset) -> None:
    X, y, qid = arrays(data)
    scores = ranker.fit(X, y, qid=qid).predict(X, qid=qid)
    shuffled = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_allclose(ranker.predict(X[shuffled], qid=qid[shuffled]), scores[shuffled], atol=1e-5)
    names = np.array([f"query {query}" for query in qid])
    again = clone(ranker).fit(X, y, qid=names).predict(X, qid=names)
    np.testing.assert_array_equal(again, scores)
    mixed = RankingDataset.from_arrays(X[shuffled], y[shuffled], qid=names[shuffled])
    np.testing.assert_array_equal(ranker.rank(mixed), ranker.rank(X[shuffled], qid=names[shuffled]))
    assert ranker.score(mixed) == ranker.score(X[shuffled], y[shuffled], qid=names[shuffled])


def test_tables_and_data_sets(ranker: Ranker, data: RankingDataset) -> None:
    X, y, qid = arrays(data)
    names = list(data.feature_names)
    scores = ranker.fit(data).predict(data)
    for frame in (pl.DataFrame(X, schema=names), pd.DataFrame(X, columns=names)):
        ranker.fit(frame, y, qid=qid)
        np.testing.assert_array_equal(ranker.predict(frame, qid=qid), scores)
    with pytest.raises(ValueError, match="feature names should match"):
        ranker.predict(frame[names[::-1]])
    named = RankingDataset.from_arrays(X, y, qid=qid, feature_names=[f"f{i}" for i in range(X.shape[1])])
    with pytest.raises(ValueError, match=r"feature 1 of X is .* fitted with .* there; give"):
        ranker.predict(named)
    with pytest.raises(ValueError, match="X has 3 features"):
        ranker.predict(RankingDataset.from_arrays(X[:, :3], y, qid=qid))


def test_rank_compare_and_score_follow_the_scores(ranker: Ranker, data: RankingDataset) -> None:
    X, y, qid = arrays(data)
    ranker.fit(X, y, qid=qid)
    scores, places = ranker.predict(X, qid=qid), ranker.rank(X, qid=qid)
    for query in data.query_ids[:10]:
        rows = np.flatnonzero(qid == query)
        assert sorted(places[rows]) == list(range(1, len(rows) + 1))
        assert np.all(np.diff(scores[rows][np.argsort(places[rows])]) <= 0)
    half = (np.arange(data.n_queries) % 2).astype(float)
    weighted = evaluate_per_query(y, scores, qid=qid, metrics="ndcg@10", convention="paper")["ndcg@10"]
    assert ranker.score(data, sample_weight=half) == pytest.approx(np.nanmean(weighted[half == 1]))
    A, B = X[:50], X[50:100]
    r = ranker.compare(A, B)
    np.testing.assert_array_equal(r, -ranker.compare(B, A))
    both = ranker.predict(np.concatenate([A, B])).astype(float)  # an ensemble's scores are those of a list
    np.testing.assert_array_equal(np.sign(r), np.sign(both[:50] - both[50:]))
    assert np.array_equal(ranker.compare(A, A), np.zeros(50))
    expected = evaluate(y, scores, qid=qid, metrics="ndcg@10", convention="paper")["ndcg@10"]
    assert ranker.score(X, y, qid=qid) == ranker.score(data) == expected


def test_pickling(ranker: Ranker, data: RankingDataset) -> None:
    ranker.fit(data)
    again = pickle.loads(pickle.dumps(ranker))  # noqa: S301 - our own bytes
    np.testing.assert_array_equal(again.predict(data), ranker.predict(data))


def test_search_and_validation_go_by_query(data: RankingDataset) -> None:
    X, y, qid = arrays(data)
    ranker = DirectRanker(max_epochs=2, random_state=0, hidden_layers=(4,))
    with sklearn.config_context(enable_metadata_routing=True):
        grid = {"learning_rate": [1e-3, 1e-2]}
        search = GridSearchCV(ranker, grid, cv=GroupKFold(3), n_jobs=2).fit(X, y, qid=qid, groups=qid)
        pipeline = make_pipeline(StandardScaler(), ranker)
        params = {"qid": qid, "groups": qid}
        validated = cross_validate(pipeline, X, y, cv=GroupKFold(3), params=params)
    for fold, (train, test) in enumerate(GroupKFold(3).split(X, y, qid)):
        fitted = clone(ranker).set_params(**search.best_params_).fit(X[train], y[train], qid=qid[train])
        expected = fitted.score(X[test], y[test], qid=qid[test])
        assert search.cv_results_[f"split{fold}_test_score"][search.best_index_] == pytest.approx(expected)
    assert np.all(validated["test_score"] > 0)


def test_weights_count(data: RankingDataset) -> None:
    ranker = DirectRanker(random_state=0, max_epochs=3, early_stopping=False, hidden_layers=(8,))
    some = data.query_ids < np.median(data.query_ids)
    weighted = clone(ranker).fit(data, sample_weight=some.astype(float)).predict(data)
    per_row = np.repeat(some.astype(float), np.diff(data.offsets))
    np.testing.assert_allclose(
        clone(ranker).fit(data, sample_weight=per_row).predict(data), weighted, rtol=1e-3, atol=1e-4
    )
    assert not np.allclose(clone(ranker).fit(data).predict(data), weighted)


@pytest.mark.parametrize("name", ["DirectRanker", "LambdaMART", "AdaRank", "CoordinateAscent", "ESRank"])
@pytest.mark.parametrize("per", ["query", "row"])
def test_weights_count_in_early_stopping(data: RankingDataset, name: str, per: str) -> None:
    weight = np.random.default_rng(0).uniform(0, 2, data.n_queries) * (np.arange(data.n_queries) % 2)
    per_row = np.repeat(weight, np.diff(data.offsets)) * np.resize([0.5, 1.5], data.n_documents)
    given = weight if per == "query" else per_row
    ranker = clone(RANKERS[name]).set_params(metric="ndcg@10:paper").fit(data, sample_weight=given)
    of = {"query_weight": given} if per == "query" else {"document_weight": given}
    whole = TrainingData(data.features, None, data.relevance, data.offsets, **of)
    _, held_out = split_off_validation(whole, 0.2, 0, Metric.parse("ndcg@10:paper"))
    assert held_out is not None
    best = max(record.metric for record in ranker.history_)
    measured = ranker.score(
        held_out.features,
        held_out.relevance,
        qid=held_out.query_of_row,
        sample_weight=held_out.weight_of_queries,
    )
    assert measured == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": None}, "requires y"),
        ({"y": np.zeros(20)}, "no query has documents of two different labels"),
        ({"qid": np.arange(20)}, "no query has documents of two different labels"),
        ({"X": np.full((20, 2), 2.5)}, "no feature varies"),
        ({"X": np.full((20, 2), np.nan)}, "no feature varies"),
        ({"qid": np.arange(3)}, "qid has 3 entries for 20 rows"),
        ({"X": np.full((20, 2), np.inf)}, "infinity|Input X contains"),
        ({"sample_weight": [1.0, 2.0, 3.0]}, "sample_weight has shape"),
        ({"sample_weight": -np.ones(20)}, "finite and not negative"),
        ({"sample_weight": ["much"] * 20}, "sample_weight holds what is no number"),
    ],
)
def test_bad_input_is_refused_in_words(ranker: Ranker, change: dict[str, Any], message: str) -> None:
    good = {
        "X": np.random.default_rng(0).normal(size=(20, 2)),
        "y": np.arange(20) % 3,
        "qid": np.arange(20) // 10,
    }
    arguments = good | change
    with pytest.raises((ValueError, DataError), match=message):
        ranker.fit(arguments.pop("X"), arguments.pop("y"), **arguments)


def test_odd_data_does_no_harm(ranker: Ranker) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    X[:, 1] = 3.0  # constant
    X[rng.random(60) < 0.2, 2] = np.nan
    X[:, 3] *= 1e30
    y = np.where(X[:, 0] > 0, 2.5, -1e6)  # float labels of any size
    qid = np.repeat(np.arange(9), [1, 9, 8, 7, 5, 10, 10, 8, 2])
    y[qid == 3] = 0.0  # a query of one class
    scores = ranker.fit(X, y, qid=qid).predict(X, qid=qid)
    assert np.isfinite(scores).all()
