"""What rankers learn from, once it has been checked: documents query by query, and parts of them.

>>> data = TrainingData(np.ones((3, 1), np.float32), None, np.array([1.0, 0.0, 2.0]), np.array([0, 2, 3]))
>>> data.take(np.array([1])).relevance.tolist()
[2.0]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import Features, IntArray, Relevance
from directranker.data.grouping import compute_query_means, select_query_rows

__all__ = ["NOTHING_VARIES", "TrainingData"]

NOTHING_VARIES = (
    "no feature varies: all training documents have the same values, so no order can be learned from them; "
    "check how the features were made and read"
)
BLOCK_ROWS = 1024


@dataclass(frozen=True)
class TrainingData:
    """What a ranker learns from: checked, and grouped by query without a copy of the features."""

    table: Features
    """All features as they came."""
    rows: IntArray | None
    """The table's row of each document, query by query; None where the table is in that order."""
    relevance: Relevance
    offsets: IntArray
    document_weight: NDArray[np.float64] | None = None
    query_weight: NDArray[np.float64] | None = None

    @property
    def n_queries(self) -> int:
        """How many queries there are."""
        return len(self.offsets) - 1

    @property
    def query_of_row(self) -> IntArray:
        """The number of each row's query."""
        return np.repeat(np.arange(self.n_queries), np.diff(self.offsets))

    @property
    def features(self) -> Features:
        """The features, query by query; a copy where the table is in another order."""
        return self.table if self.rows is None else self.table[self.rows]

    @property
    def is_weighted(self) -> bool:
        """Whether weights were given."""
        return self.document_weight is not None or self.query_weight is not None

    @property
    def weight_of_rows(self) -> NDArray[np.float64]:
        """What each document weighs, by itself or by its query."""
        if self.document_weight is not None:
            return self.document_weight
        per_query = np.ones(self.n_queries) if self.query_weight is None else self.query_weight
        return np.repeat(per_query, np.diff(self.offsets))

    @property
    def weight_of_queries(self) -> NDArray[np.float64]:
        """What each query weighs, by itself or as the mean of its documents."""
        return compute_query_means(self.weight_of_rows, self.offsets)

    def sample(self, most: int, seed: int) -> tuple[Features, IntArray]:
        """Features and query numbers of all documents, or of about `most` of them, in whole queries."""
        if len(self.relevance) <= most or self.n_queries == 1:
            return self.features, self.query_of_row
        queries = np.random.default_rng((seed, 11)).permutation(self.n_queries)
        n_chosen = np.searchsorted(np.cumsum(np.diff(self.offsets)[queries]), most)
        chosen = self.take(np.sort(queries[: max(1, n_chosen)]))
        return chosen.features, chosen.query_of_row

    def take(self, queries: IntArray) -> TrainingData:
        """The documents of these queries."""
        places, offsets = select_query_rows(self.offsets, queries)
        query_weight = None if self.query_weight is None else self.query_weight[queries]
        return self._part(places, offsets, query_weight)

    def take_rows(self, places: IntArray) -> TrainingData:
        """These documents as one list."""
        return self._part(places, np.array([0, len(places)], dtype=np.int64), self.query_weight)

    def _part(
        self, places: IntArray, offsets: IntArray, query_weight: NDArray[np.float64] | None
    ) -> TrainingData:
        return TrainingData(
            table=self.table,
            rows=places if self.rows is None else self.rows[places],
            relevance=self.relevance[places],
            offsets=offsets,
            document_weight=None if self.document_weight is None else self.document_weight[places],
            query_weight=query_weight,
        )

    @property
    def is_trainable(self) -> bool:
        """Whether any query has documents of two different labels, and any two documents differ."""
        return self.has_unequal_labels and self.has_varying_features

    @property
    def has_varying_features(self) -> bool:
        """Whether any feature has two different values; NaN counts as one."""
        rows = np.arange(len(self.table)) if self.rows is None else self.rows
        for start in range(0, len(rows), BLOCK_ROWS):  # in most data the first block tells
            block, first = self.table[rows[start : start + BLOCK_ROWS]], self.table[rows[0]]
            if ((block != first) & ~(np.isnan(block) & np.isnan(first))).any():
                return True
        return False

    @property
    def has_unequal_labels(self) -> bool:
        """Whether any query has documents of two different labels."""
        if not len(self.relevance):
            return False
        changes = np.concatenate([[0], np.cumsum(np.diff(self.relevance) != 0)])
        filled = np.diff(self.offsets) > 0
        return bool(np.any(changes[self.offsets[1:][filled] - 1] > changes[self.offsets[:-1][filled]]))
