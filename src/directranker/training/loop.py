"""The training loop: epoch → batch → step.

A step scores the documents of some queries, computes cost and exact gradient over their pairs, and
backpropagates it through the net. After each epoch the net is evaluated on the validation split. The epoch
with the best metric is kept, unless early stopping is off.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, Protocol, Self

import numpy as np
import torch

from directranker.arrays import Float32Array, FloatArray, IntArray, Relevance
from directranker.compilation import split_evenly
from directranker.data.grouping import compute_query_means
from directranker.errors import TrainingWarning, warn_caller
from directranker.metrics import Metric
from directranker.metrics.metric import mean_over_queries
from directranker.nn.bin_layer import store_by_column
from directranker.nn.training_pass import Scorer, make_training_scorer
from directranker.nn.workspace import Workspace
from directranker.training.batches import Batch, Batches
from directranker.training.checkpoints import Checkpoint, Tensors, TrainingState
from directranker.training.encoded_features import EncodedFeatures
from directranker.training.interrupts import DeferredInterrupt, StopTraining
from directranker.training.progress import show_progress
from directranker.training.records import EpochRecord
from directranker.training.schedules import learning_rate_factor, make_optimizer

__all__ = ["BatchCost", "TrainingOptions", "TrainingResult", "Validation", "score_documents", "train"]

SCORED_BYTES = 16 << 20  # encoded features scored at a time
MIN_SCORED_BINS = 512  # documents; their weights are summed anew in each call
VALIDATION_LIST_SIZE = 100  # documents, where there are no queries
MIN_THREADED_WORK = 5e7  # multiplications of a step from which several threads are faster

Stopped = Literal["max_epochs", "early_stopping", "interrupted", "non_finite"]


@dataclass(frozen=True)
class TrainingOptions:
    """Options of the training loop, named as the parameters of `DirectRanker`, which describes them."""

    optimizer: str | type[torch.optim.Optimizer] = "adamw"
    learning_rate: float = 1e-3
    lr_schedule: str = "constant"
    weight_decay: float = 0.0
    momentum: float = 0.0
    max_grad_norm: float | None = None
    batch_queries: int | tuple[int, int] = 32
    list_size: int = 1000
    max_epochs: int = 100
    max_steps: int | None = None
    early_stopping: bool = True
    """Keep the epoch with the best validation metric, and stop after `patience` epochs without a better one;
    otherwise the validation metric is only recorded."""
    patience: int | None = None
    seed: int = 0
    progress: bool | None = None
    callbacks: Sequence[Callable[[EpochRecord], None]] = ()
    title: str = "training"

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, object], **resolved: Any) -> Self:
        """Fill each field from `resolved`, or from the parameter of the same name.

        >>> TrainingOptions.from_parameters({"max_epochs": 3, "cost": "hinge"}, seed=7)  # doctest: +ELLIPSIS
        TrainingOptions(optimizer='adamw', ..., max_epochs=3, ..., seed=7, ...)
        """
        names = {field.name for field in fields(cls)}
        return cls(**{**{name: value for name, value in parameters.items() if name in names}, **resolved})


@dataclass(frozen=True)
class Validation:
    """The validation split and the metric of early stopping."""

    features: EncodedFeatures
    relevance: Relevance
    offsets: IntArray
    metric: Metric
    order: IntArray | None = None
    """The position of each document of `relevance` in `features`; None where the order is the same."""
    query_weight: FloatArray | None = None
    """The weight of each query in the mean; None for equal weights."""

    @classmethod
    def build(cls, features: EncodedFeatures, metric: Metric, seed: int) -> Validation:
        """Return the documents as they are; without queries, partition them into lists of about 100.

        In one list of thousands of documents, the first ten are right after one epoch, so the metric would
        not improve. The weight of a query is the mean over its documents.
        """
        data = features.data
        weight = data.weight_of_rows if data.is_weighted else None
        if data.n_queries > 1 or data.n_documents < 2 * VALIDATION_LIST_SIZE:
            query_weight = None if weight is None else compute_query_means(weight, data.offsets)
            return cls(features, data.relevance, data.offsets, metric, query_weight=query_weight)
        order = np.random.default_rng((seed, 11)).permutation(data.n_documents)
        offsets = np.array(split_evenly(data.n_documents, data.n_documents // VALIDATION_LIST_SIZE))
        query_weight = None if weight is None else compute_query_means(weight[order], offsets)
        return cls(features, data.relevance[order], offsets, metric, order, query_weight)

    def evaluate(self, score: Scorer) -> float | None:
        """Return the mean metric of a net in evaluation mode; None where a score is NaN."""
        scores = score_documents(score, self.features, len(self.relevance))
        if np.isnan(scores).any():
            return None
        ordered = scores if self.order is None else scores[self.order]
        values = self.metric.per_query(self.relevance, ordered, offsets=self.offsets)
        return mean_over_queries(values, self.query_weight)


class BatchCost(Protocol):
    """Computes the cost of a batch and backpropagates its gradient."""

    def __call__(self, scores: torch.Tensor, batch: Batch, *, seed: int, progress: float) -> float:
        """Call `backward` on the scores and return the cost."""


@dataclass(frozen=True)
class TrainingResult:
    """The history of a training; the net has the weights of the best epoch."""

    history: list[EpochRecord]
    best_epoch: int
    stopped: Stopped


def score_documents(score: Scorer, features: EncodedFeatures, n_documents: int) -> Float32Array:
    """Score documents by a net in evaluation mode, a block at a time."""
    scores, workspace = np.empty(n_documents, dtype=np.float32), Workspace()
    min_block = MIN_SCORED_BINS if features.are_bins else 1
    block = max(min_block, SCORED_BYTES // max(1, features.bytes_per_row))
    with torch.no_grad():  # not inference_mode: training uses the same buffers
        for start in range(0, n_documents, block):
            rows = np.arange(start, min(start + block, n_documents))
            scores[rows] = score(features.select(rows, workspace=workspace)).cpu().numpy()
    return scores


def train(
    net: torch.nn.Module,
    cost: BatchCost,
    features: EncodedFeatures,
    options: TrainingOptions,
    *,
    validation: Validation | None = None,
    checkpoint: Checkpoint | None = None,
) -> TrainingResult:
    """Train a net until early stopping or the last epoch.

    Dropout draws from torch's global random state. It is seeded for each epoch and restored at the end.
    """
    training = _Training(net, cost, features, options, validation)
    with torch.random.fork_rng(devices=[]), _limit_threads(training.work_per_step):
        return training.run(checkpoint)


@contextmanager
def _limit_threads(work: float) -> Iterator[None]:
    """Use one thread for small steps, then restore the user's number.

    Torch's threads wait for each other after each operation. On a busy machine that makes a small step some
    twenty times as long, and on an idle one it gains little.
    """
    before = torch.get_num_threads()
    if work < MIN_THREADED_WORK:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass
class _Training:
    net: torch.nn.Module
    cost: BatchCost
    features: EncodedFeatures
    options: TrainingOptions
    validation: Validation | None
    optimizer: torch.optim.Optimizer = field(init=False)
    state: TrainingState = field(default_factory=TrainingState)
    best: Tensors | None = None
    last_good: Tensors | None = None
    """The weights after the last whole epoch, where no epoch is the best yet."""
    workspace: Workspace = field(default_factory=Workspace)

    def __post_init__(self) -> None:
        options = self.options
        if self.features.are_bins:
            store_by_column(next(self.net.parameters()))
        self.optimizer = make_optimizer(
            options.optimizer,
            self.net.parameters(),
            learning_rate=options.learning_rate,
            weight_decay=options.weight_decay,
            momentum=options.momentum,
        )
        self.data = self.features.data
        self.batches = Batches(self.data, options.batch_queries, options.seed, options.list_size)
        self.score = make_training_scorer(self.net)
        self.parameters = list(self.net.parameters())

    @property
    def work_per_step(self) -> float:
        """The approximate number of torch's multiplications in the forward pass of a step."""
        mean_size = self.data.n_documents / max(1, self.data.n_queries)
        size = self.options.batch_queries
        rows = mean_size * (max(size) if isinstance(size, tuple) else size)
        if self.data.n_queries == 1:
            rows = self.options.list_size
        sizes = [parameter.numel() for parameter in self.net.parameters()]
        if self.features.are_bins:  # our own kernel computes the first layer
            del sizes[0]
        return float(rows * sum(sizes))

    @property
    def n_steps(self) -> int:
        """The number of steps without early stopping."""
        if self.options.max_steps is not None:
            return self.options.max_steps
        size = self.options.batch_queries
        mean_size = math.sqrt(size[0] * size[1]) if isinstance(size, tuple) else size
        return max(1, math.ceil(self.data.n_queries / mean_size) * self.options.max_epochs)

    def run(self, checkpoint: Checkpoint | None) -> TrainingResult:
        if checkpoint is not None:
            self.state, self.best = checkpoint.restore(self.net, self.optimizer)
            _match_layouts(self.optimizer)
        self.last_good = _copy_weights(self.net)
        stopped: Stopped | None = None
        options = self.options
        with (
            DeferredInterrupt() as interrupt,
            show_progress(options.title, options.max_epochs, enabled=options.progress) as report,
        ):
            while not self.state.finished:
                if self._is_at_limit():
                    break
                try:
                    record = self._run_epoch(interrupt)
                except StopTraining:
                    record = "interrupted"
                if not isinstance(record, EpochRecord):
                    stopped = record
                    break
                self._add_record(record)
                self.state.finished = self._is_out_of_patience() or self._is_at_limit()
                if checkpoint is not None:
                    checkpoint.save(self.state, self.net, self.optimizer, self.best)
                report(record.epoch, record.format_progress())
                for callback in options.callbacks:
                    callback(record)
        if stopped is None:  # also where the checkpoint is that of a finished training
            stopped = "early_stopping" if self._is_out_of_patience() else "max_epochs"
        self._finish(stopped)
        history = [EpochRecord(**record) for record in self.state.history]
        return TrainingResult(history, self.state.best_epoch or self.state.epoch, stopped)

    def _is_at_limit(self) -> bool:
        steps_left = self.options.max_steps is None or self.state.step < self.options.max_steps
        return bool(self.state.epoch >= self.options.max_epochs or not steps_left)

    def _is_out_of_patience(self) -> bool:
        patience = self.options.patience if self.options.early_stopping else None
        if patience is None or self.validation is None:
            return False
        return self.state.epoch - self.state.best_epoch >= patience

    def _run_epoch(self, interrupt: DeferredInterrupt) -> EpochRecord | Stopped:
        start = time.perf_counter()
        epoch = self.state.epoch
        torch.manual_seed(int(np.random.default_rng((self.options.seed, epoch, 1)).integers(2**63)))
        self.net.train()
        costs, weights = [], []
        for batch in self.batches.epoch(epoch, self.state.step / self.n_steps):
            cost = self._run_step(batch, interrupt)
            if not math.isfinite(cost):
                return "non_finite"
            costs.append(cost)
            weights.append(len(batch.offsets) - 1)
            if self.options.max_steps is not None and self.state.step >= self.options.max_steps:
                break
        self.net.eval()
        metric = None
        if self.validation is not None:
            with interrupt.abort_on_request():
                metric = self.validation.evaluate(self.score)
        keeps_best = self.validation is not None and self.options.early_stopping
        is_finite = metric is not None if keeps_best else not costs or self._has_finite_scores(batch)
        if not is_finite:
            return "non_finite"
        return EpochRecord(
            epoch=epoch + 1,
            cost=float(np.average(costs, weights=weights)) if costs else 0.0,
            metric=metric,
            learning_rate=self.optimizer.param_groups[0]["lr"],
            seconds=time.perf_counter() - start,
        )

    def _run_step(self, batch: Batch, interrupt: DeferredInterrupt) -> float:
        options = self.options
        factor = learning_rate_factor(options.lr_schedule, step=self.state.step, n_steps=self.n_steps)
        for group in self.optimizer.param_groups:
            group["lr"] = options.learning_rate * factor
        for parameter in self.parameters:  # faster than zero_grad
            parameter.grad = None
        progress = self.state.step / self.n_steps
        with interrupt.abort_on_request():
            scores = self.score(self.features.select(batch.rows, workspace=self.workspace))
            cost = self.cost(scores, batch, seed=options.seed + self.state.step, progress=progress)
        if math.isfinite(cost):
            if options.max_grad_norm is not None:
                torch.nn.utils.clip_grad_norm_(self.net.parameters(), options.max_grad_norm)
            self.optimizer.step()
        self.state.step += 1
        return cost

    def _has_finite_scores(self, batch: Batch) -> bool:
        """Whether the net, in evaluation mode, gives these documents finite scores."""
        with torch.no_grad():
            return bool(
                torch.isfinite(self.score(self.features.select(batch.rows, workspace=self.workspace))).all()
            )

    def _add_record(self, record: EpochRecord) -> None:
        self.state.epoch = record.epoch
        self.state.history.append(asdict(record))
        if not self.options.early_stopping or record.metric is None or math.isnan(record.metric):
            self.last_good = _copy_weights(self.net)
            return
        if self.state.best_metric is None or record.metric > self.state.best_metric:
            self.state.best_metric, self.state.best_epoch = record.metric, record.epoch
            self.best = _copy_weights(self.net)

    def _finish(self, stopped: Stopped) -> None:
        weights = self.best
        if stopped == "non_finite":
            weights = weights or self.last_good
            warn_caller(
                f"the cost became infinite or NaN in epoch {self.state.epoch + 1}; training stopped and the "
                f"last good weights were kept. The learning rate ({self.options.learning_rate:g}) may be too "
                "high, or features too large: try a tenth of it, or another transform",
                TrainingWarning,
            )
        if stopped == "interrupted":
            kept = "the best weights so far" if weights else "the current weights"
            warn_caller(
                f"training was interrupted in epoch {self.state.epoch + 1}; {kept} were kept",
                TrainingWarning,
            )
        if weights is not None:
            self.net.load_state_dict(weights)
        for parameter in self.parameters:
            parameter.data = parameter.data.contiguous()
        self.net.eval()


def _match_layouts(optimizer: torch.optim.Optimizer) -> None:
    """Store the state of each parameter in the order of the parameter's memory, as optimisers expect it."""
    for parameter, state in optimizer.state.items():
        for name, value in state.items():
            if torch.is_tensor(value) and value.shape == parameter.shape:
                state[name] = torch.empty_like(parameter, dtype=value.dtype).copy_(value)


def _copy_weights(net: torch.nn.Module) -> Tensors:
    copies: dict[str, Any] = {name: value.detach().clone() for name, value in net.state_dict().items()}
    return copies
