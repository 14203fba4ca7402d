"""Pipelines of scikit-learn with a ranker at the end: compared, searched, fitted within the folds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder

from directranker import LambdaMART, RankingDataset, RankSVM, compare_rankers, grid_search
from directranker.data.feature_frames import read_feature_frame
from directranker.experiments.protocol import make_folds
from directranker.model_selection.fingerprints import data_fingerprint
from directranker.model_selection.jobs import Fit, QuerySubset
from directranker.model_selection.workers import drop_ids
from directranker.rankers.pipelines import fit_by_query, predict_by_query

N_QUERIES, LENGTH = 60, 8


def make_table(n_brands: int = 200) -> pd.DataFrame:
    """A shop's table; its brands have no effect on the label, and most are in a few queries only."""
    rng = np.random.default_rng(0)
    n = N_QUERIES * LENGTH
    price = rng.normal(10, 3, n)
    return pd.DataFrame(
        {
            "query": np.repeat(np.arange(N_QUERIES), LENGTH),
            "bought": (rng.normal(size=n) - price / 4 > -2.5).astype(int),
            "brand": [f"brand {number}" for number in rng.integers(n_brands, size=n)],
            "price": np.where(rng.random(n) < 0.05, np.nan, price),
            "seller": rng.integers(3, size=n),
        }
    )


def read_table(table: pd.DataFrame, **options: Any) -> RankingDataset:
    return RankingDataset.from_frame(table, relevance="bought", query="query", **options)


def make_steps() -> ColumnTransformer:
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["price"]),
            ("words", OneHotEncoder(handle_unknown="ignore"), ["brand", "seller"]),
        ]
    )


def make_ranking_pipeline(encoder: Any = None) -> Pipeline:
    return Pipeline([("columns", encoder or make_steps()), ("rank", RankSVM(transform="none"))])


def test_data_sets_reach_a_pipeline_as_the_frame_that_it_was_made_for() -> None:
    table = make_table()
    data = read_table(table, categorical=["seller"])
    frame = read_feature_frame(data)
    assert frame["seller"].dtype == "category"
    np.testing.assert_array_equal(frame["seller"].astype(int), table["seller"])
    np.testing.assert_array_equal(frame["brand"].astype(object), table["brand"])
    pipeline = fit_by_query(make_ranking_pipeline(), data)
    scores = predict_by_query(pipeline, data)
    np.testing.assert_array_equal(scores, pipeline.predict(frame))
    np.testing.assert_allclose(scores, pipeline.predict(table), rtol=1e-5, atol=1e-6)


def compare(table: pd.DataFrame, rankers: dict[str, Any]) -> dict[str, float]:
    folds = make_folds(read_table(table), n_folds=3)
    comparison = compare_rankers(
        folds, rankers=rankers, metrics=["ndcg@10"], inner_folds="validation", seeds=1, workers=1
    )
    return {result.ranker: float(result.measured[0].mean or 0) for result in comparison.rankers}


def test_encoding_by_the_label_inside_the_folds_does_not_leak() -> None:
    table = make_table()
    encoder = TargetEncoder(target_type="continuous", smooth=0.0)
    inside = ColumnTransformer(
        [("brand", encoder, ["brand"]), ("price", SimpleImputer(), ["price"])], remainder="drop"
    )
    honest = compare(table, {"inside": make_ranking_pipeline(inside)})["inside"]
    encoded = table.assign(brand=encoder.fit(table[["brand"]], table["bought"]).transform(table[["brand"]]))
    rankers = {"before": make_pipeline(SimpleImputer(), RankSVM(transform="none"))}
    leaked = compare(encoded.drop(columns="seller"), rankers)["before"]
    without = compare(table.drop(columns=["brand", "seller"]), rankers)["before"]
    assert leaked > honest + 0.05
    assert abs(honest - without) < 0.05


def test_pipelines_are_compared_beside_registered_rankers(tmp_path: Any) -> None:
    folds = make_folds(read_table(make_table(5).drop(columns="seller")), n_folds=3)
    select = make_column_selector(dtype_include="category")
    numbers = make_column_selector(dtype_exclude="category")
    steps = ColumnTransformer([("words", OrdinalEncoder(), select), ("numbers", SimpleImputer(), numbers)])
    pipeline = make_ranking_pipeline(steps)
    options: dict[str, Any] = {
        "metrics": ["map"],
        "inner_folds": "validation",
        "seeds": 1,
        "workers": 1,
        "grid": {"mine": {"rank__alpha": [0.01, 1.0], "columns__numbers__strategy": ["mean", "median"]}},
    }
    rankers = {"mine": pipeline, "LambdaMART": "LambdaMART"}
    comparison = compare_rankers(folds, rankers=rankers, out=tmp_path, **options)
    mine, trees = comparison.rankers
    assert (mine.ranker, mine.description, mine.n_candidates) == ("mine", "ColumnTransformer → RankSVM", 4)
    assert trees.ranker == "LambdaMART"
    assert set(mine.measured[0].folds[0].parameters) == {"rank__alpha", "columns__numbers__strategy"}
    done: list[Any] = []
    compare_rankers(folds, rankers=rankers, out=tmp_path, progress=done.append, **options)
    assert comparison.rankers[0].measured == mine.measured


def test_invalid_rankers_of_a_comparison_are_named() -> None:
    folds = make_folds(read_table(make_table()), n_folds=3)
    with pytest.raises(TypeError, match="ranker 'mine' is .*; give an estimator with fit and predict"):
        compare_rankers(folds, rankers={"mine": RankSVM})
    with pytest.raises(ValueError, match="'RankSVM' is the name of a registered ranker; give yours another"):
        compare_rankers(folds, rankers={"RankSVM": RankSVM()})
    with pytest.raises(ValueError, match="the grid, mine: parameter 'rank__alhpa' is unknown; did you mean"):
        compare_rankers(folds, rankers={"mine": make_ranking_pipeline()}, grid={"mine": {"rank__alhpa": [1]}})


def test_steps_are_searched_by_their_parameters() -> None:
    data = read_table(make_table(5))
    grid = {"columns__numbers__simpleimputer__strategy": ["mean", "median"], "rank__alpha": [0.1, 1.0]}
    found = grid_search(make_ranking_pipeline(), grid, data, folds=3, workers=2)
    assert len(found.candidates) == 4
    assert predict_by_query(found.best_ranker(), data).shape == (data.n_documents,)


def test_keys_cover_the_parameters_of_all_steps_and_the_columns() -> None:
    data = read_table(make_table())
    subset = QuerySubset("data")
    fit = Fit(make_ranking_pipeline(), "mine", {}, 0, subset, None, subset, ("map",))
    prints = {"data": data_fingerprint(data)}
    changed = make_ranking_pipeline().set_params(columns__words__handle_unknown="error")
    other = make_ranking_pipeline().set_params(columns__numbers__standardscaler__with_mean=False)
    keys = {replace(fit, ranker=ranker).keys(prints)["map"] for ranker in (fit.ranker, changed, other)}
    assert len(keys) == 3
    assert replace(fit, ranker=make_ranking_pipeline()).keys(prints) == fit.keys(prints)
    names = tuple(f"{name}!" for name in data.feature_names)
    vocabulary = [f"{value}!" for value in data.categories["brand"].to_pylist()]
    renamed = replace(data, feature_names=names, categories={"brand!": data.categories["brand"]})
    revalued = replace(data, categories={"brand": vocabulary})
    assert len({data_fingerprint(one) for one in (data, renamed, revalued)}) == 3
    assert data_fingerprint(drop_ids(data)) == data_fingerprint(data)


def test_rankers_get_categories_in_a_search() -> None:
    data = read_table(make_table(5))
    ranker = fit_by_query(LambdaMART(n_estimators=5, random_state=0), data, data)
    assert ranker.categories_.keys() == {"brand"}
    assert list(ranker.feature_names_in_) == ["brand", "price", "seller"]
