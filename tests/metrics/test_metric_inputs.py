"""The inputs of metrics: validation and its messages, extreme values, names, and sorting."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from directranker import metrics
from directranker.metrics import (
    CONVENTIONS,
    Convention,
    Metric,
    convention,
    dcg,
    err,
    evaluate,
    evaluate_per_query,
    ndcg,
    precision,
    reciprocal_rank,
)
from directranker.metrics.rules import Rules
from directranker.metrics.sorting import make_sort_workspace, sort_descending


def raises_message(text: str) -> Any:
    return pytest.raises((ValueError, TypeError), match=re.escape(text))


# Wrong calls on purpose, hidden from the type checker.
wrong: Any = metrics


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wrong.evaluate([1], [1], metrics=3), "metrics is 3; pass names, such as ['ndcg@10', 'map']"),
        (lambda: wrong.evaluate([1], [1], metrics=[3]), "metric is 3; pass a name, such as 'ndcg@10'"),
        (
            lambda: wrong.ndcg([1, 0], [1]),
            "relevance has 2 rows, scores have 1; pass one of each per document",
        ),
        (lambda: wrong.ndcg([[1, 0]], [1, 2]), "relevance has shape (1, 2); pass one number per row"),
        (lambda: wrong.ndcg([1, 0], [[1, 2]]), "scores has shape (1, 2)"),
        (lambda: wrong.ndcg([1, np.inf], [1, 2]), "relevance has inf in row 1; labels must be finite"),
        (lambda: wrong.ndcg([1, 0], [1, np.nan]), "scores have nan in row 1"),
        (lambda: wrong.ndcg(["a", "b"], [1, 2]), "relevance: dtype <U1; pass one number per row"),
        (lambda: wrong.ndcg([1, None], [1, 2]), "relevance has nan in row 1"),
        (lambda: wrong.ndcg([10**400], [1]), "relevance: int too large to convert to float; pass one number"),
        (lambda: wrong.ndcg([[1], [1, 2]], [1, 2]), "relevance: "),
        (lambda: wrong.ndcg([], []), "there are no documents; pass at least one"),
        (lambda: wrong.ndcg([], [], offsets=[0]), "there are no documents"),
        (lambda: wrong.ndcg([1], [1], qid=[1], offsets=[0, 1]), "both qid and offsets are given"),
        (lambda: wrong.ndcg([1], [1], qid=[1, 2]), "qid has 2 entries for 1 rows"),
        (lambda: wrong.ndcg([1, 1], [1, 1], offsets=[0, 3, 2]), "offsets decrease from 3 to 2"),
        (
            lambda: wrong.ndcg([1], [1], k=0),
            "k is 0; pass a whole number of at least 1, or None for all ranks",
        ),
        (lambda: wrong.ndcg([1], [1], k=2.5), "k is 2.5"),
        (lambda: wrong.ndcg([1], [1], k=True), "k is True"),
        (lambda: wrong.ndcg([1], [1], convention="letor"), "did you mean 'letor4'?"),
        (lambda: wrong.ndcg([1], [1], ties="wurst"), "ties 'wurst' is unknown; did you mean 'worst'?"),
        (lambda: wrong.ndcg([1], [1], no_relevant=2), "no_relevant 2 is unknown; choose from 'skip', 0, 1"),
        (lambda: wrong.ndcg([1], [1], no_relevant=True), "no_relevant True is unknown"),
        (lambda: wrong.ndcg([1], [1], gain="exp"), "gain 'exp' is unknown"),
        (lambda: wrong.ndcg([1], [1], threshold=np.nan), "threshold is nan; pass a finite number"),
        (lambda: wrong.ndcg([1], [1], treshold=2), "rule 'treshold' is unknown; did you mean 'threshold'?"),
        (lambda: wrong.ndcg([1], [1], gain={}), "the table of gains is empty"),
        (
            lambda: wrong.ndcg([1], [1], gain={0: 1, 1: 0}),
            "label 1 has the gain 0, less than the 1 of label 0",
        ),
        (
            lambda: wrong.ndcg([1], [1], gain={0: -1, 1: 0}),
            "label 0 has the gain -1; gains must be at least 0",
        ),
        (lambda: wrong.ndcg([1], [1], gain={0: np.inf}), "the gain of label 0 is inf"),
        (
            lambda: wrong.ndcg([0, 9, 1], [1, 2, 3], qid=[1, 2, 1], gain={0: 0, 1: 1}),
            "label 9 in row 1 has no gain",
        ),
        (
            lambda: wrong.err([1, 5], [1, 2], max_grade=-1),
            "max_grade is -1; pass a highest grade of at least 0",
        ),
        (lambda: wrong.err([1, 5], [1, 2], max_grade=4), "label 5 in row 1 is above max_grade 4 of ERR"),
        (lambda: wrong.evaluate([1], [1], metrics=[]), "metrics is empty; pass at least one"),
        (lambda: wrong.evaluate([1], [1], metrics=["map", "map"]), "metric 'map' is listed twice"),
        (
            lambda: wrong.evaluate([1], [1], metrics="ndgc@10"),
            "measure 'ndgc' is unknown; did you mean 'ndcg'?",
        ),
        (lambda: wrong.evaluate([1], [1], metrics="ndcg@"), "metric 'ndcg@' is invalid; write measure@k"),
        (lambda: wrong.evaluate([1], [1], metrics="ndcg@0"), "k is 0"),
        (lambda: wrong.Metric("map"), "measure 'map' is unknown"),
        (
            lambda: wrong.Metric("ndcg", 1, "paper"),
            "convention is a str; pass the result of convention(name)",
        ),
        (lambda: wrong.convention(3), "convention is a int; pass a name or a Convention"),
    ],
)
def test_errors_say_what_is_wrong_and_what_to_do(call: Any, message: str) -> None:
    with raises_message(message):
        call()


@pytest.mark.parametrize("kind", [np.int32, np.uint8, np.float16, np.float32, ">f8", object, list, pd.Series])
def test_numbers_of_any_type_are_accepted(kind: Any) -> None:
    labels, scores = [3, 0, 1, 2], [1, 4, 3, 2]

    def convert(values: list[int]) -> Any:
        return kind(values) if kind in (list, pd.Series) else np.array(values, dtype=kind)

    assert ndcg(convert(labels), convert(scores)) == ndcg(labels, scores)


def test_strided_and_read_only_arrays_are_accepted_and_not_modified() -> None:
    both = np.array([[1.0, 0.5], [0.0, 0.9], [2.0, 0.1]])
    both.flags.writeable = False
    assert ndcg(both[:, 0], both[:, 1]) == ndcg([1, 0, 2], [0.5, 0.9, 0.1])
    labels, scores = np.array([1.0, 0, 2]), np.array([1.0, 2, 3])
    evaluate(labels, scores, ties="worst")
    assert labels.tolist() == [1, 0, 2]
    assert scores.tolist() == [1, 2, 3]


@pytest.mark.parametrize("top", [31, 31.5, 53, 2000, 1e6, 1e300])
def test_large_labels_do_not_overflow(top: float) -> None:
    assert ndcg([top, 0], [2, 1]) == 1
    assert ndcg([top, 0], [1, 2]) == pytest.approx(1 / np.log2(3))
    assert err([0, top], [2, 1]) == pytest.approx((1 - 2.0**-top) / 2)
    assert ndcg([top, 0], [1, 2], gain="linear") == pytest.approx(1 / np.log2(3))


def test_large_labels_keep_the_ratio_of_their_gains() -> None:
    assert ndcg([2000, 1999], [1, 2], k=1) == 1 / 2
    assert ndcg([2000.5, 2000], [1, 2], k=1) == pytest.approx(2**-0.5)
    assert ndcg([1e308, 0.5e308, 1e308], [1, 2, 3], k=2, gain="linear") == pytest.approx(
        (1 + 0.5 / np.log2(3)) / (1 + 1 / np.log2(3))
    )


def test_dcg_beyond_float64_is_infinite() -> None:
    assert dcg([2000], [1]) == np.inf
    assert dcg([2000, 1], [1, 2], k=1) == 1
    assert dcg([1000], [1]) == 2.0**1000


def test_infinite_scores_and_signed_zeros_are_valid() -> None:
    assert reciprocal_rank([0, 1, 0], [-np.inf, np.inf, 3]) == 1
    assert reciprocal_rank([1, 0], [-0.0, 0.0]) == (1 + 1 / 2) / 2
    assert reciprocal_rank([0, 1] * 20, [np.inf, -np.inf] * 20, ties="input") == 1 / 21


def test_metrics_are_parsed_from_their_names() -> None:
    for text in ("ndcg@10", "map", "p@5", "recall@5", "hit@1", "mrr", "err@20", "dcg@10", "ndcg@10:trec"):
        assert str(Metric.parse(text)) == text
        assert hash(Metric.parse(text)) == hash(Metric.parse(text))
    assert Metric.parse(" NDCG@10 ") == Metric("ndcg", 10)
    assert Metric.parse("average_precision") == Metric.parse("map") == Metric("average_precision")
    assert Metric.parse("R@5") == Metric.parse("Recall@5") == Metric("recall", 5)
    assert Metric.parse("Success@1") == Metric.parse("hit_rate@1") == Metric("hit_rate", 1)
    assert Metric.parse("p@5", convention="trec", ties="worst").convention.name == "trec(ties=worst)"
    assert "first 10 ranks; convention trec" in Metric.parse("ndcg@10:trec").description
    assert Metric("ndcg", np.int64(3)).k == 3  # type: ignore[arg-type]
    assert Metric("ndcg", 10**30)([1, 0], [1, 2]) == ndcg([1, 0], [1, 2])


def test_a_metric_object_keeps_its_convention() -> None:
    strict = Metric("precision", 1, convention("graded", threshold=2))
    values = evaluate([1], [1], metrics=["p@1", strict], no_relevant=0)
    assert values["p@1"] == 1
    assert np.isnan(values[str(strict)])


def test_every_rule_can_be_changed_by_name() -> None:
    rules = {name for name in Convention.__dataclass_fields__ if name not in ("name", "description")}
    assert rules == set(Rules.__annotations__)


def test_conventions_are_keyed_by_name_and_immutable() -> None:
    assert all(name == rules.name for name, rules in CONVENTIONS.items())
    with pytest.raises(TypeError):
        CONVENTIONS["paper"] = CONVENTIONS["trec"]  # type: ignore[index]


def test_all_is_exact() -> None:
    public = {
        name
        for name, value in vars(metrics).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert public == set(metrics.__all__)


SHAPES: dict[str, Any] = {
    "random": lambda n: np.random.default_rng(0).normal(size=n),
    "sorted": lambda n: np.arange(n)[::-1] * 1.0,
    "reversed": lambda n: np.arange(n) * 1.0,
    "constant": np.zeros,
    "organ pipe": lambda n: np.minimum(np.arange(n), np.arange(n)[::-1]) * 1.0,
    "few values": lambda n: np.arange(n) % 5 * 1.0,
    "far outlier": lambda n: np.r_[1e200, np.random.default_rng(0).normal(size=n - 1)],
    "exponential": lambda n: np.exp2(np.random.default_rng(0).uniform(-1000, 1000, n)),
    "infinite": lambda n: np.where(np.arange(n) % 3 == 0, np.inf, np.arange(n)),
    "too close": lambda n: np.arange(n) % 7 * 5e-324,
    "whole range": lambda n: np.where(np.arange(n) % 2 == 0, 1.7e308, -1.7e308),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [1, 2, 16, 17, 33, 500, 200_000])
def test_sorting_is_stable_and_never_quadratic(shape: str, n: int) -> None:
    scores = SHAPES[shape](n)
    keys, order = np.empty(n), np.empty(n, dtype=np.int64)
    start = time.process_time()
    sort_descending(scores, keys, order, make_sort_workspace(n))
    assert time.process_time() - start < 20  # a quadratic sort of 200,000 keys takes minutes
    np.testing.assert_array_equal(order, np.argsort(-scores, kind="stable"))
    np.testing.assert_array_equal(keys, scores[order])


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 3, 90_000), rng.integers(0, 50, 90_000)
    offsets = np.sort(np.r_[0, rng.integers(0, 90_000, 400), 90_000])
    together = precision(labels, scores, offsets=offsets, per_query=True)
    single = [
        precision(labels[a:b], scores[a:b], offsets=[0, b - a], per_query=True) for a, b in pairwise(offsets)
    ]
    np.testing.assert_array_equal(together, np.concatenate(single))


def test_merge_sort_of_a_query_next_to_a_longer_one() -> None:
    labels = np.arange(221) % 3
    far_apart = np.concatenate([[1e9], np.linspace(0, 1e-9, 99)])  # most keys share a bucket
    longer = np.linspace(0, 1, 121)
    both = evaluate_per_query(labels, np.concatenate([far_apart, longer]), offsets=[0, 100, 221])
    single = evaluate(labels[:100], far_apart)
    assert {name: values[0] for name, values in both.items()} == single
