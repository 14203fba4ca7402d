"""Synthetic data of the shape of MSLR-WEB10K: 136 features, heavy tails, many zeros, five grades."""

from __future__ import annotations

import numpy as np

from directranker import RankingDataset

__all__ = ["GRADE_FRACTIONS", "make_mslr_like"]

GRADE_FRACTIONS = (0.52, 0.32, 0.13, 0.02, 0.01)  # of the grades 0 to 4
MEAN_DOCUMENTS = 119.5
LOG_DEVIATION = 0.59  # of the logarithm of the documents per query, as in 64 queries of MSLR-WEB10K


def make_mslr_like(n_queries: int, *, n_features: int = 136, seed: int = 0) -> RankingDataset:
    """Make about 120 documents per query, distributed as in MSLR-WEB10K; half of the features are counts."""
    rng = np.random.default_rng(seed)
    lengths = np.ceil(rng.lognormal(np.log(MEAN_DOCUMENTS) - LOG_DEVIATION**2 / 2, LOG_DEVIATION, n_queries))
    offsets = np.concatenate([[0], np.cumsum(lengths.astype(np.int64))])
    n = int(offsets[-1])
    relevance = rng.choice(5, size=n, p=GRADE_FRACTIONS).astype(np.float64)
    features = np.empty((n, n_features), dtype=np.float32)
    for column in range(n_features):
        values = rng.lognormal(mean=rng.uniform(-2, 4), sigma=rng.uniform(0.5, 2), size=n)
        values *= 1 + rng.uniform(0, 0.3) * relevance
        values[rng.random(n) < rng.uniform(0, 0.7)] = 0
        features[:, column] = np.floor(values) if column % 2 else np.round(values, 6)
    return RankingDataset(features, relevance, offsets, np.arange(n_queries))
