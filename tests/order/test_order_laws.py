"""The order laws against a reference implementation; planted violations; sorting; representation."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from directranker.arrays import FloatArray
from directranker.nn import DirectRankerNet, RankingHead
from directranker.order import (
    OrderReport,
    check_comparisons,
    check_order,
    comparison_matrix,
    find_misrepresented_pair,
    sort_by_comparator,
)

LAWS = ("reflexive", "antisymmetric", "complete", "transitive")


def literal_laws(r: FloatArray) -> dict[str, bool]:
    """Check the laws literally, over all pairs and triples."""
    points = range(len(r))
    return {
        "reflexive": all(r[x, x] == 0 for x in points),
        "antisymmetric": all(r[x, y] == -r[y, x] for x, y in product(points, repeat=2)),
        "complete": all(r[x, y] >= 0 or r[y, x] >= 0 for x, y in product(points, repeat=2)),
        "transitive": all(
            r[x, z] >= 0 for x, y, z in product(points, repeat=3) if r[x, y] >= 0 and r[y, z] >= 0
        ),
    }


def assert_counterexamples(report: OrderReport, r: FloatArray) -> None:
    """Assert that each counterexample violates its law."""
    for violation in report.violations:
        points, values = violation.points, violation.values
        if violation.law == "reflexive":
            assert r[points[0], points[0]] != 0
            assert len(points) == 1
        elif violation.law == "antisymmetric":
            assert r[points] != -r[points[::-1]]
        elif violation.law == "complete":
            assert not r[points] >= 0
            assert not r[points[::-1]] >= 0
        else:
            x, y, z = points
            assert (r[x, y] >= 0, r[y, z] >= 0, r[x, z] >= 0) == (True, True, False)
            assert np.array_equal(values, [r[x, y], r[y, z], r[x, z]], equal_nan=True)


few_values = st.sampled_from([-1.0, -0.0, 0.0, 1.0, np.nan])
any_matrix = st.integers(0, 6).flatmap(lambda n: arrays(np.float64, (n, n), elements=few_values))
antisymmetric_matrix = (
    st.integers(0, 7)
    .flatmap(lambda n: arrays(np.float64, (n, n), elements=st.sampled_from([-1.0, 0.0, 1.0, 2.0])))
    .map(lambda upper: np.triu(upper, 1) - np.triu(upper, 1).T)
)
order_matrix = arrays(np.float64, st.integers(0, 7), elements=st.integers(-3, 3)).map(
    lambda g: np.tanh(g[:, None] - g[None, :])
)
nearly_an_order = st.tuples(order_matrix, st.integers(0, 6), st.integers(0, 6), few_values).map(
    lambda arguments: plant_value(*arguments)
)


def plant_value(r: FloatArray, i: int, j: int, value: float) -> FloatArray:
    r = r.copy()
    if len(r):
        r[i % len(r), j % len(r)] = value
    return r


@given(st.one_of(any_matrix, antisymmetric_matrix, order_matrix, nearly_an_order))
def test_laws_match_the_reference_implementation(r: FloatArray) -> None:
    report = check_comparisons(r)
    assert {law: getattr(report, law) for law in LAWS} == literal_laws(r)
    assert report.is_order == all(literal_laws(r).values())
    assert_counterexamples(report, r)


@given(order_matrix)
def test_orders_are_recognised(r: FloatArray) -> None:
    assert check_comparisons(r).is_order


@given(st.integers(3, 40), st.integers(0, 2**32))
def test_a_planted_cycle_is_found_in_a_large_order(n: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    g = generator.permutation(n).astype(float)
    r = g[:, None] - g[None, :]
    low, high = np.argmin(g), np.argmax(g)
    r[low, high], r[high, low] = 1, -1  # the lowest beats the highest
    report = check_comparisons(r)
    assert (report.reflexive, report.antisymmetric, report.transitive) == (True, True, False)
    assert_counterexamples(report, r)


def test_rock_paper_scissors_is_not_an_order() -> None:
    beats = {("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")}
    hands = ["rock", "paper", "scissors"]
    report = check_order(lambda x, y: ((x, y) in beats) - ((y, x) in beats), hands)
    assert [violation.law for violation in report.violations] == ["transitive"]
    x, y, z = (hands[index] for index in report.violations[0].points)
    assert {(x, y), (y, z), (z, x)} == beats


def test_a_head_with_a_sigmoid_would_not_be_an_order() -> None:
    """The error in the authors' code: r(x, x) = ½."""
    report = check_order(lambda x, y: 1 / (1 + np.exp(y - x)), [0.0, 1.0])
    assert (report.reflexive, report.antisymmetric) == (False, False)
    assert "r(x0, x0) = 0.5" in str(report)


def test_check_order_accepts_a_relation() -> None:
    assert check_order(lambda x, y: x >= y, [3, 1, 2, 3]).is_order
    assert not check_order(lambda x, y: x > y, [3, 1]).reflexive
    divides = check_order(lambda x, y: x % y == 0, [2, 3, 4, 12])
    assert (divides.reflexive, divides.complete, divides.transitive) == (True, False, True)


def test_a_net_with_scores_computed_once_is_an_order() -> None:
    net = DirectRankerNet.build((5,), hidden_layers=(8,), random_state=0).eval()
    X = torch.randn(300, 5)
    assert check_order(net.head.compare, net.score_distinct(X).detach(), batched=True).is_order
    assert check_order(net.compare, X[:20], batched=True).is_order


def test_batched_and_single_comparisons_match() -> None:
    scores = np.random.default_rng(0).normal(size=300).astype(np.float32)
    compare = RankingHead(1, "softsign").compare
    batched = comparison_matrix(compare, torch.from_numpy(scores), batched=True)
    single = comparison_matrix(compare, torch.from_numpy(scores[:40]))
    assert np.array_equal(batched[:40, :40], single)


def test_invalid_comparisons_raise() -> None:
    with pytest.raises(ValueError, match="6000 points make 36000000 pairs"):
        check_order(lambda x, y: x - y, range(6000))
    with pytest.raises(ValueError, match=r"returned shape \(\) for 4 pairs"):
        check_order(lambda x, y: 0.0, np.zeros(2), batched=True)
    with pytest.raises(ValueError, match=r"shape \(2, 3\)"):
        check_comparisons(np.zeros((2, 3)))


@given(st.lists(st.integers(-3, 3), max_size=30))
def test_sorting_with_a_comparator_is_sorting_by_score(g: list[int]) -> None:
    expected = sorted(range(len(g)), key=lambda index: -g[index])
    assert sort_by_comparator(g, lambda x, y: np.tanh(x - y)) == expected


def test_sorting_incomparable_points_raises() -> None:
    with pytest.raises(ValueError, match=r"r\(x1, x0\) is not a number"):
        sort_by_comparator([1.0, np.nan], lambda x, y: x - y)


def test_misrepresented_pairs_are_found_both_ways() -> None:
    def at_least(x: int, y: int) -> bool:
        return x >= y

    assert find_misrepresented_pair([Fraction(1, 3), Fraction(2, 3)], [1, 2], at_least) is None
    assert find_misrepresented_pair([0, 0], [1, 2], at_least) == (0, 1)  # g is equal, x is not
    assert find_misrepresented_pair([1, 0], [5, 5], at_least) == (1, 0)  # g differs, x does not
    with pytest.raises(ValueError, match="1 scores for 2 points"):
        find_misrepresented_pair([1], [1, 2], at_least)
