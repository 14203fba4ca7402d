"""An ensemble is exported as one model where its members are of one kind and see documents by themselves."""

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
IN_BINS = DirectRanker(**QUICK, transform="piecewise-linear")
TREES: dict[str, Any] = {"n_estimators": 6, "min_child_samples": 5, "random_state": 0}
ANYWHERE = ("onnx", "c")
ENGINES = ("solr", "elasticsearch")


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(30))


def ensemble(ranker: Ranker, vary: Any = None) -> Ensemble:
    return Ensemble(ranker, 3, vary=vary, random_state=0)


@pytest.mark.parametrize(
    ("ranker", "vary", "targets"),
    [
        (IN_BINS, None, (*ANYWHERE, "solr")),
        (DirectRanker(**QUICK, transform="auto"), None, ANYWHERE),
        (DirectRanker(**QUICK, transform="quantile-normal"), None, ANYWHERE),
        (DirectRanker(**QUICK, transform="none"), None, (*ANYWHERE, "solr")),
        (DirectRanker(**{**QUICK, "hidden_layers": ()}), None, ANYWHERE),
        (IN_BINS, {"hidden_layers": [(6,), (17,)]}, ANYWHERE),
        (IN_BINS, {"transform": ["standard", "piecewise-linear"]}, ANYWHERE),
        (RankSVM(transform="standard"), {"alpha": [0.01, 10.0]}, (*ANYWHERE, *ENGINES)),
        (RankSVM(), {"transform": ["standard", "signed-log"]}, ANYWHERE),
        (LambdaMART(**TREES), {"num_leaves": [3, 7]}, (*ANYWHERE, *ENGINES, "elasticsearch-ranklib")),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Ranker) else str(value),
)
def test_ensembles_as_one_model(
    ranker: Ranker, vary: Any, targets: tuple[str, ...], data: RankingDataset, tmp_path: Path
) -> None:
    fitted = ensemble(ranker, vary).fit(data)
    for to in targets:
        assert export_ranker(fitted, tmp_path / to, to=to, rows=data).largest_difference < 5e-6


def test_missing_values(data: RankingDataset, tmp_path: Path) -> None:
    features = data.features.copy()
    features[(data.relevance > 0) & (np.arange(data.n_documents) % 3 > 0), 3] = np.nan
    missing = RankingDataset.from_arrays(features, data.relevance, qid=data.qid)
    fitted = ensemble(IN_BINS).fit(missing)
    for to in ANYWHERE:
        assert export_ranker(fitted, tmp_path / to, to=to, rows=missing).largest_difference < 5e-6


def test_members_of_the_same_documents_share_their_columns(data: RankingDataset, tmp_path: Path) -> None:
    train, vali = data.split(0.8, random_state=0)
    fitted = ensemble(DirectRanker(**QUICK, transform="standard")).fit(train, eval_set=vali)
    model = fitted._describe()
    assert isinstance(model, Net)
    assert (model.n_columns, len(model.layers[0].weight)) == (data.n_features, 3 * 6)
    assert export_ranker(fitted, tmp_path / "out", to="solr", rows=vali).largest_difference < 5e-6


@pytest.mark.parametrize("ranker", [DirectRanker(**QUICK), RankSVM()])
def test_engines_rescale_a_feature_once(ranker: Ranker, data: RankingDataset, tmp_path: Path) -> None:
    fitted = ensemble(ranker, {"transform": ["standard", "none"]}).fit(data)
    with pytest.raises(ExportError, match=r"in one way only.* with an eval_set"):
        export_ranker(fitted, tmp_path / "out", to="solr", rows=data)


def test_trees_and_nets_do_not_mix(data: RankingDataset, tmp_path: Path) -> None:
    fitted = ensemble(RankSVM()).fit(data)
    fitted.rankers_[1] = LambdaMART(**TREES).fit(data)
    with pytest.raises(ExportError, match=r"of different kinds.*rankers_\[0\]"):
        export_ranker(fitted, tmp_path / "out", to="onnx", rows=data)
