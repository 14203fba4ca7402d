"""The nested search: the protocol step by step, unbiased scores, and progress."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

from directranker import (
    Fold,
    JobStore,
    NestedResult,
    RankerGrid,
    RankingDataset,
    evaluate_per_query,
    nested_grid_search,
    nested_searches,
)
from directranker.model_selection import Plan, Progress, adapt_to_metric, count_jobs
from directranker.rankers import AdaRank, LambdaMART, RankSVM

from search_processes import read_lines
from watched_rankers import CountingRanker, make_data, make_folds

METRICS = ("ndcg@10", "map")
Labels = NDArray[np.float64]


def literal_nested_search(
    ranker: Any, candidates: list[dict[str, Any]], fold: Fold, metric: str, inner: int | str
) -> tuple[dict[str, Any], Labels]:
    """Return the best parameters and the value of each test query, with scikit-learn and plain loops."""
    train, vali, test = fold.train, fold.validation, fold.test

    def values(parameters: dict[str, Any], train_data: RankingDataset, test_data: RankingDataset) -> Labels:
        fitted = clone(adapt_to_metric(ranker, metric)).set_params(**parameters, random_state=0)
        fitted.fit(
            train_data.features,
            train_data.relevance,
            qid=train_data.qid,
            eval_set=(vali.features, vali.relevance, vali.qid),
        )
        scores = fitted.predict(test_data.features)
        by_query = evaluate_per_query(
            test_data.relevance, scores, qid=test_data.qid, metrics=metric, convention="paper"
        )
        return by_query[metric]

    if inner == "validation":
        splits = [(train, vali)]
    else:
        rows = GroupKFold(int(inner)).split(train.features, groups=train.qid)
        query = np.searchsorted(train.offsets, np.arange(train.n_documents), side="right") - 1
        splits = [(train.select(np.unique(query[a])), train.select(np.unique(query[b]))) for a, b in rows]
    means = [np.mean([np.nanmean(values(one, *split)) for split in splits]) for one in candidates]
    best = candidates[int(np.argmax(means))]
    return best, values(best, train, test)


@pytest.mark.parametrize("inner", [3, "validation"])
@pytest.mark.parametrize("ranker", [AdaRank(max_iter=8), LambdaMART(n_estimators=8, min_child_samples=5)])
def test_it_equals_a_literal_nested_search(ranker: Any, inner: Any) -> None:
    folds = make_folds(make_data(60))
    name = "negative" if isinstance(ranker, AdaRank) else "num_leaves"
    candidates: list[dict[str, Any]] = [
        {name: value} for value in ((False, True) if name == "negative" else (2, 8))
    ]
    grid = {name: [one[name] for one in candidates]}
    found = nested_grid_search(ranker, grid, folds, metrics=METRICS, inner_folds=inner, workers=1)
    for metric in METRICS:
        for fold, result in zip(folds, found.fold_results(metric), strict=True):
            best, values = literal_nested_search(ranker, candidates, fold, metric, inner)
            assert result.parameters == best
            np.testing.assert_array_equal(result.per_query, values)
            assert result.scores.tolist() == [np.nanmean(values)]
            assert result.query_ids.tolist() == fold.test.query_ids.tolist()
        of_folds = found.test_scores(metric)[:, 0]
        assert found.mean(metric) == pytest.approx(of_folds.mean())
        assert found.standard_error(metric) == pytest.approx(abs(of_folds[0] - of_folds[1]) / 2)


def test_scores_are_averaged_over_seeds_then_folds(tmp_path: Path) -> None:
    folds, log = make_folds(make_data(40), 3), tmp_path / "log"
    ranker, store = CountingRanker(str(log)), tmp_path / "jobs.sqlite"
    seen: list[Progress] = []
    found = nested_grid_search(
        ranker,
        {"power": [1.0, 2.0]},
        folds,
        inner_folds=2,
        seeds=3,
        workers=1,
        store=store,
        progress=seen.append,
    )
    scores = found.test_scores("map")
    assert scores.shape == (3, 3)
    assert len(np.unique(scores)) == 9  # the ranker's noise depends on its seed
    of_folds = scores.mean(axis=1)
    assert found.mean("map") == pytest.approx(of_folds.mean())
    assert found.standard_error("map") == pytest.approx(of_folds.std(ddof=1) / np.sqrt(3))
    of_fold = found.fold_results("map")[0]
    expected = np.mean(
        [result.per_query for result in of_fold.job_results if result.per_query is not None], axis=0
    )
    np.testing.assert_array_equal(of_fold.per_query, expected)
    assert found.fit_seconds("map").shape == found.score_seconds("map").shape == (3, 3)
    assert [result.n_test for result in of_fold.job_results] == [folds[0].test.n_documents] * 3
    inner, final = (
        3 * 2 * 2,
        len({(p["power"], n) for m in METRICS for n, p in enumerate(found.parameters(m))}) * 3,
    )
    assert len(read_lines(log)) == inner + final
    assert all(
        line.endswith("True") for line in read_lines(log)
    )  # every fit gets the validation split as eval_set
    assert (seen[-1].done, seen[-1].total) == (2 * (inner + 9), 2 * (inner + 9))
    assert [now.done for now in seen] == sorted(now.done for now in seen)


def test_one_candidate_needs_no_inner_fits(tmp_path: Path) -> None:
    log = tmp_path / "log"
    found = nested_grid_search(CountingRanker(str(log)), {}, make_folds(make_data()), workers=1)
    assert len(read_lines(log)) == 2
    assert found.parameters("map") == [{}, {}]
    assert len(found.fold_results("map")[0].inner_scores) == 0


def make_entries(log: Path) -> list[RankerGrid]:
    return [
        RankerGrid("many", CountingRanker(str(log)), {"power": [0.5, 1.0, 2.0]}),
        RankerGrid("one", CountingRanker(str(log)), {"seconds": [0.001]}),
    ]


def test_several_rankers_at_once_and_their_progress(tmp_path: Path) -> None:
    log, folds = tmp_path / "log", make_folds(make_data())
    entries = make_entries(log)
    planned = Plan(entries, folds, ("ndcg@10", "map"), inner_folds=2, seeds=2).job_keys()
    planned = json.loads(json.dumps(planned))
    with JobStore(tmp_path / "jobs.sqlite") as store:
        assert count_jobs(planned, store) == {"many": (0, 2 * 2 * (3 * 2 + 2)), "one": (0, 2 * 2 * 2)}
        stop_after = 5

        def interrupt(progress: Progress) -> None:
            if progress.done >= stop_after:
                raise KeyboardInterrupt

        options: dict[str, Any] = {"inner_folds": 2, "seeds": 2, "workers": 1, "store": store}
        with pytest.raises(KeyboardInterrupt):
            nested_searches(entries, folds, progress=interrupt, **options)
        assert count_jobs(planned, store) == {"many": (6, 32), "one": (0, 8)}
        found = nested_searches(entries, folds, **options)
        assert count_jobs(planned, store) == {"many": (32, 32), "one": (8, 8)}
        n_fits = len(read_lines(log))
        again = nested_searches(entries, folds, **options)
        assert len(read_lines(log)) == n_fits
    assert list(found) == ["many", "one"]
    grid = {"power": [0.5, 1.0, 2.0]}
    alone = nested_grid_search(CountingRanker(str(log)), grid, folds, inner_folds=2, seeds=2, workers=1)
    for one in (found["many"], again["many"]):
        for metric in METRICS:
            np.testing.assert_array_equal(one.test_scores(metric), alone.test_scores(metric))


def test_wrong_plans_raise(tmp_path: Path) -> None:
    folds, entries = make_folds(make_data()), make_entries(tmp_path / "log")
    with pytest.raises(ValueError, match="two rankers are called 'one'"):
        nested_searches([*entries, entries[1]], folds)
    with pytest.raises(ValueError, match="two folds are called 'Fold1'"):
        nested_searches(entries, [folds[0], folds[0]])
    with pytest.raises(ValueError, match="there is no fold"):
        nested_searches(entries, [])
    with pytest.raises(ValueError, match="seeds is 0"):
        nested_searches(entries, folds, seeds=0)
    with pytest.raises(ValueError, match="inner_folds is 'test'"):
        nested_searches(entries, folds, inner_folds="test")  # type: ignore[arg-type]
    found = nested_grid_search(CountingRanker(str(tmp_path / "log")), {}, folds, workers=1)
    with pytest.raises(ValueError, match="metric of this search 'p@5' is unknown"):
        found.mean("p@5")


def search_svm(folds: list[Fold]) -> NestedResult:
    return nested_grid_search(
        RankSVM(), {"alpha": [0.01, 1.0]}, folds, metrics="map", inner_folds=2, workers=1
    )


def append_column(data: RankingDataset, column: Labels) -> RankingDataset:
    return replace(
        data, features=np.column_stack([data.features, column]).astype(np.float32), feature_names=()
    )


def add_leak(fold: Fold, seed: int, *, leak: float) -> Fold:
    """Add a feature that is noise, but on the test split the label plus a constant per query."""
    rng = np.random.default_rng(seed)
    train, vali = (
        append_column(part, rng.normal(size=part.n_documents)) for part in (fold.train, fold.validation)
    )
    constants = np.repeat(rng.normal(size=fold.test.n_queries), np.diff(fold.test.offsets))
    return Fold(fold.name, train, vali, append_column(fold.test, constants + leak * fold.test.relevance))


def test_a_feature_with_the_test_labels_does_not_raise_the_score() -> None:
    (fold,) = make_folds(make_data(120), 1)
    cheated = add_leak(fold, 0, leak=1).test
    assert RankSVM().fit(cheated).score(cheated) > 0.99  # training on the test split would gain
    honest = search_svm([fold]).mean()
    gains = []
    for seed in range(16):
        with_leak, without_leak = (search_svm([add_leak(fold, seed, leak=leak)]) for leak in (1, 0))
        gains.append(with_leak.mean() - honest)
        # Nothing before the test score depends on the feature's test values.
        assert with_leak.parameters() == without_leak.parameters()
        scores, expected = (one.fold_results()[0].inner_scores for one in (with_leak, without_leak))
        np.testing.assert_array_equal(scores, expected)
    # Noise gets a random weight of either sign, which then counts on the test split.
    assert np.mean(gains) < 2 * np.std(gains) / np.sqrt(len(gains))
    assert np.mean(gains) < 0.02


def test_permuted_labels_give_chance() -> None:
    rng = np.random.default_rng(1)
    data = make_data(300)
    permuted = data.relevance.copy()
    for start, stop in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        permuted[start:stop] = rng.permutation(permuted[start:stop])
    folds = make_folds(replace(data, relevance=permuted), 3)
    found = search_svm(folds)
    for fold, result in zip(folds, found.fold_results("map"), strict=True):
        test = fold.test
        chance = evaluate_per_query(
            test.relevance,
            np.zeros(test.n_documents),
            offsets=test.offsets,
            metrics="map",
            convention="paper",
        )["map"]  # ties are averaged over all their orders
        difference = (result.per_query - chance)[~np.isnan(chance)]
        assert abs(difference.mean()) < 4 * difference.std() / np.sqrt(len(difference))
