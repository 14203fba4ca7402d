"""The cross-validated choice of the feature encoding: the one that orders held-out queries better."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from directranker import DirectRanker, Ensemble, RankingDataset, RankSVM, load_ranker
from directranker.encoding import AutoTransform, PiecewiseLinear
from directranker.rankers.nets import encoding_selection, out_of_fold_scores
from directranker.rankers.nets.encoding_selection import MAX_DOCUMENTS, select_encoding
from directranker.training.data import TrainingData
from directranker.training.records import EpochRecord

QUICK: dict[str, Any] = {
    "max_epochs": 15,
    "hidden_layers": (32,),
    "batch_queries": 4,
    "dropout": 0.2,
    "teacher": None,
    "random_state": 0,
}
QUERY_SIZE = 20


def queries(n_queries: int, *, bands: bool) -> RankingDataset:
    """Long-tailed features whose logarithms sum to the relevance; or relevance is nearness to the middle."""
    rng = np.random.default_rng(0)
    logarithms = rng.normal(scale=2, size=(n_queries * QUERY_SIZE, 60))
    merit = -np.abs(logarithms[:, 0]) if bands else logarithms[:, :30].sum(axis=1)
    labels = (merit > np.quantile(merit, 0.7)).astype(np.float64)
    starts = np.arange(0, len(labels) + 1, QUERY_SIZE)
    return RankingDataset(np.exp(logarithms).astype(np.float32), labels, starts, np.arange(n_queries))


def training_data(data: RankingDataset) -> TrainingData:
    return TrainingData.from_dataset(data)


@pytest.fixture(scope="module")
def fitted() -> DirectRanker:
    """A ranker whose selected encoding is `auto`."""
    return DirectRanker(**QUICK).fit(queries(40, bands=False))


def test_the_better_encoding_is_selected(fitted: DirectRanker) -> None:
    banded = DirectRanker(**QUICK).fit(queries(40, bands=True))
    for ranker, expected in [(fitted, AutoTransform), (banded, PiecewiseLinear)]:
        assert isinstance(ranker.transform_, expected)
        assert ranker.get_params()["transform"] == "cross-validated"  # the parameter is not changed


class Folds:
    """A stand-in for `score_folds`: scores are the labels plus noise, or NaN."""

    def __init__(self, noise: dict[str, float]) -> None:
        self.noise, self.tried = noise, list[str]()

    def __call__(
        self, ranker: Any, data: TrainingData, _: Any, *, seed: int, n_repeats: int
    ) -> Iterator[tuple[Any, Any]]:
        """Yield the queries of each fold, and the scores of their documents."""
        encoding = ranker.get_params()["transform"]
        rng = np.random.default_rng((seed, len(encoding)))
        for number in range(3 * n_repeats):
            self.tried.append(encoding)
            held_out = np.arange(number % 3, data.n_queries, 3)
            labels = data.take(held_out).relevance
            yield held_out, labels + self.noise[encoding] * rng.normal(size=len(labels))


@pytest.mark.parametrize(
    ("piecewise", "scaled", "selected", "n_folds"),
    [
        (0.2, 3.0, "piecewise-linear", 1),
        (3.0, 0.2, "auto", 1),
        (1.0, 1.1, "piecewise-linear", 6),
        (1.1, 1.0, "auto", 6),
        (np.nan, 3.0, "auto", 6),  # a diverged net
        (np.nan, np.nan, "piecewise-linear", 6),
    ],
)
def test_cross_validation_ends_once_the_difference_is_significant(
    piecewise: float, scaled: float, selected: str, n_folds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    folds = Folds({"piecewise-linear": piecewise, "auto": scaled})
    monkeypatch.setattr(encoding_selection, "score_folds", folds)
    data = training_data(queries(60, bands=True))
    assert select_encoding(DirectRanker(), data, None, seed=0) == selected
    assert folds.tried == ["piecewise-linear", "auto"] * n_folds


def test_four_standard_errors_are_significant() -> None:
    rng = np.random.default_rng(0)
    differences = rng.normal(size=50)
    # A standard error of 1.
    differences = (differences - differences.mean()) / differences.std(ddof=1) * np.sqrt(50)
    costs = np.full(50, 100.0)
    for sign in (-1, 1):
        assert not encoding_selection._is_significant(costs + differences + sign * 3.9, costs)
        assert encoding_selection._is_significant(costs + differences + sign * 4.1, costs)
    without_pairs = np.zeros(1000)
    padded = np.append(costs + differences + 3.9, without_pairs), np.append(costs, without_pairs)
    assert not encoding_selection._is_significant(*padded)
    assert not encoding_selection._is_significant(np.array([2.0]), np.array([1.0]))


def a_net(n_columns: int) -> torch.nn.Module:
    return torch.nn.Linear(n_columns, 2)


@pytest.mark.parametrize(
    ("ranker", "n_queries", "expected"),
    [
        (DirectRanker(), 29, "piecewise-linear"),
        (DirectRanker(), MAX_DOCUMENTS // QUERY_SIZE + 1, "piecewise-linear"),
        (DirectRanker(feature_net=a_net), 40, "piecewise-linear"),
        (DirectRanker(transform="standard"), 40, "standard"),
        (DirectRanker.paper(), 40, "quantile-normal"),
        (RankSVM(), 40, "auto"),
    ],
)
def test_nothing_is_cross_validated_where_there_is_no_choice(
    ranker: Any, n_queries: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding_selection, "score_folds", None)  # calling it would fail
    data = training_data(queries(n_queries, bands=False))
    assert select_encoding(ranker, data, None, seed=0) == expected


@pytest.mark.parametrize("vary", [None, "auto", {"dropout": [0.1, 0.3]}])
def test_an_ensemble_selects_once(vary: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    fit = DirectRanker._fit

    def count_and_fit(ranker: DirectRanker, data: TrainingData, validation: TrainingData | None) -> None:
        sizes.append(data.n_documents)
        fit(ranker, data, validation)

    monkeypatch.setattr(DirectRanker, "_fit", count_and_fit)
    ensemble = Ensemble(DirectRanker(**QUICK), 3, vary=vary, random_state=0).fit(queries(30, bands=False))
    assert [member.get_params()["transform"] for member in ensemble.rankers_] == ["auto"] * 3
    n_tried = len(sizes) - 3  # both encodings, on up to three folds twice
    assert n_tried in (2, 4, 6, 12)
    assert len(set(sizes[n_tried:])) == 1  # then the members, on all documents


def test_members_with_scaled_features_alternate_with_per_query_features() -> None:
    ensemble = Ensemble(DirectRanker(**QUICK), 3, random_state=0).fit(queries(150, bands=False))
    transforms = [member.get_params()["transform"] for member in ensemble.rankers_]
    assert transforms == ["auto", "in-context", "auto"]


def test_the_selected_encoding_is_saved(fitted: DirectRanker, tmp_path: Path) -> None:
    data = queries(40, bands=False)
    scores = fitted.predict(data)
    fitted.save(tmp_path / "model")
    again = load_ranker(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(data), scores)
    assert isinstance(again.transform_, AutoTransform)


def test_a_training_resumes_from_its_checkpoint_with_the_same_encoding(
    fitted: DirectRanker, tmp_path: Path
) -> None:
    data = queries(40, bands=False)

    def stop(record: EpochRecord) -> None:
        if record.epoch == 2:
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        DirectRanker(**QUICK, checkpoint=tmp_path, callbacks=[stop]).fit(data)
    resumed = DirectRanker(**QUICK, checkpoint=tmp_path).fit(data)
    np.testing.assert_array_equal(resumed.predict(data), fitted.predict(data))


def test_constant_scores_cost_log_2() -> None:
    data = training_data(queries(5, bands=False))
    odds = out_of_fold_scores.calibrate_scores(np.zeros(len(data.relevance)), data)
    assert odds.cost == pytest.approx(np.log(2))
    assert not odds.logits.any()
