"""Measures of small queries, with the expected value as explicit arithmetic."""

from __future__ import annotations

from math import log2, nan

import numpy as np
import pytest

from directranker.metrics import (
    average_precision,
    dcg,
    err,
    evaluate,
    evaluate_per_query,
    hit_rate,
    mean_average_precision,
    ndcg,
    precision,
    recall,
    reciprocal_rank,
)

FALLING = [0.9, 0.8, 0.7, 0.6]
TIED = [0.5, 0.5, 0.5, 0.5]


def approx(value: object) -> object:
    return pytest.approx(value, rel=1e-14, abs=1e-14, nan_ok=True)


def test_dcg_sums_discounted_gains() -> None:
    assert dcg([2, 0, 1, 3], FALLING) == approx(3 / 1 + 0 + 1 / log2(4) + 7 / log2(5))
    assert dcg([2, 0, 1, 3], FALLING, k=3) == approx(3 + 1 / 2)
    assert dcg([2, 0, 1, 3], FALLING, gain="linear") == approx(2 + 1 / 2 + 3 / log2(5))
    assert dcg([2, 0, 1, 3], FALLING, gain="binary", threshold=2) == approx(1 + 1 / log2(5))
    assert dcg([2, 0, 1, 3], FALLING, gain={0: 1, 1: 2, 2: 5, 3: 5}, k=2) == approx(5 + 1 / log2(3))


def test_ndcg_divides_by_the_best_order() -> None:
    best = 7 + 3 / log2(3) + 1 / 2
    assert ndcg([2, 0, 1, 3], FALLING) == approx((3 + 1 / 2 + 7 / log2(5)) / best)
    assert ndcg([2, 0, 1, 3], FALLING, k=1) == approx(3 / 7)
    assert ndcg([2, 0, 1, 3], FALLING, k=None) == ndcg([2, 0, 1, 3], FALLING, k=4)


def test_the_letor_discount_of_the_first_two_ranks_is_one() -> None:
    value = ndcg([1, 0, 2, 1], FALLING, discount="letor4")
    assert value == approx((1 + 3 / log2(3) + 1 / log2(4)) / (3 + 1 + 1 / log2(3)))


def test_average_precision_averages_over_relevant_documents() -> None:
    assert average_precision([1, 0, 2, 1], FALLING) == approx((1 / 1 + 2 / 3 + 3 / 4) / 3)
    assert average_precision([1, 0, 2, 1], FALLING, threshold=2) == approx(1 / 3)
    assert average_precision([1, 0, 2, 1], FALLING, k=3) == approx((1 / 1 + 2 / 3) / 3)
    at_two = average_precision([1, 0, 2, 1], FALLING, k=2, average_precision_over="reachable")
    assert at_two == approx((1 / 1) / 2)


def test_mean_average_precision_is_the_mean_of_average_precision() -> None:
    labels, offsets = [1, 0, 0, 1], [0, 2, 4]
    each = average_precision(labels, FALLING, offsets=offsets, per_query=True)
    assert each.tolist() == [1, 1 / 2]
    assert mean_average_precision(labels, FALLING, offsets=offsets) == approx((1 + 1 / 2) / 2)


def test_precision_divides_by_k_even_with_fewer_documents() -> None:
    assert precision([1, 0, 2, 1], FALLING, k=2) == approx(1 / 2)
    assert precision([1, 0, 2, 1], FALLING, k=10) == approx(3 / 10)
    assert precision([1, 0, 2, 1], FALLING, k=10, precision_over="list") == approx(3 / 4)
    assert precision([1, 0, 2, 1], FALLING, k=None) == approx(3 / 4)


def test_recall_divides_by_all_relevant_documents() -> None:
    assert recall([1, 0, 2, 1], FALLING, k=1) == approx(1 / 3)
    assert recall([1, 0, 2, 1], FALLING, k=3) == approx(2 / 3)
    assert recall([1, 0, 2, 1], FALLING, k=10) == recall([1, 0, 2, 1], FALLING, k=None) == 1
    assert recall([1, 0, 2, 1], FALLING, k=2, threshold=2) == 0
    assert recall([1, 0, 2, 1], FALLING, k=2, average_precision_over="reachable") == approx(1 / 3)


def test_hit_rate_is_the_fraction_of_queries_with_a_hit() -> None:
    assert hit_rate([0, 0, 1, 1], FALLING, k=2) == 0
    assert hit_rate([0, 0, 1, 1], FALLING, k=3) == hit_rate([0, 0, 1, 1], FALLING, k=None) == 1
    assert hit_rate([0, 1, 2, 0], FALLING, k=2, threshold=2) == 0
    labels, offsets = [0, 1, 1, 0, 0, 0], [0, 2, 4, 6]
    assert hit_rate(labels, [2, 1] * 3, offsets=offsets, k=1) == approx((0 + 1) / 2)
    assert hit_rate(labels, [2, 1] * 3, offsets=offsets, k=1, no_relevant=0) == approx((0 + 1 + 0) / 3)


def test_reciprocal_rank_is_that_of_the_first_relevant_document() -> None:
    assert reciprocal_rank([0, 0, 1, 1], FALLING) == approx(1 / 3)
    assert reciprocal_rank([0, 0, 1, 1], FALLING, k=2) == 0
    assert reciprocal_rank([0, 1, 0, 2], FALLING, threshold=2) == approx(1 / 4)


def test_err_weights_ranks_by_stop_probability() -> None:
    top = 3 / 4  # (2^2 - 1) / 2^2
    low = 1 / 4  # (2^1 - 1) / 2^2
    assert err([1, 0, 2], FALLING[:3]) == approx(low / 1 + (1 - low) * top / 3)
    assert err([1, 0, 2], FALLING[:3], k=2) == approx(low)
    assert err([1, 0, 2], FALLING[:3], max_grade=4) == approx(1 / 16 + (15 / 16) * (3 / 16) / 3)
    assert err([1, 0, 2], FALLING[:3], gain="binary") == approx(1 / 2 + (1 / 2) * (1 / 2) / 3)


def test_ties_are_averaged_over_their_orders() -> None:
    labels = [1, 0, 0]
    assert ndcg(labels, TIED[:3]) == approx((1 + 1 / log2(3) + 1 / log2(4)) / 3)
    assert average_precision(labels, TIED[:3]) == approx((1 + 1 / 2 + 1 / 3) / 3)
    assert average_precision([1, 1, 0], TIED[:3]) == approx(
        ((1 + 1) / 2 + (1 + 2 / 3) / 2 + (1 / 2 + 2 / 3) / 2) / 3
    )
    assert reciprocal_rank([1, 1, 0], TIED[:3]) == approx((1 + 1 + 1 / 2) / 3)
    assert precision([1, 1, 0], TIED[:3], k=1) == approx(2 / 3)
    assert recall([1, 1, 0], TIED[:3], k=1) == approx((2 / 3) / 2)
    assert hit_rate([1, 0, 0, 0], TIED, k=2) == approx(1 - (3 / 4) * (2 / 3))
    assert hit_rate([1, 1, 0, 0], TIED, k=2) == approx(1 - (2 / 4) * (1 / 3))
    assert hit_rate([1, 1, 0, 0], TIED, k=3) == 1
    assert hit_rate([0, 0, 1, 0], [9, 5, 5, 5], k=3) == approx(
        1 - (2 / 3) * (1 / 2)
    )  # ranks 2 and 3 of 2 to 4
    assert err([1, 0], TIED[:2]) == approx((1 / 2 + 1 / 2 / 2) / 2)


def test_ties_in_input_order_and_worst_case() -> None:
    labels = [0, 1, 2, 0]
    assert reciprocal_rank(labels, TIED, ties="input") == approx(1 / 2)
    assert reciprocal_rank(labels, TIED, ties="worst") == approx(1 / 3)
    assert hit_rate(labels, TIED, k=2, ties="input") == 1
    assert hit_rate(labels, TIED, k=2, ties="worst") == 0
    assert recall(labels, TIED, k=3, ties="input") == 1
    assert recall(labels, TIED, k=3, ties="worst") == approx(1 / 2)
    assert ndcg(labels, TIED, ties="input", k=2) == approx((1 / log2(3)) / (3 + 1 / log2(3)))
    assert ndcg(labels, TIED, ties="worst", k=3) == approx((1 / 2) / (3 + 1 / log2(3)))


@pytest.mark.parametrize(
    "measure", [ndcg, average_precision, precision, recall, hit_rate, reciprocal_rank, err, dcg]
)
def test_queries_without_a_relevant_document(measure: object) -> None:
    labels, scores, offsets = [0, 0, 1], [2, 1, 3], [0, 2, 2, 3]  # the second query is empty

    def per_query(no_relevant: object) -> object:
        return measure(labels, scores, k=1, offsets=offsets, no_relevant=no_relevant, per_query=True)  # type: ignore[operator]

    counted = 1 / 2 if measure is err else 1
    assert per_query("skip").tolist() == approx([nan, nan, counted])  # type: ignore[attr-defined]
    assert per_query(0).tolist() == approx([0, 0, counted])  # type: ignore[attr-defined]
    as_one = 0 if measure is dcg else 1
    assert per_query(1).tolist() == approx([as_one, as_one, counted])  # type: ignore[attr-defined]


def test_the_mean_excludes_skipped_queries() -> None:
    labels, scores, offsets = [0, 0, 0, 1], [2, 1, 3, 2], [0, 2, 4]
    assert reciprocal_rank(labels, scores, offsets=offsets) == approx(1 / 2)
    assert reciprocal_rank(labels, scores, offsets=offsets, no_relevant=0) == approx((0 + 1 / 2) / 2)
    assert reciprocal_rank(labels, scores, offsets=offsets, no_relevant=1) == approx((1 + 1 / 2) / 2)
    assert np.isnan(reciprocal_rank(labels, scores, offsets=offsets, threshold=2))


def test_ndcg_of_fewer_than_k_documents_may_be_zero() -> None:
    labels, scores, offsets = [1, 0, 1], [3, 2, 1], [0, 2, 3]
    assert ndcg(labels, scores, offsets=offsets, k=2, short_lists="zero") == approx((1 + 0) / 2)
    assert ndcg(labels, scores, offsets=offsets, k=None, short_lists="zero") == 1


def test_negative_labels_have_no_gain() -> None:
    assert ndcg([-3, 1], [2, 1]) == ndcg([0, 1], [2, 1])
    assert err([-3, 1], [2, 1]) == err([0, 1], [2, 1])
    assert ndcg([-3, -1], [2, 1], no_relevant=0, gain="linear") == 0
    assert precision([-3, -1], [2, 1], k=1, threshold=-2, ties="worst") == 0


def test_many_metrics_in_one_call_match_single_calls() -> None:
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 4, 300), rng.integers(0, 9, 300).astype(float)
    offsets = [0, 7, 7, 100, 300]
    names = ["ndcg@10", "map", "p@5", "recall@5", "hit@2", "mrr", "err@20", "dcg", "ndcg@3:letor4"]
    names += ["map:lightgbm", "recall@5:lightgbm", "hit@2:trec", "ndcg:trec"]
    together = evaluate_per_query(labels, scores, metrics=names, offsets=offsets)
    means = evaluate(labels, scores, metrics=names, offsets=offsets)
    assert list(together) == names
    for name in names:
        single = evaluate_per_query(labels, scores, metrics=name, offsets=offsets)[name]
        np.testing.assert_array_equal(together[name], single)
        assert means[name] == np.nanmean(single)


def test_metrics_with_different_tie_rules_in_one_call() -> None:
    names = ["mrr", "mrr:trec", "map", "mrr:ranklib"]
    values = evaluate([1, 0, 0], [1, 1, 1], metrics=names)
    assert values == approx({"mrr": (1 + 1 / 2 + 1 / 3) / 3, "mrr:trec": 1, "map": 11 / 18, "mrr:ranklib": 1})


def test_offsets_match_qid_in_any_order() -> None:
    labels, scores, offsets = [1, 0, 2, 0, 1], [1, 2, 3, 4, 5], [0, 2, 5]
    by_offsets = ndcg(labels, scores, offsets=offsets, per_query=True)
    rows = [3, 1, 4, 0, 2]  # query "b" comes first now
    qid = np.array(["a", "a", "b", "b", "b"])[rows]
    by_qid = ndcg(np.array(labels)[rows], np.array(scores)[rows], qid=qid, per_query=True)
    np.testing.assert_array_equal(by_qid, by_offsets[::-1])
