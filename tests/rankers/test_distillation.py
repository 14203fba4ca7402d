"""Distillation: out-of-fold scores, calibrated to log-odds, as soft targets of the net."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import spearmanr

from directranker import RankingDataset, example_dataset, load_ranker
from directranker.rankers import DirectRanker, LambdaMART, RankNet, RankSVM
from directranker.rankers.base import Ranker
from directranker.rankers.nets.distillation import MAX_DOCUMENTS, compute_soft_targets, resolve_teacher
from directranker.rankers.nets.out_of_fold_scores import calibrate_scores
from directranker.training.data import TrainingData
from directranker.training.records import EpochRecord


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset()


class Recall(Ranker):
    """Scores training documents 1, by their features, and all others 0."""

    def _fit(self, data: TrainingData, validation: TrainingData | None) -> None:  # noqa: ARG002
        self.known_ = {row.tobytes() for row in data.features}

    def _scores(self, table: Any, query: Any) -> NDArray[np.float32]:  # noqa: ARG002
        return np.array([row.tobytes() in self.known_ for row in table], dtype=np.float32)


class Oracle(Ranker):
    """Scores a document by one feature."""

    def __init__(self, column: int = 0, factor: float = 7.0) -> None:
        self.column = column
        self.factor = factor

    def _fit(self, data: TrainingData, validation: TrainingData | None) -> None:
        del data, validation

    def _scores(self, table: Any, query: Any) -> NDArray[np.float32]:  # noqa: ARG002
        return np.asarray(self.factor * table[:, self.column], dtype=np.float32)


def test_no_document_is_scored_by_a_teacher_trained_on_it(data: RankingDataset) -> None:
    table = np.arange(data.n_documents, dtype=np.float32)[:, None]  # no two documents are equal
    queries = TrainingData(table, None, data.relevance, data.offsets)
    assert not compute_soft_targets(Recall(), queries, None, seed=0).logits.any()


def test_soft_targets_are_log_odds() -> None:
    rng = np.random.default_rng(0)
    odds = rng.normal(size=(4000, 2)) * 1.5
    first = rng.uniform(size=4000) < 1 / (1 + np.exp(odds[:, 1] - odds[:, 0]))
    labels = np.stack([first, ~first], axis=1).astype(np.float64)
    queries = TrainingData(
        odds.reshape(-1, 1).astype(np.float32), None, labels.ravel(), np.arange(0, 8001, 2)
    )
    logits = compute_soft_targets(Oracle(), queries, None, seed=0).logits
    slope = np.polyfit(odds.ravel(), logits, 1)[0]
    assert slope == pytest.approx(1.0, abs=0.08)


@pytest.mark.parametrize("per", ["document", "query"])
def test_documents_of_weight_0_do_not_change_the_calibration(data: RankingDataset, per: str) -> None:
    sizes = np.diff(data.offsets)
    weight = np.random.default_rng(0).integers(2, size=data.n_documents if per == "document" else len(sizes))
    weights: dict[str, Any] = {f"{per}_weight": weight.astype(np.float64)}
    kept = np.flatnonzero(weight if per == "document" else np.repeat(weight, sizes))
    fewer = np.concatenate([[0], np.cumsum(np.bincount(data.qid[kept], minlength=len(sizes)))])
    scores = data.relevance + np.random.default_rng(1).normal(size=data.n_documents)
    whole = TrainingData(data.features, None, data.relevance, data.offsets, **weights)
    subset = TrainingData(data.features[kept], None, data.relevance[kept], fewer)
    weighted, alone = calibrate_scores(scores, whole), calibrate_scores(scores[kept], subset)
    assert weighted.cost == pytest.approx(alone.cost, rel=1e-6)
    np.testing.assert_allclose(weighted.logits[kept], alone.logits, rtol=1e-3)


def test_the_net_is_fitted_to_the_soft_targets(data: RankingDataset) -> None:
    slopes = np.corrcoef(data.features.T, data.relevance)[-1, :-1]
    column = int(np.abs(slopes).argmax())
    oracle = Oracle(column, float(np.sign(slopes[column])))
    soft_targets = compute_soft_targets(oracle, TrainingData.from_dataset(data), None, seed=0).logits
    student = DirectRanker(
        teacher=oracle, teacher_weight=1.0, early_stopping=False, max_epochs=30, random_state=0
    )
    without = DirectRanker(teacher=None, early_stopping=False, max_epochs=30, random_state=0)
    correlation = [spearmanr(r.fit(data).predict(data), soft_targets).statistic for r in (student, without)]
    assert correlation[0] > 0.97
    assert correlation[1] < 0.9


@pytest.mark.parametrize("teacher", ["trees", RankSVM(), RankNet(max_epochs=2)])
def test_any_ranker_can_be_the_teacher(data: RankingDataset, teacher: Any, tmp_path: Path) -> None:
    part = data.select(range(40))
    ranker = DirectRanker(teacher=teacher, max_epochs=2, random_state=0)
    scores = ranker.fit(part).predict(part)
    assert np.array_equal(ranker.fit(part).predict(part), scores)  # the seed determines the teacher, too
    assert not np.array_equal(
        DirectRanker(teacher=None, max_epochs=2, random_state=0).fit(part).predict(part), scores
    )
    ranker.save(tmp_path / "model")
    assert np.array_equal(load_ranker(tmp_path / "model").predict(part), scores)


@pytest.mark.parametrize("teacher", ["trees", RankSVM()])
def test_a_training_with_a_teacher_resumes_from_its_checkpoint(
    data: RankingDataset, teacher: Any, tmp_path: Path
) -> None:
    part = data.select(range(40))
    options: dict[str, Any] = {"teacher": teacher, "max_epochs": 3, "random_state": 0}

    def stop(record: EpochRecord) -> None:
        if record.epoch == 2:
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        DirectRanker(**options, checkpoint=tmp_path, callbacks=[stop]).fit(part)
    resumed = DirectRanker(**options, checkpoint=tmp_path).fit(part)
    assert np.array_equal(resumed.predict(part), DirectRanker(**options).fit(part).predict(part))


def test_auto_has_a_teacher_on_small_data_with_default_cost(data: RankingDataset) -> None:
    def has_teacher(part: RankingDataset, **options: Any) -> bool:
        options = {"max_epochs": 1, "random_state": 0, **options}
        without = DirectRanker(**{**options, "teacher": None}).fit(part).predict(part)
        return not np.array_equal(DirectRanker(**options).fit(part).predict(part), without)

    assert has_teacher(data)
    assert not has_teacher(data.select(range(29)))
    assert not has_teacher(data, cost="hinge")
    assert not has_teacher(data, head_activation="tanh")
    assert not has_teacher(data, teacher_weight=0.0)
    assert isinstance(resolve_teacher("auto", TrainingData.from_dataset(data)), LambdaMART)
    many = TrainingData(
        np.zeros((MAX_DOCUMENTS + 1, 1), np.float32),
        None,
        np.zeros(MAX_DOCUMENTS + 1),
        np.linspace(0, MAX_DOCUMENTS + 1, 50, dtype=np.int64),
    )
    assert resolve_teacher("auto", many) is None  # labels suffice there
    assert resolve_teacher("trees", many) is not None
    assert RankNet().teacher is None
    assert DirectRanker.paper().teacher is None


def test_weights_count_in_the_soft_targets(data: RankingDataset) -> None:
    part = data.select(range(40))
    options: dict[str, Any] = {"teacher": "trees", "max_epochs": 2, "random_state": 0}
    even = DirectRanker(**options).fit(part).predict(part)
    weights = np.where(np.arange(part.n_queries) % 2, 5.0, 0.2)
    assert not np.array_equal(DirectRanker(**options).fit(part, sample_weight=weights).predict(part), even)
    ones = DirectRanker(**options).fit(part, sample_weight=np.ones(part.n_documents)).predict(part)
    np.testing.assert_allclose(ones, even, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"teacher": "a tree"}, "teacher is 'a tree'; give 'auto', 'trees', None or a ranker"),
        ({"teacher_weight": 1.5}, "teacher_weight is 1.5; give a number from 0 to 1"),
    ],
)
def test_an_invalid_teacher_raises(data: RankingDataset, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DirectRanker(**options).fit(data)


def test_a_teacher_with_non_finite_scores_raises(data: RankingDataset) -> None:
    with pytest.raises(ValueError, match="the teacher Oracle gives scores that are NaN or infinite"):
        DirectRanker(teacher=Oracle(factor=float("nan")), random_state=0).fit(data.select(range(40)))


def test_two_queries_are_too_few_for_a_teacher(data: RankingDataset) -> None:
    with pytest.raises(ValueError, match=r"there are [12]: give teacher=None"):
        DirectRanker(teacher="trees").fit(data.select(range(2)))


def test_an_interrupt_of_the_teacher_ends_the_fit(tmp_path: Path) -> None:
    script = """
import os, signal
from directranker import DirectRanker, example_dataset
from directranker.rankers import LambdaMART
def stop(record):
    if record.round == 3:
        os.kill(os.getpid(), signal.SIGINT)
teacher = LambdaMART(pair_weight=None, callbacks=[stop])
try:
    DirectRanker(teacher=teacher, max_epochs=1, random_state=0).fit(example_dataset())
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert done.stdout == "interrupted\n", done.stderr
    assert "Warning" not in done.stderr
