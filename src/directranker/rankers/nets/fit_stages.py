"""The stages of fitting a DirectRanker: resolve → split → teach → encode → build → train.

Each stage is a function of the ranker's parameters and of the results before it. This module imports torch;
`DirectRanker` imports it when it is fitted, since a saved net ranks without torch.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers.nets.direct_ranker import DirectRanker
>>> ranker = DirectRanker(transform="standard", hidden_layers=8, max_epochs=2, random_state=0)
>>> data = TrainingData.from_dataset(example_dataset())
>>> resolved = resolve(ranker, data, None)
>>> resolved.seed, str(resolved.metric), type(resolved.teacher).__name__
(0, 'ndcg@10', 'LambdaMART')
>>> splits = split(ranker, resolved, data, None)
>>> splits.train.n_queries + splits.validation.n_queries == data.n_queries
True
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from directranker.encoding import get_bins
from directranker.encoding.base import RowTransform
from directranker.metrics import Metric
from directranker.nn import DirectRankerNet
from directranker.nn.perceptron import validate_layers
from directranker.nn.training_pass import has_fast_pass
from directranker.rankers.base import Ranker, as_metric, as_seed
from directranker.rankers.nets.distillation import compute_soft_targets, resolve_teacher
from directranker.rankers.nets.encoding_selection import select_encoding
from directranker.rankers.nets.net_ranker import AUTO, resolve_batch_queries, resolve_layers
from directranker.rankers.nets.objective_cost import ObjectiveCost
from directranker.rankers.transforming import as_row_transform, count_columns
from directranker.rankers.validation import early_stopping_split
from directranker.training.checkpoints import Checkpoint, compute_fingerprint, read_seed
from directranker.training.data import TrainingData
from directranker.training.devices import as_device
from directranker.training.encoded_features import EncodedFeatures
from directranker.training.loop import TrainingOptions, TrainingResult, Validation
from directranker.training.loop import train as run_training
from directranker.training.schedules import learning_rate_factor, make_optimizer

if TYPE_CHECKING:
    from directranker.rankers.nets.direct_ranker import DirectRanker

__all__ = ["ResolvedParameters", "Splits", "build", "encode", "resolve", "split", "teach", "train"]

NOT_FINGERPRINTED = {"checkpoint", "progress", "callbacks", "device", "random_state"}
"""Parameters that can change when a training resumes; the seed is fingerprinted in place of random_state."""


@dataclass(frozen=True)
class ResolvedParameters:
    """The objects that a ranker's parameters stand for."""

    seed: int
    metric: Metric
    cost: ObjectiveCost
    teacher: Ranker | None
    device: torch.device
    checkpoint: Checkpoint | None


@dataclass(frozen=True)
class Splits:
    """Training and validation data."""

    train: TrainingData
    validation: TrainingData | None
    early_stopping: bool

    @property
    def stopping(self) -> TrainingData | None:
        """The validation data of early stopping; None where its metric is only recorded."""
        return self.validation if self.early_stopping else None


def resolve(ranker: DirectRanker, data: TrainingData, validation: TrainingData | None) -> ResolvedParameters:
    """Check the parameters and resolve them, before any slow stage starts."""
    # Without a seed, a training resumes with the seed of its checkpoint.
    seed = as_seed(read_seed(ranker.checkpoint) if ranker.random_state is None else ranker.random_state)
    check_training_parameters(ranker)
    return ResolvedParameters(
        seed=seed,
        cost=ranker._build_cost(),
        teacher=_resolve_teacher(ranker, data),
        metric=as_metric(ranker.metric),
        device=as_device(ranker.device),
        checkpoint=_open_checkpoint(ranker, seed, data, validation),
    )


def split(
    ranker: DirectRanker, resolved: ResolvedParameters, data: TrainingData, validation: TrainingData | None
) -> Splits:
    """Split off the validation data of early stopping, unless there is an `eval_set`."""
    train, held_out = early_stopping_split(
        data,
        validation,
        resolved.metric,
        fraction=ranker.validation_fraction,
        seed=resolved.seed,
        early_stopping=ranker.early_stopping,
    )
    return Splits(train, held_out, ranker.early_stopping)


def teach(ranker: DirectRanker, resolved: ResolvedParameters, splits: Splits) -> ObjectiveCost:
    """Return the cost of the labels, mixed with that of the soft targets where there is a teacher."""
    if resolved.teacher is None:
        return resolved.cost
    soft_targets = compute_soft_targets(
        resolved.teacher, splits.train, splits.stopping, seed=resolved.seed, progress=ranker.progress
    )
    return replace(resolved.cost, soft_targets=soft_targets, teacher_weight=ranker.teacher_weight)


def encode(ranker: DirectRanker, resolved: ResolvedParameters, splits: Splits) -> Splits:
    """Select the feature encoding and fit the ranker's `transform_` on the training split.

    Return the splits with the statistics of categories where the encoding uses them.
    """
    encoding = select_encoding(
        ranker, splits.train, splits.stopping, seed=resolved.seed, progress=ranker.progress
    )
    train = ranker._fit_transform(splits.train, resolved.seed, encoding, held_out=splits.stopping)
    validation = None if splits.validation is None else ranker._add_statistics_to(splits.validation)
    return replace(splits, train=train, validation=validation)


def build(ranker: DirectRanker, resolved: ResolvedParameters, splits: Splits) -> DirectRankerNet:
    """Set the ranker's `hidden_layers_` and build the net with random weights on its device."""
    ranker.hidden_layers_ = resolve_layers(
        ranker.hidden_layers,
        n_documents=splits.train.n_documents,
        n_columns=count_columns(ranker.transform_),
    )
    return ranker.build_net(random_state=resolved.seed).to(resolved.device)


def train(
    ranker: DirectRanker,
    resolved: ResolvedParameters,
    splits: Splits,
    cost: ObjectiveCost,
    net: DirectRankerNet,
) -> TrainingResult:
    """Train the net and move it to the processor."""
    as_bins = get_bins(ranker.transform_) is not None and has_fast_pass(net)
    validation = None
    if splits.validation is not None:
        held_out = _encode_features(ranker, splits.validation, resolved.device, as_bins=as_bins)
        validation = Validation.build(held_out, resolved.metric, resolved.seed)
    options = TrainingOptions.from_parameters(
        ranker.get_params(deep=False),
        batch_queries=resolve_batch_queries(ranker.batch_queries, splits.train.n_queries),
        seed=resolved.seed,
        title=type(ranker).__name__,
    )
    features = _encode_features(ranker, splits.train, resolved.device, as_bins=as_bins)
    result = run_training(net, cost, features, options, validation=validation, checkpoint=resolved.checkpoint)
    net.to("cpu")
    return result


def check_training_parameters(ranker: DirectRanker) -> None:
    """Raise for a parameter that the net, its optimiser or its device does not accept."""
    as_device(ranker.device)
    learning_rate_factor(ranker.lr_schedule, step=0, n_steps=1)
    make_optimizer(
        ranker.optimizer,
        [torch.nn.Parameter(torch.zeros(1))],
        learning_rate=ranker.learning_rate,
        weight_decay=ranker.weight_decay,
        momentum=ranker.momentum,
    )
    if ranker.feature_net is None:
        layers = resolve_layers(ranker.hidden_layers, n_documents=1, n_columns=1)
        validate_layers(layers, ranker.activation, ranker.dropout, ranker.normalisation)


def _resolve_teacher(ranker: DirectRanker, data: TrainingData) -> Ranker | None:
    is_auto = isinstance(ranker.teacher, str) and ranker.teacher == AUTO
    is_default_net = ranker.feature_net is None and not hasattr(ranker, "input_shape_")
    objective = (ranker.cost, ranker.head_activation, ranker.pair_weight)
    has_default_objective = objective == ("cross_entropy", "half_tanh", None)
    if ranker.teacher_weight == 0 or (is_auto and not (is_default_net and has_default_objective)):
        return None
    return resolve_teacher(ranker.teacher, data)


def _open_checkpoint(
    ranker: DirectRanker, seed: int, data: TrainingData, validation: TrainingData | None
) -> Checkpoint | None:
    if ranker.checkpoint is None:
        return None
    parameters = {k: value for k, value in ranker.get_params().items() if k not in NOT_FINGERPRINTED}
    splits = [data] if validation is None else [data, validation]
    names = ("features", "relevance", "offsets", "document_weight", "query_weight")
    arrays = [getattr(one, name) for one in splits for name in names]
    fingerprint = compute_fingerprint({**parameters, "seed": seed}, *arrays)
    return Checkpoint(ranker.checkpoint, fingerprint, seed)


def _encode_features(
    ranker: DirectRanker, data: TrainingData, device: torch.device, *, as_bins: bool
) -> EncodedFeatures:
    transform = ranker.transform_
    if as_bins and not isinstance(transform, RowTransform):
        table, transform = as_row_transform(transform, data.features, data.query_of_row)
        data = replace(data, table=table, rows=None)
    return EncodedFeatures(data, transform, device, shape=ranker._input_shape(), as_bins=as_bins)
