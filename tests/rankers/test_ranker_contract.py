"""What every ranker promises, tested on all of them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from directranker import (
    DataError,
    QueryWarning,
    QueryZScore,
    RankingDataset,
    evaluate,
    evaluate_per_query,
    example_dataset,
    load_ranker,
)
from directranker.encoding.names import TRANSFORMS
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
from directranker.rankers.registry import load_registry
from directranker.rankers.validation import split_off_validation
from directranker.training.data import TrainingData

QUICK: dict[str, Any] = {"max_epochs": 3, "random_state": 0, "hidden_layers": (8,)}
RANKERS: dict[str, Ranker] = {
    "DirectRanker": DirectRanker(**QUICK),
    "DirectRanker.paper": DirectRanker.paper(random_state=0, max_steps=30, hidden_layers=(8,)),
    "RankNet": RankNet(**QUICK),
    "LambdaDirectRanker": LambdaDirectRanker(**QUICK),
    "ListNet": ListNet(**QUICK),
    "AdaRank": AdaRank(max_iter=20, random_state=0),
    "CoordinateAscent": CoordinateAscent(n_restarts=2, max_iter=2, n_steps=5, random_state=0),
    "ESRank": ESRank(n_generations=60, random_state=0),
    "IESRRank": IESRRank(n_generations=20, random_state=0),
    "IESVMRank": IESVMRank(n_generations=20, random_state=0),
    "RankSVM": RankSVM(),
    "LambdaMART": LambdaMART(n_estimators=20, random_state=0),
    "LambdaMART.map": LambdaMART.ranklib(n_estimators=20, metric="map", random_state=0),
    "Ensemble": Ensemble(DirectRanker(**QUICK), 2, random_state=0),
    "Ensemble, in lists": Ensemble(
        DirectRanker(**QUICK), 2, vary={"transform": ["in-context", "piecewise-linear"]}, random_state=0
    ),
}


# A ranker of another package, and one that is new here, is tested with its defaults.
TESTED = {type(ranker) for ranker in RANKERS.values()}
RANKERS |= {name: entry.make() for name, entry in load_registry().items() if entry.ranker_class not in TESTED}


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
    given = ranker.rank(X[shuffled], qid=names[shuffled])
    np.testing.assert_array_equal(mixed.to_source_order(ranker.rank(mixed)), given)
    assert ranker.score(mixed) == ranker.score(X[shuffled], y[shuffled], qid=names[shuffled])


def test_a_data_set_has_one_order_of_rows(data: RankingDataset) -> None:
    """Labels, queries, tables, weights and scores of a data set whose rows were mixed."""
    X, y, qid = arrays(data)
    mixed_rows = np.random.default_rng(0).permutation(len(X))
    X, y, qid = X[mixed_rows], y[mixed_rows], qid[mixed_rows]
    mixed = RankingDataset.from_arrays(X, y, qid=qid)
    ranker = RankSVM().fit(X, y, qid=qid)
    truth = evaluate(y, ranker.predict(X), qid=qid)
    for one in (mixed, mixed.select(range(0, 60, 2)), *mixed.split(0.5, random_state=0)):
        assert one.original_rows is not None
        given = one.original_rows
        np.testing.assert_array_equal(one.features, X[given])
        np.testing.assert_array_equal(one.qid, qid[given])
        scores = ranker.predict(one)
        np.testing.assert_array_equal(scores, ranker.predict(X)[given])
        np.testing.assert_array_equal(ranker.rank(one), ranker.rank(X[given], qid=qid[given]))
        np.testing.assert_allclose(ranker.compare(one, X[given[::-1]]), scores - scores[::-1], atol=1e-6)
        np.testing.assert_array_equal(one.to_source_order(scores), ranker.predict(X)[np.sort(given)])
        expected = truth if one is mixed else evaluate(y[given], scores, qid=qid[given])
        frame = one.to_frame()
        for measured in (
            evaluate(one.relevance, scores, offsets=one.offsets),
            evaluate(one.relevance, scores, qid=one.qid),
            evaluate(frame["relevance"], scores, qid=frame["qid"]),
        ):
            assert measured == pytest.approx(expected)
        assert ranker.score(one) == ranker.score(X[given], y[given], qid=qid[given])
        weight = np.random.default_rng(1).uniform(size=one.n_documents)
        np.testing.assert_allclose(
            RankSVM().fit(one, sample_weight=weight).coef_,
            RankSVM().fit(X[given], y[given], qid=qid[given], sample_weight=weight).coef_,
            rtol=1e-3,
            atol=1e-6,
        )
        weighted = ranker.score(X[given], y[given], qid=qid[given], sample_weight=weight)
        assert ranker.score(one, sample_weight=weight) == pytest.approx(weighted)


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


def test_a_table_indexed_by_query_is_scored_by_query_wherever_scikit_learn_takes_it() -> None:
    """With routing off: it hands on the index, but no `qid`."""
    data = example_dataset().select(range(30))
    X, y, qid = arrays(data)
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
    places = ranker.rank(X, qid=qid)
    np.testing.assert_array_equal(ranker.fit(table, y).rank(table), places)
    levels = table.set_index(np.arange(len(X)), append=True)  # (qid, row)
    assert ranker.score(levels, y) == ranker.score(table, y)
    np.testing.assert_array_equal(QueryZScore().fit_transform(table), QueryZScore().fit_transform(X, qid=qid))


def test_a_score_without_the_queries_of_the_fit_warns_once(tmp_path: Path) -> None:
    data = example_dataset().select(range(30))
    X, y, qid = arrays(data)
    ranker = RankSVM().fit(data)
    ranker.save(tmp_path / "model")
    pipeline = make_pipeline(StandardScaler(), RankSVM()).fit(X, y, ranksvm__qid=qid)
    for score in (ranker.score, load_ranker(tmp_path / "model").score, pipeline.score):
        with pytest.warns(QueryWarning, match=r"fitted with queries but is scored without them.*pass qid"):
            score(X, y)
        score(X, y)  # no second warning
    ranker.score(X[:10], y[:10], qid=[0] * 10)  # one list that is meant
    RankSVM().fit(X, y).score(X, y)  # all was one list


@pytest.mark.parametrize("name", ["DirectRanker", "LambdaMART", "RankSVM"])
def test_an_infinite_feature_is_named_by_the_row_and_column_of_the_user(name: str) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 2)), columns=["sold", "price"])
    table.loc[17, "price"] = np.inf
    frame = table.assign(relevance=rng.integers(0, 3, 60), qid=np.resize([3, 1, 2], 60))
    ranker, y, qid = clone(RANKERS[name]), frame["relevance"], frame["qid"]
    message = r"X has inf in row 17, column 'price'; give finite numbers"
    mixed = RankingDataset.from_frame(frame)
    with pytest.raises(DataError, match=message):
        ranker.fit(table, y, qid=qid)
    for documents in (mixed, mixed.select([2, 0, 1])):
        with pytest.raises(DataError, match=message):
            ranker.fit(documents)
    whole = table.fillna(0).replace(np.inf, 0.0)
    with pytest.raises(DataError, match=r"X has 1e\+300 in row 5, column 1"):
        ranker.fit(whole.to_numpy() + 1e300 * np.outer(np.arange(60) == 5, [0, 1]), y, qid=qid)
    with pytest.raises(DataError, match="eval_set: " + message):
        ranker.fit(whole, y, qid=qid, eval_set=(table, y, qid))
    ranker.fit(whole, y, qid=qid)
    for unscored in (table, mixed):
        with pytest.raises(DataError, match=message):
            ranker.predict(unscored)


def test_weights_count(data: RankingDataset) -> None:
    ranker = DirectRanker(random_state=0, max_epochs=3, early_stopping=False, hidden_layers=(8,))
    some = data.query_ids < np.median(data.query_ids)
    weighted = clone(ranker).fit(data, sample_weight=some.astype(float)).predict(data)
    per_row = np.repeat(some.astype(float), np.diff(data.offsets))
    np.testing.assert_allclose(
        clone(ranker).fit(data, sample_weight=per_row).predict(data), weighted, rtol=1e-3, atol=1e-4
    )
    assert not np.allclose(clone(ranker).fit(data).predict(data), weighted)


def test_weights_of_a_data_set_are_in_its_own_order(data: RankingDataset) -> None:
    X, y, qid = arrays(data)
    shuffled = np.random.default_rng(0).permutation(len(X))
    mixed = RankingDataset.from_arrays(X[shuffled], y[shuffled], qid=qid[shuffled])
    for part in (mixed, mixed.split(0.5, random_state=0)[1]):
        weight = 1 + (part.features[:, 0] > np.median(part.features[:, 0])) * 9.0
        fitted = RankSVM(tol=1e-8).fit(part, sample_weight=weight)
        as_arrays = RankSVM(tol=1e-8).fit(part.features, part.relevance, qid=part.qid, sample_weight=weight)
        np.testing.assert_allclose(fitted.coef_, as_arrays.coef_, rtol=1e-5, atol=1e-7)
        assert not np.allclose(fitted.coef_, RankSVM(tol=1e-8).fit(part).coef_, rtol=1e-2)


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


def stopping_parameter(ranker: Ranker) -> str | None:
    """Its own parameter `early_stopping`, or that of the ranker inside."""
    named = (name for name in ranker.get_params() if name.rpartition("__")[2] == "early_stopping")
    return next(named, None)


STOPPING = {
    **{name: ranker for name, ranker in RANKERS.items() if stopping_parameter(ranker) is not None},
    # A teacher and a choice of encoding, which are trained with early stopping of their own.
    "DirectRanker, taught": DirectRanker(**{**QUICK, "max_epochs": 2}, teacher="trees"),
}


@pytest.mark.parametrize("name", STOPPING)
def test_without_early_stopping_an_eval_set_is_only_recorded(name: str, data: RankingDataset) -> None:
    train, other = data.select(range(40)), data.select(range(40, 60))
    # Labels against those that are learnt from: whatever looks at them stops at once, or chooses otherwise.
    against = (other.features, other.relevance.max() - other.relevance, other.qid)
    ranker = clone(STOPPING[name])
    ranker.set_params(**{str(stopping_parameter(ranker)): False})
    alone = clone(ranker).fit(train)
    watched = clone(ranker).fit(train, eval_set=against)
    np.testing.assert_array_equal(watched.predict(other), alone.predict(other))
    members = (getattr(fitted, "rankers_", [fitted]) for fitted in (alone, watched))
    for one, two in zip(*members, strict=True):
        assert {record.metric for record in one.history_} == {None}
        assert len(two.history_) == len(one.history_)
        assert all(np.isfinite(record.metric) for record in two.history_)
        kept = [name for name in ("best_epoch_", "best_round_") if hasattr(one, name)]
        assert [getattr(one, name) for name in kept] == [getattr(two, name) for name in kept]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": None}, "requires y"),
        ({"y": np.zeros(20)}, "no query has documents of two different labels"),
        ({"qid": np.arange(20)}, "no query has documents of two different labels"),
        ({"X": np.full((20, 2), 2.5)}, "no feature varies"),
        ({"X": np.full((20, 2), np.nan)}, "no feature varies"),
        ({"qid": np.arange(3)}, "qid has 3 entries for 20 rows"),
        ({"X": np.full((20, 2), np.inf)}, "X has inf in row 0, column 0; give finite numbers"),
        ({"sample_weight": [1.0, 2.0, 3.0]}, "sample_weight has shape"),
        ({"sample_weight": -np.ones(20)}, "sample_weight is -1.0 at row 0; weights must be finite"),
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


HUGE = float(np.finfo(np.float32).max)


def huge_rows(data: RankingDataset) -> Any:
    """Rows of one query whose values are the largest that there are, of all signs."""
    X = data.features[:6].copy()
    X[0, 0], X[1, 1] = HUGE, -HUGE
    X[2], X[3] = HUGE, -HUGE
    X[4:] = np.where(np.arange(X.shape[1]) % 2, HUGE, -HUGE) * [[1], [-1]]
    return X


@pytest.mark.filterwarnings("ignore:AdaRank kept no feature")
def test_huge_values_have_finite_scores(ranker: Ranker, data: RankingDataset) -> None:
    small = RankingDataset.from_arrays(data.features * 1e-3, data.relevance, qid=data.qid)
    X = huge_rows(small)
    ranker.fit(small)
    for scores in (ranker.predict(X), ranker.compare(X, X[::-1]), ranker.compare(X, X)):
        assert np.isfinite(scores).all()


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_huge_values_after_any_transform(transform: str, activation: str, data: RankingDataset) -> None:
    net = DirectRanker(**QUICK, teacher=None, transform=transform, activation=activation)
    X = huge_rows(data)
    for ranker in (net, AdaRank(transform=transform, random_state=0)):
        scores = ranker.fit(data.features * np.float32(1e-2), data.relevance, qid=data.qid).predict(X)
        assert np.isfinite(scores).all()
        assert np.isfinite(ranker.compare(X, X[::-1])).all()


def test_a_score_of_huge_values_is_that_of_exact_arithmetic(data: RankingDataset) -> None:
    ranker = DirectRanker(**QUICK, teacher=None, transform="standard").fit(data)
    X = data.features[:3].copy()
    X[1] = np.where(np.arange(X.shape[1]) % 2, HUGE, -HUGE)
    ranker.transform_.deviation_[:] = 1e-3
    weights = {name: array.numpy().astype(np.float64) for name, array in ranker.net_.state_dict().items()}
    hidden = ranker.transform_.transform(X) @ weights["feature_net.linear_1.weight"].T
    hidden = np.maximum(0, hidden + weights["feature_net.linear_1.bias"])
    expected = np.clip(hidden @ weights["head.weight"], -HUGE, HUGE)
    np.testing.assert_allclose(ranker.predict(X), expected, rtol=1e-4)
    assert abs(expected[1]) > 1e37


def test_a_row_without_a_score_is_named(data: RankingDataset) -> None:
    frame = pd.DataFrame(data.features, columns=list(data.feature_names))
    ranker = DirectRanker(**QUICK, teacher=None, transform="none")
    ranker.fit(frame, data.relevance, qid=data.qid)
    frame.iloc[7, 2] = np.nan
    name = data.feature_names[2]
    for call in (lambda: ranker.predict(frame), lambda: ranker.compare(frame, frame)):
        with pytest.raises(DataError, match=f"score of row 7 is nan: feature '{name}' is missing .*'auto'"):
            call()


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
