"""An ensemble is exported as one model if its members are of one kind and score documents independently."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from directranker import ExportError, RankingDataset, example_dataset
from directranker.description.model import Net
from directranker.export import export_ranker
from directranker.rankers import DirectRanker, Ensemble, LambdaMART, Ranker, RankSVM

QUICK: dict[str, Any] = {"max_epochs": 1, "random_state": 0, "hidden_layers": (6, 4), "teacher": None}
BINNED = DirectRanker(**QUICK, transform="piecewise-linear")
TREES: dict[str, Any] = {"n_estimators": 6, "min_child_samples": 5, "random_state": 0}
GENERAL = ("onnx", "c")
ENGINES = ("solr", "elasticsearch")


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(30))


def ensemble(ranker: Ranker, vary: Any = None) -> Ensemble:
    return Ensemble(ranker, 3, vary=vary, random_state=0)


@pytest.mark.parametrize(
    ("ranker", "vary", "targets"),
    [
        (BINNED, None, (*GENERAL, "solr")),
        (DirectRanker(**QUICK, transform="auto"), None, GENERAL),
        (DirectRanker(**QUICK, transform="quantile-normal"), None, GENERAL),
        (DirectRanker(**QUICK, transform="none"), None, (*GENERAL, "solr")),
        (DirectRanker(**{**QUICK, "hidden_layers": ()}), None, GENERAL),
        (BINNED, {"hidden_layers": [(6,), (17,)]}, GENERAL),
        (BINNED, {"transform": ["standard", "piecewise-linear"]}, GENERAL),
        (RankSVM(transform="standard"), {"alpha": [0.01, 10.0]}, (*GENERAL, *ENGINES)),
        (RankSVM(), {"transform": ["standard", "signed-log"]}, GENERAL),
        (LambdaMART(**TREES), {"num_leaves": [3, 7]}, (*GENERAL, *ENGINES, "elasticsearch-ranklib")),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Ranker) else str(value),
)
def test_ensembles_are_exported_as_one_model(
    ranker: Ranker, vary: Any, targets: tuple[str, ...], data: RankingDataset, tmp_path: Path
) -> None:
    fitted = ensemble(ranker, vary).fit(data)
    for to in targets:
        assert export_ranker(fitted, tmp_path / to, to=to, rows=data).largest_difference < 5e-6


def test_missing_values(data: RankingDataset, tmp_path: Path) -> None:
    features = data.features.copy()
    features[(data.relevance > 0) & (np.arange(data.n_documents) % 3 > 0), 3] = np.nan
    missing = RankingDataset.from_arrays(features, data.relevance, qid=data.qid)
    fitted = ensemble(BINNED).fit(missing)
    for to in GENERAL:
        assert export_ranker(fitted, tmp_path / to, to=to, rows=missing).largest_difference < 5e-6


def test_members_trained_on_the_same_documents_share_columns(data: RankingDataset, tmp_path: Path) -> None:
    train, vali = data.split(0.8, random_state=0)
    fitted = ensemble(DirectRanker(**QUICK, transform="standard")).fit(train, eval_set=vali)
    model = fitted._describe()
    assert isinstance(model, Net)
    assert (model.n_columns, len(model.layers[0].weight)) == (data.n_features, 3 * 6)
    assert export_ranker(fitted, tmp_path / "out", to="solr", rows=vali).largest_difference < 5e-6


@pytest.mark.parametrize("ranker", [DirectRanker(**QUICK), RankSVM()])
def test_engines_have_one_normaliser_per_feature(
    ranker: Ranker, data: RankingDataset, tmp_path: Path
) -> None:
    fitted = ensemble(ranker, {"transform": ["standard", "none"]}).fit(data)
    with pytest.raises(ExportError, match=r"one normaliser per feature.* with an eval_set"):
        export_ranker(fitted, tmp_path / "out", to="solr", rows=data)


def test_trees_and_nets_cannot_be_combined(data: RankingDataset, tmp_path: Path) -> None:
    fitted = ensemble(RankSVM()).fit(data)
    fitted.rankers_[1] = LambdaMART(**TREES).fit(data)
    with pytest.raises(ExportError, match=r"of different kinds.*rankers_\[0\]"):
        export_ranker(fitted, tmp_path / "out", to="onnx", rows=data)
