"""Tables whose categories do not match those of the fit: an error with the column, or a missing value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from directranker import DataError, RankingDataset, RankSVM, load_ranker


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"qid": np.repeat(np.arange(40), 6), "price": rng.normal(size=240)})
    frame["brand"] = rng.choice(["Acme", "Beta", "Zeta"], 240)
    frame["relevance"] = (frame["brand"] == "Acme") + (frame["price"] > 1)
    return frame


@pytest.fixture(scope="module")
def ranker(frame: pd.DataFrame) -> RankSVM:
    return RankSVM(random_state=0).fit(RankingDataset.from_frame(frame))


@pytest.mark.parametrize("values", [3, 2.5, "3", "2.5"])
def test_numbers_are_not_categories(frame: pd.DataFrame, ranker: RankSVM, values: object) -> None:
    changed = frame.assign(brand=values)
    message = "feature 'brand' is a number in X, but RankSVM was fitted with categories such as 'Acme'"
    with pytest.raises(DataError, match=message):
        ranker.predict(RankingDataset.from_frame(changed))
    with pytest.raises(DataError, match=message):
        ranker.predict(changed[["price", "brand"]])


def test_a_column_without_values_is_missing(frame: pd.DataFrame, ranker: RankSVM) -> None:
    missing = ranker.predict(RankingDataset.from_frame(frame.assign(brand=None)))
    single = frame.assign(brand=pd.Series([None] * 240, dtype="string"))
    np.testing.assert_array_equal(ranker.predict(RankingDataset.from_frame(single)), missing)


def test_categories_of_default_names_are_saved(frame: pd.DataFrame, tmp_path: Path) -> None:
    renamed = frame.rename(columns={"price": "feature_1", "brand": "feature_2"})
    data = RankingDataset.from_frame(renamed)
    ranker = RankSVM(random_state=0).fit(data)
    ranker.save(tmp_path / "model")
    np.testing.assert_array_equal(load_ranker(tmp_path / "model").predict(data), ranker.predict(data))
