"""LambdaMART, beyond the contract of all rankers."""

from __future__ import annotations

import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from directranker import (
    DataError,
    Metric,
    RankingDataset,
    TrainingWarning,
    evaluate,
    example_dataset,
    load_ranker,
)
from directranker.rankers import LambdaMART
from directranker.rankers.rounds import RoundRecord
from directranker.rankers.trees.boosting import SAMPLED_ROWS, build_dataset, split_long_queries
from directranker.rankers.trees.label_gains import encode_labels
from directranker.training.data import TrainingData

QUICK: dict[str, Any] = {"n_estimators": 20, "random_state": 0, "min_child_samples": 10}


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(80))


@pytest.mark.parametrize(
    ("labels", "codes", "gains"),
    [
        ([0, 2, 1, 2], [0, 2, 1, 2], [0, 1, 3]),
        ([1, 5], [0, 1], [1, 31]),  # the gains do not depend on a label 0 in the data
        ([-2, 0, 1], [0, 1, 2], [0, 3, 7]),
        ([0, 0.5], [0, 1], [0, 2**0.5 - 1]),
        ([0, 32, 8], [0, 2, 1], [0, 0.25, 1]),
        ([-1e308, 0, 1e308], [0, 1, 2], [0, 0.5, 1]),
    ],
)
def test_gains_of_labels(labels: list[float], codes: list[int], gains: list[float]) -> None:
    encoded, table = encode_labels(np.array(labels, dtype=np.float64))
    assert encoded.tolist() == codes
    np.testing.assert_allclose(table, gains)


def test_any_labels_keep_their_order() -> None:
    rng = np.random.default_rng(0)
    kinds: list[Any] = [rng.normal(size=5000), np.exp(rng.normal(size=900) * 20), np.arange(40) * 1e-20]
    for labels in kinds:
        codes, gains = encode_labels(labels)
        assert len(gains) == min(1024, len(labels))
        assert np.all(np.diff(gains) > 0)
        assert np.all(np.diff(codes[np.argsort(labels)]) >= 0)


@pytest.mark.parametrize("scale", [1.0, 1000.0, 0.01, -3.0])
def test_labels_of_any_size_can_be_fitted(scale: float, data: RankingDataset) -> None:
    y = data.relevance * abs(scale) + min(scale, 0)
    ranker = LambdaMART(**QUICK, early_stopping=False).fit(data.features, y, qid=data.qid)
    chance = evaluate(data.relevance, np.zeros(data.n_documents), offsets=data.offsets, convention="paper")
    assert ranker.score(data) > chance["ndcg@10"] + 0.1


@pytest.mark.parametrize("metric", ["map", "ndcg@3", "ndcg", Metric.parse("ndcg@5:lightgbm")])
def test_metrics_are_optimised(metric: Any, data: RankingDataset) -> None:
    ranker = LambdaMART(**QUICK, metric=metric, early_stopping=False).fit(data)
    parsed = metric if isinstance(metric, Metric) else Metric.parse(metric, convention="paper")
    value = parsed(data.relevance, ranker.predict(data), offsets=data.offsets)
    assert ranker.history_[-1].fitness == pytest.approx(value, abs=1e-6)
    assert value > parsed(data.relevance, np.zeros(data.n_documents), offsets=data.offsets) + 0.1
    assert len(ranker.history_) == ranker.n_rounds_ == ranker.best_round_ == 20


def test_optimising_map_differs_from_ndcg(data: RankingDataset) -> None:
    train, test = example_dataset().split(0.5, random_state=0)
    by_map, by_ndcg = (
        LambdaMART(random_state=0, metric=metric).fit(train).predict(test) for metric in ("map", "ndcg@10")
    )
    assert not np.allclose(by_map, by_ndcg)
    for scores in (by_map, by_ndcg):
        assert evaluate(test.relevance, scores, offsets=test.offsets, metrics="map")["map"] > 0.6


@pytest.mark.parametrize("k", [None, 3])
def test_swap_weights_are_those_of_the_lambda_direct_ranker(k: int | None, data: RankingDataset) -> None:
    cut = "" if k is None else f"@{k}"
    whole: dict[str, Any] = {"subsample": 1.0, "colsample_bytree": 1.0, "min_child_samples": 1}
    few, y = data.select(range(2)), data.relevance[: data.offsets[2]] - 2.0  # below 0, too
    trees = LambdaMART(
        **whole, n_estimators=1, learning_rate=1.0, num_leaves=2, metric="map@2:graded",
        pair_weight=f"delta_ndcg{cut}", early_stopping=False, random_state=0,
    ).fit(few.features, y, qid=few.qid)  # fmt: skip
    # A leaf's value is −Σ gradient / Σ curvature of its documents.
    gradient, curvature = literal_swaps(y - y.min(), few.offsets, k)
    scores = trees.predict(few)
    assert len(set(scores)) == 2
    for value in set(scores):
        leaf = scores == value
        assert value == pytest.approx(-gradient[leaf].sum() / curvature[leaf].sum(), rel=1e-3)
    assert trees.history_[0].fitness == pytest.approx(Metric.parse("map@2")(y, scores, offsets=few.offsets))


def literal_swaps(labels: Any, offsets: Any, k: int | None) -> tuple[Any, Any]:
    """Gradient and curvature of all pairs at scores 0, where the more relevant document ranks first."""
    gradient, curvature = np.zeros((2, len(labels)))
    for start, stop in pairwise(offsets):
        order = start + np.argsort(-labels[start:stop], kind="stable")
        ranks = np.arange(1, len(order) + 1)
        discounts = np.where(ranks <= (k or len(order)), 1 / np.log2(ranks + 1), 0)
        gains = 2 ** labels[order] - 1
        for i in range(len(order)):
            for j in np.flatnonzero(labels[order] < labels[order[i]]):
                weight = abs((gains[i] - gains[j]) * (discounts[i] - discounts[j])) / (gains @ discounts)
                gradient[order[i]] -= weight / 2
                gradient[order[j]] += weight / 2
                curvature[[order[i], order[j]]] += weight / 4
    return gradient, curvature


@pytest.mark.filterwarnings("ignore:early stopping is off")
def test_a_metric_that_cannot_be_optimised_raises(data: RankingDataset) -> None:
    for metric in ("err", "map@1", "p@5", "recall@5", "hit@1"):
        message = rf"metric is '{metric}:paper'; LambdaMART optimises 'ndcg', .* set pair_weight to what"
        with pytest.raises(ValueError, match=message):
            LambdaMART(metric=metric).fit(data)
    for weight in ("label_difference", "delta_map@3", "delta_nddcg"):
        with pytest.raises(ValueError, match="pair_weight"):
            LambdaMART(pair_weight=weight).fit(data)
    with pytest.raises(DataError, match="no query has documents both of label 1 or more and below"):
        LambdaMART(metric="map").fit(data.features, data.relevance * 0.1, qid=data.qid)


@pytest.mark.parametrize(
    "change",
    [{"num_leaves": 1}, {"n_estimators": 0}, {"subsample": 1.5}, {"max_bin": 1}, {"learning_rate": 0},
     {"reg_lambda": -1},
     {"n_jobs": 0}, {"patience": 0}, {"patience": None}, {"colsample_bytree": 0}, {"min_child_samples": 0}],
)  # fmt: skip
def test_settings_out_of_range(change: dict[str, Any], data: RankingDataset) -> None:
    (name,) = change
    with pytest.raises(ValueError, match=f"{name} is"):
        LambdaMART(**change).fit(data)


def test_early_stopping_goes_by_query_and_keeps_the_best(data: RankingDataset) -> None:
    train, vali = data.split(0.7, random_state=0)
    ranker = LambdaMART(metric="ndcg@10", random_state=0, patience=15, n_estimators=400, learning_rate=0.3)
    ranker.fit(train, eval_set=vali)
    assert ranker.stopped_ == "early_stopping"
    assert ranker.n_rounds_ == ranker.best_round_ + 15
    assert ranker.booster_.num_trees() == ranker.best_round_
    measured = [record.metric for record in ranker.history_]
    assert ranker.history_[ranker.best_round_ - 1].metric == max(m for m in measured if m is not None)
    assert ranker.score(vali) == pytest.approx(max(m for m in measured if m is not None), abs=1e-6)
    alone = clone(ranker).fit(train)  # holds out a validation split
    assert alone.history_[0].metric is not None


def test_ranklib() -> None:
    settings = LambdaMART.ranklib(num_leaves=12).get_params()
    assert (settings["n_estimators"], settings["learning_rate"], settings["patience"]) == (1000, 0.1, 100)
    assert (settings["num_leaves"], settings["max_bin"], settings["min_child_samples"]) == (12, 256, 1)


def test_any_number_of_threads_gives_the_same_scores(data: RankingDataset) -> None:
    one, two = (LambdaMART(**QUICK, n_jobs=n).fit(data).predict(data) for n in (1, 2))
    np.testing.assert_array_equal(one, two)
    other = LambdaMART(**(QUICK | {"random_state": 1})).fit(data).predict(data)
    assert not np.allclose(one, other)


def test_missing_values_are_informative() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = rng.integers(0, 2, size=400)
    X[y == 1, 1] = np.nan
    ranker = LambdaMART(**QUICK, early_stopping=False).fit(X, y, qid=np.arange(400) // 10)
    assert ranker.score(X, y, qid=np.arange(400) // 10) == 1.0
    assert ranker.feature_importances_[1] > 0.8
    assert ranker.feature_importances_.sum() == pytest.approx(1)


def test_weights_count(data: RankingDataset) -> None:
    ranker = LambdaMART(**QUICK, early_stopping=False, subsample=1.0)
    some = (np.arange(data.n_queries) % 2).astype(float)
    per_row = np.repeat(some, np.diff(data.offsets))
    weighted = clone(ranker).fit(data, sample_weight=some).predict(data)
    np.testing.assert_array_equal(clone(ranker).fit(data, sample_weight=per_row).predict(data), weighted)
    np.testing.assert_allclose(clone(ranker).fit(data, sample_weight=8 * some).predict(data), weighted)
    assert not np.allclose(clone(ranker).fit(data).predict(data), weighted)
    by_map = clone(ranker).set_params(metric="map")
    weighted = clone(by_map).fit(data, sample_weight=some).predict(data)
    assert not np.allclose(clone(by_map).fit(data).predict(data), weighted)


def test_nothing_to_split_on() -> None:
    X, qid = np.repeat([[1.0, 1.0], [2.0, 2.0]], 20, axis=0), np.repeat([0, 1], 20)  # constant in each query
    ranker = LambdaMART(random_state=0).fit(X, np.arange(40) % 2, qid=qid)
    assert ranker.stopped_ == "converged"
    assert ranker.predict(np.ones((3, 2))).tolist() == [0, 0, 0]
    assert ranker.feature_importances_.tolist() == [0, 0]


def test_interruption_keeps_the_best_and_callbacks_see_rounds(data: RankingDataset) -> None:
    seen: list[RoundRecord] = []

    def interrupt(record: RoundRecord) -> None:
        seen.append(record)
        if record.round == 4:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(TrainingWarning, match="interrupted in round 4"):
        ranker = LambdaMART(**QUICK, callbacks=[interrupt]).fit(data)
    assert ranker.stopped_ == "interrupted"
    assert seen == ranker.history_
    assert ranker.booster_.num_trees() == ranker.best_round_ <= 4


def test_search_by_query(data: RankingDataset) -> None:
    shuffled = np.random.default_rng(0).permutation(data.n_documents)
    X, y, qid = data.features[shuffled], data.relevance[shuffled], data.qid[shuffled]
    pipeline = make_pipeline(StandardScaler(), LambdaMART(**QUICK))
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            pipeline, {"lambdamart__num_leaves": [4, 8]}, cv=GroupKFold(3), error_score="raise"
        )
        search.fit(X, y, qid=qid, groups=qid)
    for fold, (train, test) in enumerate(GroupKFold(3).split(X, y, qid)):
        best = clone(pipeline).set_params(**search.best_params_)
        with sklearn.config_context(enable_metadata_routing=True):
            best.fit(X[train], y[train], qid=qid[train])
            expected = best.score(X[test], y[test], qid=qid[test])
        assert search.cv_results_[f"split{fold}_test_score"][search.best_index_] == pytest.approx(expected)


def test_long_queries_are_split() -> None:
    n = 25_000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2)).astype(np.float32)
    y = np.sort(rng.integers(0, 3, size=n)).astype(np.float64)  # in input order, a part would have one class
    X[:, 0] += y
    whole = TrainingData(X, None, y, np.array([0, 5, n]), query_weight=np.array([2.0, 3.0]))
    split = split_long_queries(whole, 0)
    assert np.diff(split.offsets).tolist() == [5, 8331, 8332, 8332]
    assert split.query_weight is not None
    assert split.query_weight.tolist() == [2, 3, 3, 3]
    assert split.rows is not None
    np.testing.assert_array_equal(np.sort(split.rows), np.arange(n))
    np.testing.assert_array_equal(split.relevance, y[split.rows])
    assert split_long_queries(split, 0) is split
    ranker = LambdaMART(n_estimators=3, random_state=0).fit(X, y)
    assert ranker.score(X, y) > 0.9


def test_rows_out_of_order_get_the_bins_of_those_in_order() -> None:
    n = SAMPLED_ROWS + 20_000
    rng = np.random.default_rng(0)
    X = rng.integers(0, 40, size=(n, 3)).astype(np.float32)
    y, qid = (X[:, 0] > 30).astype(np.float64), np.repeat(np.arange(n // 50), 50)
    shuffled = np.concatenate([rng.permutation(50) + 50 * query for query in rng.permutation(n // 50)])
    settings: dict[str, Any] = {
        "n_estimators": 5,
        "subsample": 1.0,
        "colsample_bytree": 1.0,
        "random_state": 0,
    }
    scores = LambdaMART(**settings, early_stopping=False).fit(X, y, qid=qid).predict(X)
    again = LambdaMART(**settings, early_stopping=False).fit(X[shuffled], y[shuffled], qid=qid[shuffled])
    np.testing.assert_allclose(again.predict(X), scores, atol=1e-6)
    part = TrainingData(X, shuffled, y[shuffled], np.arange(0, n + 1, 50))
    assert build_dataset(part, {"verbosity": -1}, 0).num_data() == n


MEMORY = """
import numpy as np
from directranker.rankers import LambdaMART
def peak():  # getrusage would start with the peak of the parent process
    lines = open("/proc/self/status").read().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
rng = np.random.default_rng(0)
warm = rng.normal(size=(60_000, 4)).astype(np.float32)
fit = LambdaMART(n_estimators=2, random_state=0, n_jobs=1).fit
fit(warm, (warm[:, 0] > 0).astype(float), qid=np.arange(60_000) // 60)
X = rng.standard_normal((400_000, 100), dtype=np.float32)
y, qid = (X[:, 0] > 0).astype(float), rng.permutation(400_000) // 100
before = peak()
fit(X, y, qid=qid)
print((peak() - before) / X.nbytes)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_no_second_copy_of_the_data() -> None:
    # LightGBM's bins take a quarter of the float32 data, and the sample of the bins some more.
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 0.9


def test_pairs_without_weights(data: RankingDataset, tmp_path: Path) -> None:
    ranker = LambdaMART(pair_weight=None, metric="rr", **QUICK).fit(data)  # early stopping by any metric
    assert ranker.score(data) > LambdaMART(pair_weight=None, **{**QUICK, "n_estimators": 1}).fit(data).score(
        data
    )
    assert not np.array_equal(ranker.predict(data), LambdaMART(**QUICK).fit(data).predict(data))
    ranker.save(tmp_path / "model")
    assert np.array_equal(load_ranker(tmp_path / "model").predict(data), ranker.predict(data))
    with pytest.raises(ValueError, match="pair_weight is 'label_difference'; give 'metric', 'delta_ndcg@k'"):
        LambdaMART(pair_weight="label_difference").fit(data)
