"""One metric of many scorings of the same lists, for rankers that climb it: labels are worked up once.

Of NDCG and DCG all that depends on labels alone becomes one number per document, its worth; the measure is
then the sum of worth × discount over the first ranks. For few ranks nothing is sorted: each list keeps the
rows that led it in the last scoring, and usually most of them lead it again.

>>> from directranker.metrics.metric import Metric
>>> metric = RepeatedMetric(Metric("ndcg", 10), np.array([0.0, 1.0, 0.0]), np.array([0, 2, 3]))
>>> metric.per_query(np.array([0.0, 1.0, 0.0]))
array([ 1., nan])
>>> metric.of_steps(np.array([1.0, 0.5, 0.0]), np.ones(3, np.float32), np.array([0.0, 9.0])).round(3)
array([[0.631,   nan],
       [0.631,   nan]])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import IntArray
from directranker.compilation import get_n_threads, run_in_parallel, split_queries_evenly
from directranker.metrics.computation import (
    WORTH_A_THREAD,
    discounts_of_ranks,
    fill_left_out,
    specs_and_grades,
)
from directranker.metrics.inputs import RankedLists
from directranker.metrics.kernels import AVERAGE, USE_GAINS
from directranker.metrics.metric import Metric
from directranker.metrics.repeated_kernels import (
    Column,
    measure_columns,
    measure_scores,
    measure_steps,
    worths,
)
from directranker.metrics.sorting import FEW, FloatArray

__all__ = ["Column", "RepeatedMetric"]


class RepeatedMetric:
    """A metric of lists whose labels stay while their scores change.

    Scores must be finite, which is not looked at.
    """

    def __init__(self, metric: Metric, relevance: FloatArray, offsets: IntArray) -> None:
        self._metric = metric
        # Kernels are compiled for each kind of array; read-only ones would be one more, so they are copied.
        self._offsets = np.require(offsets, requirements="W")
        self._discounts = discounts_of_ranks(int(np.diff(offsets).max(initial=0)))
        self._specs, rows = specs_and_grades([metric], RankedLists(relevance, relevance, offsets))
        self._grades = np.ascontiguousarray(rows[self._specs["grades"][0]])
        if self._specs["measure"][0] in USE_GAINS:
            self._grades = worths(self._specs, self._grades, self._offsets, self._discounts)
        spec = self._specs[0]
        ranks = int(spec["k"]) if spec["measure"] in USE_GAINS and spec["ties"] == AVERAGE else 0
        # (n_queries, ranks)
        self._leaders = np.tile(np.arange(ranks if ranks <= FEW else 0), (self.n_queries, 1))

    @property
    def n_queries(self) -> int:
        """How many lists there are."""
        return len(self._offsets) - 1

    def per_query(self, scores: FloatArray) -> FloatArray:
        """One value per query; nan where it is left out."""
        check_length("scores", scores, len(self._grades))
        values = np.empty(self.n_queries)

        def work(first: int, last: int) -> None:
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

        self._over_queries(work, 1)
        fill_left_out(values, self._metric)
        return values

    def of_steps(self, scores: FloatArray, column: Column, steps: FloatArray) -> FloatArray:
        """The values under scores + step × column, one row per step."""
        check_length("scores", scores, len(self._grades))
        check_length("column", column, len(self._grades))
        values = np.empty((len(steps), self.n_queries))

        def work(first: int, last: int) -> None:
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

        self._over_queries(work, len(steps))
        fill_left_out(values, self._metric)
        return values

    def of_columns(self, columns: NDArray[np.float32], queries: slice, sign: float = 1.0) -> FloatArray:
        """The values of some queries under sign × each column of their rows, a row per column."""
        values = np.empty((len(columns), queries.stop - queries.start))
        offsets = self._offsets[queries.start : queries.stop + 1]
        leaders = self._leaders[queries]
        check_length("columns", columns.T, int(offsets[-1] - offsets[0]))

        def work(first: int, last: int) -> None:
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

        parts = min(get_n_threads(), 1 + columns.size // WORTH_A_THREAD)
        run_in_parallel(work, split_queries_evenly(offsets - offsets[0], parts))
        fill_left_out(values, self._metric)
        return values

    def _over_queries(self, work: Callable[[int, int], None], times: int) -> None:
        parts = min(get_n_threads(), 1 + times * len(self._grades) // WORTH_A_THREAD)
        run_in_parallel(work, split_queries_evenly(self._offsets, parts))


def check_length(what: str, values: NDArray[Any], n: int) -> None:
    """Refuse an array of another number of rows, which compiled code would read beyond its end.

    >>> check_length("scores", np.zeros(3), 2)
    Traceback (most recent call last):
    ValueError: scores: 3 rows for 2 documents; give one each
    """
    if len(values) != n:
        raise ValueError(f"{what}: {len(values)} rows for {n} documents; give one each")
