"""ES-Rank, IESR-Rank and IESVM-Rank: a linear scorer evolved on the metric itself.

Ibrahim and Landa-Silva, ES-Rank: Evolution Strategy Learning to Rank Approach, 2017; An Evolutionary Strategy
with Machine Learning for Learning to Rank in Information Retrieval, 2018. A generation adds random steps to a
random number of random weights; the child takes the parent's place if the metric on the training part is
strictly better, and after a success the same steps are taken again. The three differ in where they start.

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
from typing import Any

import numpy as np

from directranker.arrays import Features, FloatArray
from directranker.metrics import Metric
from directranker.metrics.repeated import RepeatedMetric
from directranker.parameters import CALLBACKS, PROGRESS, between, instance_of, integer, or_none
from directranker.rankers.base import as_metric, as_seed
from directranker.rankers.defaults import with_defaults
from directranker.rankers.linear.base import LinearRanker
from directranker.rankers.linear.evolution import STEPS, Parent, Part, evolve
from directranker.rankers.linear.rank_svm import margin_weights
from directranker.rankers.rounds import RoundRecord, Rounds
from directranker.rankers.validation import check_not_constant, early_stopping_split
from directranker.suggestions import describe_unknown_name
from directranker.training.data import TrainingData
from directranker.training.interrupts import run_interruptibly

__all__ = ["ESRank", "IESRRank", "IESVMRank"]

STARTS = ("equal", "regression", "svm")
ROWS_AT_A_TIME = 65_536


class ESRank(LinearRanker):
    """A linear ranker by an evolution strategy that starts from equal weights.

    Parameters
    ----------
    metric
        What is improved, on the training part: `"ndcg@10"`, `"map"`, … in the paper's convention, by which
        labels from 1 on are relevant, `"ndcg@10:graded"`, or a `Metric`. `sample_weight`, as the mean over a
        query's rows, weighs its queries.
    init
        The first weights: `"equal"`, those of a linear `"regression"` on the labels, or those of `RankSVM`,
        `"svm"`; stretched to a mean size of 1, which changes no ranking, so that steps mean the same.
    step_distribution
        How weights change: `"cauchy"` (the published N(0, 1)·exp(Cauchy)), `"gaussian"` or `"levy"`.
    n_generations
        How many children there are at the most.
    patience
        End after so many generations without a better parent; None never does.
    validation_fraction
        Keep the parent with the best metric on the `eval_set` or, without one, on this share of the queries,
        which is then held out; with None and no `eval_set` the last parent is kept.
    transform
        What becomes of the features first, fitted on the training part alone.
    random_state
        The same number gives the same ranker.
    progress
        Show a bar; None where standard error is a terminal.
    callbacks
        Called with the `RoundRecord` of each generation.

    Attributes
    ----------
    coef_, transform_
        The weights of the columns that the fitted transform makes.
    history_
        A record per generation: the parent's metric on the training and on the validation part, seconds.
    n_rounds_, best_round_, stopped_
        How many generations there were, which one is kept (0 is the start), and why it ended.

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
        transform: Any = "auto",
        random_state: Any = None,
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

    _warm_up_parameters = {"n_generations": 200}  # noqa: RUF012 - steps of few weights and of many

    def _fit(self, data: TrainingData, validation: TrainingData | None) -> None:
        self._check_words()
        seed = as_seed(self.random_state)
        metric = as_metric(self.metric)
        check_not_constant(metric, data)
        data, validation = early_stopping_split(
            data, validation, metric, fraction=self.validation_fraction, seed=seed
        )
        self._fit_transform(data, seed)
        part = self._part(data, metric)
        judge = None if validation is None else self._part(validation, metric)
        parent = Parent(part, starting_weights(self.init, part.table, data))
        rounds = Rounds(
            type(self).__name__,
            self.n_generations,
            initial=parent.fitness if judge is None else judge.fitness(parent.coef),
            patience=self.patience,
            progress=self.progress,
            callbacks=self.callbacks,
        )
        self.coef_ = evolve(parent, rounds, steps=self.step_distribution, seed=seed, validation=judge)
        self.history_ = rounds.history
        self.n_rounds_ = len(rounds.history)
        self.best_round_ = rounds.best
        self.stopped_ = rounds.stopped

    def _check_words(self) -> None:
        for name, word, known in (
            ("init", self.init, STARTS),
            ("step_distribution", self.step_distribution, tuple(STEPS)),
        ):
            if word not in known:
                raise ValueError(describe_unknown_name(name, word, known))

    def _part(self, data: TrainingData, metric: Metric) -> Part:
        repeated = RepeatedMetric(metric, data.relevance, data.offsets)
        left_out = np.isnan(repeated.per_query(np.zeros(len(data.relevance))))
        weight = np.where(left_out, 0.0, data.weight_of_queries)
        return Part(self._encoded(data), repeated, weight / weight.sum())


class IESRRank(ESRank):
    """IESR-Rank: as ES-Rank, from the weights of a linear regression on the labels."""

    __init__ = with_defaults(ESRank.__init__, init="regression")


class IESVMRank(ESRank):
    """IESVM-Rank: as ES-Rank, from the weights of a linear SVM, here `RankSVM` with its defaults."""

    __init__ = with_defaults(ESRank.__init__, init="svm")


def starting_weights(start: str, table: Features, data: TrainingData) -> FloatArray:
    """The first parent, with weights of a mean size of 1; all 1 where the start knows nothing."""
    equal = np.ones(table.shape[1])
    if start == "equal":
        return equal
    coef = regression_weights(table, data) if start == "regression" else margin_weights(table, data)
    size = np.abs(coef).mean()
    return coef / size if 0 < size < np.inf else equal


def regression_weights(table: Features, data: TrainingData) -> FloatArray:
    """Least squares on the labels with an intercept; of equally good weights, the shortest."""
    weight = data.weight_of_rows
    total = weight.sum()
    middle, label = np.zeros(table.shape[1]), float(weight @ data.relevance) / total
    squares, products = np.zeros((len(middle), len(middle))), np.zeros(len(middle))
    blocks = [slice(start, start + ROWS_AT_A_TIME) for start in range(0, len(table), ROWS_AT_A_TIME)]
    for rows in blocks:
        middle += weight[rows] @ table[rows].astype(np.float64) / total
    for rows in blocks:
        centred = table[rows].astype(np.float64) - middle
        weighted = centred.T * weight[rows]
        squares += weighted @ centred
        products += weighted @ (data.relevance[rows] - label)
    return run_interruptibly(lambda: np.linalg.lstsq(squares, products, rcond=1e-12)[0].astype(np.float64))
