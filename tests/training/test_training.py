"""The training loop: schedules, early stopping, interrupts, non-finite costs, and the best weights."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from directranker import RankingDataset, example_dataset
from directranker.arrays import FloatArray, IntArray
from directranker.data.synthetic import make_synthetic
from directranker.errors import TrainingWarning
from directranker.rankers import DirectRanker
from directranker.rankers.nets.objective_cost import ObjectiveCost
from directranker.training.batches import Batches, grow_exponentially
from directranker.training.data import TrainingData
from directranker.training.records import EpochRecord
from directranker.training.schedules import learning_rate_factor, make_optimizer


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return example_dataset().select(range(60))


def small(**options: Any) -> DirectRanker:
    quick: dict[str, Any] = {"hidden_layers": (8,), "random_state": 0, "max_epochs": 4}
    return DirectRanker(**(quick | options))


def one_feature(relevance: FloatArray, offsets: IntArray) -> TrainingData:
    return TrainingData(np.zeros((len(relevance), 1), np.float32), None, relevance, offsets)


def test_an_epoch_has_every_document_once_in_whole_queries(data: RankingDataset) -> None:
    documents = TrainingData.from_dataset(data)
    batches = list(Batches(documents, batch_queries=7, seed=0).epoch(0))
    assert len(batches) == 9
    assert sorted(np.concatenate([batch.rows for batch in batches])) == list(range(data.n_documents))
    for batch in batches:
        np.testing.assert_array_equal(batch.relevance, data.relevance[batch.rows])
        for start, stop in zip(batch.offsets[:-1], batch.offsets[1:], strict=True):
            assert len(set(data.qid[batch.rows[start:stop]])) == 1
            assert np.all(np.diff(batch.relevance[start:stop]) <= 0)
    again = list(Batches(documents, batch_queries=7, seed=0).epoch(0))
    other = list(Batches(documents, batch_queries=7, seed=0).epoch(1))
    assert all(np.array_equal(one.rows, two.rows) for one, two in zip(batches, again, strict=True))
    assert not np.array_equal(batches[0].rows, other[0].rows)


def test_without_queries_documents_are_partitioned_into_lists() -> None:
    documents = one_feature((np.arange(100) % 3).astype(np.float64), np.array([0, 100]))
    batches = list(Batches(documents, batch_queries=5, seed=0, list_size=30).epoch(0))
    assert [len(batch.rows) for batch in batches] == [34, 33, 33]
    assert sorted(np.concatenate([batch.rows for batch in batches])) == list(range(100))
    assert all(np.all(np.diff(batch.relevance) <= 0) for batch in batches)


def test_batches_grow() -> None:
    assert grow_exponentially((10, 100), 0.0) == 10
    assert grow_exponentially((10, 100), 1.0) == pytest.approx(100)
    documents = one_feature(np.tile([0.0, 1.0], 200), np.arange(0, 401, 2))
    sizes = [
        len(next(Batches(documents, (10, 100), seed=0).epoch(0, progress)).offsets) - 1
        for progress in (0, 0.5, 1)
    ]
    assert sizes == [10, 32, 100]


def test_schedules() -> None:
    assert learning_rate_factor("constant", step=5, n_steps=10) == 1
    assert learning_rate_factor("step", step=499, n_steps=3000) == 1
    assert learning_rate_factor("step", step=1500, n_steps=3000) == pytest.approx(0.944**3)
    cosine = [learning_rate_factor("cosine", step=step, n_steps=100) for step in range(100)]
    assert cosine[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert np.all(np.diff(cosine[5:]) < 0)
    with pytest.raises(ValueError, match="did you mean 'cosine'"):
        learning_rate_factor("cosin", step=0, n_steps=1)


def test_optimizers_by_name_and_class(data: RankingDataset) -> None:
    parameters = [torch.nn.Parameter(torch.zeros(1))]
    assert isinstance(make_optimizer("adamw", parameters, learning_rate=1, weight_decay=0), torch.optim.AdamW)
    small(optimizer=torch.optim.RMSprop).fit(data)
    with pytest.raises(ValueError, match="did you mean 'adam'"):
        small(optimizer="adm").fit(data)
    with pytest.raises(TypeError, match="give a name or a torch optimiser class"):
        small(optimizer=3).fit(data)
    with pytest.raises(ValueError, match="does not take these options"):
        small(optimizer="adam", momentum=0.9).fit(data)


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD])
def test_named_optimizers_step_as_those_of_torch(kind: type[torch.optim.Optimizer]) -> None:
    start = torch.linspace(-1, 1, 50)
    ours, theirs = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())
    options: Any = {"lr": 0.1, "weight_decay": 0.1, "fused": True}
    named = make_optimizer(kind.__name__.lower(), [ours], learning_rate=0.1, weight_decay=0.1)
    for optimizer, parameter in ((named, ours), (kind([theirs], **options), theirs)):
        for _ in range(3):
            optimizer.zero_grad()
            parameter.grad = 2 * parameter.detach()
            optimizer.step()
    assert torch.equal(ours, theirs)
    assert not torch.equal(ours, start)


def test_training_does_not_import_the_compiler_of_torch() -> None:
    script = """
import sys
from directranker import RankNet, example_dataset
RankNet(max_epochs=1, progress=False).fit(example_dataset().select(range(20)))
assert "torch" in sys.modules and "torch._dynamo" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_history_callbacks_and_early_stopping(data: RankingDataset) -> None:
    seen: list[EpochRecord] = []
    ranker = small(max_epochs=60, patience=3, learning_rate=0.05, callbacks=[seen.append]).fit(data)
    assert seen == ranker.history_
    assert ranker.n_epochs_ == len(seen) < 60
    assert ranker.stopped_ == "early_stopping"
    metrics = [record.metric or 0.0 for record in seen]
    assert ranker.best_epoch_ == int(np.argmax(metrics)) + 1
    assert ranker.n_epochs_ - ranker.best_epoch_ == 3


def test_the_best_weights_are_restored(data: RankingDataset) -> None:
    train, held_out = data.split(0.7, random_state=0)
    ranker = small(max_epochs=30, learning_rate=0.05, metric="ndcg@10:paper").fit(train, eval_set=held_out)
    best = max(record.metric for record in ranker.history_ if record.metric is not None)
    assert ranker.score(held_out) == pytest.approx(best, abs=1e-6)


def test_max_steps_clipping_and_without_early_stopping(data: RankingDataset) -> None:
    ranker = small(max_steps=3, batch_queries=10, early_stopping=False, max_grad_norm=0.1).fit(data)
    assert ranker.n_epochs_ == 1
    assert ranker.history_[0].metric is None
    assert ranker.stopped_ == "max_epochs"


def test_each_step_samples_other_pairs(data: RankingDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []
    compute_cost = ObjectiveCost.__call__

    def record_seed(self: ObjectiveCost, *batch: Any, seed: int, progress: float) -> float:
        seeds.append(seed)
        return compute_cost(self, *batch, seed=seed, progress=progress)

    monkeypatch.setattr(ObjectiveCost, "__call__", record_seed)
    small(max_pairs=3, batch_queries=10, transform="standard", teacher=None).fit(data)
    assert len(set(seeds)) == len(seeds) == 4 * 5


@pytest.mark.parametrize("transform", ["piecewise-linear", "auto", "cross-validated"])
def test_a_non_finite_cost_stops_with_the_last_good_weights(data: RankingDataset, transform: str) -> None:
    with pytest.warns(TrainingWarning, match="learning rate .* may be too high"):
        ranker = small(
            optimizer="sgd",
            learning_rate=1e30,
            cost="exponential",
            head_activation="identity",
            transform=transform,
        ).fit(data)
    assert ranker.stopped_ == "non_finite"
    assert np.isfinite(ranker.predict(data)).all()


class SquaredUntil:
    """The squared cost for this number of calls; then NaN."""

    def __init__(self, last: float) -> None:
        self.left = last

    def __call__(self, r: torch.Tensor, y_i: torch.Tensor, y_j: torch.Tensor) -> torch.Tensor:
        """Return the cost of each pair."""
        del y_i, y_j
        self.left -= 1
        return (1 - r) ** 2 * (1.0 if self.left >= 0 else torch.nan)


def test_without_validation_data_the_last_whole_epoch_is_kept(data: RankingDataset) -> None:
    options: dict[str, Any] = {"early_stopping": False, "batch_queries": 10, "teacher": None}
    n_batches = -(-data.n_queries // 10)
    with pytest.warns(TrainingWarning, match="in epoch 4; training stopped and the last good weights"):
        ranker = small(cost=SquaredUntil(3 * n_batches + 1), max_epochs=9, **options).fit(data)
    assert (ranker.stopped_, ranker.n_epochs_, ranker.best_epoch_) == ("non_finite", 3, 3)
    whole = small(cost=SquaredUntil(np.inf), max_epochs=3, **options).fit(data)
    np.testing.assert_array_equal(ranker.predict(data), whole.predict(data))


@pytest.mark.parametrize("teacher", [None, "trees"])
def test_a_constant_metric_turns_early_stopping_off(data: RankingDataset, teacher: str | None) -> None:
    options: dict[str, Any] = {"patience": 2, "max_epochs": 6, "teacher": teacher}
    irrelevant = (data.features, np.zeros(data.n_documents), data.qid)
    with pytest.warns(
        TrainingWarning, match="eval_set: no query counts under ndcg@10; all labels are 0"
    ) as warned:
        ranker = small(**options).fit(data, eval_set=irrelevant)
    assert [Path(one.filename).name for one in warned] == ["test_training.py"]
    assert (ranker.stopped_, ranker.n_epochs_, ranker.history_[-1].metric) == ("max_epochs", 6, None)
    # In the paper's convention no label below 1 is relevant, so the metric would be constant.
    halves = (data.features, data.relevance / 8)
    with pytest.warns(TrainingWarning, match="labels are from 0 to 0.5"):
        unstopped = small(**options, metric="ndcg@10:paper").fit(*halves, qid=data.qid)
    without = small(**options, early_stopping=False).fit(*halves, qid=data.qid)
    np.testing.assert_array_equal(unstopped.predict(data), without.predict(data))


@pytest.mark.parametrize("learning_rate", [1e39, 1e30])  # the second gives finite weights
def test_weights_with_non_finite_scores_after_the_last_step_are_not_kept(
    data: RankingDataset, learning_rate: float
) -> None:
    ranker = small(optimizer="sgd", learning_rate=learning_rate, max_steps=1, early_stopping=False)
    with pytest.warns(TrainingWarning, match="learning rate .* may be too high") as warned:
        ranker.fit(data)
    assert Path(warned[0].filename).name == "test_training.py"
    assert ranker.stopped_ == "non_finite"
    assert np.isfinite(ranker.predict(data)).all()


def test_steps_bypass_the_profiler_of_torch(data: RankingDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str, *_: Any) -> None:
        raise AssertionError(f"{name} was profiled, which takes a tenth of a small step")

    monkeypatch.setattr(torch.autograd.profiler, "record_function", fail)
    for optimizer in ("adam", "adamw", "sgd"):
        assert small(optimizer=optimizer, max_steps=2).fit(data).stopped_ == "max_epochs"


def test_an_interrupt_keeps_the_best_weights(data: RankingDataset) -> None:
    def interrupt(record: EpochRecord) -> None:
        if record.epoch == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(TrainingWarning, match="interrupted in epoch 3; the best weights so far were kept"):
        ranker = small(max_epochs=50, callbacks=[interrupt]).fit(data)
    assert ranker.stopped_ == "interrupted"
    assert ranker.n_epochs_ == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    np.testing.assert_array_equal(ranker.predict(data), small(max_epochs=2).fit(data).predict(data))


def test_global_random_state_and_threads_are_restored(data: RankingDataset) -> None:
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002 - what a user may have done
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    numpy_state = np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
    small().fit(data)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_state)  # type: ignore[index]  # noqa: NPY002


def test_the_transform_is_fitted_on_the_training_split_only(data: RankingDataset) -> None:
    train, held_out = data.split(0.5, random_state=0)
    ranker = small(transform="standard").fit(train, eval_set=held_out)
    np.testing.assert_allclose(ranker.transform_.mean_, train.features.mean(axis=0), rtol=1e-4)
    inner = small(transform="standard").fit(data)  # holds out a validation split
    assert not np.allclose(inner.transform_.mean_, data.features.mean(axis=0), rtol=1e-6)


def test_without_queries_early_stopping_measures_more_than_the_first_ten() -> None:
    data = make_synthetic(n_train=4000, n_test=2000, random_state=0)
    ranker = DirectRanker(hidden_layers=(64,), random_state=0)
    ranker.fit(data.train.features, data.train.relevance)
    metrics = [record.metric for record in ranker.history_]
    assert metrics[0] is not None
    assert metrics[0] < 0.95  # with one list, or with two classes, it would be 1 at once
    assert ranker.best_epoch_ > 3
    assert spearmanr(ranker.predict(data.test.features), data.test.relevance).statistic > 0.9
