"""The training loop: epoch → batch → step.

A step scores each document of some queries once, takes cost and exact gradient of all their pairs from the
objective, and hands the gradient back to the net. After each epoch the net is measured on the validation
part, whose best epoch wins unless the measurement is only recorded.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from directranker.compilation import IntArray, even_cuts
from directranker.data.checking import Relevance
from directranker.data.grouping import means_of_queries
from directranker.errors import TrainingWarning, warn_caller
from directranker.metrics import Metric
from directranker.metrics.metric import mean_over_queries
from directranker.metrics.sorting import FloatArray
from directranker.nn.training_pass import Scorer, make_training_scorer
from directranker.nn.workspace import Workspace
from directranker.training.batches import Batch, Batches, EncodedFeatures, QueryGroups
from directranker.training.checkpoints import Checkpoint, Tensors, TrainingState
from directranker.training.interrupts import DeferredInterrupt, StopTraining
from directranker.training.progress import shown_progress
from directranker.training.records import EpochRecord
from directranker.training.schedules import learning_rate_factor, make_optimizer

__all__ = ["BatchCost", "Trained", "TrainingOptions", "Validation", "score_documents", "train"]

SCORED_BYTES = 16 << 20  # of encoded features that are scored at a time
SCORED_AS_BINS = 512  # documents, at least, where columns are not formed and weights are summed each time
VALIDATION_LIST = 100  # documents, where there are no queries
WORK_FOR_THREADS = 5e7  # multiplications in a step from which more than one thread pays

Stopped = Literal["max_epochs", "early_stopping", "interrupted", "non_finite"]


@dataclass(frozen=True)
class TrainingOptions:
    """How to train; see `DirectRanker` for what each means."""

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
    patience: int | None = None
    keep_best: bool = True
    """Keep the epoch with the best metric on the validation part; else the last one."""
    seed: int = 0
    progress: bool | None = None
    callbacks: Sequence[Callable[[EpochRecord], None]] = ()
    title: str = "training"


@dataclass(frozen=True)
class Validation:
    """The part that tells when to stop."""

    features: EncodedFeatures
    relevance: Relevance
    offsets: IntArray
    metric: Metric
    order: IntArray | None = None
    """The documents in the order of `relevance`, where that is not the features'."""
    weight: FloatArray | None = None
    """What each query counts in the mean; all the same where it is None."""

    @classmethod
    def of(
        cls,
        features: EncodedFeatures,
        relevance: Relevance,
        offsets: IntArray,
        metric: Metric,
        seed: int,
        *,
        document_weight: FloatArray | None = None,
    ) -> Validation:
        """As they are; without queries, documents are dealt to lists of about a hundred.

        The first ten of thousands of documents would be right after an epoch, whatever the others are. A list
        weighs the mean of its documents.
        """
        n_rows = len(relevance)
        if len(offsets) > 2 or n_rows < 2 * VALIDATION_LIST:
            weight = None if document_weight is None else means_of_queries(document_weight, offsets)
            return cls(features, relevance, offsets, metric, weight=weight)
        order = np.random.default_rng((seed, 11)).permutation(n_rows)
        cuts = np.array(even_cuts(n_rows, n_rows // VALIDATION_LIST))
        weight = None if document_weight is None else means_of_queries(document_weight[order], cuts)
        return cls(features, relevance[order], cuts, metric, order, weight)

    def measure(self, score: Scorer) -> float | None:
        """The mean of the metric with the net, in evaluation mode, as it is; None where a score is NaN."""
        scores = score_documents(score, self.features, len(self.relevance))
        if np.isnan(scores).any():
            return None
        in_order = scores if self.order is None else scores[self.order]
        values = self.metric.per_query(self.relevance, in_order, offsets=self.offsets)
        return mean_over_queries(values, self.weight)


class BatchCost(Protocol):
    """Scores a batch's pairs or lists: gives the cost and puts the gradient into the net."""

    def __call__(self, scores: torch.Tensor, batch: Batch, *, seed: int, progress: float) -> float:
        """Call `backward` on the scores and return the cost."""


@dataclass(frozen=True)
class Trained:
    """How a training went; the net itself has its best weights."""

    history: list[EpochRecord]
    best_epoch: int
    stopped: Stopped


def score_documents(score: Scorer, features: EncodedFeatures, n_rows: int) -> NDArray[np.float32]:
    """Scores of all rows by a net in evaluation mode, some thousands at a time."""
    scores, room = np.empty(n_rows, dtype=np.float32), Workspace()
    at_least = SCORED_AS_BINS if features.are_bins else 1
    at_a_time = max(at_least, SCORED_BYTES // max(1, features.bytes_per_row))
    with torch.no_grad():  # not inference_mode: what is laid out for scores serves training, too
        for start in range(0, n_rows, at_a_time):
            rows = np.arange(start, min(start + at_a_time, n_rows))
            scores[rows] = score(features.of(rows, room=room)).cpu().numpy()
    return scores


def train(
    net: torch.nn.Module,
    cost: BatchCost,
    features: EncodedFeatures,
    lists: QueryGroups,
    options: TrainingOptions,
    *,
    validation: Validation | None = None,
    checkpoint: Checkpoint | None = None,
) -> Trained:
    """Train a net until it stops getting better, or until the last epoch.

    Torch's global random state is what it was afterwards: dropout draws from it, so it is seeded anew for
    each epoch and put back in the end.
    """
    training = _Training(net, cost, features, lists, options, validation)
    with torch.random.fork_rng(devices=[]), _as_few_threads_as_pay(training.work_per_step):
        return training.run(checkpoint)


@contextmanager
def _as_few_threads_as_pay(work: float) -> Iterator[None]:
    """One thread for a small step, then what the user set again.

    Torch's threads wait for each other after each operation. On a busy machine that makes a small step some
    twenty times as long, and on an idle one it gains little.
    """
    before = torch.get_num_threads()
    if work < WORK_FOR_THREADS:
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
    lists: QueryGroups
    options: TrainingOptions
    validation: Validation | None
    optimizer: torch.optim.Optimizer = field(init=False)
    state: TrainingState = field(default_factory=TrainingState)
    best: Tensors | None = None
    last_good: Tensors | None = None
    """The weights after the last whole epoch, where none is the best yet."""
    room: Workspace = field(default_factory=Workspace)

    def __post_init__(self) -> None:
        options = self.options
        self.optimizer = make_optimizer(
            options.optimizer,
            self.net.parameters(),
            learning_rate=options.learning_rate,
            weight_decay=options.weight_decay,
            momentum=options.momentum,
        )
        self.batches = Batches(self.lists, options.batch_queries, options.seed, options.list_size)
        self.scores_of = make_training_scorer(self.net)
        self.parameters = list(self.net.parameters())

    @property
    def work_per_step(self) -> float:
        """About how many multiplications of torch's the forward pass of a step takes."""
        mean_length = len(self.lists.relevance) / max(1, self.lists.n_queries)
        size = self.options.batch_queries
        rows = mean_length * (max(size) if isinstance(size, tuple) else size)
        if self.lists.n_queries == 1:
            rows = self.options.list_size
        sizes = [parameter.numel() for parameter in self.net.parameters()]
        if self.features.are_bins:  # the first layer is not torch's, and has threads of its own
            del sizes[0]
        return float(rows * sum(sizes))

    @property
    def n_steps(self) -> int:
        """How many steps there will be if nothing stops training early."""
        if self.options.max_steps is not None:
            return self.options.max_steps
        size = self.options.batch_queries
        mean_size = math.sqrt(size[0] * size[1]) if isinstance(size, tuple) else size
        return max(1, math.ceil(self.lists.n_queries / mean_size) * self.options.max_epochs)

    def run(self, checkpoint: Checkpoint | None) -> Trained:
        if checkpoint is not None:
            self.state, self.best = checkpoint.restore(self.net, self.optimizer)
        self.last_good = _copied(self.net)
        stopped: Stopped | None = None
        options = self.options
        with (
            DeferredInterrupt() as interrupt,
            shown_progress(options.title, options.max_epochs, wanted=options.progress) as report,
        ):
            while not self.state.finished:
                if self._is_over():
                    break
                try:
                    ended = self._epoch(interrupt)
                except StopTraining:
                    ended = "interrupted"
                if not isinstance(ended, EpochRecord):
                    stopped = ended
                    break
                self._keep(ended)
                self.state.finished = self._has_no_patience_left() or self._is_over()
                if checkpoint is not None:
                    checkpoint.save(self.state, self.net, self.optimizer, self.best)
                report(ended.epoch, ended.in_words())
                for callback in options.callbacks:
                    callback(ended)
        if stopped is None:  # also where a checkpoint is of a finished training
            stopped = "early_stopping" if self._has_no_patience_left() else "max_epochs"
        self._finish(stopped)
        history = [EpochRecord(**record) for record in self.state.history]
        return Trained(history, self.state.best_epoch or self.state.epoch, stopped)

    def _is_over(self) -> bool:
        steps_left = self.options.max_steps is None or self.state.step < self.options.max_steps
        return bool(self.state.epoch >= self.options.max_epochs or not steps_left)

    def _has_no_patience_left(self) -> bool:
        patience = self.options.patience
        if patience is None or self.validation is None:
            return False
        return self.state.epoch - self.state.best_epoch >= patience

    def _epoch(self, interrupt: DeferredInterrupt) -> EpochRecord | Stopped:
        start = time.perf_counter()
        epoch = self.state.epoch
        torch.manual_seed(int(np.random.default_rng((self.options.seed, epoch, 1)).integers(2**63)))
        self.net.train()
        costs, weights = [], []
        for batch in self.batches.epoch(epoch, self.state.step / self.n_steps):
            cost = self._step(batch, interrupt)
            if not math.isfinite(cost):
                return "non_finite"
            costs.append(cost)
            weights.append(len(batch.offsets) - 1)
            if self.options.max_steps is not None and self.state.step >= self.options.max_steps:
                break
        self.net.eval()
        metric = None
        if self.validation is not None:
            with interrupt.stopping():
                metric = self.validation.measure(self.scores_of)
        judged = self.validation is not None and self.options.keep_best
        is_sound = metric is not None if judged else not costs or self._gives_numbers(batch)
        if not is_sound:
            return "non_finite"
        return EpochRecord(
            epoch=epoch + 1,
            cost=float(np.average(costs, weights=weights)) if costs else 0.0,
            metric=metric,
            learning_rate=self.optimizer.param_groups[0]["lr"],
            seconds=time.perf_counter() - start,
        )

    def _step(self, batch: Batch, interrupt: DeferredInterrupt) -> float:
        options = self.options
        factor = learning_rate_factor(options.lr_schedule, step=self.state.step, n_steps=self.n_steps)
        for group in self.optimizer.param_groups:
            group["lr"] = options.learning_rate * factor
        for parameter in self.parameters:  # as zero_grad does, which costs several times as much
            parameter.grad = None
        progress = self.state.step / self.n_steps
        with interrupt.stopping():
            scores = self.scores_of(self.features.of(batch.rows, room=self.room))
            cost = self.cost(scores, batch, seed=options.seed + self.state.step, progress=progress)
        if math.isfinite(cost):
            if options.max_grad_norm is not None:
                torch.nn.utils.clip_grad_norm_(self.net.parameters(), options.max_grad_norm)
            self.optimizer.step()
        self.state.step += 1
        return cost

    def _gives_numbers(self, batch: Batch) -> bool:
        """Whether the net, in evaluation mode, scores these documents after its last step."""
        with torch.no_grad():
            return bool(torch.isfinite(self.scores_of(self.features.of(batch.rows, room=self.room))).all())

    def _keep(self, record: EpochRecord) -> None:
        self.state.epoch = record.epoch
        self.state.history.append(asdict(record))
        if not self.options.keep_best or record.metric is None or math.isnan(record.metric):
            self.last_good = _copied(self.net)
            return
        if self.state.best_metric is None or record.metric > self.state.best_metric:
            self.state.best_metric, self.state.best_epoch = record.metric, record.epoch
            self.best = _copied(self.net)

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
            kept = "the best weights so far" if weights else "the weights as they are"
            warn_caller(
                f"training was interrupted in epoch {self.state.epoch + 1}; {kept} were kept",
                TrainingWarning,
            )
        if weights is not None:
            self.net.load_state_dict(weights)
        self.net.eval()


def _copied(net: torch.nn.Module) -> Tensors:
    copies: dict[str, Any] = {name: value.detach().clone() for name, value in net.state_dict().items()}
    return copies
