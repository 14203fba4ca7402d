"""Products with a float32 table equal those of NumPy in float64, in one thread and in many."""

from __future__ import annotations

import numpy as np
import pytest

from directranker.rankers.linear.weighted_sums import score_rows, sum_rows, update_scores


@pytest.mark.parametrize("n_rows", [1, 4, 7, 702, 65_001])
def test_products_equal_numpy(n_rows: int) -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(n_rows, 60)).astype(np.float32)
    exact, weights, row_weights = table.astype(np.float64), rng.normal(size=60), rng.normal(size=n_rows)
    np.testing.assert_allclose(score_rows(table, weights), exact @ weights, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(sum_rows(table, row_weights), exact.T @ row_weights, rtol=1e-10, atol=1e-10)
    scores, updated = rng.normal(size=n_rows), np.empty(n_rows)
    before = scores.copy()
    for columns in (np.array([1, 5]), np.arange(3, 50)):
        steps = rng.normal(size=len(columns))
        update_scores(table, scores, columns, steps, updated)
        np.testing.assert_allclose(updated, before + exact[:, columns] @ steps, rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(scores, before)
