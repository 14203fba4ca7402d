"""Each named convention against the tool it is named after, or against explicit arithmetic."""

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

from directranker.arrays import FloatArray, IntArray
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
    """Queries of many lengths, some without a relevant document, some with a single document."""

    labels: IntArray
    distinct: FloatArray
    tied: FloatArray
    offsets: IntArray

    @property
    def lengths(self) -> IntArray:
        """The number of documents of each query."""
        return np.diff(self.offsets)

    def split(self, scores: FloatArray) -> list[tuple[IntArray, FloatArray]]:
        """Return labels and scores query by query."""
        cuts = self.offsets[1:-1]
        return list(zip(np.split(self.labels, cuts), np.split(scores, cuts), strict=True))


@pytest.fixture(scope="module")
def groups() -> QueryGroups:
    rng = np.random.default_rng(11)
    offsets = np.r_[0, np.cumsum(np.r_[rng.integers(1, 30, 40), 300, 2, 1])]
    labels = rng.choice(4, size=offsets[-1], p=[0.6, 0.2, 0.1, 0.1])
    labels[offsets[3] : offsets[5]] = 0
    labels[-1] = 0
    distinct = rng.permutation(len(labels)).astype(float)
    return QueryGroups(labels, distinct, rng.integers(0, 6, len(labels)).astype(float), offsets)


def evaluate_with_lightgbm(groups: QueryGroups, scores: FloatArray, metric: str, k: int) -> float:
    """Return LightGBM's value for scores, passed as init_score of a training with zero gradient."""
    n = len(scores)
    data = lightgbm.Dataset(
        np.arange(n)[:, None] % 7,
        groups.labels,
        group=groups.lengths,
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
    callback = lightgbm.record_evaluation(seen)
    lightgbm.train(settings, data, 1, valid_sets=[data], valid_names=["data"], callbacks=[callback])
    return float(seen["data"][f"{metric}@{k}"][0])


def evaluate_with_xgboost(
    groups: QueryGroups, scores: FloatArray, metric: str, labels: NDArray[Any]
) -> float:
    """Return XGBoost's value for scores, passed as base_margin of a training with eta=0."""
    data = xgboost.DMatrix(np.zeros((len(scores), 1)), labels, base_margin=scores)
    data.set_group(groups.lengths)
    seen: dict[str, Any] = {}
    settings = {"objective": "rank:pairwise", "eval_metric": metric, "eta": 0}
    xgboost.train(settings, data, 1, evals=[(data, "data")], evals_result=seen, verbose_eval=False)
    return float(seen["data"][metric][0])


@pytest.mark.parametrize("k", [1, 3, 10, 100])
@pytest.mark.parametrize("ties", ["distinct", "tied"])
def test_lightgbm(groups: QueryGroups, k: int, ties: str) -> None:
    scores = getattr(groups, ties)
    for metric in ("ndcg", "map"):
        (ours,) = evaluate(
            groups.labels, scores, metrics=f"{metric}@{k}:lightgbm", offsets=groups.offsets
        ).values()
        assert ours == pytest.approx(evaluate_with_lightgbm(groups, scores, metric, k), rel=1e-12)


@pytest.mark.parametrize("k", [1, 3, 10, 100])
@pytest.mark.parametrize("ties", ["distinct", "tied"])
def test_xgboost_shares_the_convention_of_lightgbm(groups: QueryGroups, k: int, ties: str) -> None:
    scores, relevant = getattr(groups, ties), (groups.labels > 0).astype(float)
    options: dict[str, Any] = {"k": k, "offsets": groups.offsets, "convention": "lightgbm"}
    for ours, theirs in (
        (
            ndcg(groups.labels, scores, **options),
            evaluate_with_xgboost(groups, scores, f"ndcg@{k}", groups.labels),
        ),
        (
            average_precision(groups.labels, scores, **options),
            evaluate_with_xgboost(groups, scores, f"map@{k}", relevant),
        ),
        # XGBoost's precision has no special case for queries without a relevant document.
        (
            precision(groups.labels, scores, no_relevant=0, **options),
            evaluate_with_xgboost(groups, scores, f"pre@{k}", relevant),
        ),
    ):
        assert ours == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize("k", [1, 3, 10, None])
@pytest.mark.parametrize("ties", ["distinct", "tied"])
def test_sklearn(groups: QueryGroups, k: int | None, ties: str) -> None:
    scores = getattr(groups, ties)
    rows = [(labels[None], row[None]) for labels, row in groups.split(scores) if len(row) > 1]
    long_enough = groups.lengths > 1  # scikit-learn raises for a single document
    for ours, theirs in ((ndcg, ndcg_score), (dcg, dcg_score)):
        values = ours(
            groups.labels, scores, k=k, offsets=groups.offsets, convention="sklearn", per_query=True
        )
        expected = [theirs(labels, row, k=k) for labels, row in rows]
        np.testing.assert_allclose(values[long_enough], expected, rtol=1e-12, atol=1e-15)


def test_sklearn_average_precision_without_ties(groups: QueryGroups) -> None:
    values = average_precision(
        groups.labels, groups.distinct, offsets=groups.offsets, convention="sklearn", per_query=True
    )
    for value, (labels, row) in zip(values, groups.split(groups.distinct), strict=True):
        if labels.any():
            assert value == pytest.approx(average_precision_score(labels > 0, row))


def test_sklearn_label_ranking_takes_the_worst_case(groups: QueryGroups) -> None:
    binary = [(labels > 0, row) for labels, row in groups.split(groups.tied) if (labels > 0).sum() == 1]
    assert len(binary) > 2
    for labels, row in binary:
        theirs = label_ranking_average_precision_score(labels[None], row[None])
        assert average_precision(labels, row, ties="worst") == pytest.approx(theirs)


def evaluate_with_trec(groups: QueryGroups, scores: FloatArray, measure: Any) -> list[float]:
    """Return trec_eval's values; it ranks ties by descending name, so names make that input order."""
    qrels, run = {}, {}
    for query, (labels, row) in enumerate(groups.split(scores)):
        names = [f"d{999 - index:03}" for index in range(len(row))]
        qrels[f"q{query:03}"] = {name: int(label) for name, label in zip(names, labels, strict=True)}
        run[f"q{query:03}"] = {name: float(score) for name, score in zip(names, row, strict=True)}
    values = ir_measures.pytrec_eval.iter_calc([measure], qrels, run)
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
        ("recall@5", ir_measures.R @ 5),
        ("recall@100", ir_measures.R @ 100),
        ("hit@1", ir_measures.Success @ 1),
        ("hit@5", ir_measures.Success @ 5),
        ("mrr", ir_measures.RR),
    ],
)
def test_trec(groups: QueryGroups, name: str, theirs: Any, ties: str) -> None:
    scores = getattr(groups, ties)
    ours = evaluate_per_query(groups.labels, scores, metrics=name, offsets=groups.offsets, convention="trec")[
        name
    ]
    np.testing.assert_allclose(ours, evaluate_with_trec(groups, scores, theirs), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("map", ir_measures.AP(rel=2)),
        ("recall@5", ir_measures.R(rel=2) @ 5),
        ("hit@3", ir_measures.Success(rel=2) @ 3),
    ],
)
def test_trec_with_a_threshold(groups: QueryGroups, name: str, theirs: Any) -> None:
    ours = evaluate_per_query(
        groups.labels, groups.tied, metrics=name, offsets=groups.offsets, convention="trec", threshold=2
    )[name]
    np.testing.assert_allclose(ours, evaluate_with_trec(groups, groups.tied, theirs), rtol=1e-12)


# Two queries: the first with grades 2, 0, 1 as ranked, the second without a relevant document.
LABELS, SCORES, OFFSETS = [2, 0, 1, 0, 0], [9, 8, 7, 6, 5], [0, 3, 5]


def evaluate_example(rules: str, metric: str) -> float:
    return evaluate(LABELS, SCORES, metrics=metric, offsets=OFFSETS, convention=rules)[metric]


def test_ranklib_arithmetic() -> None:
    exact = {
        "ndcg@10": ((3 / log2(2) + 1 / log2(4)) / (3 / log2(2) + 1 / log2(3)) + 0) / 2,
        "dcg@10": (3 + 1 / 2 + 0) / 2,
        "map": ((1 / 1 + 2 / 3) / 2 + 0) / 2,
        "p@10": (2 / 3 + 0) / 2,  # divided by the three documents of the query
        "p@2": (1 / 2 + 0) / 2,
        "recall@2": (1 / 2 + 0) / 2,
        "recall@10": (2 / 2 + 0) / 2,
        "hit@1": (1 + 0) / 2,
        "mrr": (1 + 0) / 2,
        "err@10": (3 / 16 + (13 / 16) * (1 / 16) / 3 + 0) / 2,  # grades go up to 4: 2^4 = 16
    }
    for metric, value in exact.items():
        assert evaluate_example("ranklib", metric) == pytest.approx(value), metric
    assert reciprocal_rank([0, 1], [1, 1], convention="ranklib") == 1 / 2  # ties in input order


def test_letor4_arithmetic() -> None:
    exact = {
        "ndcg@10": 0,  # both queries have fewer than 10 documents
        "ndcg@3": ((3 + 0 + 1 / log2(3)) / (3 + 1) + 0) / 2,  # rank 2 is not discounted
        "ndcg@2": ((3 + 0) / (3 + 1) + 0) / 2,
        "ndcg@1": (3 / 3 + 0) / 2,
        "map": ((1 / 1 + 2 / 3) / 2 + 0) / 2,
        "p@10": (2 / 10 + 0) / 2,  # missing ranks count as not relevant
        "p@2": (1 / 2 + 0) / 2,
    }
    for metric, value in exact.items():
        assert evaluate_example("letor4", metric) == pytest.approx(value), metric


def test_paper_arithmetic() -> None:
    exact = {
        "ndcg@10": (1 / log2(2) + 1 / log2(4)) / (1 / log2(2) + 1 / log2(3)),  # grade 2 counts like 1
        "map": (1 / 1 + 2 / 3) / 2,  # the second query is skipped
        "p@10": 2 / 3,
        "recall@2": 1 / 2,  # the second query is skipped
        "hit@1": 1,
        "mrr": 1,
    }
    for metric, value in exact.items():
        assert evaluate_example("paper", metric) == pytest.approx(value), metric
    assert ndcg([1, 2], [2, 1], convention="paper", threshold=2) == pytest.approx(1 / log2(3))
    assert ndcg([1, 0], [1, 1], convention="paper") == pytest.approx((1 + 1 / log2(3)) / 2)


def test_graded_arithmetic() -> None:
    exact = {
        "ndcg@10": (3 / log2(2) + 1 / log2(4)) / (3 / log2(2) + 1 / log2(3)),
        "map": (1 / 1 + 2 / 3) / 2,
        "p@10": 2 / 10,
        "err@10": 3 / 4 + (1 / 4) * (1 / 4) / 3,
    }
    for metric, value in exact.items():
        assert evaluate_example("graded", metric) == pytest.approx(value), metric
    assert err([0, 0], [1, 2], no_relevant=0) == 0
