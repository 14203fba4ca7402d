"""A metric is constant where all orders of the documents have the same value; the message says what to do."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from directranker.metrics import CONVENTIONS, Metric, convention
from directranker.metrics.constant_metrics import explain_constant_metric
from directranker.metrics.metric import MEASURES


def is_order_dependent(metric: Metric, labels: list[float]) -> bool:
    """Whether the metric differs between two orders of one query."""
    values = {round(metric(labels, order), 9) for order in permutations(range(len(labels)))}
    return len(values) > 1  # the caller excludes nan


@pytest.mark.parametrize("rules", CONVENTIONS)
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("k", [None, 1, 3])
def test_detection_matches_all_orders_of_a_query(measure: str, k: int | None, rules: str) -> None:
    rng = np.random.default_rng(5)
    metric = Metric(measure, k, CONVENTIONS[rules])
    seen = set()
    for _ in range(60):
        low, high = sorted(rng.integers(0, 5, 2))
        labels = rng.integers(low, high + 1, rng.integers(1, 6)).astype(float).tolist()
        counts = not np.isnan(metric(labels, labels))
        expected = counts and is_order_dependent(metric, labels)
        assert (explain_constant_metric(metric, labels) is None) == expected, labels
        seen.add(expected)
    is_always_constant = measure in ("precision", "recall", "hit_rate") and k is None
    assert seen == ({False} if is_always_constant else {True, False})


def test_one_query_with_different_labels_is_enough() -> None:
    paper = Metric.parse("ndcg@10:paper")
    labels, qid = [1, 5, 3, 0, 1], ["a", "a", "a", "b", "b"]
    assert explain_constant_metric(paper, labels, qid=qid) is None
    assert (
        explain_constant_metric(paper, labels, offsets=[0, 3, 5], query_weight=np.array([0.0, 1.0])) is None
    )
    assert (
        explain_constant_metric(paper, labels, offsets=[0, 3, 5], query_weight=np.array([1.0, 0.0]))
        is not None
    )


@pytest.mark.parametrize(
    ("labels", "qid", "metric", "message"),
    [
        (
            [1, 5],
            [1, 1],
            "ndcg:paper",
            "every order .* under ndcg:paper; labels are from 1 to 5: .* higher one$",
        ),
        (
            [1, 5],
            [1, 1],
            "map",
            "every order .* under map; labels are from 1 to 5: use a graded metric",
        ),
        ([0, 0.5], [1, 1], "map", "no query counts under map; labels are from 0 to 0.5: .* a lower one$"),
        (
            [-2, 0],
            [1, 1],
            "ndcg",
            "no query counts under ndcg; labels are from -2 to 0: add a constant to all labels",
        ),
        ([2, 2], [1, 1], "ndcg", "every order .*; all labels are 2$"),
        ([0, 2], [1, 1], "recall", "every order .* under recall; use a cutoff, such as 'recall@1'$"),
        ([0, 2], [1, 1], "hit@5", "every order .* under hit@5; use a lower cutoff, such as 'hit@1'$"),
        ([1, 2], [1, 1], "p@1", "every order .* under p@1; labels are from 1 to 2: use a graded metric"),
        ([0, 2], [1, 1], "ndcg@5:letor4", "every order .*; use a lower cutoff, such as 'ndcg@1:letor4'$"),
        (
            [0, 0, 2, 2],
            [1, 1, 2, 2],
            "ndcg",
            "every order .*; labels are from 0 to 2, but no query .* has two different ones$",
        ),
    ],
)
def test_messages_say_what_to_do(labels: Any, qid: Any, metric: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        raise ValueError(explain_constant_metric(Metric.parse(metric), labels, qid=qid))


def test_a_higher_threshold_is_not_constant_on_ratings() -> None:
    assert (
        explain_constant_metric(
            Metric("average_precision", None, convention("paper", threshold=4)), [1, 5, 3]
        )
        is None
    )
