"""Which encoding a DirectRanker takes where it may choose: the one that orders unseen queries better."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from directranker import DirectRanker, Ensemble, RankingDataset, RankSVM, load_ranker
from directranker.encoding import AutoTransform, PiecewiseLinear
from directranker.rankers.nets import encoding_selection as encoding_choice
from directranker.rankers.nets import out_of_fold_scores
from directranker.rankers.nets.encoding_selection import MAX_DOCUMENTS, select_encoding
from directranker.training.data import TrainingData
from directranker.training.records import EpochRecord

QUICK: dict[str, Any] = {
    "max_epochs": 25,
    "hidden_layers": (32,),
    "batch_queries": 4,
    "dropout": 0.2,
    "teacher": None,
    "random_state": 0,
}
LENGTH = 20


def queries(n_queries: int, *, bands: bool) -> RankingDataset:
    """Long tails whose logarithms add up to the relevance; or what counts is to be near the middle."""
    rng = np.random.default_rng(0)
    logarithms = rng.normal(scale=2, size=(n_queries * LENGTH, 60))
    merit = -np.abs(logarithms[:, 0]) if bands else logarithms[:, :30].sum(axis=1)
    labels = (merit > np.quantile(merit, 0.7)).astype(np.float64)
    starts = np.arange(0, len(labels) + 1, LENGTH)
    return RankingDataset(np.exp(logarithms).astype(np.float32), labels, starts, np.arange(n_queries))


def training_data(data: RankingDataset) -> TrainingData:
    return TrainingData(data.features, None, data.relevance, data.offsets)


@pytest.mark.parametrize(("bands", "expected"), [(False, AutoTransform), (True, PiecewiseLinear)])
@pytest.mark.parametrize("seed", [0, 1])
def test_what_suits_the_data_is_taken(bands: bool, expected: type, seed: int) -> None:
    ranker = DirectRanker(**{**QUICK, "random_state": seed}).fit(queries(40, bands=bands))
    assert isinstance(ranker.transform_, expected)
    assert ranker.get_params()["transform"] == "cross-validated"  # the parameter stays as it was given


class Folds:
    """Stands for `score_folds`: scores are the labels and some noise, or no numbers."""

    def __init__(self, noise: dict[str, float]) -> None:
        self.noise, self.tried = noise, list[str]()

    def __call__(
        self, ranker: Any, data: TrainingData, _: Any, *, seed: int, n_repeats: int
    ) -> Iterator[tuple[Any, Any]]:
        """The folds' queries, and the scores of their documents."""
        encoding = ranker.get_params()["transform"]
        rng = np.random.default_rng((seed, len(encoding)))
        for number in range(3 * n_repeats):
            self.tried.append(encoding)
            held_out = np.arange(number % 3, data.n_queries, 3)
            labels = data.take(held_out).relevance
            yield held_out, labels + self.noise[encoding] * rng.normal(size=len(labels))


@pytest.mark.parametrize(
    ("in_bins", "scaled", "chosen", "n_folds"),
    [
        (0.2, 3.0, "piecewise-linear", 1),
        (3.0, 0.2, "auto", 1),
        (1.0, 1.1, "piecewise-linear", 6),
        (1.1, 1.0, "auto", 6),
        (np.nan, 3.0, "auto", 6),  # a net that went astray
        (np.nan, np.nan, "piecewise-linear", 6),
    ],
)
def test_held_out_queries_decide_and_no_more_than_needed(
    in_bins: float, scaled: float, chosen: str, n_folds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    folds = Folds({"piecewise-linear": in_bins, "auto": scaled})
    monkeypatch.setattr(encoding_choice, "score_folds", folds)
    data = training_data(queries(60, bands=True))
    assert select_encoding(DirectRanker(), data, None, seed=0) == chosen
    assert folds.tried == ["piecewise-linear", "auto"] * n_folds


def test_a_few_standard_errors_are_clear() -> None:
    rng = np.random.default_rng(0)
    differences = rng.normal(size=50)
    differences = (differences - differences.mean()) / differences.std(ddof=1) * np.sqrt(50)  # an error of 1
    costs = np.full(50, 100.0)
    for sign in (-1, 1):
        assert not encoding_choice._is_clear(costs + differences + sign * 3.9, costs)
        assert encoding_choice._is_clear(costs + differences + sign * 4.1, costs)
    without_pairs = np.zeros(1000)
    padded = np.append(costs + differences + 3.9, without_pairs), np.append(costs, without_pairs)
    assert not encoding_choice._is_clear(*padded)
    assert not encoding_choice._is_clear(np.array([2.0]), np.array([1.0]))


def a_net(n_columns: int) -> torch.nn.Module:
    return torch.nn.Linear(n_columns, 2)


@pytest.mark.parametrize(
    ("ranker", "n_queries", "meant"),
    [
        (DirectRanker(), 29, "piecewise-linear"),
        (DirectRanker(), MAX_DOCUMENTS // LENGTH + 1, "piecewise-linear"),
        (DirectRanker(feature_net=a_net), 40, "piecewise-linear"),
        (DirectRanker(transform="standard"), 40, "standard"),
        (DirectRanker.paper(), 40, "quantile-normal"),
        (RankSVM(), 40, "auto"),
    ],
)
def test_nothing_is_tried_where_there_is_no_choice(
    ranker: Any, n_queries: int, meant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding_choice, "score_folds", None)  # calling it would fail
    data = training_data(queries(n_queries, bands=False))
    assert select_encoding(ranker, data, None, seed=0) == meant


@pytest.mark.parametrize("vary", [None, "auto", {"dropout": [0.1, 0.3]}])
def test_an_ensemble_chooses_once(vary: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    learnt: list[int] = []
    learn = DirectRanker._fit

    def counted(ranker: DirectRanker, data: TrainingData, validation: TrainingData | None) -> None:
        learnt.append(len(data.relevance))
        learn(ranker, data, validation)

    monkeypatch.setattr(DirectRanker, "_fit", counted)
    ensemble = Ensemble(DirectRanker(**QUICK), 3, vary=vary, random_state=0).fit(queries(30, bands=False))
    assert [member.get_params()["transform"] for member in ensemble.rankers_] == ["auto"] * 3
    n_tried = len(learnt) - 3  # both encodings, on up to three folds twice
    assert n_tried in (2, 4, 6, 12)
    assert len(set(learnt[n_tried:])) == 1  # then the members, on all of it


def test_members_of_scaled_features_see_their_lists_too() -> None:
    ensemble = Ensemble(DirectRanker(**QUICK), 3, random_state=0).fit(queries(150, bands=False))
    seen = [member.get_params()["transform"] for member in ensemble.rankers_]
    assert seen == ["auto", "in-context", "auto"]


def test_the_choice_is_saved_and_repeated(tmp_path: Path) -> None:
    data = queries(40, bands=False)
    ranker = DirectRanker(**QUICK).fit(data)
    scores = ranker.predict(data)
    np.testing.assert_array_equal(DirectRanker(**QUICK).fit(data).predict(data), scores)
    ranker.save(tmp_path / "model")
    again = load_ranker(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(data), scores)
    assert isinstance(again.transform_, AutoTransform)


def test_a_training_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    data = queries(40, bands=False)

    def stop(record: EpochRecord) -> None:
        if record.epoch == 2:
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        DirectRanker(**QUICK, checkpoint=tmp_path, callbacks=[stop]).fit(data)
    resumed = DirectRanker(**QUICK, checkpoint=tmp_path).fit(data)
    np.testing.assert_array_equal(resumed.predict(data), DirectRanker(**QUICK).fit(data).predict(data))


def test_scores_that_tell_nothing_cost_log_2() -> None:
    data = training_data(queries(5, bands=False))
    odds = out_of_fold_scores.calibrate_scores(np.zeros(len(data.relevance)), data)
    assert odds.cost == pytest.approx(np.log(2))
    assert not odds.logits.any()
