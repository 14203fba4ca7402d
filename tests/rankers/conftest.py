"""Fixtures of the contract tests: every ranker, and a small data set."""

from __future__ import annotations

import pytest
from sklearn.base import clone

from directranker import RankingDataset, example_dataset
from directranker.rankers import Ranker

from quick_rankers import RANKERS


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(60))


@pytest.fixture(params=RANKERS)
def ranker(request: pytest.FixtureRequest) -> Ranker:
    unfitted: Ranker = clone(RANKERS[request.param])
    return unfitted
