"""The parity check: it finds differences, and tolerates rounding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from directranker import ExportError
from directranker.export.parity import NEAR_TIE, _count_swapped, check_parity
from directranker.export.thresholds import next_above_float32, round_down_float32, subtract_slack

ONE_QUERY = np.array([0, 3])


def test_difference_raises() -> None:
    ours = np.array([3.0, 2.0, 1.0])
    with pytest.raises(ExportError, match=r"row 1 scores 2\.001 by hand and 2 here"):
        check_parity(ours, np.array([3.0, 2.001, 1.0]), ONE_QUERY, by="hand")
    with pytest.raises(ExportError, match="row 2"):
        check_parity(ours, np.array([3.0, 2.0, np.nan]), ONE_QUERY, by="hand")


def test_changed_order_raises_except_for_a_near_tie() -> None:
    apart, near = 8e-6, NEAR_TIE / 2
    with pytest.raises(ExportError, match="ranks query 0 differently"):
        check_parity(np.array([1.0, 1 - apart, 0.0]), np.array([1 - apart, 1.0, 0.0]), ONE_QUERY, by="hand")
    parity = check_parity(
        np.array([1.0, 1 - near, 0.0]), np.array([1 - near, 1.0, 0.0]), ONE_QUERY, by="hand"
    )
    assert parity.swapped_near_ties == 1


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12), st.integers(0, 2))
def test_swapped_documents_by_definition(scores: list[tuple[int, int]], gap: int) -> None:
    ours, theirs = np.array(scores, dtype=np.float64).reshape(-1, 2).T
    literal = sum(any(a > b + gap and x < y for a, x in scores) for b, y in scores)
    assert _count_swapped(ours, theirs, np.full(len(ours), gap / 2)) == literal


def test_huge_score_does_not_hide_differences() -> None:
    ours = np.array([1e6, 2.0, 1.0, 0.5])
    offsets = np.array([0, 1, 4])
    with pytest.raises(ExportError, match=r"row 1 scores 2\.001"):
        check_parity(ours, np.array([1e6, 2.001, 1.0, 0.5]), offsets, by="hand")
    with pytest.raises(ExportError, match="ranks query 1 differently"):
        check_parity(
            np.array([1e6, 1.0, 1 + 8e-6, 0.5]), np.array([1e6, 1 + 8e-6, 1.0, 0.5]), offsets, by="hand"
        )
    assert (
        check_parity(ours, ours + np.array([0.5, 0, 0, 0]), offsets, by="hand").largest_difference == 0.5e-6
    )


def test_score_near_0_is_compared_on_the_scale_of_the_others() -> None:
    ours = np.array([2.0, 1.0, 1e-9, 0.0])
    parity = check_parity(ours, ours + np.array([0, 0, 1e-7, 0]), np.array([0, 4]), by="hand")
    assert parity.largest_difference == pytest.approx(1e-7)  # the median of 2, 1 and 1e-9 is 1


def test_wrong_shape_raises() -> None:
    with pytest.raises(ExportError, match=r"shape \(3, 1\)"):
        check_parity(np.ones(3), np.ones((3, 1)), ONE_QUERY, by="hand")


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6, width=32))
def test_thresholds_split_every_float32_alike(threshold: float, x: float) -> None:
    thresholds, value = np.array([threshold]), np.float32(x)
    for probe in (value, *round_down_float32(thresholds), *next_above_float32(thresholds)):
        goes_left = float(probe) <= threshold
        assert (probe <= round_down_float32(thresholds)[0]) == goes_left
        assert (probe < next_above_float32(thresholds)[0]) == goes_left
        given_to_solr, exact = subtract_slack(thresholds)
        if exact[0] and abs(threshold) > 1e-34:
            assert (probe <= given_to_solr[0] + np.float32(1e-6)) == goes_left


def test_solr_thresholds_are_exact_except_tiny_ones() -> None:
    thresholds = np.random.default_rng(0).normal(size=10_000) * 10.0 ** np.arange(-1, 9).repeat(1000)
    assert subtract_slack(thresholds)[1].mean() > 0.99
