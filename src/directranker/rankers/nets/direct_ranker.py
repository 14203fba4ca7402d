"""The DirectRanker: r(x, y) = τ(w·f(x) − w·f(y)), trained on pairs, used as one score per document.

Köppel, Segner, Wagener, Pensel, Karwath, Kramer: Pairwise Learning to Rank by Neural Networks Revisited.

>>> from directranker.data.synthetic import example_dataset
>>> train, test = example_dataset().split(0.7, random_state=0)
>>> ranker = DirectRanker(max_epochs=5, random_state=0).fit(train)
>>> ranker.score(test) > 0.6
True
>>> ranker.compare(test.features[:2], test.features[:2]).tolist()
[0.0, 0.0]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from directranker.encoding import get_bins
from directranker.encoding.base import RowTransform
from directranker.errors import DataError
from directranker.metrics import Metric
from directranker.rankers.base import Ranker, as_metric, as_seed
from directranker.rankers.nets.encoding_selection import CROSS_VALIDATED, select_encoding
from directranker.rankers.nets.net_ranker import AUTO, NetRanker, resolve_batch_queries, resolve_layers
from directranker.rankers.nets.parameters import NET_RULES, check_training
from directranker.rankers.training_data import NOTHING_VARIES, TrainingData
from directranker.rankers.transforming import n_columns_of, row_by_row
from directranker.rankers.validation import early_stopping_split
from directranker.training.records import EpochRecord

# ruff: noqa: PLC0415 - torch takes seconds to import, and a saved net ranks without it.
if TYPE_CHECKING:
    import torch

    from directranker.costs import Objective
    from directranker.nn import DirectRankerNet
    from directranker.training.batches import EncodedFeatures
    from directranker.training.checkpoints import Checkpoint
    from directranker.training.loop import BatchCost, TrainingOptions

__all__ = ["DirectRanker"]


class DirectRanker(NetRanker):
    """Rank by a neural net that is trained on pairs and whose comparisons are an order.

    Parameters
    ----------
    hidden_layers, activation, dropout, bias, normalisation
        The feature net f, a multi-layer perceptron: widths of its layers (`"auto"` is one layer of 256 on
        small data and of 128 on large), what follows each (`"relu"`, `"tanh"`, …), the share of outputs
        dropped in training, and `"batch"` or `"layer"` normalisation.
    feature_net
        Instead of these, any torch module, or a function from the number of features to one.
    head_activation
        τ: `"half_tanh"`, `"tanh"`, `"identity"`, `"softsign"`, `"arctan"`, or an odd function, which is taken
        as sign(x) · τ(|x|).
    cost
        Of pairs: `"cross_entropy"`, `"squared"`, `"squared_difference"`, `"relevance_weighted"`, `"hinge"`,
        `"squared_hinge"`, `"exponential"`, or a function of r and both labels; of lists: `"listnet"`,
        `"softmax"`, `"listmle"`.
    pairs
        `"all"` of different labels, or `"adjacent"`: neighbouring relevance classes only.
    pair_weight
        None, `"label_difference"`, `"delta_ndcg@10"`, `"delta_map"`, or a function.
    max_pairs
        At most so many pairs of a query in a step, drawn at random; a pair of numbers grows exponentially.
    reduction
        The mean over `"queries"` of each one's mean, over all `"pairs"`, half-way between by the `"root"` of
        their number, or the `"sum"`; `"auto"` is `"root"` for costs of pairs and `"queries"` for those of
        lists.
    teacher, teacher_weight
        A ranker whose beliefs about pairs make up this share of the cost, the labels the rest: `"trees"`,
        boosted on the same pairs; any ranker; None; or `"auto"`, trees from 30 queries to 100,000 documents,
        where documents are plain rows of features and cost and τ are the default's. The teacher scores
        queries that it has not learnt from. Ctrl-C while it learns ends the fit, as no net is there to keep.
    transform
        What becomes of the features first: a name (`"piecewise-linear"`, `"auto"`, `"quantile-normal"`, …) or
        a transformer; fitted on the training part alone. `"cross-validated"`: from 30 queries to 20,000
        documents whichever of the first two orders unseen queries better, elsewhere the first.
    optimizer, learning_rate, lr_schedule, weight_decay, momentum, max_grad_norm
        A name or a torch class; `"constant"`, `"step"` (the paper's) or `"cosine"`; the largest gradient.
    batch_queries
        Queries per step; a pair of numbers grows exponentially over the training. `"auto"`: 32, and beyond
        64,000 queries so many that an epoch has 2,000 steps.
    list_size
        Without queries, documents are dealt anew each epoch to lists of about this size.
    max_epochs, max_steps
        When to end at the latest.
    early_stopping, patience, validation_fraction, metric
        Stop after `patience` epochs without a better metric on the `eval_set`, or on this fraction of the
        queries that is then held out, and keep the best epoch. With `early_stopping=False` the last epoch is
        kept, nothing is held out, and the metric on an `eval_set` is only recorded in `history_`. Without
        queries, the part's documents are dealt to lists of about a hundred. NDCG@10 of all grades unless
        another metric is given; the paper's own, of two classes, is `"ndcg@10:paper"`.
    checkpoint
        A folder to write to after each epoch and to go on from when the same fit is started again.
    device
        `"auto"`, `"cpu"`, `"cuda"`, …
    random_state
        The same number gives the same ranker.
    progress
        Show a bar; None where standard error is a terminal.
    callbacks
        Called with the `EpochRecord` of each epoch.

    Attributes
    ----------
    net_, hidden_layers_, transform_
        The trained net, its widths, and the fitted transform.
    history_
        A record per epoch: cost, metric, learning rate, seconds.
    n_epochs_, best_epoch_, stopped_
        How many epochs there were, which one is kept, and why it ended.

    """

    _rules = NET_RULES

    def __init__(
        self,
        *,
        hidden_layers: Sequence[int] | int | str = AUTO,
        activation: Any = "relu",
        dropout: float = 0.5,
        bias: bool = True,
        normalisation: str | None = None,
        feature_net: Any = None,
        head_activation: Any = "half_tanh",
        cost: Any = "cross_entropy",
        pairs: str = "all",
        pair_weight: Any = None,
        max_pairs: int | tuple[int, int] | None = None,
        reduction: str = AUTO,
        teacher: Any = AUTO,
        teacher_weight: float = 0.5,
        transform: Any = CROSS_VALIDATED,
        optimizer: Any = "adamw",
        learning_rate: float = 1e-3,
        lr_schedule: str = "constant",
        weight_decay: float = 1e-2,
        momentum: float = 0.0,
        max_grad_norm: float | None = None,
        batch_queries: int | tuple[int, int] | str = AUTO,
        list_size: int = 1000,
        max_epochs: int = 100,
        max_steps: int | None = None,
        early_stopping: bool = True,
        patience: int = 7,
        validation_fraction: float = 0.2,
        metric: str | Metric = "ndcg@10:graded",
        checkpoint: str | Path | None = None,
        device: str = "auto",
        random_state: Any = None,
        progress: bool | None = None,
        callbacks: Sequence[Callable[[EpochRecord], None]] = (),
    ) -> None:
        self.hidden_layers = hidden_layers
        self.activation = activation
        self.dropout = dropout
        self.bias = bias
        self.normalisation = normalisation
        self.feature_net = feature_net
        self.head_activation = head_activation
        self.cost = cost
        self.pairs = pairs
        self.pair_weight = pair_weight
        self.max_pairs = max_pairs
        self.reduction = reduction
        self.teacher = teacher
        self.teacher_weight = teacher_weight
        self.transform = transform
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.lr_schedule = lr_schedule
        self.weight_decay = weight_decay
        self.momentum = momentum
        self.max_grad_norm = max_grad_norm
        self.batch_queries = batch_queries
        self.list_size = list_size
        self.max_epochs = max_epochs
        self.max_steps = max_steps
        self.early_stopping = early_stopping
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.metric = metric
        self.checkpoint = checkpoint
        self.device = device
        self.random_state = random_state
        self.progress = progress
        self.callbacks = callbacks

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """The published configuration: quantile-normal features, tanh, (Δy − r)², Adam with step decay.

        Pairs of neighbouring classes, 3 to 10 of a query and 10 to 100 queries a step, both growing over the
        training; the authors draw so many of each class, which is the same with the two of their tables.

        >>> DirectRanker.paper(max_steps=10).learning_rate
        0.01
        """
        published: dict[str, Any] = {
            "hidden_layers": (50,),
            "activation": "tanh",
            "dropout": 0.0,
            "head_activation": "half_tanh",
            "cost": "squared_difference",
            "pairs": "adjacent",
            "max_pairs": (3, 10),
            "reduction": "pairs",
            "teacher": None,
            "transform": "quantile-normal",
            "optimizer": "adam",
            "learning_rate": 0.01,
            "lr_schedule": "step",
            "weight_decay": 0.0,
            "batch_queries": (10, 100),
            "max_epochs": 10_000,
            "max_steps": 3000,
            "patience": 100,
        }
        return cls(**{**published, **changes})

    def _fit(self, data: TrainingData, validation: TrainingData | None) -> None:
        from directranker.nn.training_pass import has_own_pass
        from directranker.rankers.nets.distillation import soft_targets_of
        from directranker.rankers.nets.objective_cost import ObjectiveCost
        from directranker.training.batches import QueryGroups
        from directranker.training.checkpoints import kept_seed
        from directranker.training.devices import as_device
        from directranker.training.loop import Validation, train

        # Whoever gives no seed takes any, so that of a training to go on with.
        seed = as_seed(kept_seed(self.checkpoint) if self.random_state is None else self.random_state)
        check_training(self)  # teachers and trials take minutes, and a misspelt word should not wait for them
        cost, teacher = self._cost(), self._teacher(data)
        metric = as_metric(self.metric)
        checkpoint = self._checkpoint(seed, data, validation)
        fraction, stops_early = self.validation_fraction, self.early_stopping
        data, validation = early_stopping_split(
            data, validation, metric, fraction=fraction, seed=seed, early_stopping=stops_early
        )
        stopping = validation if stops_early else None
        if teacher is not None and isinstance(cost, ObjectiveCost):
            beliefs = soft_targets_of(teacher, data, stopping, seed=seed, progress=self.progress)
            cost = replace(cost, beliefs=beliefs, teacher_weight=self.teacher_weight)
        device = as_device(self.device)
        encoding = select_encoding(self, data, stopping, seed=seed, progress=self.progress)
        self._fit_transform(data, seed, encoding)
        size = {"n_documents": len(data.relevance), "n_columns": n_columns_of(self.transform_)}
        self.hidden_layers_ = resolve_layers(self.hidden_layers, **size)
        net = self.build_net(random_state=seed).to(device)
        as_bins = get_bins(self.transform_) is not None and has_own_pass(net)
        encoded = partial(self._encoded, device=device, as_bins=as_bins)
        lists = QueryGroups(data.relevance, data.offsets, data.document_weight, data.query_weight)
        measured = None
        if validation is not None:
            weight = validation.weight_of_rows if validation.is_weighted else None
            part = (encoded(validation), validation.relevance, validation.offsets)
            measured = Validation.of(*part, metric, seed, document_weight=weight)
        options = self._options(seed, data.n_queries)
        trained = train(net, cost, encoded(data), lists, options, validation=measured, checkpoint=checkpoint)
        self.net_ = net.to("cpu")
        self.history_ = trained.history
        self.n_epochs_ = len(trained.history)
        self.best_epoch_ = trained.best_epoch
        self.stopped_ = trained.stopped

    def build_net(self, *, random_state: int | None = None) -> DirectRankerNet:
        """The net for what the fitted transform makes of the features, with weights at random."""
        from directranker.nn import DirectRankerNet

        return DirectRankerNet.build(
            self._input_shape(),
            feature_net=self.feature_net,
            head_activation=self.head_activation,
            random_state=random_state,
            hidden_layers=self.hidden_layers_,
            activation=self.activation,
            dropout=self.dropout,
            bias=self.bias,
            normalisation=self.normalisation,
        )

    def _input_shape(self) -> tuple[int, ...]:
        n_columns = n_columns_of(self.transform_)
        if n_columns == 0:  # features that vary too rarely for the sample that a transform is fitted on
            raise DataError(NOTHING_VARIES)
        shape: tuple[int, ...] = getattr(self, "input_shape_", (n_columns,))
        if math.prod(shape) != n_columns:
            raise ValueError(
                f"the transform makes {n_columns} columns of documents of shape {shape}; "
                "for documents of several dimensions take 'none' or 'standard'"
            )
        return shape

    def _teacher(self, data: TrainingData) -> Ranker | None:
        is_auto = isinstance(self.teacher, str) and self.teacher == AUTO
        is_usual = (
            self.feature_net is None
            and not hasattr(self, "input_shape_")
            and (self.cost, self.head_activation, self.pair_weight) == ("cross_entropy", "half_tanh", None)
        )
        if self.teacher_weight == 0 or (is_auto and not is_usual):
            return None
        from directranker.rankers.nets.distillation import resolve_teacher

        return resolve_teacher(self.teacher, data)

    def _cost(self) -> BatchCost:
        from directranker.rankers.nets.objective_cost import ObjectiveCost

        return ObjectiveCost(self._objective(), self.max_pairs)

    def _objective(self) -> Objective:
        from directranker.costs import Objective

        return Objective(
            self.cost,
            head_activation=self.head_activation,
            pairs=self.pairs,
            pair_weight=self.pair_weight,
            reduction=self._reduction(),
        )

    def _reduction(self) -> str:
        if self.reduction != AUTO:
            return self.reduction
        from directranker.costs import LIST_COSTS

        return "queries" if self.cost in LIST_COSTS else "root"

    def _options(self, seed: int, n_queries: int) -> TrainingOptions:
        from directranker.training.loop import TrainingOptions

        return TrainingOptions(
            optimizer=self.optimizer,
            learning_rate=self.learning_rate,
            lr_schedule=self.lr_schedule,
            weight_decay=self.weight_decay,
            momentum=self.momentum,
            max_grad_norm=self.max_grad_norm,
            batch_queries=resolve_batch_queries(self.batch_queries, n_queries),
            list_size=self.list_size,
            max_epochs=self.max_epochs,
            max_steps=self.max_steps,
            patience=self.patience if self.early_stopping else None,
            keep_best=self.early_stopping,
            seed=seed,
            progress=self.progress,
            callbacks=self.callbacks,
            title=type(self).__name__,
        )

    def _encoded(self, data: TrainingData, *, device: torch.device, as_bins: bool) -> EncodedFeatures:
        from directranker.training.batches import EncodedFeatures

        table, rows, transform = data.table, data.rows, self.transform_
        if as_bins and not isinstance(transform, RowTransform):
            table, transform = row_by_row(transform, data.features, data.query_of_row)
            rows = None
        return EncodedFeatures(
            table,
            transform,
            data.query_of_row,
            device,
            rows=rows,
            shape=self._input_shape(),
            as_bins=as_bins,
        )

    def _checkpoint(
        self, seed: int, data: TrainingData, validation: TrainingData | None
    ) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        from directranker.training.checkpoints import Checkpoint, fingerprint

        left_out = {"checkpoint", "progress", "callbacks", "device", "random_state"}
        parameters = {name: value for name, value in self.get_params().items() if name not in left_out}
        parts = [data] if validation is None else [data, validation]
        names = ("features", "relevance", "offsets", "document_weight", "query_weight")
        arrays = [getattr(part, name) for part in parts for name in names]
        return Checkpoint(self.checkpoint, fingerprint({**parameters, "seed": seed}, *arrays), seed)

    def _compare(self, first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
        from directranker.nn import compare_scores

        return compare_scores(first, second, self.head_activation).astype(np.float64)
