"""Training data: validated documents grouped by query, and subsets of them.

>>> data = TrainingData(np.ones((3, 1), np.float32), None, np.array([1.0, 0.0, 2.0]), np.array([0, 2, 3]))
>>> data.take(np.array([1])).relevance.tolist()
[2.0]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from directranker.arrays import Features, FloatArray, IntArray, Relevance, query_of_rows
from directranker.data.column_kinds import ColumnKinds
from directranker.data.dataset import RankingDataset
from directranker.data.grouping import compute_query_means, select_query_rows

__all__ = ["NO_VARYING_FEATURE", "TrainingData"]

NO_VARYING_FEATURE = (
    "no feature varies: all training documents have the same values, so there is no order to fit; "
    "check how the features were made and read"
)
BLOCK_ROWS = 1024


@dataclass(frozen=True)
class TrainingData:
    """Documents with labels and weights, grouped by query without a copy of the features."""

    table: Features
    """All features, in the order of the input."""
    rows: IntArray | None
    """The table's row of each document, query by query; None where the table is in that order."""
    relevance: Relevance
    offsets: IntArray
    document_weight: FloatArray | None = None
    query_weight: FloatArray | None = None
    column_kinds: ColumnKinds | None = None
    """The kinds of the table's columns; None where all are numbers."""

    @classmethod
    def from_dataset(cls, dataset: RankingDataset) -> TrainingData:
        """Return the documents of a data set, without weights."""
        return cls(dataset.features, None, dataset.relevance, dataset.offsets, column_kinds=dataset.kinds)

    @property
    def kinds(self) -> ColumnKinds:
        """The kinds of the table's columns."""
        return self.column_kinds or ColumnKinds.numbers(self.table.shape[1])

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self.offsets) - 1

    @property
    def n_documents(self) -> int:
        """The number of documents."""
        return len(self.relevance)

    @property
    def query_of_row(self) -> IntArray:
        """The query number of each document."""
        return query_of_rows(self.offsets)

    @property
    def features(self) -> Features:
        """The features, query by query; a copy where the table is in another order."""
        return self.table if self.rows is None else self.table[self.rows]

    @property
    def is_weighted(self) -> bool:
        """Whether weights were given."""
        return self.document_weight is not None or self.query_weight is not None

    @property
    def weight_of_rows(self) -> FloatArray:
        """The weight of each document: its own, or that of its query."""
        if self.document_weight is not None:
            return self.document_weight
        per_query = np.ones(self.n_queries) if self.query_weight is None else self.query_weight
        return np.repeat(per_query, np.diff(self.offsets))

    @property
    def weight_of_queries(self) -> FloatArray:
        """The weight of each query: its own, or the mean over its documents."""
        return compute_query_means(self.weight_of_rows, self.offsets)

    def sample(self, max_documents: int, seed: int) -> tuple[Features, IntArray]:
        """Sample whole queries with about `max_documents` documents → (features, query numbers)."""
        sampled = self.sample_queries(max_documents, seed)
        return sampled.features, sampled.query_of_row

    def sample_queries(self, max_documents: int, seed: int) -> TrainingData:
        """Sample whole queries with about `max_documents` documents."""
        if self.n_documents <= max_documents or self.n_queries == 1:
            return self
        queries = np.random.default_rng((seed, 11)).permutation(self.n_queries)
        n_sampled = np.searchsorted(np.cumsum(np.diff(self.offsets)[queries]), max_documents)
        return self.take(np.sort(queries[: max(1, n_sampled)]))

    def take(self, queries: IntArray) -> TrainingData:
        """Return the documents of these queries."""
        documents, offsets = select_query_rows(self.offsets, queries)
        query_weight = None if self.query_weight is None else self.query_weight[queries]
        return self._select(documents, offsets, query_weight)

    def take_rows(self, documents: IntArray) -> TrainingData:
        """Return these documents as one query."""
        return self._select(documents, np.array([0, len(documents)], dtype=np.int64), self.query_weight)

    def _select(
        self, documents: IntArray, offsets: IntArray, query_weight: FloatArray | None
    ) -> TrainingData:
        return TrainingData(
            table=self.table,
            rows=documents if self.rows is None else self.rows[documents],
            relevance=self.relevance[documents],
            offsets=offsets,
            document_weight=None if self.document_weight is None else self.document_weight[documents],
            query_weight=query_weight,
            column_kinds=self.column_kinds,
        )

    @property
    def is_trainable(self) -> bool:
        """Whether some query has two different labels, and some feature has two different values."""
        return self.has_unequal_labels and self.has_varying_features

    @property
    def has_varying_features(self) -> bool:
        """Whether some feature has two different values; NaN counts as one value."""
        rows = np.arange(len(self.table)) if self.rows is None else self.rows
        for start in range(0, len(rows), BLOCK_ROWS):  # in most data the first block decides
            block, first = self.table[rows[start : start + BLOCK_ROWS]], self.table[rows[0]]
            if ((block != first) & ~(np.isnan(block) & np.isnan(first))).any():
                return True
        return False

    @property
    def has_unequal_labels(self) -> bool:
        """Whether some query has documents of two different labels."""
        if not self.n_documents:
            return False
        changes = np.concatenate([[0], np.cumsum(np.diff(self.relevance) != 0)])
        filled = np.diff(self.offsets) > 0
        return bool(np.any(changes[self.offsets[1:][filled] - 1] > changes[self.offsets[:-1][filled]]))
