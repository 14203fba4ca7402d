"""Searches by query: equal to scikit-learn's, for several metrics at once, and without split queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn
from scipy.stats import loguniform, norm, randint
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from directranker import RankingDataset, SearchResult, evaluate, example_dataset, grid_search
from directranker.encoding import PiecewiseLinear, QueryMinMax
from directranker.model_selection import Progress, adapt_to_metric
from directranker.model_selection.cross_validation import split_queries
from directranker.model_selection.halving import compute_budgets
from directranker.model_selection.search_result import select_best_candidate
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
    RankNet,
    RankSVM,
)
from directranker.rankers.pipelines import fit_by_query, predict_by_query

from search_processes import read_lines
from watched_rankers import CountingRanker, make_data

METRICS = ("ndcg@10", "map")


def make_metric_scorer(metric: str) -> Any:
    def score(relevance: Any, scores: Any, *, qid: Any) -> float:
        return evaluate(relevance, scores, qid=qid, metrics=metric, convention="paper")[metric]

    return make_scorer(score).set_score_request(qid=True)


def search_with_scikit_learn(ranker: Any, grid: Any, data: RankingDataset, folds: int) -> Any:
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            ranker,
            grid,
            cv=GroupKFold(folds),
            scoring={m: make_metric_scorer(m) for m in METRICS},
            refit="map",
        )
        return search.fit(data.features, data.relevance, qid=data.qid, groups=data.qid)


CASES: dict[str, tuple[Any, Any]] = {
    "ranker": (RankSVM(random_state=0), {"alpha": [1e-4, 0.1, 10.0], "pairs": ["all", "adjacent"]}),
    "several grids": (RankSVM(random_state=0), [{"alpha": [0.01]}, {"transform": ["none", "standard"]}]),
    "net": (
        DirectRanker(max_epochs=2, hidden_layers=(4,), early_stopping=False, random_state=0),
        {"learning_rate": [1e-4, 0.05]},
    ),
    "pipeline": (
        make_pipeline(StandardScaler(), RankSVM(transform="none", random_state=0)),
        {"ranksvm__alpha": [1e-4, 10.0], "standardscaler__with_mean": [True, False]},
    ),
}


@pytest.mark.parametrize(("ranker", "grid"), CASES.values(), ids=CASES)
def test_grid_search_equals_scikit_learns(ranker: Any, grid: Any) -> None:
    data = example_dataset().select(range(0, 120, 2))
    expected = search_with_scikit_learn(ranker, grid, data, 3)
    result = grid_search(ranker, grid, data, metrics=METRICS, folds=3, workers=1)
    assert set(expected.cv_results_) == set(result.cv_results_)
    for name, column in expected.cv_results_.items():
        actual = result.cv_results_[name]
        if name == "params":
            assert actual == column
        elif name.startswith("param_"):
            assert actual.tolist() == column.tolist()
        elif not name.endswith("_time"):
            np.testing.assert_allclose(actual, column, rtol=1e-12, err_msg=name)
    assert result.best_parameters("map") == expected.best_params_
    assert result.best_score("map") == pytest.approx(expected.best_score_, rel=1e-12)
    np.testing.assert_array_equal(
        result.best_ranker("map").predict(data.features), expected.best_estimator_.predict(data.features)
    )


def test_each_metric_has_its_own_best_ranker(tmp_path: Path) -> None:
    data = example_dataset().select(range(40))
    found = grid_search(
        AdaRank(max_iter=5), {"negative": [False, True]}, data, metrics=METRICS, folds=2, workers=1
    )
    assert [found.best_ranker(metric).metric for metric in METRICS] == ["ndcg@10:paper", "map:paper"]
    log = tmp_path / "log"
    shared = grid_search(
        CountingRanker(str(log)), {"power": [1.0, 2.0]}, data, metrics=METRICS, folds=2, workers=1
    )
    assert len(read_lines(log)) == 2 * 2 + len({shared.best_indices[metric] for metric in METRICS})


RANKERS = (AdaRank, CoordinateAscent, DirectRanker, ESRank, IESRRank, IESVMRank, LambdaMART, ListNet, RankNet)


@pytest.mark.parametrize("kind", RANKERS)
def test_rankers_with_a_metric_are_adapted_to_it(kind: Any) -> None:
    ranker = kind()
    assert adapt_to_metric(ranker, "map").metric == "map:paper"
    assert adapt_to_metric(ranker, "ndcg@5", convention="graded").metric == "ndcg@5:graded"
    assert ranker.metric == kind().metric


def test_other_metrics_and_nested_estimators() -> None:
    for metric in ("p@5", "recall@5", "hit@1"):  # which it cannot optimise
        assert adapt_to_metric(LambdaMART(), metric).metric == "ndcg@10:graded"
    assert adapt_to_metric(AdaRank(metric="map"), "dcg@5").metric == "map"
    assert adapt_to_metric(LambdaDirectRanker(), "ndcg@5").pair_weight == "delta_ndcg@5"
    assert adapt_to_metric(LambdaDirectRanker(), "err").pair_weight == "delta_ndcg@10"
    assert adapt_to_metric(DirectRanker(), "map").pair_weight is None
    piped = adapt_to_metric(make_pipeline(StandardScaler(), Ensemble(AdaRank())), "map")
    assert piped[-1].ranker.metric == "map:paper"
    with pytest.raises(ValueError, match="measure 'mapp' is unknown; did you mean 'map'"):
        adapt_to_metric(RankSVM(), "mapp")


def test_ties_go_to_the_first_candidate(tmp_path: Path) -> None:
    ranker = CountingRanker(str(tmp_path / "log"))
    found = grid_search(ranker, {"seconds": [0.001, 0.0]}, make_data(), folds=2, refit=False, workers=1)
    assert len(set(found.cv_results_["mean_test_ndcg@10"].tolist())) == 1
    assert found.best_parameters() == {"seconds": 0.001}
    assert found.cv_results_["rank_test_ndcg@10"].tolist() == [1, 1]
    with pytest.raises(ValueError, match="search with refit=True"):
        found.best_ranker()
    with pytest.raises(ValueError, match="metric of this search 'map' is unknown; choose from 'ndcg@10'"):
        found.best_score("map")


def relabel(relevance: np.ndarray[Any, Any]) -> RankingDataset:
    data = make_data(9)
    return RankingDataset(data.features, relevance, data.offsets, data.query_ids)


def test_folds_without_a_counting_query_are_left_out(tmp_path: Path) -> None:
    data = make_data(9)
    (_, first), *_ = split_queries("data", data, 3)
    relevance = data.relevance.copy()
    for query in first.queries or ():
        relevance[data.offsets[query] : data.offsets[query + 1]] = 0
    ranker = CountingRanker(str(tmp_path / "log"))
    found = grid_search(ranker, {"power": [1.0, 2.0]}, relabel(relevance), folds=3, workers=1)
    columns = [found.cv_results_[f"split{number}_test_ndcg@10"] for number in range(3)]
    assert np.isnan(columns[0]).all()
    np.testing.assert_array_equal(found.cv_results_["mean_test_ndcg@10"], (columns[1] + columns[2]) / 2)
    np.testing.assert_allclose(
        found.cv_results_["std_test_ndcg@10"], np.std([columns[1], columns[2]], axis=0), atol=1e-15
    )
    with pytest.raises(ValueError, match="no candidate has a map: the convention leaves out every query"):
        select_best_candidate(np.array([np.nan, np.nan]), "map")
    nothing = relabel(np.where(np.arange(data.n_documents) % 2, 0.5, 0.0))  # below the paper's threshold
    with pytest.raises(
        ValueError, match="ndcg@10 cannot select a candidate: no query counts under ndcg@10:paper"
    ):
        grid_search(ranker, {"power": [1.0, 2.0]}, nothing, folds=3, workers=1)


def test_a_finished_search_trains_nothing(tmp_path: Path) -> None:
    log, store = tmp_path / "log", tmp_path / "jobs.sqlite"

    def search(**options: Any) -> SearchResult:
        ranker = CountingRanker(str(log))
        grid = {"power": [0.5, 1.0, 2.0]}
        return grid_search(ranker, grid, make_data(), folds=3, refit=False, workers=1, store=store, **options)

    first = search()
    assert len(read_lines(log)) == 9
    again = search()
    assert len(read_lines(log)) == 9
    np.testing.assert_equal(dict(again.cv_results_), dict(first.cv_results_))  # including times
    search(random_state=1)
    assert len(read_lines(log)) == 18
    search(validation=make_data(5, seed=3))
    assert len(read_lines(log)) == 27
    assert read_lines(log)[-1].endswith("True")


def test_folds_never_split_a_query() -> None:
    data = make_data(11)
    splits = split_queries("all", data, 4)
    assert sorted(query for _, test in splits for query in test.queries or ()) == list(range(11))
    for train, test in splits:
        assert sorted((train.queries or ()) + (test.queries or ())) == list(range(11))
    for folds in (1, 12):
        with pytest.raises(ValueError, match=f"cannot make {folds} folds of 11 queries"):
            split_queries("all", data, folds)


@pytest.mark.parametrize("scaler", [StandardScaler(), QueryMinMax()])
def test_the_last_step_of_a_pipeline_gets_the_transformed_validation_split(scaler: Any) -> None:
    train, vali, test = make_data(60).split(0.5, 0.2, random_state=0)
    ranker = RankNet(max_epochs=4, learning_rate=0.5, patience=1, random_state=0, progress=False)
    pipeline = fit_by_query(make_pipeline(clone(scaler), clone(ranker)), train, vali)
    with config_context(enable_metadata_routing=True):
        options = {} if isinstance(scaler, StandardScaler) else {"qid": train.qid}
        scaler.fit(train.features, **options)
        scaled = [
            scaler.transform(split.features, **({"qid": split.qid} if options else {}))
            for split in (train, vali, test)
        ]
    alone = clone(ranker).fit(
        scaled[0], train.relevance, qid=train.qid, eval_set=(scaled[1], vali.relevance, vali.qid)
    )
    np.testing.assert_array_equal(predict_by_query(pipeline, test), alone.predict(scaled[2]))
    without = fit_by_query(make_pipeline(clone(scaler), clone(ranker)), train)
    assert not np.array_equal(predict_by_query(without, test), alone.predict(scaled[2]))


class QuerySizes(CountingRanker):
    """Logs the number of documents of each training query."""

    def fit(self, X: Any, y: Any, *, qid: Any, eval_set: Any = None) -> QuerySizes:
        """Fit, and log the sizes of the queries."""
        sizes = np.unique(qid, return_counts=True)[1]
        with Path(self.log + ".sizes").open("a") as file:
            file.write(" ".join(map(str, sizes)) + "\n")
        super().fit(X, y, qid=qid, eval_set=eval_set)
        return self


def test_halving_uses_whole_queries_and_ends_with_all(tmp_path: Path) -> None:
    log, data = tmp_path / "log", make_data(60)
    seen: list[Progress] = []
    grid = {"power": [0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0]}
    options: dict[str, Any] = {"method": "halving", "folds": 2, "workers": 1, "metrics": METRICS}
    found = grid_search(QuerySizes(str(log)), grid, data, refit=False, progress=seen.append, **options)
    lengths = [[int(size) for size in line.split()] for line in read_lines(Path(f"{log}.sizes"))]
    assert {len(sizes) for sizes in lengths} == {10, 30}
    known = np.diff(data.offsets).tolist()
    for sizes in lengths:  # whole queries, each once
        assert all(sizes.count(size) <= known.count(size) for size in set(sizes))
    assert compute_budgets(9, 30) == [(9, 10), (3, 30)]
    whole = grid_search(QuerySizes(str(log)), grid, data, folds=2, workers=1, metrics=METRICS, refit=False)
    for metric in METRICS:
        budget = found.cv_results_[f"n_queries_{metric}"]
        assert sorted(budget.tolist()) == [10] * 6 + [30] * 3
        last = budget == 30
        full, halved = (one.cv_results_[f"mean_test_{metric}"] for one in (whole, found))
        np.testing.assert_array_equal(full[last], halved[last])  # the same results as in a grid search
        assert not np.array_equal(full[~last], halved[~last])
        assert found.best_indices[metric] == max(np.flatnonzero(last), key=lambda number: full[number])
    assert seen[-1].done == seen[-1].total


def test_halving_samples_from_distributions(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "method": "halving",
        "folds": 2,
        "workers": 1,
        "refit": False,
        "n_candidates": 5,
    }
    grid = {"power": loguniform(0.1, 10)}
    ranker = CountingRanker(str(tmp_path / "log"))
    found = grid_search(ranker, grid, make_data(60), **options)
    assert len(found.candidates) == 5
    budget = found.cv_results_["n_queries_ndcg@10"]
    assert sorted(budget.tolist()) == [10, 10, 10, 30, 30]
    again = grid_search(ranker, grid, make_data(60), **options)
    assert again.candidates == found.candidates
    with pytest.raises(ValueError, match="pass n_candidates, the number of points"):
        grid_search(ranker, grid, make_data(), method="halving")


def test_optuna_finds_and_resumes(tmp_path: Path) -> None:
    log, store = tmp_path / "log", tmp_path / "jobs.sqlite"
    grid = [
        {"power": loguniform(0.1, 10), "seconds": [0.0, 1e-6]},
        {"power": [1, (2)], "seconds": norm(1e-3, 1e-5)},
    ]

    def search() -> SearchResult:
        ranker = CountingRanker(str(log))
        return grid_search(
            ranker,
            grid,
            make_data(),
            method="optuna",
            n_candidates=6,
            metrics=METRICS,
            folds=2,
            workers=1,
            refit=False,
            store=store,
            random_state=3,
        )

    first = search()
    n_fits = len(read_lines(log))
    assert 6 * 2 <= n_fits <= 2 * 6 * 2
    again = search()
    assert len(read_lines(log)) == n_fits
    assert again.candidates == first.candidates
    for metric in METRICS:
        means = first.cv_results_[f"mean_test_{metric}"]
        assert first.best_score(metric) == np.nanmax(means)
        assert np.sum(~np.isnan(means)) <= 6


def test_optuna_samples_integers_from_discrete_distributions(tmp_path: Path) -> None:
    found = grid_search(
        CountingRanker(str(tmp_path / "log")),
        {"power": randint(1, 4)},
        make_data(),
        method="optuna",
        n_candidates=8,
        folds=2,
        workers=1,
        refit=False,
    )
    powers = [candidate["power"] for candidate in found.candidates]
    assert all(isinstance(power, int) for power in powers)
    assert len(powers) == len(set(powers)) <= 3


def test_wrong_requests_raise() -> None:
    data, ranker = make_data(), RankSVM()
    with pytest.raises(
        ValueError, match="parameter of RankSVM 'max_itr' is unknown; did you mean 'max_iter'"
    ):
        grid_search(ranker, {"max_itr": [1]}, data)
    with pytest.raises(ValueError, match="method 'gird' is unknown; did you mean 'grid'"):
        grid_search(ranker, {"alpha": [1]}, data, method="gird")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="alpha is a distribution, which a grid cannot enumerate"):
        grid_search(ranker, {"alpha": loguniform(1, 2)}, data)
    with pytest.raises(ValueError, match="omit n_candidates"):
        grid_search(ranker, {"alpha": [1]}, data, n_candidates=3)
    with pytest.raises(ValueError, match="metric 'map:paper' is listed twice"):
        grid_search(ranker, {"alpha": [1]}, data, metrics=("map", "map:paper"))
    with pytest.raises(ValueError, match="metrics is empty"):
        grid_search(ranker, {"alpha": [1]}, data, metrics=())
    with pytest.raises(TypeError, match="cost"):
        grid_search(ranker, {"cost": "hinge"}, data, method="optuna")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"folds": 2.5}, "cannot make 2.5 folds of"),
        ({"workers": 1.5}, "workers is 1.5; give a whole number of at least 1, or None"),
        ({"metrics": 3}, "metrics is 3; pass names"),
        ({"method": "optuna", "n_candidates": 1.5}, "n_candidates is 1.5; give a whole number"),
        ({"validation": (data.features, data.relevance)}, "validation is a tuple; give a RankingDataset"),
    ]
    for options, message in wrong:
        with pytest.raises((ValueError, TypeError), match=message):
            grid_search(ranker, {"alpha": [1]}, data, **options)
    with pytest.raises(ValueError, match="data is a tuple; give a RankingDataset, such as"):
        grid_search(ranker, {"alpha": [1]}, (data.features, data.relevance))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the grid is an empty list"):
        grid_search(ranker, [], data)


def test_a_grid_may_replace_a_sub_estimator_and_set_its_parameters() -> None:
    data = example_dataset().select(range(30))
    grid = {"transform": [PiecewiseLinear()], "transform__n_bins": [3]}
    found = grid_search(RankSVM(), grid, data, folds=2, workers=1)
    assert found.best_ranker().transform_.n_bins == 3
    with pytest.raises(ValueError, match="parameter of RankSVM 'transform__n_bins' is unknown"):
        grid_search(RankSVM(), {"transform__n_bins": [3]}, data)


def test_a_grid_of_too_many_points_raises() -> None:
    grid = {name: list(range(1, 101)) for name in ("alpha", "max_iter", "tol")}
    with pytest.raises(ValueError, match=r"the grid has 1,000,000 points; pass at most 100,000"):
        grid_search(RankSVM(), grid, example_dataset())
