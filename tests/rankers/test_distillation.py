"""A teacher's beliefs: from queries that it has not seen, on the scale of log odds, and learnt by the net."""

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


def training_data(data: RankingDataset) -> TrainingData:
    return TrainingData(data.features, None, data.relevance, data.offsets)


class Recall(Ranker):
    """Gives 1 to documents that it has learnt from, known by their features, and 0 to others."""

    def _fit(self, data: TrainingData, validation: TrainingData | None) -> None:  # noqa: ARG002
        self.known_ = {row.tobytes() for row in data.features}

    def _scores(self, table: Any, query: Any) -> NDArray[np.float32]:  # noqa: ARG002
        return np.array([row.tobytes() in self.known_ for row in table], dtype=np.float32)


class Oracle(Ranker):
    """Knows the score of a document by one feature."""

    def __init__(self, column: int = 0, factor: float = 7.0) -> None:
        self.column = column
        self.factor = factor

    def _fit(self, data: TrainingData, validation: TrainingData | None) -> None:
        del data, validation

    def _scores(self, table: Any, query: Any) -> NDArray[np.float32]:  # noqa: ARG002
        return np.asarray(self.factor * table[:, self.column], dtype=np.float32)


def test_no_document_is_scored_by_one_that_learnt_from_it(data: RankingDataset) -> None:
    own = np.arange(data.n_documents, dtype=np.float32)[:, None]  # no two documents are equal
    queries = TrainingData(own, None, data.relevance, data.offsets)
    assert not compute_soft_targets(Recall(), queries, None, seed=0).logits.any()


def test_beliefs_are_log_odds() -> None:
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
def test_what_weighs_nothing_does_not_explain_the_labels(data: RankingDataset, per: str) -> None:
    sizes = np.diff(data.offsets)
    weight = np.random.default_rng(0).integers(2, size=data.n_documents if per == "document" else len(sizes))
    weights: dict[str, Any] = {f"{per}_weight": weight.astype(np.float64)}
    kept = np.flatnonzero(weight if per == "document" else np.repeat(weight, sizes))
    fewer = np.concatenate([[0], np.cumsum(np.bincount(data.qid[kept], minlength=len(sizes)))])
    scores = data.relevance + np.random.default_rng(1).normal(size=data.n_documents)
    whole = TrainingData(data.features, None, data.relevance, data.offsets, **weights)
    part = TrainingData(data.features[kept], None, data.relevance[kept], fewer)
    weighted, alone = calibrate_scores(scores, whole), calibrate_scores(scores[kept], part)
    assert weighted.cost == pytest.approx(alone.cost, rel=1e-6)
    np.testing.assert_allclose(weighted.logits[kept], alone.logits, rtol=1e-3)


def test_the_net_learns_what_the_teacher_thinks(data: RankingDataset) -> None:
    slopes = np.corrcoef(data.features.T, data.relevance)[-1, :-1]
    column = int(np.abs(slopes).argmax())
    oracle = Oracle(column, float(np.sign(slopes[column])))
    beliefs = compute_soft_targets(oracle, training_data(data), None, seed=0).logits
    pupil = DirectRanker(
        teacher=oracle, teacher_weight=1.0, early_stopping=False, max_epochs=30, random_state=0
    )
    untaught = DirectRanker(teacher=None, early_stopping=False, max_epochs=30, random_state=0)
    correlation = [spearmanr(r.fit(data).predict(data), beliefs).statistic for r in (pupil, untaught)]
    assert correlation[0] > 0.97
    assert correlation[1] < 0.9


@pytest.mark.parametrize("teacher", ["trees", RankSVM(), RankNet(max_epochs=2)])
def test_any_ranker_may_teach(data: RankingDataset, teacher: Any, tmp_path: Path) -> None:
    part = data.select(range(40))
    ranker = DirectRanker(teacher=teacher, max_epochs=2, random_state=0)
    scores = ranker.fit(part).predict(part)
    assert np.array_equal(ranker.fit(part).predict(part), scores)  # the seed decides, the teacher's included
    assert not np.array_equal(
        DirectRanker(teacher=None, max_epochs=2, random_state=0).fit(part).predict(part), scores
    )
    ranker.save(tmp_path / "model")
    assert np.array_equal(load_ranker(tmp_path / "model").predict(part), scores)


@pytest.mark.parametrize("teacher", ["trees", RankSVM()])
def test_a_taught_training_goes_on_from_its_checkpoint(
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


def test_auto_has_a_teacher_where_it_helps(data: RankingDataset) -> None:
    def taught(part: RankingDataset, **options: Any) -> bool:
        options = {"max_epochs": 1, "random_state": 0, **options}
        without = DirectRanker(**{**options, "teacher": None}).fit(part).predict(part)
        return not np.array_equal(DirectRanker(**options).fit(part).predict(part), without)

    assert taught(data)
    assert not taught(data.select(range(29)))
    assert not taught(data, cost="hinge")
    assert not taught(data, head_activation="tanh")
    assert not taught(data, teacher_weight=0.0)
    assert isinstance(resolve_teacher("auto", training_data(data)), LambdaMART)
    many = TrainingData(
        np.zeros((MAX_DOCUMENTS + 1, 1), np.float32),
        None,
        np.zeros(MAX_DOCUMENTS + 1),
        np.linspace(0, MAX_DOCUMENTS + 1, 50, dtype=np.int64),
    )
    assert resolve_teacher("auto", many) is None  # labels are enough there
    assert resolve_teacher("trees", many) is not None
    assert RankNet().teacher is None
    assert DirectRanker.paper().teacher is None


def test_documents_weigh_in_what_is_taught(data: RankingDataset) -> None:
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
def test_a_wrong_teacher_is_refused(data: RankingDataset, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DirectRanker(**options).fit(data)


def test_a_teacher_without_numbers_is_refused(data: RankingDataset) -> None:
    with pytest.raises(ValueError, match="the teacher Oracle gives scores that are NaN or infinite"):
        DirectRanker(teacher=Oracle(factor=float("nan")), random_state=0).fit(data.select(range(40)))


def test_two_queries_are_too_few_to_be_taught(data: RankingDataset) -> None:
    with pytest.raises(ValueError, match=r"there are [12]: take teacher=None"):
        DirectRanker(teacher="trees").fit(data.select(range(2)))


def test_an_interrupt_while_the_teacher_learns_ends_the_fit(tmp_path: Path) -> None:
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
