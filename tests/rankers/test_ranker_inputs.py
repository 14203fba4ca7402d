"""Inputs of all rankers: invalid input raises with its position, and extreme values have finite scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from quick_rankers import QUICK, RANKERS, as_arrays
from sklearn.base import clone

from directranker import DataError, RankingDataset, evaluate, example_dataset
from directranker.encoding.names import TRANSFORMS
from directranker.rankers import AdaRank, DirectRanker, Ranker, RankSVM


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(60))


@pytest.fixture(params=RANKERS)
def ranker(request: pytest.FixtureRequest) -> Ranker:
    unfitted: Ranker = clone(RANKERS[request.param])
    return unfitted


def test_a_data_set_has_one_order_of_rows(data: RankingDataset) -> None:
    """Labels, queries, tables, weights and scores of a data set whose input rows were shuffled."""
    X, y, qid = as_arrays(data)
    shuffled = np.random.default_rng(0).permutation(len(X))
    X, y, qid = X[shuffled], y[shuffled], qid[shuffled]
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


@pytest.mark.parametrize("name", ["DirectRanker", "LambdaMART", "RankSVM"])
def test_an_infinite_feature_raises_with_its_row_and_column(name: str) -> None:
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
        ({"sample_weight": ["much"] * 20}, "sample_weight has an entry that is not a number"),
    ],
)
def test_invalid_input_raises(ranker: Ranker, change: dict[str, Any], message: str) -> None:
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
    """Return rows of one query with the largest float32 values, of both signs."""
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


def test_scores_of_huge_values_equal_those_in_float64(data: RankingDataset) -> None:
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


def test_a_row_without_a_score_raises_with_its_position(data: RankingDataset) -> None:
    frame = pd.DataFrame(data.features, columns=list(data.feature_names))
    ranker = DirectRanker(**QUICK, teacher=None, transform="none")
    ranker.fit(frame, data.relevance, qid=data.qid)
    frame.iloc[7, 2] = np.nan
    name = data.feature_names[2]
    for call in (lambda: ranker.predict(frame), lambda: ranker.compare(frame, frame)):
        with pytest.raises(DataError, match=f"score of row 7 is nan: feature '{name}' is missing .*'auto'"):
            call()


def test_odd_data_has_finite_scores(ranker: Ranker) -> None:
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
