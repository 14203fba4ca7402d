"""The documents of each training step: whole queries, each document once per epoch, most relevant first.

>>> data = TrainingData(np.eye(3, dtype=np.float32), None, np.array([0.0, 1.0, 2.0]), np.array([0, 2, 3]))
>>> [batch.rows.tolist() for batch in Batches(data, batch_queries=1, seed=0).epoch(0)]
[[1, 0], [2]]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import FloatArray, IntArray, Relevance
from directranker.pairs import QueryClasses, group_by_label
from directranker.training.data import TrainingData

__all__ = ["Batch", "Batches", "grow_exponentially"]


@dataclass(frozen=True)
class Batch:
    """The documents of one step, those of each query by falling label."""

    rows: IntArray
    """The position of each document in the training data."""
    classes: QueryClasses
    document_weight: FloatArray | None
    query_weight: FloatArray | None

    @property
    def relevance(self) -> Relevance:
        """The label of each document."""
        return self.classes.relevance

    @property
    def offsets(self) -> IntArray:
        """The start of each query, and the number of documents at the end."""
        return self.classes.layout.offsets


def grow_exponentially(bounds: float | tuple[float, float], progress: float) -> float:
    """Interpolate exponentially between two bounds; a single number stays as it is.

    >>> grow_exponentially((10, 1000), 0.5)
    100.0
    >>> grow_exponentially(7, 0.5)
    7
    """
    if not isinstance(bounds, tuple):
        return bounds
    first, last = bounds
    return float(first * (last / first) ** min(progress, 1.0))


@dataclass(frozen=True)
class Batches:
    """The batches of each epoch, in a new random order; the same seed gives the same batches."""

    data: TrainingData
    batch_queries: int | tuple[int, int]
    seed: int
    list_size: int = 1000
    """Without queries, each epoch partitions the documents at random into lists of about this size."""

    def epoch(self, number: int, progress: float = 0.0) -> Iterator[Batch]:
        """Yield the batches of an epoch; `progress` is the fraction of training done, for growing batches."""
        rng = np.random.default_rng((self.seed, number))
        if self.data.n_queries == 1:
            n_documents = self.data.n_documents
            n_lists = max(1, round(n_documents / self.list_size))
            for rows in np.array_split(rng.permutation(n_documents), n_lists):
                yield self._batch_rows(rows)
            return
        size = max(1, round(grow_exponentially(self.batch_queries, progress)))
        queries = rng.permutation(self.data.n_queries)
        for start in range(0, len(queries), size):
            yield self._batch_queries(queries[start : start + size])

    def _batch_queries(self, queries: IntArray) -> Batch:
        """Return the documents of these queries, one query after another."""
        classes, rows = self._classes.take(queries)
        query_weight = self.data.query_weight
        return Batch(
            rows, classes, self._weight_of(rows), None if query_weight is None else query_weight[queries]
        )

    def _batch_rows(self, rows: IntArray) -> Batch:
        """Return these documents as one query."""
        best_first = rows[np.argsort(self._falling_labels[rows], kind="stable")]
        classes = group_by_label(self.data.relevance[best_first])
        return Batch(best_first, classes, self._weight_of(best_first), None)

    def _weight_of(self, rows: IntArray) -> FloatArray | None:
        weight = self.data.document_weight
        return None if weight is None else weight[rows]

    @cached_property
    def _classes(self) -> QueryClasses:
        """The documents of each query by falling label."""
        return group_by_label(self.data.relevance, self.data.offsets)

    @cached_property
    def _falling_labels(self) -> NDArray[np.integer[Any]]:
        """An integer per document that rises as labels fall; small integers sort several times as fast."""
        values, number = np.unique(self.data.relevance, return_inverse=True)
        falling = len(values) - 1 - number
        return falling.astype(np.uint16) if len(values) <= 2**16 else falling
