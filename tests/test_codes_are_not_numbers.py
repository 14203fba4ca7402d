"""Codes of categories are never used as numbers where only numbers make sense."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from directranker import DataError, OrderClassifier, RankingDataset, write_letor
from directranker.cli.loading import warn_of_unused_features
from directranker.data.formats import write_dataset
from directranker.data.letor.writing import write_letor_text


@pytest.fixture
def data() -> RankingDataset:
    frame = pd.DataFrame({"qid": [1, 1, 2], "relevance": [0, 1, 0], "price": [1.0, 2.0, 0.0]})
    return RankingDataset.from_frame(frame.assign(brand=["a", "a", "a"]))


def test_letor_text_refuses_categories(data: RankingDataset, tmp_path: Path) -> None:
    problem = r"feature 'brand' is categorical, and LETOR text has numbers only; write Parquet or a folder"
    with pytest.raises(DataError, match=problem):
        write_letor_text(data, io.BytesIO())
    with pytest.raises(DataError, match=problem):
        write_letor(data, tmp_path / "data.txt")
    with pytest.raises(DataError, match=problem):
        write_dataset(data, tmp_path / "data.svm.gz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "brand", [pd.Series([10, 20] * 20, dtype="category"), pd.Series(["a", "b"] * 20, dtype="category")]
)
def test_the_classifier_refuses_categories(brand: Any) -> None:
    frame = pd.DataFrame({"x": np.arange(40.0), "brand": brand})
    labels = np.arange(40) > 20
    with pytest.raises(DataError, match="column 'brand' is categorical, and OrderClassifier takes numbers"):
        OrderClassifier().fit(frame, labels)
    fitted = OrderClassifier(random_state=0).fit(frame.assign(brand=np.tile([10.0, 20.0], 20)), labels)
    with pytest.raises(DataError, match="column 'brand' is categorical"):
        fitted.predict(frame)


def test_the_classifier_refuses_categories_of_polars_and_data_sets(data: RankingDataset) -> None:
    frame = pl.DataFrame({"brand": pl.Series(["1", "2"] * 20, dtype=pl.Categorical)})
    with pytest.raises(DataError, match="column 'brand' is categorical"):
        OrderClassifier().fit(frame, np.arange(40) > 20)
    with pytest.raises(TypeError, match="X is a RankingDataset; OrderClassifier takes an array or a table"):
        OrderClassifier().fit(data, data.relevance)


def test_the_first_category_is_not_an_unused_feature(data: RankingDataset, capsys: Any) -> None:
    assert (data.features[:, 1] == 0).all()
    list(warn_of_unused_features([data], 2))
    assert capsys.readouterr().err == ""
    text = RankingDataset.from_arrays(data.features, data.relevance, qid=data.qid)
    list(warn_of_unused_features([text], 2))
    assert "features 2 to 2 of the model are 0 in all documents" in capsys.readouterr().err
