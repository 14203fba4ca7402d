"""The proof itself: it sees what differs, and is not fooled by rounding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from directranker import ExportError
from directranker.export.parity import NEAR_TIE, _n_swapped, check_parity
from directranker.export.thresholds import above_float32, at_most_float32, before_slack

ONE_LIST = np.array([0, 3])


def test_a_difference_is_told() -> None:
    ours = np.array([3.0, 2.0, 1.0])
    with pytest.raises(ExportError, match=r"row 1 scores 2\.001 by hand and 2 here"):
        check_parity(ours, np.array([3.0, 2.001, 1.0]), ONE_LIST, by="hand")
    with pytest.raises(ExportError, match="row 2"):
        check_parity(ours, np.array([3.0, 2.0, np.nan]), ONE_LIST, by="hand")


def test_an_order_that_changes_is_told_but_not_a_near_tie() -> None:
    apart, near = 8e-6, NEAR_TIE / 2
    with pytest.raises(ExportError, match="ranks query 0 otherwise"):
        check_parity(np.array([1.0, 1 - apart, 0.0]), np.array([1 - apart, 1.0, 0.0]), ONE_LIST, by="hand")
    parity = check_parity(np.array([1.0, 1 - near, 0.0]), np.array([1 - near, 1.0, 0.0]), ONE_LIST, by="hand")
    assert parity.swapped_near_ties == 1


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12), st.integers(0, 2))
def test_swapped_documents_by_definition(scores: list[tuple[int, int]], gap: int) -> None:
    ours, theirs = np.array(scores, dtype=np.float64).reshape(-1, 2).T
    literal = sum(any(a > b + gap and x < y for a, x in scores) for b, y in scores)
    assert _n_swapped(ours, theirs, np.full(len(ours), gap / 2)) == literal


def test_one_huge_score_hides_nothing() -> None:
    ours = np.array([1e6, 2.0, 1.0, 0.5])
    offsets = np.array([0, 1, 4])
    with pytest.raises(ExportError, match=r"row 1 scores 2\.001"):
        check_parity(ours, np.array([1e6, 2.001, 1.0, 0.5]), offsets, by="hand")
    with pytest.raises(ExportError, match="ranks query 1 otherwise"):
        check_parity(
            np.array([1e6, 1.0, 1 + 8e-6, 0.5]), np.array([1e6, 1 + 8e-6, 1.0, 0.5]), offsets, by="hand"
        )
    assert (
        check_parity(ours, ours + np.array([0.5, 0, 0, 0]), offsets, by="hand").largest_difference == 0.5e-6
    )


def test_a_score_near_0_is_measured_by_the_others() -> None:
    ours = np.array([2.0, 1.0, 1e-9, 0.0])
    parity = check_parity(ours, ours + np.array([0, 0, 1e-7, 0]), np.array([0, 4]), by="hand")
    assert parity.largest_difference == pytest.approx(1e-7)  # the median of 2, 1 and 1e-9 is 1


def test_another_number_of_scores_is_told() -> None:
    with pytest.raises(ExportError, match=r"shape \(3, 1\)"):
        check_parity(np.ones(3), np.ones((3, 1)), ONE_LIST, by="hand")


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6, width=32))
def test_thresholds_ask_the_same_of_every_float32(threshold: float, x: float) -> None:
    thresholds, value = np.array([threshold]), np.float32(x)
    for probe in (value, *at_most_float32(thresholds), *above_float32(thresholds)):
        goes_left = float(probe) <= threshold
        assert (probe <= at_most_float32(thresholds)[0]) == goes_left
        assert (probe < above_float32(thresholds)[0]) == goes_left
        given_to_solr, exact = before_slack(thresholds)
        if exact[0] and abs(threshold) > 1e-34:
            assert (probe <= given_to_solr[0] + np.float32(1e-6)) == goes_left


def test_solr_can_be_given_every_threshold_that_is_not_tiny() -> None:
    thresholds = np.random.default_rng(0).normal(size=10_000) * 10.0 ** np.arange(-1, 9).repeat(1000)
    assert before_slack(thresholds)[1].mean() > 0.99
