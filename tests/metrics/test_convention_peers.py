"""Each named convention against the tool it is named after, or against arithmetic done by hand."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import Any

import ir_measures
import lightgbm
import numpy as np
import pytest
import xgboost
from numpy.typing import NDArray
from sklearn.metrics import (
    average_precision_score,
    dcg_score,
    label_ranking_average_precision_score,
    ndcg_score,
)

from directranker.metrics import (
    average_precision,
    dcg,
    err,
    evaluate,
    evaluate_per_query,
    ndcg,
    precision,
    reciprocal_rank,
)


@dataclass
class QueryGroups:
    """Many lists of many lengths, some without a relevant document, some with a single one."""

    labels: NDArray[np.int64]
    distinct: NDArray[np.float64]
    tied: NDArray[np.float64]
    offsets: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many documents each list has."""
        return np.diff(self.offsets)

    def each(self, scores: NDArray[np.float64]) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Labels and scores, list by list."""
        cuts = self.offsets[1:-1]
        return list(zip(np.split(self.labels, cuts), np.split(scores, cuts), strict=True))


@pytest.fixture(scope="module")
def lists() -> QueryGroups:
    rng = np.random.default_rng(11)
    offsets = np.r_[0, np.cumsum(np.r_[rng.integers(1, 30, 40), 300, 2, 1])]
    labels = rng.choice(4, size=offsets[-1], p=[0.6, 0.2, 0.1, 0.1])
    labels[offsets[3] : offsets[5]] = 0
    labels[-1] = 0
    distinct = rng.permutation(len(labels)).astype(float)
    return QueryGroups(labels, distinct, rng.integers(0, 6, len(labels)).astype(float), offsets)


def as_lightgbm(lists: QueryGroups, scores: NDArray[np.float64], metric: str, k: int) -> float:
    """LightGBM's own figure for given scores: they are the start, and nothing is learnt."""
    n = len(scores)
    data = lightgbm.Dataset(
        np.arange(n)[:, None] % 7,
        lists.labels,
        group=lists.lengths,
        init_score=scores,
        params={"verbose": -1},
    )
    settings = {
        "objective": lambda *_: (np.zeros(n), np.ones(n)),
        "metric": metric,
        "eval_at": [k],
        "verbose": -1,
    }
    seen: dict[str, Any] = {}
    watch = lightgbm.record_evaluation(seen)
    lightgbm.train(settings, data, 1, valid_sets=[data], valid_names=["data"], callbacks=[watch])
    return float(seen["data"][f"{metric}@{k}"][0])


def as_xgboost(lists: QueryGroups, scores: NDArray[np.float64], metric: str, labels: NDArray[Any]) -> float:
    """XGBoost's own figure for given scores: they are the base margin, and nothing is learnt."""
    data = xgboost.DMatrix(np.zeros((len(scores), 1)), labels, base_margin=scores)
    data.set_group(lists.lengths)
    seen: dict[str, Any] = {}
    settings = {"objective": "rank:pairwise", "eval_metric": metric, "eta": 0}
    xgboost.train(settings, data, 1, evals=[(data, "data")], evals_result=seen, verbose_eval=False)
    return float(seen["data"][metric][0])


@pytest.mark.parametrize("k", [1, 3, 10, 100])
@pytest.mark.parametrize("ties", ["distinct", "tied"])
def test_lightgbm(lists: QueryGroups, k: int, ties: str) -> None:
    scores = getattr(lists, ties)
    for metric in ("ndcg", "map"):
        (ours,) = evaluate(
            lists.labels, scores, metrics=f"{metric}@{k}:lightgbm", offsets=lists.offsets
        ).values()
        assert ours == pytest.approx(as_lightgbm(lists, scores, metric, k), rel=1e-12)


@pytest.mark.parametrize("k", [1, 3, 10, 100])
@pytest.mark.parametrize("ties", ["distinct", "tied"])
def test_xgboost_shares_the_convention_of_lightgbm(lists: QueryGroups, k: int, ties: str) -> None:
    scores, relevant = getattr(lists, ties), (lists.labels > 0).astype(float)
    options: dict[str, Any] = {"k": k, "offsets": lists.offsets, "convention": "lightgbm"}
    for ours, theirs in (
        (ndcg(lists.labels, scores, **options), as_xgboost(lists, scores, f"ndcg@{k}", lists.labels)),
        (average_precision(lists.labels, scores, **options), as_xgboost(lists, scores, f"map@{k}", relevant)),
        # XGBoost's precision has no rule of its own for queries without a relevant document.
        (
            precision(lists.labels, scores, no_relevant=0, **options),
            as_xgboost(lists, scores, f"pre@{k}", relevant),
        ),
    ):
        assert ours == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize("k", [1, 3, 10, None])
@pytest.mark.parametrize("ties", ["distinct", "tied"])
def test_sklearn(lists: QueryGroups, k: int | None, ties: str) -> None:
    scores = getattr(lists, ties)
    rows = [(labels[None], row[None]) for labels, row in lists.each(scores) if len(row) > 1]
    long_enough = lists.lengths > 1  # scikit-learn refuses lists of one document
    for ours, theirs in ((ndcg, ndcg_score), (dcg, dcg_score)):
        values = ours(lists.labels, scores, k=k, offsets=lists.offsets, convention="sklearn", per_query=True)
        expected = [theirs(labels, row, k=k) for labels, row in rows]
        np.testing.assert_allclose(values[long_enough], expected, rtol=1e-12, atol=1e-15)


def test_sklearn_average_precision_where_no_scores_are_equal(lists: QueryGroups) -> None:
    values = average_precision(
        lists.labels, lists.distinct, offsets=lists.offsets, convention="sklearn", per_query=True
    )
    for value, (labels, row) in zip(values, lists.each(lists.distinct), strict=True):
        if labels.any():
            assert value == pytest.approx(average_precision_score(labels > 0, row))


def test_sklearn_label_ranking_takes_the_worst_case(lists: QueryGroups) -> None:
    binary = [(labels > 0, row) for labels, row in lists.each(lists.tied) if (labels > 0).sum() == 1]
    assert len(binary) > 2
    for labels, row in binary:
        theirs = label_ranking_average_precision_score(labels[None], row[None])
        assert average_precision(labels, row, ties="worst") == pytest.approx(theirs)


def as_trec(lists: QueryGroups, scores: NDArray[np.float64], measure: Any) -> list[float]:
    """trec_eval's own figures; its rule for equal scores, the last name first, is made input order."""
    judged, ranked = {}, {}
    for query, (labels, row) in enumerate(lists.each(scores)):
        names = [f"d{999 - place:03}" for place in range(len(row))]
        judged[f"q{query:03}"] = {name: int(label) for name, label in zip(names, labels, strict=True)}
        ranked[f"q{query:03}"] = {name: float(score) for name, score in zip(names, row, strict=True)}
    values = ir_measures.pytrec_eval.iter_calc([measure], judged, ranked)
    return [value.value for value in sorted(values, key=lambda value: str(value.query_id))]


@pytest.mark.parametrize("ties", ["distinct", "tied"])
@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("ndcg@10", ir_measures.nDCG @ 10),
        ("ndcg", ir_measures.nDCG),
        ("map", ir_measures.AP),
        ("map@10", ir_measures.AP @ 10),
        ("p@5", ir_measures.P @ 5),
        ("p@100", ir_measures.P @ 100),
        ("mrr", ir_measures.RR),
    ],
)
def test_trec(lists: QueryGroups, name: str, theirs: Any, ties: str) -> None:
    scores = getattr(lists, ties)
    ours = evaluate_per_query(lists.labels, scores, metrics=name, offsets=lists.offsets, convention="trec")[
        name
    ]
    np.testing.assert_allclose(ours, as_trec(lists, scores, theirs), rtol=1e-12)


def test_trec_with_a_threshold(lists: QueryGroups) -> None:
    ours = average_precision(
        lists.labels, lists.tied, offsets=lists.offsets, convention="trec", threshold=2, per_query=True
    )
    np.testing.assert_allclose(ours, as_trec(lists, lists.tied, ir_measures.AP(rel=2)), rtol=1e-12)


# Two queries: the first with grades 2, 0, 1 as ranked, the second without a relevant document.
LABELS, SCORES, OFFSETS = [2, 0, 1, 0, 0], [9, 8, 7, 6, 5], [0, 3, 5]


def by_hand(rules: str, metric: str) -> float:
    return evaluate(LABELS, SCORES, metrics=metric, offsets=OFFSETS, convention=rules)[metric]


def test_ranklib_by_hand() -> None:
    exact = {
        "ndcg@10": ((3 / log2(2) + 1 / log2(4)) / (3 / log2(2) + 1 / log2(3)) + 0) / 2,
        "dcg@10": (3 + 1 / 2 + 0) / 2,
        "map": ((1 / 1 + 2 / 3) / 2 + 0) / 2,
        "p@10": (2 / 3 + 0) / 2,  # of the three documents there are
        "p@2": (1 / 2 + 0) / 2,
        "mrr": (1 + 0) / 2,
        "err@10": (3 / 16 + (13 / 16) * (1 / 16) / 3 + 0) / 2,  # grades go up to 4: 2^4 = 16
    }
    for metric, value in exact.items():
        assert by_hand("ranklib", metric) == pytest.approx(value), metric
    assert reciprocal_rank([0, 1], [1, 1], convention="ranklib") == 1 / 2  # equal scores as they come


def test_letor4_by_hand() -> None:
    exact = {
        "ndcg@10": 0,  # both lists are shorter than 10
        "ndcg@3": ((3 + 0 + 1 / log2(3)) / (3 + 1) + 0) / 2,  # rank 2 is not discounted
        "ndcg@2": ((3 + 0) / (3 + 1) + 0) / 2,
        "ndcg@1": (3 / 3 + 0) / 2,
        "map": ((1 / 1 + 2 / 3) / 2 + 0) / 2,
        "p@10": (2 / 10 + 0) / 2,  # empty places count as not relevant
        "p@2": (1 / 2 + 0) / 2,
    }
    for metric, value in exact.items():
        assert by_hand("letor4", metric) == pytest.approx(value), metric


def test_paper_by_hand() -> None:
    exact = {
        "ndcg@10": (1 / log2(2) + 1 / log2(4)) / (1 / log2(2) + 1 / log2(3)),  # grade 2 counts like 1
        "map": (1 / 1 + 2 / 3) / 2,  # the second query is left out
        "p@10": 2 / 3,
        "mrr": 1,
    }
    for metric, value in exact.items():
        assert by_hand("paper", metric) == pytest.approx(value), metric
    assert ndcg([1, 2], [2, 1], convention="paper", threshold=2) == pytest.approx(1 / log2(3))
    assert ndcg([1, 0], [1, 1], convention="paper") == pytest.approx((1 + 1 / log2(3)) / 2)


def test_graded_by_hand() -> None:
    exact = {
        "ndcg@10": (3 / log2(2) + 1 / log2(4)) / (3 / log2(2) + 1 / log2(3)),
        "map": (1 / 1 + 2 / 3) / 2,
        "p@10": 2 / 10,
        "err@10": 3 / 4 + (1 / 4) * (1 / 4) / 3,
    }
    for metric, value in exact.items():
        assert by_hand("graded", metric) == pytest.approx(value), metric
    assert err([0, 0], [1, 2], no_relevant=0) == 0
