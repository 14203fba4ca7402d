"""The contract of all rankers on tables with categories and vectors."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from literal_descriptions import evaluate_net
from numpy.typing import NDArray
from quick_rankers import QUICK, RANKERS
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, cross_val_score

from directranker import RankingDataset, load_ranker
from directranker.description.model import Net
from directranker.encoding import Standard
from directranker.errors import DataError, ExportError
from directranker.explanation import explain_difference
from directranker.export import export_ranker
from directranker.rankers import CoordinateAscent, DirectRanker, Ensemble, Ranker, RankSVM
from directranker.rankers.nets import perceptron_scores
from directranker.rankers.trees.lambdamart import LambdaMART

N_QUERIES, SIZE = 40, 12
BRANDS = np.array(["Acme", "Bolt", "Core", "Dune", "Echo"])
EFFECTS = np.array([2.0, 1.0, 0.0, -1.0, -2.0])


def make_frame(n_queries: int = N_QUERIES, *, seed: int = 0) -> tuple[pd.DataFrame, Any, Any]:
    """Return features, labels and query ids; the brand decides most of the label."""
    rng = np.random.default_rng(seed)
    n = n_queries * SIZE
    brand, price = rng.integers(5, size=n), rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "price": price,
            "brand": pd.Categorical(BRANDS[brand]),
            "seller": [f"s{number}" for number in rng.integers(60, size=n)],
            "once": np.where(np.arange(n) == 3, "only here", "elsewhere"),
            "nothing": pd.Series([None] * n, dtype="string"),
            "constant": "same",
            "text[0]": rng.normal(size=n),
            "text[1]": 2 + rng.normal(size=n),
        }
    )
    frame.loc[::19, "brand"] = None
    scores = EFFECTS[brand] + 0.5 * price + 0.3 * rng.normal(size=n)
    return frame, np.digitize(scores, [0.0, 1.5]), np.repeat(np.arange(n_queries), SIZE)


@pytest.fixture(params=RANKERS)
def ranker(request: pytest.FixtureRequest) -> Ranker:
    unfitted: Ranker = clone(RANKERS[request.param])
    return unfitted


def fit_quietly(ranker: Ranker, *arguments: Any, **options: Any) -> Ranker:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fitted: Ranker = ranker.fit(*arguments, **options)
    return fitted


def test_frames_with_categories(ranker: Ranker, tmp_path: Path) -> None:
    frame, labels, qid = make_frame(150)
    new, _, new_qid = make_frame(12, seed=1)
    longer = {"max_epochs": 30, "learning_rate": 0.02}
    if isinstance(ranker, Ensemble):
        ranker.ranker.set_params(**longer)
    elif "max_epochs" in ranker.get_params():
        ranker.set_params(**longer)
    fit_quietly(ranker, frame, labels, qid=qid)
    assert set(ranker.categories_) == {"brand", "seller", "once", "nothing", "constant"}
    scores = ranker.predict(new, qid=new_qid)
    brand = new["brand"]
    assert scores[brand == "Acme"].mean() > scores[brand == "Core"].mean()
    assert scores[brand == "Acme"].mean() > scores[brand == "Echo"].mean()

    np.testing.assert_array_equal(ranker.predict(pl.from_pandas(new), qid=new_qid), scores)
    shuffled = new[new.columns[::-1]].assign(more="ignored")
    np.testing.assert_array_equal(ranker.predict(shuffled, qid=new_qid), scores)
    order = np.random.default_rng(0).permutation(len(new))
    np.testing.assert_array_equal(ranker.predict(new.iloc[order], qid=new_qid[order]), scores[order])
    folder = tmp_path / "model"
    ranker.save(folder)
    np.testing.assert_array_equal(load_ranker(folder).predict(new, qid=new_qid), scores)


def test_unseen_and_missing_values(ranker: Ranker) -> None:
    frame, labels, qid = make_frame()
    fit_quietly(ranker, frame, labels, qid=qid)
    rows = frame.iloc[:6].copy()
    rows["brand"] = ["never seen", "another", None, "Acme", "never seen", None]
    for name in frame.columns.drop("brand"):
        rows[name] = frame[name].iloc[0]
    rows["nothing"], rows["constant"] = ["now", "there", "is", "something", "now", None], "new"
    scores = ranker.predict(rows, qid=np.zeros(6))
    assert np.isfinite(scores).all()
    assert scores[0] == scores[1] == scores[4]
    assert scores[2] == scores[5]
    np.testing.assert_array_equal(ranker.compare(rows, rows), np.zeros(6))


def test_data_sets_and_laws(ranker: Ranker) -> None:
    frame, labels, qid = make_frame()
    data = RankingDataset.from_frame(frame.assign(qid=qid, relevance=labels))
    fit_quietly(ranker, data)
    np.testing.assert_array_equal(ranker.rank(data), ranker.rank(frame, qid=qid))
    first, second, third = frame.iloc[:100], frame.iloc[100:200], frame.iloc[200:300]
    ab, ba = ranker.compare(first, second), ranker.compare(second, first)
    np.testing.assert_array_equal(ab, -ba)
    # Transitive where all documents are of one query.
    if not any("context" in str(member) for member in getattr(ranker, "rankers_", [])):
        bc, ac = ranker.compare(second, third), ranker.compare(first, third)
        assert (ac[(ab >= 0) & (bc >= 0)] >= 0).all()


def test_explanations_name_values_and_group_vectors(ranker: Ranker) -> None:
    frame, labels, qid = make_frame()
    data = RankingDataset.from_frame(frame.assign(qid=qid, relevance=labels))
    fit_quietly(ranker, data)
    found = explain_difference(ranker, data.select([2]), better=1, worse=4)
    assert found.names == ("price", "brand", "seller", "once", "nothing", "constant", "text")
    better = dict(zip(found.names, found.values[0], strict=True))
    row = frame.iloc[2 * SIZE + 1]
    assert (better["brand"], better["seller"], better["text"]) == (row["brand"], row["seller"], "2 numbers")
    assert better["price"] == np.float32(row["price"])
    assert found.contributions.sum() + found.residual == pytest.approx(found.difference, rel=1e-9)
    assert found.contributions[[4, 5]].tolist() == [0, 0]


def test_the_statistic_counts_for_its_category() -> None:
    frame, labels, qid = make_frame()
    data = RankingDataset.from_frame(frame[["price", "seller"]].assign(qid=qid, relevance=labels))
    ranker = DirectRanker(**QUICK, transform="piecewise-linear", teacher=None).fit(data)
    assert ranker.statistics_.features_.tolist() == [1]
    assert ranker.transform_.n_features_in_ == 3
    found = explain_difference(ranker, data.select([0]), better=0, worse=1)
    assert len(found.contributions) == 2
    assert abs(found.residual) < 0.01 * abs(found.difference) + 1e-6


@pytest.mark.parametrize("use_weights", [False, True])
def test_own_labels_do_not_leak_into_training(use_weights: bool) -> None:
    """A column whose values are all in one query each carries no information about other queries."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(100), 10)
    frame = pd.DataFrame({"id": [f"d{number}" for number in range(1000)], "price": rng.normal(size=1000)})
    labels = rng.integers(0, 2, size=1000)
    weights = rng.random(1000) + 0.1 if use_weights else None
    ranker = RankSVM(transform="standard").fit(frame, labels, qid=qid, sample_weight=weights)
    assert ranker.coef_[0] == 0
    assert (ranker.predict(frame.assign(id="new")) == ranker.predict(frame.assign(id="other"))).all()


def test_cross_validation_fits_statistics_inside_the_folds() -> None:
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(60), 10)
    labels = rng.integers(0, 2, size=600)
    # Encoded on all data, each id would be its own label.
    frame = pd.DataFrame({"id": [f"d{number % 300}" for number in range(600)], "price": rng.normal(size=600)})
    frame = frame.set_index(pd.Index(qid, name="qid"))
    scores = cross_val_score(RankSVM(), frame, labels, groups=qid, cv=GroupKFold(3))
    chance = RankSVM().fit(frame[["price"]], labels).score(frame[["price"]], labels)
    assert scores.mean() < chance + 0.05


def test_scores_have_the_same_bits_by_kernels_and_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, labels, qid = make_frame()
    for transform in ("piecewise-linear", "in-context"):
        ranker = DirectRanker(**QUICK, transform=transform, teacher=None).fit(frame, labels, qid=qid)
        new, _, new_qid = make_frame(seed=3)
        new["brand"] = new["brand"].cat.add_categories("new").mask(np.arange(len(new)) % 7 == 0, "new")
        found = []
        for max_rows in (0, 10**9):
            monkeypatch.setattr(perceptron_scores, "MAX_NUMPY_ROWS", max_rows)
            scorer = perceptron_scores.build_scorer(weights_of(ranker), ranker.transform_, "relu")
            assert scorer is not None
            table = ranker._add_statistics(ranker._validate_features(new, reset=False))
            found.append(scorer(table, new_qid))
        np.testing.assert_array_equal(found[0], found[1])
        encoded = ranker.transform_.transform(table, qid=new_qid)
        literal = literal_scores(weights_of(ranker), encoded.astype(np.float64))
        np.testing.assert_allclose(found[0], literal, rtol=1e-4, atol=1e-5)


def weights_of(ranker: DirectRanker) -> dict[str, NDArray[Any]]:
    return {name: tensor.numpy() for name, tensor in ranker.net_.state_dict().items()}


def literal_scores(weights: dict[str, NDArray[Any]], encoded: NDArray[np.float64]) -> NDArray[np.float64]:
    hidden = encoded @ weights["feature_net.linear_1.weight"].T + weights["feature_net.linear_1.bias"]
    scores: NDArray[np.float64] = np.maximum(hidden, 0) @ weights["head.weight"]
    return scores


def test_invalid_codes_are_unseen_values() -> None:
    frame, labels, qid = make_frame()
    for ranker in (DirectRanker(**QUICK, transform="piecewise-linear", teacher=None), RankSVM()):
        ranker.fit(frame, labels, qid=qid)
        table = np.repeat(ranker._validate_features(frame.iloc[:1], reset=False), 3_000, axis=0)
        table[:, 1] = np.resize([-1, 5, 6, 1e9, 3e38, -7, -3e38], 3_000)
        scores = ranker._scores(table, np.zeros(3_000, dtype=np.int64))
        assert len(np.unique(scores)) == 1


def test_a_vocabulary_of_a_million_values() -> None:
    rng = np.random.default_rng(0)
    n = 1_000_000
    frame = pd.DataFrame({"id": np.arange(n).astype(str), "price": rng.normal(size=n).astype(np.float32)})
    labels, qid = rng.integers(0, 2, size=n), np.repeat(np.arange(n // 50), 50)
    data = RankingDataset.from_frame(frame.assign(qid=qid, relevance=labels))
    start = time.perf_counter()
    ranker = DirectRanker(
        transform="piecewise-linear", teacher=None, max_steps=5, max_epochs=1, random_state=0
    )
    ranker.fit(data)
    ranker.predict(data)
    assert time.perf_counter() - start < 60
    assert ranker.transform_._n_columns_out() == 16


def test_a_user_transformer_gets_numbers() -> None:
    frame, labels, qid = make_frame()
    ranker = CoordinateAscent(transform=Standard(), n_restarts=1, max_iter=2, random_state=0)
    ranker.fit(frame, labels, qid=qid)
    assert ranker.statistics_.features_.tolist() == [1, 2, 3, 5]
    assert not ranker.statistics_.append


@pytest.mark.parametrize("target", ["solr", "elasticsearch"])
def test_exports_of_categories_are_refused(target: str, tmp_path: Path) -> None:
    frame, labels, qid = make_frame()
    data = RankingDataset.from_frame(frame.assign(qid=qid, relevance=labels))
    ranker = RankSVM().fit(data)
    with pytest.raises(ExportError, match="feature 'brand' is categorical"):
        export_ranker(ranker, tmp_path / "out", to=target, rows=data)


@pytest.mark.parametrize("transform", ["piecewise-linear", "auto"])
def test_the_description_scores_as_the_ranker(transform: str) -> None:
    """A literal evaluation of the description: codes, derived numbers, columns, sums."""
    frame, labels, qid = make_frame()
    for ranker in (
        DirectRanker(**QUICK, transform=transform, teacher=None),
        RankSVM(transform=transform),
    ):
        ranker.fit(frame, labels, qid=qid)
        new, _, _ = make_frame(5, seed=4)
        new["brand"] = new["brand"].cat.add_categories("new").mask(np.arange(len(new)) % 7 == 0, "new")
        net = ranker._describe()
        assert isinstance(net, Net)
        assert {net.feature_names[index] for index in net.categories} == set(ranker.categories_)
        table = ranker._validate_features(new, reset=False)
        np.testing.assert_allclose(evaluate_net(net, table), ranker.predict(new), rtol=1e-4, atol=1e-5)


def test_a_number_in_place_of_a_category_is_an_error() -> None:
    frame, labels, qid = make_frame()
    ranker = RankSVM().fit(frame, labels, qid=qid)
    with pytest.raises(DataError, match="'brand' is a number in X"):
        ranker.predict(frame.assign(brand=1.5))
    with pytest.raises(DataError, match="lacks 'brand'"):
        ranker.predict(frame.drop(columns="brand"))


def test_hostile_statistics_are_refused() -> None:
    frame, labels, qid = make_frame()
    ranker = RankSVM().fit(frame, labels, qid=qid)
    state = ranker._fitted_state()
    RankSVM()._restore(state)
    for hostile in (ranker.transform_, {"features_": np.zeros(3)}, LambdaMART()):
        with pytest.raises(ValueError, match="statistics_"):
            RankSVM()._restore({**state, "statistics_": hostile})
    smaller = RankSVM().fit(frame[["price", "brand"]], labels, qid=qid).statistics_
    with pytest.raises(ValueError, match="statistics_"):
        RankSVM()._restore({**state, "statistics_": smaller})
