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
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from directranker.arrays import FloatArray
from directranker.errors import DataError
from directranker.metrics import Metric
from directranker.rankers.nets.encoding_selection import CROSS_VALIDATED
from directranker.rankers.nets.net_ranker import AUTO, NetRanker
from directranker.rankers.nets.parameters import NET_RULES
from directranker.rankers.transforming import count_columns
from directranker.training.data import NO_VARYING_FEATURE, TrainingData
from directranker.training.records import EpochRecord

if TYPE_CHECKING:
    from directranker.costs import Objective
    from directranker.nn import DirectRankerNet
    from directranker.rankers.nets.objective_cost import ObjectiveCost

__all__ = ["DirectRanker"]


class DirectRanker(NetRanker):
    """A neural ranker that is trained on pairs of documents and whose comparisons are an order.

    Parameters
    ----------
    hidden_layers
        Widths of the hidden layers of the feature net f, a multi-layer perceptron. `"auto"` is one layer:
        256 units on small data, 128 on large data.
    activation, dropout, bias, normalisation
        Of each hidden layer: the activation (`"relu"`, `"tanh"`, …), the dropout rate, whether it has a bias,
        and `"batch"` or `"layer"` normalisation.
    feature_net
        A torch module, or a function from the number of features to one, that replaces the perceptron.
    head_activation
        τ: `"half_tanh"`, `"tanh"`, `"identity"`, `"softsign"`, `"arctan"`, or an odd function, which is
        evaluated as sign(x) · τ(|x|).
    cost
        A cost of pairs: `"cross_entropy"`, `"squared"`, `"squared_difference"`, `"relevance_weighted"`,
        `"hinge"`, `"squared_hinge"`, `"exponential"`, or a function of r and both labels. Or a listwise cost:
        `"listnet"`, `"softmax"`, `"listmle"`.
    pairs
        The pairs of a query: `"all"` pairs of different labels, or `"adjacent"`, pairs of neighbouring
        relevance classes only.
    pair_weight
        The weight of a pair: None, `"label_difference"`, `"delta_ndcg@10"`, `"delta_map"`, or a function.
    max_pairs
        The maximum number of pairs per query and step, sampled at random. A tuple (first, last) grows
        exponentially during training.
    reduction
        How costs are averaged: over `"queries"`, each by the mean of its pairs; over all `"pairs"`; by
        `"root"`, in which a query counts by the square root of its number of pairs; or not at all (`"sum"`).
        `"auto"` is `"root"` for costs of pairs and `"queries"` for listwise costs.
    teacher
        A ranker whose soft targets for pairs the net is trained on, besides the labels (distillation):
        `"trees"` (LambdaMART with the same cost), any ranker, or None. `"auto"` is `"trees"` from 30 queries
        up to 100,000 documents with the default net, cost and τ, else None. Out-of-fold scores are the soft
        targets. Ctrl-C while the teacher is trained ends the fit without a net.
    teacher_weight
        The weight of the soft targets in the cost, from 0 to 1; the labels have the rest.
    transform
        The feature encoding, fitted on the training split: a name (`"piecewise-linear"`, `"auto"`,
        `"quantile-normal"`, …) or a transformer. `"cross-validated"` selects `"piecewise-linear"` or `"auto"`
        by cross-validation from 30 queries up to 20,000 documents, and is `"piecewise-linear"` otherwise.
    optimizer, learning_rate, weight_decay, momentum
        The optimiser: `"adamw"`, `"adam"`, `"sgd"` or a torch class; and its options.
    lr_schedule
        The learning-rate schedule: `"constant"`, `"step"` (the paper's) or `"cosine"`.
    max_grad_norm
        The maximum norm of the gradient, by clipping; None for no limit.
    batch_queries
        The number of queries per step. A tuple (first, last) grows exponentially during training. `"auto"` is
        32; above 64,000 queries, the number that makes 2,000 steps per epoch.
    list_size
        Without queries, each epoch partitions the documents at random into lists of about this size.
    max_epochs, max_steps
        The maximum number of epochs and of steps.
    early_stopping, patience
        Stop after `patience` epochs without a better validation metric, and keep the best epoch. With
        `early_stopping=False` the last epoch is kept, nothing is held out, and the metric on an `eval_set` is
        only recorded in `history_`.
    validation_fraction
        The fraction of the queries held out for early stopping where there is no `eval_set`.
    metric
        The metric of early stopping: a name or a `Metric`. The default is NDCG@10 of graded labels;
        `"ndcg@10:paper"` is that of the paper, with two classes. Without queries it is the mean over random
        lists of about 100 documents.
    checkpoint
        A folder to write a checkpoint to after each epoch; the same fit then resumes from it.
    device
        The device to train on: `"auto"`, `"cpu"`, `"cuda"`, …
    random_state
        The seed; the same seed gives the same ranker.
    progress
        Show a progress bar; None shows it where standard error is a terminal.
    callbacks
        Functions that are called with the `EpochRecord` of each epoch.

    Attributes
    ----------
    net_, hidden_layers_, transform_
        The trained net, its widths, and the fitted transform.
    statistics_
        The statistics of the labels for each category, where the encoding uses them.
    history_
        The `EpochRecord` of each epoch: cost, metric, learning rate, seconds.
    n_epochs_, best_epoch_, stopped_
        The number of epochs, the epoch that is kept, and why training ended: `"max_epochs"`,
        `"early_stopping"`, `"interrupted"` or `"non_finite"`.

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
        transform: BaseEstimator = CROSS_VALIDATED,
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
        random_state: object = None,
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
    def paper(cls, **changes: object) -> Self:
        """Return the published configuration: quantile-normal features, tanh, (Δy − r)², Adam, step decay.

        A step has 3 to 10 pairs of neighbouring classes per query and 10 to 100 queries; both numbers grow
        during training. The authors sample this many pairs of each class, which is the same with the two
        classes of their data sets.

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
        from directranker.rankers.nets import fit_stages as stages  # noqa: PLC0415 - slow to import

        resolved = stages.resolve(self, data, validation)
        splits = stages.split(self, resolved, data, validation)
        cost = stages.teach(self, resolved, splits)
        splits = stages.encode(self, resolved, splits)
        net = stages.build(self, resolved, splits)
        result = stages.train(self, resolved, splits, cost, net)
        self.net_ = net
        self.history_ = result.history
        self.n_epochs_ = len(result.history)
        self.best_epoch_ = result.best_epoch
        self.stopped_ = result.stopped

    def build_net(self, *, random_state: int | None = None) -> DirectRankerNet:
        """Build the net for the encoded features, with random weights."""
        from directranker.nn import DirectRankerNet  # noqa: PLC0415 - slow to import

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
        n_columns = count_columns(self.transform_)
        if n_columns == 0:  # no feature varies in the sample that the transform is fitted on
            raise DataError(NO_VARYING_FEATURE)
        shape: tuple[int, ...] = getattr(self, "input_shape_", (n_columns,))
        if math.prod(shape) != n_columns:
            raise ValueError(
                f"the transform makes {n_columns} columns of documents of shape {shape}; "
                "for documents of several dimensions give transform='none' or 'standard'"
            )
        return shape

    def _build_cost(self) -> ObjectiveCost:
        from directranker.rankers.nets.objective_cost import ObjectiveCost  # noqa: PLC0415 - slow to import

        return ObjectiveCost(self._build_objective(), self.max_pairs)

    def _build_objective(self) -> Objective:
        from directranker.costs import LIST_COSTS, Objective  # noqa: PLC0415 - slow to import

        reduction = self.reduction
        if reduction == AUTO:
            reduction = "queries" if self.cost in LIST_COSTS else "root"
        return Objective(
            self.cost,
            head_activation=self.head_activation,
            pairs=self.pairs,
            pair_weight=self.pair_weight,
            reduction=reduction,
        )

    def _compare(self, first: FloatArray, second: FloatArray) -> FloatArray:
        from directranker.nn import compare_scores  # noqa: PLC0415 - slow to import

        return compare_scores(first, second, self.head_activation).astype(np.float64)
