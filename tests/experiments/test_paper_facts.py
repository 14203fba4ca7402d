"""Numbers in docs/paper.md that describe MQ2008 itself, not a ranker."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.preprocessing import QuantileTransformer

from directranker import QuantileNormal, RankingDataset, read_letor
from directranker.pairs import pair_table

PAGE = (Path(__file__).parents[2] / "docs" / "paper.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def train(real_data: Path) -> RankingDataset:
    return read_letor(real_data / "MQ2008" / "Fold1" / "train.txt")


def test_the_transform_leaves_ties_at_the_ends(train: RankingDataset) -> None:
    encoded = QuantileNormal().fit(train.features).transform(train.features)
    spread = np.std(encoded, axis=0)
    assert f"{np.mean(np.abs(encoded) > 1.7):.0%} of all values".replace("%", " %") in PAGE
    assert f"the median σ of a column is {np.median(spread):.2f}".replace("0.", ".") in PAGE
    assert f"to ±{np.abs(encoded).max():.2f}" in PAGE
    expected = QuantileTransformer(output_distribution="normal", subsample=None).fit_transform(train.features)
    assert np.median(np.std(expected, axis=0)) / 3 == pytest.approx(np.median(spread), abs=0.001)
    varies = spread > 0
    assert np.mean(np.abs(expected[:, varies]) > 5.1) == pytest.approx(
        np.mean(np.abs(encoded[:, varies]) > 1.7)
    )


def test_adjacent_skips_grades_that_are_absent(train: RankingDataset) -> None:
    table = pair_table(train.relevance, offsets=train.offsets, pairs="adjacent")
    steps = train.relevance[table.higher] - train.relevance[table.lower]
    found = re.search(r"([\d,]+) of ([\d,]+) pairs", PAGE)
    assert found is not None
    assert [int(number.replace(",", "")) for number in found.groups()] == [np.sum(steps == 2), len(steps)]
