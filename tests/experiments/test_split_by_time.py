"""Folds by time: training before validation before test, outside and inside."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from directranker import compare_rankers, example_dataset, grid_search
from directranker.data.dataset import RankingDataset
from directranker.data.folds import SPLITS
from directranker.errors import DataError
from directranker.experiments.comparison import run_request
from directranker.experiments.folder import Request
from directranker.experiments.protocol import make_folds, open_folds
from directranker.experiments.table_values import describe_protocol
from directranker.model_selection.cross_validation import split_queries
from directranker.model_selection.plan import Plan, RankerGrid
from directranker.rankers import RankSVM
from directranker.report.rendering import write_report


def make_dated(n_queries: int = 60, per_day: int = 3) -> RankingDataset:
    """Queries of a few days in a shuffled order, `per_day` queries per day."""
    rng = np.random.default_rng(4)
    days = rng.permutation(np.arange(n_queries) // per_day)
    frame = pd.DataFrame({"qid": np.repeat(np.arange(n_queries), 4), "day": np.repeat(days, 4)})
    frame["relevance"] = np.tile([0, 1, 2, 0], n_queries)
    frame["bm25"] = frame["relevance"] + rng.normal(size=len(frame))
    frame["date"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(frame.pop("day"), unit="D")
    return RankingDataset.from_frame(frame, keep=["date"])


def dates(data: RankingDataset) -> np.ndarray:
    return data.kept["date"].to_numpy()


@pytest.mark.parametrize("n_folds", [1, 2, 5])
def test_folds_are_in_time_order_and_test_each_query_once(n_folds: int) -> None:
    data = make_dated()
    folds = make_folds(data, n_folds=n_folds, split_by="date")
    assert [fold.name for fold in folds] == [f"Fold{k}" for k in range(1, n_folds + 1)]
    for fold in folds:
        train, validation, test = (getattr(fold, split) for split in SPLITS)
        assert train.n_queries >= data.n_queries // 2 - 3
        assert dates(train).max() < dates(validation).min()
        assert dates(validation).max() < dates(test).min()
    tested = np.concatenate([fold.test.query_ids for fold in folds])
    assert len(np.unique(tested)) == len(tested)
    # Nothing is left out: the last fold has all queries, and each fold trains on the validation before it.
    last = folds[-1]
    assert last.train.n_queries + last.validation.n_queries + last.test.n_queries == data.n_queries
    for earlier, later in pairwise(folds):
        assert set(earlier.validation.query_ids) <= set(later.train.query_ids)
        assert set(earlier.test.query_ids) == set(later.validation.query_ids)


def test_inner_folds_are_in_time_order() -> None:
    data = make_dated()
    splits = split_queries("data", data, 4, split_by="date")
    assert len(splits) == 4
    for train, test in splits:
        assert train.queries is not None
        assert test.queries is not None
        assert dates(data.select(train.queries)).max() < dates(data.select(test.queries)).min()
    assert sum(len(test.queries or ()) for _, test in splits) == 30


def test_a_plan_uses_the_split_inside_and_in_its_keys() -> None:
    data = make_dated()
    folds = make_folds(data, n_folds=2, split_by="date")
    entries = [RankerGrid("SVM", RankSVM(), {"alpha": [0.1, 1]})]
    by_time, at_random = (
        Plan(entries, folds, "map", inner_folds=3, seeds=1, split_by=split_by) for split_by in ("date", None)
    )
    for search in by_time.searches:
        train = by_time.data[f"{search.fold} train"]
        for fit in by_time.inner_fits(search)[0]:
            assert fit.train.queries is not None
            assert fit.test.queries is not None
            assert dates(train.select(fit.train.queries)).max() < dates(train.select(fit.test.queries)).min()
        inner = [[fits[0] for fits in plan.inner_fits(search)] for plan in (by_time, at_random)]
        assert by_time.keys.training_key(inner[0][0]) != at_random.keys.training_key(inner[1][0])


def test_folds_that_are_not_in_time_order_raise() -> None:
    folds = make_folds(make_dated(), n_folds=3)
    with pytest.raises(DataError, match="Fold1 train has queries that are not before those of Fold1 valid"):
        compare_rankers(folds, rankers="RankSVM", metrics=["map"], split_by="date")


def test_compare_a_table_by_time(tmp_path: Path) -> None:
    make_dated().to_frame("pandas").to_parquet(tmp_path / "dated.parquet")
    request = Request(
        str(tmp_path / "dated.parquet"),
        rankers="RankSVM",
        metrics=("map",),
        inner_folds="2",
        seeds=1,
        folds=2,
        split_by="date",
    )
    comparison = run_request(request, tmp_path / "out", digest=request.digest(), workers=1)
    assert "2 folds (split by date: training before validation before test)" in describe_protocol(comparison)
    assert "split by date too" in describe_protocol(comparison)
    data = open_folds(tmp_path / "dated.parquet", n_folds=2, split_by="date")
    assert data.folds[0].train.feature_names == ("bm25",)
    again = compare_rankers(data, rankers="RankSVM", metrics=["map"], inner_folds=2, seeds=1, workers=1)
    assert again.best("map").by("map").mean == comparison.best("map").by("map").mean
    assert again.request["split_by"] == "date"
    page = write_report(tmp_path / "out").read_text(encoding="utf-8")
    assert "split by date: training before validation before test" in page


def test_grid_search_by_time() -> None:
    found = grid_search(
        RankSVM(), {"alpha": [0.1]}, make_dated(), metrics="map", folds=3, split_by="date", refit=False
    )
    assert found.cv_results_["split2_test_map"].shape == (1,)


def test_bad_splits_raise(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="column 'date' is unknown"):
        make_folds(example_dataset(), split_by="date")
    with pytest.raises(DataError, match="cannot cut 60 queries by 'date' into 7 groups"):
        make_folds(make_dated(per_day=20), split_by="date")
    with pytest.raises(ValueError, match="n_folds is 0; pass at least 1"):
        make_folds(make_dated(), n_folds=0, split_by="date")
    missing = make_dated()
    missing = replace(missing, kept={"date": [None, *missing.kept["date"].to_pylist()[1:]]})
    with pytest.raises(DataError, match="row 0 of query 0 has no value of 'date'"):
        make_folds(missing, split_by="date")
    for name in ("train", "vali", "test"):
        (tmp_path / "Fold1").mkdir(exist_ok=True)
        (tmp_path / "Fold1" / f"{name}.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:0.25\n")
    with pytest.raises(ValueError, match="has folds already; split_by='date' is for a single data set"):
        open_folds(tmp_path, split_by="date")
