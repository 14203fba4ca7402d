"""One metric of many score vectors for the same documents, for rankers that optimise it.

All that depends on labels alone is computed once: for NDCG and DCG it is one number per document, its worth,
and the metric is the sum of worth × discount over the first ranks. For few ranks nothing is sorted: each
query keeps its top rows (the leaders) of the last evaluation, most of which are usually on top again.

>>> from directranker.metrics.metric import Metric
>>> metric = RepeatedMetric(Metric("ndcg", 10), np.array([0.0, 1.0, 0.0]), np.array([0, 2, 3]))
>>> metric.per_query(np.array([0.0, 1.0, 0.0]))
array([ 1., nan])
>>> metric.evaluate_steps(np.array([1.0, 0.5, 0.0]), np.ones(3, np.float32), np.array([0.0, 9.0])).round(3)
array([[0.631,   nan],
       [0.631,   nan]])
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import Float32Array, FloatArray, IntArray
from directranker.compilation import get_n_threads, run_in_parallel, split_queries_evenly
from directranker.metrics.computation import (
    MIN_DOCUMENTS_PER_THREAD,
    build_specs,
    compute_discounts,
    fill_skipped,
)
from directranker.metrics.inputs import GroupedScores
from directranker.metrics.kernels import AVERAGE, USE_GAINS
from directranker.metrics.metric import Metric
from directranker.metrics.repeated_kernels import (
    Column,
    compute_worths,
    measure_columns,
    measure_scores,
    measure_steps,
)
from directranker.metrics.sorting import MAX_SELECTED

__all__ = ["Column", "RepeatedMetric"]


class RepeatedMetric:
    """A metric of queries whose labels are fixed while their scores change.

    Scores must be finite, which is not checked.
    """

    def __init__(self, metric: Metric, relevance: FloatArray, offsets: IntArray) -> None:
        self._metric = metric
        # A read-only array is another type to numba; a copy avoids compiling the kernels for it.
        self._offsets = np.require(offsets, requirements="W")
        self._discounts = compute_discounts(int(np.diff(offsets).max(initial=0)))
        self._specs, rows = build_specs([metric], GroupedScores(relevance, relevance, offsets))
        self._grades = np.ascontiguousarray(rows[self._specs["grades"][0]])
        if self._specs["measure"][0] in USE_GAINS:
            self._grades = compute_worths(self._specs, self._grades, self._offsets, self._discounts)
        spec = self._specs[0]
        ranks = int(spec["k"]) if spec["measure"] in USE_GAINS and spec["ties"] == AVERAGE else 0
        # (n_queries, ranks)
        self._leaders = np.tile(np.arange(ranks if ranks <= MAX_SELECTED else 0), (self.n_queries, 1))

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self._offsets) - 1

    def per_query(self, scores: FloatArray) -> FloatArray:
        """Return one value per query; nan for skipped queries."""
        check_length("scores", scores, len(self._grades))
        values = np.empty(self.n_queries)

        def measure(first: int, last: int) -> None:
            measure_scores(
                self._specs,
                self._grades,
                scores,
                self._offsets,
                self._discounts,
                self._leaders,
                first,
                last,
                values,
            )

        self._run_in_parallel(measure, 1)
        fill_skipped(values, self._metric)
        return values

    def evaluate_steps(self, scores: FloatArray, column: Column, steps: FloatArray) -> FloatArray:
        """Return (n_steps, n_queries) values for the scores + step × column."""
        check_length("scores", scores, len(self._grades))
        check_length("column", column, len(self._grades))
        values = np.empty((len(steps), self.n_queries))

        def measure(first: int, last: int) -> None:
            measure_steps(
                self._specs,
                self._grades,
                scores,
                column,
                steps,
                self._offsets,
                self._discounts,
                self._leaders,
                first,
                last,
                values,
            )

        self._run_in_parallel(measure, len(steps))
        fill_skipped(values, self._metric)
        return values

    def evaluate_columns(self, columns: Float32Array, queries: slice, sign: float = 1.0) -> FloatArray:
        """Return (n_columns, n_queries) values of these queries, with sign × column as scores."""
        values = np.empty((len(columns), queries.stop - queries.start))
        offsets = self._offsets[queries.start : queries.stop + 1]
        leaders = self._leaders[queries]
        check_length("columns", columns.T, int(offsets[-1] - offsets[0]))

        def measure(first: int, last: int) -> None:
            measure_columns(
                self._specs,
                self._grades,
                columns,
                sign,
                offsets,
                self._discounts,
                leaders,
                first,
                last,
                values,
            )

        parts = min(get_n_threads(), 1 + columns.size // MIN_DOCUMENTS_PER_THREAD)
        run_in_parallel(measure, split_queries_evenly(offsets - offsets[0], parts))
        fill_skipped(values, self._metric)
        return values

    def _run_in_parallel(self, work: Callable[[int, int], None], times: int) -> None:
        parts = min(get_n_threads(), 1 + times * len(self._grades) // MIN_DOCUMENTS_PER_THREAD)
        run_in_parallel(work, split_queries_evenly(self._offsets, parts))


def check_length(what: str, values: NDArray[np.generic], n: int) -> None:
    """Raise unless an array has n rows, since compiled code would read beyond its end.

    >>> check_length("scores", np.zeros(3), 2)
    Traceback (most recent call last):
    ValueError: scores: 3 rows for 2 documents; pass one row per document
    """
    if len(values) != n:
        raise ValueError(f"{what}: {len(values)} rows for {n} documents; pass one row per document")
