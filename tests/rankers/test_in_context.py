"""A ranker that sees a document beside its list: an order within each query, and saved like any other."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from directranker import DirectRanker, RankingDataset, example_dataset, load_ranker
from directranker.nn import compare_scores
from directranker.order import check_comparisons


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(25))


@pytest.fixture(scope="module")
def ranker(data: RankingDataset) -> DirectRanker:
    return DirectRanker(transform="in-context", max_epochs=2, random_state=0).fit(data)


def test_within_a_list_r_is_an_order(ranker: DirectRanker, data: RankingDataset) -> None:
    scores = ranker.predict(data).astype(np.float64)
    for start, stop in pairwise(data.offsets.tolist()):
        own = scores[start:stop]
        r = compare_scores(own[:, None], own[None, :], ranker.head_activation).astype(np.float64)
        assert check_comparisons(r).is_order


def test_the_list_matters(ranker: DirectRanker, data: RankingDataset) -> None:
    whole = ranker.predict(data)[:5]
    assert not np.allclose(ranker.predict(data.features[:5]), whole)
    first = slice(0, int(data.offsets[1]))
    np.testing.assert_allclose(ranker.predict(data.features[first])[:5], whole, rtol=1e-5, atol=1e-6)


def test_it_is_saved(ranker: DirectRanker, data: RankingDataset, tmp_path: Path) -> None:
    ranker.save(tmp_path / "model")
    assert np.array_equal(load_ranker(tmp_path / "model").predict(data), ranker.predict(data))
