"""Coordinate ascent on a metric: one weight of a linear scorer at a time, in growing steps both ways.

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
from typing import Any

import numpy as np

from directranker.arrays import FloatArray
from directranker.metrics import Metric
from directranker.parameters import BOOLEAN, CALLBACKS, PROGRESS, above, at_least, between, integer
from directranker.rankers.base import as_seed
from directranker.rankers.linear.metric_optimisation import MetricOptimizingRanker
from directranker.rankers.linear.scored_split import ScoredSplit
from directranker.rankers.rounds import RoundRecord, Rounds
from directranker.training.data import TrainingData

__all__ = ["CoordinateAscent"]

ROUNDING = 1e-12  # a mean over queries may differ by this much between two ways to add it up


class CoordinateAscent(MetricOptimizingRanker):
    """Rank by a weighted sum of features whose weights maximise a metric on the training part.

    A round goes once over all weights in random order. Each moves to the best of 0 and of `n_steps` steps
    both ways, if that is better than where it is.

    Parameters
    ----------
    metric
        What is maximised: `"ndcg@10"`, `"map"`, … in the paper's convention, by which labels from 1 on are
        relevant, `"ndcg@10:graded"`, or a `Metric`.
    n_restarts
        How many climbs: the first one from equal weights, the others from weights drawn at random.
    max_iter, tol
        A climb ends after so many rounds, or after one that gains less.
    n_steps, initial_step, step_factor
        The first step is this share of the weight or, where larger, of the mean weight; the next ones add
        steps that grow by this factor.
    transform
        What becomes of the features first: a name (`"auto"`, `"query-min-max"`, …) or a transformer; fitted
        on the training part alone.
    early_stopping, validation_fraction
        Keep the round that is best on the `eval_set` or, without one, on this fraction of the queries that
        is then held out. With `early_stopping=False` the round is kept that is best on the training part,
        nothing is held out, and the metric on an `eval_set` is only recorded in `history_`.
    random_state
        The same number gives the same ranker.
    progress
        Show a bar; None where standard error is a terminal.
    callbacks
        Called with the `RoundRecord` of each round.

    Attributes
    ----------
    coef_, transform_
        The weights, whose sizes add up to 1, and the fitted transform.
    history_
        A record per round: the metric on both parts, seconds.
    n_rounds_, best_round_, stopped_
        How many rounds there were in all climbs, which one is kept, and why it ended.

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
        transform: Any = "auto",
        early_stopping: bool = True,
        validation_fraction: float = 0.2,
        random_state: Any = None,
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
        climbs = Climbs(*self._scored_parts(data, validation, seed), np.random.default_rng((seed, 13)))
        rounds = Rounds(
            type(self).__name__,
            self.n_restarts * self.max_iter,
            by_validation=self.early_stopping,
            progress=self.progress,
            callbacks=self.callbacks,
        )
        first_round = 1
        climbs.start()
        for number in rounds:
            gain = climbs.go_round(self.steps_from, until=lambda: rounds.is_interrupted)
            if rounds.record(climbs.fitness, climbs.metric()):
                self.coef_ = climbs.weights.copy()
            if rounds.is_interrupted:
                continue
            converged = gain < self.tol
            if not converged and number - first_round + 1 < self.max_iter:
                continue
            if climbs.n_started == self.n_restarts:
                rounds.finish("converged" if converged else "max_iter")
            else:
                climbs.start()
                first_round = number + 1
        self.history_ = rounds.history
        self.n_rounds_ = len(rounds.history)
        self.best_round_ = rounds.best
        self.stopped_ = rounds.stopped

    def steps_from(self, weight: float, mean_weight: float) -> FloatArray:
        """The changes that are tried on a weight: to 0, and by growing steps both ways.

        >>> CoordinateAscent(n_steps=3, initial_step=0.1).steps_from(2.0, 1.0).round(6).tolist()
        [-2.0, 0.2, 0.6, 1.4, -0.2, -0.6, -1.4]
        """
        first = self.initial_step * max(abs(weight), mean_weight)
        steps = np.cumsum(first * self.step_factor ** np.arange(self.n_steps))
        return np.concatenate([[-weight], steps, -steps])


class Climbs:
    """The weights on their way up, climb after climb."""

    def __init__(self, train: ScoredSplit, held_out: ScoredSplit | None, rng: np.random.Generator) -> None:
        self._train = train
        self._parts = [train] if held_out is None else [train, held_out]
        self._held_out = held_out
        self._rng = rng
        self._n_weights = train.columns.n_columns
        self.n_started = 0

    def start(self) -> None:
        """Begin a climb, the first one from equal weights."""
        share = np.full(self._n_weights, 1 / self._n_weights)
        self.weights = share if self.n_started == 0 else self._rng.dirichlet(np.ones(self._n_weights))
        for part in self._parts:
            part.scores[:] = 0
            for number, weight in enumerate(self.weights):
                part.add(number, weight, range(self._n_weights))
        self.fitness = self._train.fitness()
        self.n_started += 1

    def go_round(
        self, steps_from: Callable[[float, float], FloatArray], *, until: Callable[[], bool] = lambda: False
    ) -> float:
        """Improve weight after weight, `until` says to stop → by how much the fitness grew."""
        before = self.fitness
        for number in self._rng.permutation(self._n_weights):
            if until():
                break
            steps = steps_from(self.weights[number], float(np.abs(self.weights).mean()))
            values = self._train.fitness_of_steps(number, steps)
            best = int(values.argmax())
            if values[best] > self.fitness + ROUNDING:
                self.fitness = float(values[best])
                self.weights[number] += steps[best]
                for part in self._parts:
                    part.add(number, steps[best])
        self._reduction()
        return self.fitness - before

    def _reduction(self) -> None:
        total = np.abs(self.weights).sum() or 1.0
        self.weights /= total
        for part in self._parts:
            part.scores /= total

    def metric(self) -> float | None:
        """The metric on the validation part."""
        return None if self._held_out is None else self._held_out.fitness()
