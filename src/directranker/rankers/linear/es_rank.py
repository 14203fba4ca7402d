"""ES-Rank, IESR-Rank and IESVM-Rank: linear rankers that optimise a metric by an evolution strategy.

Ibrahim and Landa-Silva, ES-Rank: Evolution Strategy Learning to Rank Approach, 2017; An Evolutionary Strategy
with Machine Learning for Learning to Rank in Information Retrieval, 2018. A generation adds random steps to a
random number of random weights. The child replaces the parent if its metric on the training split is strictly
better, and after a success the same steps are repeated. The three rankers differ in their initial weights.

>>> from directranker.data.synthetic import example_dataset
>>> train, test = example_dataset().split(0.7, random_state=0)
>>> ranker = ESRank(n_generations=200, random_state=0).fit(train)
>>> ranker.score(test) > 0.6
True
>>> ESRank().init, IESRRank().init, IESVMRank().init
('equal', 'regression', 'svm')
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from directranker.arrays import Features, FloatArray
from directranker.metrics import Metric
from directranker.metrics.repeated import RepeatedMetric
from directranker.parameters import CALLBACKS, PROGRESS, between, instance_of, integer, or_none
from directranker.rankers.base import as_metric, as_seed
from directranker.rankers.defaults import with_defaults
from directranker.rankers.linear.base import LinearRanker, RandomState
from directranker.rankers.linear.evolution import STEP_DISTRIBUTIONS, EvaluationSplit, Parent, evolve
from directranker.rankers.linear.rank_svm import fit_margin_weights
from directranker.rankers.rounds import RoundRecord, Rounds
from directranker.rankers.validation import check_not_constant, early_stopping_split
from directranker.suggestions import describe_unknown_name
from directranker.training.data import TrainingData
from directranker.training.interrupts import run_interruptibly

__all__ = ["ESRank", "IESRRank", "IESVMRank"]

INITIAL_WEIGHTS = ("equal", "regression", "svm")
ROWS_PER_BLOCK = 65_536


class ESRank(LinearRanker):
    """A linear ranker that maximises a metric by an evolution strategy, starting from equal weights.

    Parameters
    ----------
    metric
        The metric to maximise on the training split: `"ndcg@10"`, `"map"`, … in the paper's convention
        (labels of at least 1 are relevant), `"ndcg@10:graded"`, or a `Metric`. A query is weighted by the
        mean `sample_weight` of its rows.
    init
        The initial weights: `"equal"`, `"regression"` (linear regression on the labels) or `"svm"`
        (`RankSVM`), rescaled to a mean absolute value of 1 so that steps are on the same scale.
    step_distribution
        The distribution of the random changes of a weight: `"cauchy"` (N(0, 1)·exp(Cauchy), as published),
        `"gaussian"` or `"levy"`.
    n_generations
        The maximum number of generations; each tries one child.
    patience
        Stop after this many generations without improvement; None never stops early.
    validation_fraction
        Without an `eval_set`, hold out this fraction of the queries. The weights with the best metric on the
        `eval_set` or the held-out queries are kept. With None and no `eval_set`, the last weights are kept.
    transform
        The feature transform: a name (`"auto"`, `"query-min-max"`, …) or a transformer. Fitted on the
        training split alone.
    random_state
        Seed of the held-out queries and of the mutations.
    progress
        Show a progress bar; None shows one if standard error is a terminal.
    callbacks
        Functions that are called with the `RoundRecord` of each generation.

    Attributes
    ----------
    coef_, transform_
        The weights of the encoded columns, and the fitted transform.
    history_
        A `RoundRecord` per generation: the parent's metric on the training and validation split, seconds.
    n_rounds_, best_round_, stopped_
        The number of generations, the generation that is kept (0 for the initial weights), and the reason for
        stopping.

    """

    _rules = {  # noqa: RUF012 - as in the base
        "init": instance_of("'equal', 'regression' or 'svm'", str),
        "step_distribution": instance_of("'cauchy', 'gaussian' or 'levy'", str),
        "n_generations": integer(0),
        "patience": or_none(integer(1)),
        "validation_fraction": or_none(between(0, 1)),
        "progress": PROGRESS,
        "callbacks": CALLBACKS,
    }

    def __init__(
        self,
        *,
        metric: str | Metric = "ndcg@10:graded",
        init: str = "equal",
        step_distribution: str = "cauchy",
        n_generations: int = 1300,
        patience: int | None = None,
        validation_fraction: float | None = 0.2,
        transform: object = "auto",
        random_state: RandomState = None,
        progress: bool | None = None,
        callbacks: Sequence[Callable[[RoundRecord], None]] = (),
    ) -> None:
        self.metric = metric
        self.init = init
        self.step_distribution = step_distribution
        self.n_generations = n_generations
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.transform = transform
        self.random_state = random_state
        self.progress = progress
        self.callbacks = callbacks

    _warm_up_parameters = {"n_generations": 200}  # noqa: RUF012 - mutations of few weights and of many

    def _fit(self, data: TrainingData, validation: TrainingData | None) -> None:
        self._check_names_of_options()
        seed = as_seed(self.random_state)
        metric = as_metric(self.metric)
        check_not_constant(metric, data)
        data, validation = early_stopping_split(
            data, validation, metric, fraction=self.validation_fraction, seed=seed
        )
        data = self._fit_transform(data, seed)
        train_split = self._make_split(data, metric)
        validation_split = None
        if validation is not None:
            validation_split = self._make_split(self._add_statistics_to(validation), metric)
        parent = Parent(train_split, compute_initial_weights(self.init, train_split.table, data))
        rounds = Rounds(
            type(self).__name__,
            self.n_generations,
            initial=parent.fitness
            if validation_split is None
            else validation_split.compute_fitness(parent.coef),
            patience=self.patience,
            progress=self.progress,
            callbacks=self.callbacks,
        )
        self.coef_ = evolve(
            parent, rounds, step_distribution=self.step_distribution, seed=seed, validation=validation_split
        )
        self._set_history(rounds)
        self.best_round_ = rounds.best

    def _check_names_of_options(self) -> None:
        for parameter, name, known in (
            ("init", self.init, INITIAL_WEIGHTS),
            ("step_distribution", self.step_distribution, tuple(STEP_DISTRIBUTIONS)),
        ):
            if name not in known:
                raise ValueError(describe_unknown_name(parameter, name, known))

    def _make_split(self, data: TrainingData, metric: Metric) -> EvaluationSplit:
        repeated = RepeatedMetric(metric, data.relevance, data.offsets)
        is_left_out = np.isnan(repeated.per_query(np.zeros(len(data.relevance))))
        weights = np.where(is_left_out, 0.0, data.weight_of_queries)
        return EvaluationSplit(self._encode_data(data), repeated, weights / weights.sum())


class IESRRank(ESRank):
    """IESR-Rank: ES-Rank that starts from the weights of a linear regression on the labels."""

    __init__ = with_defaults(ESRank.__init__, init="regression")


class IESVMRank(ESRank):
    """IESVM-Rank: ES-Rank that starts from the weights of a linear SVM, here `RankSVM` with its defaults."""

    __init__ = with_defaults(ESRank.__init__, init="svm")


def compute_initial_weights(init: str, table: Features, data: TrainingData) -> FloatArray:
    """Compute the initial weights, with a mean absolute value of 1; all 1 if the start finds none."""
    equal = np.ones(table.shape[1])
    if init == "equal":
        return equal
    coef = fit_regression_weights(table, data) if init == "regression" else fit_margin_weights(table, data)
    mean_size = np.abs(coef).mean()
    return coef / mean_size if 0 < mean_size < np.inf else equal


def fit_regression_weights(table: Features, data: TrainingData) -> FloatArray:
    """Fit the labels by least squares with an intercept; return the solution with the smallest norm."""
    weight = data.weight_of_rows
    total = weight.sum()
    mean, mean_label = np.zeros(table.shape[1]), float(weight @ data.relevance) / total
    squares, products = np.zeros((len(mean), len(mean))), np.zeros(len(mean))
    blocks = [slice(start, start + ROWS_PER_BLOCK) for start in range(0, len(table), ROWS_PER_BLOCK)]
    for rows in blocks:
        mean += weight[rows] @ table[rows].astype(np.float64) / total
    for rows in blocks:
        centred = table[rows].astype(np.float64) - mean
        weighted = centred.T * weight[rows]
        squares += weighted @ centred
        products += weighted @ (data.relevance[rows] - mean_label)
    return run_interruptibly(lambda: np.linalg.lstsq(squares, products, rcond=1e-12)[0].astype(np.float64))
