"""A data set for the tests of formats, with values that a format may lose."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from directranker.data.dataset import RankingDataset


def example(*, strings: bool = False, documents: bool = True, seed: int = 0) -> RankingDataset:
    """Make a small data set with values that a format may lose."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, 3)).astype(np.float32)
    X[0] = [-0.0, 1e-45, 3.4028235e38]
    qid = ["q1", "q1", "é", "q1", "é", "z", "z"] if strings else [5, 5, -3, 5, -3, 2**40, 2**40]
    ids = [f"GX{row}" for row in range(7)] if documents else None
    return RankingDataset.from_arrays(X, [0, 1.5, 2, 0, -1, 1e9, 3], qid=qid, document_ids=ids)


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]
