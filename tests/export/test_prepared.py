"""Exports of pipelines and of rankers with scikit-learn's scalers and imputers."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from directranker import DirectRanker, LambdaMART, RankingDataset, RankSVM, example_dataset, export_ranker
from directranker.description.preparation import Preparation, describe_transformer
from directranker.errors import ExportError
from directranker.rankers.pipelines import fit_by_query

TARGETS = ["onnx", pytest.param("c", marks=pytest.mark.skipif(shutil.which("cc") is None, reason="no cc"))]


def make_data(*, missing: bool) -> RankingDataset:
    data = example_dataset().select(range(60))
    features = np.array(data.features * np.float32(37.7) + np.float32(1000))
    if missing:
        features[np.random.default_rng(0).random(features.shape) < 0.1] = np.nan
    return replace(data, features=features, feature_names=tuple(f"f{i}" for i in range(data.n_features)))


def make_columns() -> ColumnTransformer:
    impute = make_pipeline(SimpleImputer(strategy="median"), RobustScaler())
    parts = [("a", impute, ["f3", "f1"]), ("b", MinMaxScaler(clip=True), ["f0"]), ("c", "drop", ["f2"])]
    return ColumnTransformer([*parts, ("d", "passthrough", ["f7"])], remainder=MaxAbsScaler())


def prepare_literally(table: Any, preparation: Preparation) -> Any:
    """Compute a preparation value by value, as it is defined."""
    rows = []
    for row in table:
        values = []
        for j, source in enumerate(preparation.source):
            x = np.float32(row[source])
            x = np.float32(preparation.missing[j]) if np.isnan(x) else x
            x = np.float32(np.float64(x) - preparation.subtract[j])
            x = np.float32(np.float64(x) / preparation.divide[j])
            x = np.float32(np.float64(x) * preparation.multiply[j])
            x = np.float32(np.float64(x) + preparation.add[j])
            low, high = np.float32(preparation.low[j]), np.float32(preparation.high[j])
            values.append(low if x < low else high if x > high else x)
        rows.append(values)
    return np.array(rows, dtype=np.float32)


@pytest.mark.parametrize(
    "transformer",
    [StandardScaler(), MinMaxScaler((-1, 2), clip=True), MaxAbsScaler(), RobustScaler(),
     FunctionTransformer(), make_pipeline(SimpleImputer(), StandardScaler(with_std=False))],
    ids=str,
)  # fmt: skip
def test_descriptions_compute_every_bit_of_scikit_learn(transformer: Any) -> None:
    table = make_data(missing=True).features
    fitted = transformer.fit(table[:200])
    expected = prepared = table[:300]
    for preparation in describe_transformer(fitted, table.shape[1], step="x"):
        prepared = prepare_literally(prepared, preparation)
    np.testing.assert_array_equal(prepared, fitted.transform(np.array(expected)))


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize(
    "ranker",
    [RankSVM(transform="none"), LambdaMART(n_estimators=5, random_state=0),
     RankSVM(transform=StandardScaler()), DirectRanker(hidden_layers=(4,), max_epochs=2, random_state=0)],
    ids=lambda one: type(one).__name__,
)  # fmt: skip
def test_pipelines_are_exported_exactly(ranker: Any, to: str, tmp_path: Path) -> None:
    data = make_data(missing=False)
    pipeline = fit_by_query(Pipeline([("columns", make_columns()), ("rank", ranker)]), data)
    parity = export_ranker(pipeline, tmp_path / "model", to=to, rows=data)
    assert parity.n_documents == data.n_documents
    assert parity.largest_difference < 1e-5


@pytest.mark.parametrize("to", TARGETS)
def test_missing_values_are_filled_in_the_export(to: str, tmp_path: Path) -> None:
    data = make_data(missing=True)
    steps = make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler())
    pipeline = fit_by_query(make_pipeline(*[one for _, one in steps.steps], RankSVM(transform="none")), data)
    assert export_ranker(pipeline, tmp_path / "pipeline", to=to, rows=data).n_documents == data.n_documents
    ranker = RankSVM(transform=steps).fit(data)
    assert export_ranker(ranker, tmp_path / "ranker", to=to, rows=data).n_documents == data.n_documents


def test_the_step_without_an_export_is_named(tmp_path: Path) -> None:
    data = make_data(missing=False)
    columns = ColumnTransformer(
        [("bins", QuantileTransformer(n_quantiles=9), ["f0"])], remainder="passthrough"
    )
    pipeline = fit_by_query(Pipeline([("columns", columns), ("rank", RankSVM())]), data)
    with pytest.raises(
        ExportError, match="step 'columns__bins' is a QuantileTransformer, for which there is no"
    ):
        export_ranker(pipeline, tmp_path / "model", to="onnx", rows=data)
    with pytest.raises(ExportError, match="step 'transform' is a PCA"):
        export_ranker(RankSVM(transform=PCA(2)).fit(data), tmp_path / "model", to="c", rows=data)
    scaled = fit_by_query(Pipeline([("scale", MaxAbsScaler()), ("rank", RankSVM())]), data)
    with pytest.raises(
        ExportError, match="solr cannot compute step 'scale' before a model; export to 'onnx'"
    ):
        export_ranker(scaled, tmp_path / "model", to="solr", rows=data)
    with pytest.raises(ExportError, match="step 'brand' is a OneHotEncoder"):
        describe_transformer(OneHotEncoder().fit([["a"]]), 1, step="brand")
