"""Data sets for the tests of inspection, and access to its findings."""

from __future__ import annotations

from typing import Any

import numpy as np

from directranker.data.dataset import RankingDataset
from directranker.data.findings import Finding
from directranker.data.inspection import inspect_dataset


def clean(n_queries: int = 12, length: int = 10, n_features: int = 4, seed: int = 0) -> RankingDataset:
    """Make a data set without findings."""
    rng = np.random.default_rng(seed)
    n_rows = n_queries * length
    labels = np.tile(np.arange(length) % 3, n_queries)
    qid = np.repeat(np.arange(100, 100 + n_queries), length)
    return RankingDataset.from_arrays(rng.normal(size=(n_rows, n_features)), labels, qid=qid)


def with_column(data: RankingDataset, column: int, values: Any) -> RankingDataset:
    """Replace the values of a column."""
    features = data.features.copy()
    features[:, column] = values
    return RankingDataset.from_arrays(features, data.relevance, qid=data.qid)


def findings(data: RankingDataset, **options: Any) -> dict[str, Finding]:
    """Inspect a data set; return the findings by kind."""
    results = inspect_dataset(data, **options).findings
    by_kind = {finding.kind: finding for finding in results}
    assert len(by_kind) == len(results)
    return by_kind


def only(data: RankingDataset, kind: str, **options: Any) -> Finding:
    """Inspect a data set; return its only finding, which must be of this kind."""
    by_kind = findings(data, **options)
    assert list(by_kind) == [kind]
    return by_kind[kind]
