"""Exports score as the ranker does, or raise an error that says why the target does not support it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

from directranker import DataError, ExportError, RankingDataset, example_dataset, load_ranker
from directranker.description.model import Trees
from directranker.export import export_ranker
from directranker.rankers import AdaRank, DirectRanker, Ensemble, LambdaMART, Ranker, RankSVM

QUICK: dict[str, Any] = {"max_epochs": 1, "random_state": 0, "hidden_layers": (6, 40)}
BOTH = {"transform": ["in-context", "piecewise-linear"]}
IN_CONTEXT = DirectRanker(**QUICK, transform="in-context")
TREES: dict[str, Any] = {"n_estimators": 12, "min_child_samples": 5, "random_state": 0}


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(30))


@pytest.fixture(scope="module")
def with_missing(data: RankingDataset) -> RankingDataset:
    features = data.features.copy()
    features[(data.relevance > 0) & (np.arange(data.n_documents) % 3 > 0), 3] = np.nan  # informative
    return RankingDataset.from_arrays(features, data.relevance, qid=data.qid)


RANKERS: list[Ranker] = [
    *(
        DirectRanker(**QUICK, transform=name)
        for name in ("standard", "signed-log", "quantile-normal", "auto")
    ),
    *(
        DirectRanker(**QUICK, activation=activation)
        for activation in ("relu", "elu", "softplus", "softsign", "leaky_relu", "sigmoid")
    ),
    DirectRanker(**QUICK, normalisation="batch", activation="gelu"),
    DirectRanker(**QUICK, normalisation="layer", activation="silu"),
    DirectRanker(**{**QUICK, "hidden_layers": ()}),
    RankSVM(),
    AdaRank(max_iter=3, transform="piecewise-linear"),
    LambdaMART(**TREES),
]


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
def test_onnx_and_c_support_everything(ranker: Ranker, with_missing: RankingDataset, tmp_path: Path) -> None:
    ranker.fit(with_missing)
    for to in ("onnx", "c"):
        parity = export_ranker(ranker, tmp_path / to, to=to, rows=with_missing)
        assert parity.n_documents == with_missing.n_documents
        assert parity.largest_difference < 2e-6
        assert json.loads((tmp_path / to / "parity.json").read_text())["to"] == to


@pytest.mark.parametrize(
    "transform", ["piecewise-linear", "standard", "signed-log", "quantile-normal", "none"]
)
@pytest.mark.parametrize("ranker", [RankSVM(), DirectRanker(**{**QUICK, "hidden_layers": ()})])
def test_sums_of_columns_without_missing_values(
    ranker: Ranker, transform: str, data: RankingDataset, tmp_path: Path
) -> None:
    """Without layers, the head is multiplied by the columns of the transform, transposed or not."""
    ranker = clone(ranker).set_params(transform=transform).fit(data)
    for to in ("onnx", "c"):
        assert export_ranker(ranker, tmp_path / to, to=to, rows=data).largest_difference < 2e-6


@pytest.mark.parametrize("transform", ["piecewise-linear", "standard", "signed-log", "quantile-normal"])
def test_missing_values_and_edges_in_every_column(
    data: RankingDataset, tmp_path: Path, transform: str
) -> None:
    """Vectorised loops and their remainders may treat NaN differently; ties are on edges and knots."""
    ranker = DirectRanker(**QUICK, transform=transform).fit(data)
    rows = np.repeat(data.features[:1], 4 * data.n_features, axis=0)
    for row in range(len(rows)):
        column, kind = row % data.n_features, row // data.n_features
        values = data.features[:, column]
        edges = [np.nan, values.min(), values.max(), np.sort(values)[len(values) // 2]]
        rows[row, column] = edges[kind]
    rows = np.concatenate([rows, np.full((1, data.n_features), np.nan, dtype=np.float32)])
    for to in ("onnx", "c"):
        assert export_ranker(ranker, tmp_path / to, to=to, rows=rows).largest_difference < 2e-6


@pytest.mark.parametrize(
    ("ranker", "targets"),
    [
        (DirectRanker(**QUICK, transform="standard", activation="tanh"), ["solr"]),
        (DirectRanker(**QUICK, transform="standard", normalisation="batch"), ["solr"]),
        (DirectRanker(**QUICK, activation="leaky_relu"), ["solr"]),
        (DirectRanker(**QUICK, transform="none", activation="sigmoid"), ["solr"]),
        (AdaRank(max_iter=3, transform="piecewise-linear"), ["solr"]),
        (RankSVM(transform="standard"), ["solr", "elasticsearch"]),
        (RankSVM(transform="none"), ["solr", "elasticsearch"]),
        (LambdaMART(**TREES), ["solr", "elasticsearch", "elasticsearch-ranklib"]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Ranker) else "-".join(value),
)
def test_engines(ranker: Ranker, targets: list[str], data: RankingDataset, tmp_path: Path) -> None:
    ranker.fit(data)
    for to in targets:
        parity = export_ranker(ranker, tmp_path / to, to=to, rows=data)
        assert parity.largest_difference < 5e-6
        names = {path.name for path in (tmp_path / to).iterdir()}
        assert names == {"features.json", "model.json", "parity.json"}


@pytest.mark.parametrize(
    ("ranker", "targets"),
    [
        (DirectRanker(**QUICK, transform="standard"), ["solr"]),
        (DirectRanker(**QUICK), ["solr"]),
        (AdaRank(max_iter=3, transform="piecewise-linear"), ["solr"]),
        (RankSVM(transform="standard"), ["solr", "elasticsearch"]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Ranker) else "-".join(value),
)
def test_engines_far_from_0(ranker: Ranker, targets: list[str], data: RankingDataset, tmp_path: Path) -> None:
    """A time in seconds, for example: float32 resolves its mean only to 64 seconds."""
    features = data.features.astype(np.float64)
    for column, (unit, start) in enumerate([(1.0, 1e6), (1e4, 1.7e9), (1e-3, -40.0)]):
        features[:, column] = features[:, column] * unit + start
    features[0, 3] = -1e6  # one outlier, all others near 0
    far = RankingDataset.from_arrays(features.astype(np.float32), data.relevance, qid=data.qid)
    ranker.fit(far)
    for to in targets:
        assert export_ranker(ranker, tmp_path / to, to=to, rows=far).largest_difference < 5e-6


@pytest.mark.parametrize(
    ("ranker", "to", "reason"),
    [
        (DirectRanker(**QUICK, transform="query-z-score"), "c", "needs all documents of a query"),
        (DirectRanker(**QUICK, transform="in-context"), "onnx", "needs all documents of a query"),
        (Ensemble(DirectRanker(**QUICK), 2, vary=BOTH, random_state=0), "c", r"rankers_\[1\]\.save"),
        (Ensemble(IN_CONTEXT, 2, random_state=0), "c", "rankers have no per-query features"),
        (Ensemble(DirectRanker(**QUICK), 2, vary={"activation": ["relu", "tanh"]}), "c", "different layers"),
        (Ensemble(DirectRanker(**QUICK, normalisation="layer"), 2), "onnx", "merged into one net"),
        (DirectRanker(**QUICK, transform="signed-log"), "solr", "transform='standard'"),
        (DirectRanker(**QUICK, transform="standard", activation="gelu"), "solr", "has no gelu"),
        (DirectRanker(**QUICK, normalisation="layer"), "solr", "no layer normalisation"),
        (DirectRanker(**QUICK), "elasticsearch", "has no neural nets"),
        (RankSVM(transform="quantile-normal"), "elasticsearch", "quantiles of .* export to 'onnx' or 'c'"),
        (RankSVM(transform="piecewise-linear"), "elasticsearch", "piecewise-linear bins"),
        (RankSVM(transform="standard"), "elasticsearch-ranklib", "is for trees only"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Ranker) else str(value)[:12],
)
def test_unsupported_models_raise(
    ranker: Ranker, to: str, reason: str, data: RankingDataset, tmp_path: Path
) -> None:
    ranker.fit(data)
    with pytest.raises(ExportError, match=reason):
        export_ranker(ranker, tmp_path / "out", to=to, rows=data)
    assert list(tmp_path.iterdir()) == []


class Doubled(nn.Sequential):
    """A net whose `forward` does more than its modules."""

    def __init__(self, n_features: int) -> None:
        super().__init__(nn.Linear(n_features, 4), nn.Tanh())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return twice the output of the last module."""
        for module in self:
            x = module(x)
        return 2 * x


def test_net_with_its_own_forward_raises(data: RankingDataset, tmp_path: Path) -> None:
    ranker = DirectRanker(feature_net=Doubled, max_epochs=1, random_state=0).fit(data)
    with pytest.raises(ExportError, match="a Doubled in the feature net cannot be exported"):
        export_ranker(ranker, tmp_path / "out", to="onnx", rows=data)


def test_member_named_in_the_error_can_be_exported(data: RankingDataset, tmp_path: Path) -> None:
    Ensemble(DirectRanker(**QUICK), 2, vary=BOTH, random_state=0).fit(data).save(tmp_path / "ensemble")
    ensemble = load_ranker(tmp_path / "ensemble")
    assert isinstance(ensemble, Ensemble)
    ensemble.rankers_[1].save(tmp_path / "single")
    parity = export_ranker(load_ranker(tmp_path / "single"), tmp_path / "out", to="onnx", rows=data)
    assert parity.largest_difference < 2e-6


@pytest.mark.parametrize("ranker", [LambdaMART(**TREES), DirectRanker(**QUICK)])
def test_engines_do_not_support_missing_values(
    ranker: Ranker, with_missing: RankingDataset, tmp_path: Path
) -> None:
    ranker.fit(with_missing)
    with pytest.raises(ExportError, match="replaces missing values by 0"):
        export_ranker(ranker, tmp_path / "out", to="solr", rows=with_missing)


def test_solr_cannot_divide_by_the_narrowest_bins(data: RankingDataset, tmp_path: Path) -> None:
    features = data.features * np.float32(1e-42)
    tiny = RankingDataset.from_arrays(features, data.relevance, qid=data.qid)
    ranker = DirectRanker(**QUICK, teacher=None).fit(tiny)
    with pytest.raises(ExportError, match="to larger values and train again, or export to 'onnx' or 'c'"):
        export_ranker(ranker, tmp_path / "out", to="solr", rows=tiny)


def test_without_a_compiler_the_export_is_not_verified(
    data: RankingDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("directranker.export.exporting.find_c_compiler", lambda: None)
    ranker = RankSVM(transform="standard").fit(data)
    parity = export_ranker(ranker, tmp_path / "out", to="c", rows=data)
    assert parity.n_documents == 0
    report = (tmp_path / "out" / "parity.json").read_text()
    assert json.loads(report, parse_constant=pytest.fail)["largest_difference"] is None


def test_whole_numbers_on_both_sides_of_0(data: RankingDataset, tmp_path: Path) -> None:
    """LightGBM splits between −1 and 0 at −10⁻³⁵, and Solr adds 10⁻⁶ to the threshold."""
    features = np.rint(data.features[:, :3] / 40 - 1)
    whole = RankingDataset.from_arrays(features, features[:, 0] < 0, qid=data.qid)
    ranker = LambdaMART(**TREES).fit(whole)
    model = ranker._describe()
    assert isinstance(model, Trees)
    assert any(((tree.threshold < 0) & (tree.threshold > -1e-30)).any() for tree in model.trees)
    for to in ("solr", "elasticsearch", "elasticsearch-ranklib", "onnx", "c"):
        assert export_ranker(ranker, tmp_path / to, to=to, rows=whole).largest_difference < 5e-6


def test_features_too_far_from_0_for_float32_raise(data: RankingDataset, tmp_path: Path) -> None:
    """A feature whose mean float32 cannot represent; a LinearModel has no bias to compensate for it."""
    features = 7.5484e7 + 8 * data.relevance[:, None]
    far = RankingDataset.from_arrays(features, data.relevance, qid=data.qid)
    ranker = AdaRank(max_iter=1, transform="standard").fit(far)
    assert export_ranker(ranker, tmp_path / "c", to="c", rows=far).largest_difference < 2e-6
    for to in ("solr", "elasticsearch"):
        with pytest.raises(ExportError, match=r"not exact: .* shifted towards 0, or export to 'onnx' or 'c'"):
            export_ranker(ranker, tmp_path / to, to=to, rows=far)


@pytest.mark.parametrize("ranker", [RankSVM(), DirectRanker(**QUICK, transform="standard")])
def test_features_that_are_all_constant(ranker: Ranker, data: RankingDataset, tmp_path: Path) -> None:
    features = np.repeat(np.arange(data.n_queries), np.diff(data.offsets))[:, None] * np.ones(data.n_features)
    same = RankingDataset.from_arrays(features, data.relevance, qid=data.qid)  # within each query
    ranker = clone(ranker).fit(same)
    for to in ("onnx", "c"):
        assert export_ranker(ranker, tmp_path / to, to=to, rows=data).largest_difference < 2e-6


def test_nan_scores_of_the_ranker_raise(
    data: RankingDataset, with_missing: RankingDataset, tmp_path: Path
) -> None:
    ranker = DirectRanker(**QUICK, transform="none").fit(data)
    with pytest.raises(DataError, match=r"the score of row \d+ is nan: feature \d+ is missing"):
        export_ranker(ranker, tmp_path / "out", to="onnx", rows=with_missing)


def test_invalid_arguments(data: RankingDataset, tmp_path: Path) -> None:
    ranker = RankSVM(transform="standard").fit(data)
    with pytest.raises(ValueError, match="did you mean 'onnx'"):
        export_ranker(ranker, tmp_path / "out", to="onxx", rows=data)
    with pytest.raises(ValueError, match="no documents"):
        export_ranker(ranker, tmp_path / "out", to="c", rows=data.features[:0])
    (tmp_path / "out").mkdir()
    with pytest.raises(FileExistsError):
        export_ranker(ranker, tmp_path / "out", to="solr", rows=data)
    export_ranker(ranker, tmp_path / "out", to="solr", rows=data, overwrite=True)
