"""Coordinate ascent on a metric: optimise one weight of a linear ranker at a time, by line search.

Metzler and Croft: Linear feature-based models for information retrieval (Information Retrieval, 2007).

>>> from directranker.data.synthetic import example_dataset
>>> train, test = example_dataset().split(0.7, random_state=0)
>>> ranker = CoordinateAscent(n_restarts=1, random_state=0).fit(train)
>>> ranker.score(test) > 0.6
True
>>> float(abs(ranker.coef_).sum().round(6))
1.0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from directranker.arrays import FloatArray
from directranker.metrics import Metric
from directranker.parameters import BOOLEAN, CALLBACKS, PROGRESS, above, at_least, between, integer
from directranker.rankers.base import as_seed
from directranker.rankers.linear.base import RandomState
from directranker.rankers.linear.metric_optimisation import MetricOptimizingRanker
from directranker.rankers.linear.scored_split import ScoredSplit
from directranker.rankers.rounds import RoundRecord, Rounds
from directranker.training.data import TrainingData

__all__ = ["CoordinateAscent"]

ROUNDING_ERROR = 1e-12  # two ways to sum a mean over queries may differ by this much


class CoordinateAscent(MetricOptimizingRanker):
    """A linear ranker whose weights maximise a metric on the training split.

    A round visits all weights once, in random order. For each weight it tries 0 and `n_steps` steps in both
    directions, and moves to the best of them if that improves the metric.

    Parameters
    ----------
    metric
        The metric to maximise on the training split: `"ndcg@10"`, `"map"`, … in the paper's convention
        (labels of at least 1 are relevant), `"ndcg@10:graded"`, or a `Metric`.
    n_restarts
        The number of ascents: the first starts from equal weights, the others from random weights.
    max_iter
        The maximum number of rounds of each ascent.
    tol
        Stop an ascent after a round that improves the metric by less than this.
    n_steps, initial_step, step_factor
        The line search: the number of steps in each direction, the size of the first step as a fraction of
        the weight (or of the mean weight if that is larger), and the factor by which each step grows over the
        last.
    transform
        The feature transform: a name (`"auto"`, `"query-min-max"`, …) or a transformer. Fitted on the
        training split alone.
    early_stopping, validation_fraction
        Keep the round with the best metric on the `eval_set` or, without one, on this held-out fraction of
        the queries. With `early_stopping=False` nothing is held out, the round with the best metric on the
        training split is kept, and the metric on an `eval_set` is only recorded in `history_`.
    random_state
        Seed of the held-out queries, the order of the weights and the random restarts.
    progress
        Show a progress bar; None shows one if standard error is a terminal.
    callbacks
        Functions that are called with the `RoundRecord` of each round.

    Attributes
    ----------
    coef_, transform_
        The weights, whose absolute values sum to 1, and the fitted transform.
    history_
        A `RoundRecord` per round: the metric on the training and validation split, seconds.
    n_rounds_, best_round_, stopped_
        The number of rounds in all ascents, the round that is kept, and the reason for stopping.

    """

    _rules = {  # noqa: RUF012 - as in the base
        "n_restarts": integer(1),
        "max_iter": integer(1),
        "tol": at_least(0),
        "n_steps": integer(1),
        "initial_step": above(0),
        "step_factor": above(0),
        "early_stopping": BOOLEAN,
        "validation_fraction": between(0, 1),
        "progress": PROGRESS,
        "callbacks": CALLBACKS,
    }

    def __init__(
        self,
        *,
        metric: str | Metric = "ndcg@10:graded",
        n_restarts: int = 5,
        max_iter: int = 25,
        tol: float = 0.001,
        n_steps: int = 12,
        initial_step: float = 0.05,
        step_factor: float = 2.0,
        transform: object = "auto",
        early_stopping: bool = True,
        validation_fraction: float = 0.2,
        random_state: RandomState = None,
        progress: bool | None = None,
        callbacks: Sequence[Callable[[RoundRecord], None]] = (),
    ) -> None:
        self.metric = metric
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.n_steps = n_steps
        self.initial_step = initial_step
        self.step_factor = step_factor
        self.transform = transform
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.progress = progress
        self.callbacks = callbacks

    _warm_up_parameters = {"max_iter": 2, "n_restarts": 1}  # noqa: RUF012 - as in the contract

    def _fit(self, data: TrainingData, validation: TrainingData | None) -> None:
        seed = as_seed(self.random_state)
        ascent = Ascent(*self._make_splits(data, validation, seed), np.random.default_rng((seed, 13)))
        rounds = Rounds(
            type(self).__name__,
            self.n_restarts * self.max_iter,
            by_validation=self.early_stopping,
            progress=self.progress,
            callbacks=self.callbacks,
        )
        first_round = 1
        ascent.start()
        for number in rounds:
            gain = ascent.run_round(self.compute_steps, should_stop=lambda: rounds.is_interrupted)
            if rounds.record(ascent.fitness, ascent.compute_validation_metric()):
                self.coef_ = ascent.weights.copy()
            if rounds.is_interrupted:
                continue
            has_converged = gain < self.tol
            if not has_converged and number - first_round + 1 < self.max_iter:
                continue
            if ascent.n_started == self.n_restarts:
                rounds.finish("converged" if has_converged else "max_iter")
            else:
                ascent.start()
                first_round = number + 1
        self._set_history(rounds)
        self.best_round_ = rounds.best

    def compute_steps(self, weight: float, mean_weight: float) -> FloatArray:
        """Compute the changes to try on a weight: to 0, and growing steps in both directions.

        >>> CoordinateAscent(n_steps=3, initial_step=0.1).compute_steps(2.0, 1.0).round(6).tolist()
        [-2.0, 0.2, 0.6, 1.4, -0.2, -0.6, -1.4]
        """
        first = self.initial_step * max(abs(weight), mean_weight)
        steps = np.cumsum(first * self.step_factor ** np.arange(self.n_steps))
        return np.concatenate([[-weight], steps, -steps])


class Ascent:
    """The current weights and their scores; `start` restarts from new weights."""

    def __init__(self, train: ScoredSplit, validation: ScoredSplit | None, rng: np.random.Generator) -> None:
        self._train = train
        self._validation = validation
        self._splits = [train] if validation is None else [train, validation]
        self._rng = rng
        self._n_weights = train.columns.n_columns
        self.n_started = 0

    def start(self) -> None:
        """Start from equal weights the first time, from random weights afterwards."""
        equal = np.full(self._n_weights, 1 / self._n_weights)
        self.weights = equal if self.n_started == 0 else self._rng.dirichlet(np.ones(self._n_weights))
        for split in self._splits:
            split.scores[:] = 0
            for column, weight in enumerate(self.weights):
                split.add_column(column, weight, range(self._n_weights))
        self.fitness = self._train.compute_fitness()
        self.n_started += 1

    def run_round(
        self,
        compute_steps: Callable[[float, float], FloatArray],
        *,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> float:
        """Optimise each weight once, unless `should_stop` returns True; return the gain in fitness."""
        before = self.fitness
        for column in self._rng.permutation(self._n_weights):
            if should_stop():
                break
            steps = compute_steps(self.weights[column], float(np.abs(self.weights).mean()))
            fitness = self._train.compute_fitness_of_steps(column, steps)
            best = int(fitness.argmax())
            if fitness[best] > self.fitness + ROUNDING_ERROR:
                self.fitness = float(fitness[best])
                self.weights[column] += steps[best]
                for split in self._splits:
                    split.add_column(column, steps[best])
        self._normalise()
        return self.fitness - before

    def _normalise(self) -> None:
        total = np.abs(self.weights).sum() or 1.0
        self.weights /= total
        for split in self._splits:
            split.scores /= total

    def compute_validation_metric(self) -> float | None:
        """Compute the metric on the validation split; None without one."""
        return None if self._validation is None else self._validation.compute_fitness()
