"""Transformers of scikit-learn as the transform of a ranker."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)

from directranker import CoordinateAscent, DirectRanker, QueryZScore, RankingDataset, RankSVM, example_dataset
from directranker.encoding import adapters
from directranker.encoding.adapters import RowAdapter
from directranker.explanation import explain_difference

DATA = example_dataset().select(range(40))
TRANSFORMERS = [
    MaxAbsScaler(),
    QuantileTransformer(n_quantiles=20),
    PolynomialFeatures(2),
    make_pipeline(StandardScaler(), PowerTransformer()),
    ColumnTransformer([("a", MinMaxScaler(), [3, 1])], remainder="passthrough"),
    ColumnTransformer([("a", OneHotEncoder(handle_unknown="ignore"), [0])]),
    SelectKBest(k=3),
    PCA(3),
]
RANKERS = [
    RankSVM(),
    DirectRanker(hidden_layers=(4,), max_epochs=2, random_state=0),
    CoordinateAscent(n_restarts=1),
]


def center_the_batch(X: Any) -> Any:
    return X - X.mean(axis=0)


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("ranker", RANKERS, ids=lambda one: type(one).__name__)
def test_scores_are_those_of_the_transformed_features_in_any_batch(ranker: Any, transformer: Any) -> None:
    fitted = ranker.set_params(transform=transformer).fit(DATA)
    scores = fitted.predict(DATA)
    order = np.random.default_rng(0).permutation(DATA.n_documents)
    np.testing.assert_array_equal(fitted.predict(DATA.features[order]), scores[order])
    alone = [fitted.predict(DATA.features[row : row + 1])[0] for row in range(20)]
    np.testing.assert_array_equal(alone, scores[:20])
    r = fitted.compare(DATA.features[:-1], DATA.features[1:])
    np.testing.assert_array_equal(np.sign(r), np.sign(scores[:-1].astype(np.float64) - scores[1:]))
    np.testing.assert_array_equal(fitted.compare(DATA.features[1:], DATA.features[:-1]), -r)


def test_a_transformer_gets_labels_and_its_columns_are_its_own() -> None:
    fitted = RankSVM(transform=SelectKBest(k=3)).fit(DATA)
    expected = SelectKBest(k=3).fit(DATA.features, DATA.relevance)
    np.testing.assert_array_equal(
        fitted.transform_.transform(DATA.features), expected.transform(DATA.features)
    )


def test_sparse_output_is_made_dense_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.arange(3000, dtype=np.float32)[:, None] % 700
    encoder = OneHotEncoder(handle_unknown="ignore")
    adapter = adapters.adapt_transformer(encoder).fit(table)
    assert isinstance(adapter, RowAdapter)
    sizes: list[int] = []
    to_dense = adapters._to_dense
    monkeypatch.setattr(adapters, "MAX_BLOCK_BYTES", 4 * 700 * 100)

    def watch(encoded: Any) -> Any:
        sizes.append(encoded.shape[0])
        return to_dense(encoded)

    monkeypatch.setattr(adapters, "_to_dense", watch)
    np.testing.assert_array_equal(adapter.transform(table), encoder.fit_transform(table).toarray())
    assert set(sizes) == {100}


def test_rankers_take_sparse_features() -> None:
    sparse = OneHotEncoder().fit_transform(np.round(DATA.features[:, :3], 1))
    ranker = RankSVM().fit(sparse, DATA.relevance, qid=DATA.qid)
    np.testing.assert_array_equal(ranker.predict(sparse), ranker.predict(sparse.toarray()))


def test_matrix_products_are_computed_in_blocks_of_fixed_size() -> None:
    assert RankSVM(transform=PCA(3)).fit(DATA).transform_.block_rows_ in (1, 64)
    assert RankSVM(transform=MaxAbsScaler()).fit(DATA).transform_.block_rows_ == 0


def test_steps_that_need_the_query_get_it() -> None:
    both = RankSVM(transform=make_pipeline(StandardScaler(), QueryZScore())).fit(DATA)
    alone = RankSVM(transform=QueryZScore()).fit(DATA)
    np.testing.assert_allclose(both.predict(DATA), alone.predict(DATA), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (FunctionTransformer(center_the_batch), "FunctionTransformer encodes a row differently beside other"),
        (TargetEncoder(), "TargetEncoder, which encodes training rows by the labels of other rows"),
        (make_pipeline(StandardScaler(), TargetEncoder()), "Put it before the ranker"),
        (LogisticRegression(), "transform is LogisticRegression"),
    ],
)
def test_what_cannot_be_a_transform_raises(transform: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        RankSVM(transform=transform).fit(DATA)


def test_columns_are_explained_by_the_feature_that_they_come_from() -> None:
    table = pd.DataFrame(DATA.features[:, :3], columns=["a", "b", "c"])
    table["brand"] = np.random.default_rng(0).choice(["x", "y", "z"], len(table))
    steps = ColumnTransformer([("w", OneHotEncoder(), ["brand"]), ("n", StandardScaler(), ["c", "a"])])
    data = RankingDataset.from_frame(table.assign(qid=DATA.qid, relevance=DATA.relevance))
    ranker = RankSVM(transform=steps).fit(data)
    rows = table.iloc[[0, 5]]
    explanation = explain_difference(ranker, data.select([0]), better=0, worse=5)
    encoded = ranker.transform_.transformer_.transform(rows)
    by_column = ranker.coef_ * (encoded[0] - encoded[1])
    expected = [by_column[4], 0.0, by_column[3], by_column[:3].sum()]
    np.testing.assert_allclose(explanation.contributions, expected, rtol=1e-4, atol=1e-6)
    with pytest.raises(TypeError, match="the feature of each column of PCA is unknown"):
        explain_difference(RankSVM(transform=PCA(3)).fit(DATA), DATA.select([0]), better=0, worse=1)
