"""The (1+1) evolution strategy of ES-Rank: a mutation that improves the parent is repeated.

>>> from directranker.metrics import Metric
>>> table = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
>>> relevance, offsets = (table[:, 0] > 0).astype(float), np.array([0, 20, 40])
>>> metric = RepeatedMetric(Metric("average_precision"), relevance, offsets)
>>> split = EvaluationSplit(table, metric, np.array([0.5, 0.5]))
>>> best = evolve(Parent(split, np.ones(3)), Rounds("evolving", 50), step_distribution="gaussian", seed=0)
>>> split.compute_fitness(best) > split.compute_fitness(np.ones(3))
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from directranker.arrays import Features, FloatArray, IntArray
from directranker.metrics.repeated import RepeatedMetric
from directranker.rankers.linear.weighted_sums import score_rows, update_scores
from directranker.rankers.rounds import Rounds

__all__ = ["STEP_DISTRIBUTIONS", "EvaluationSplit", "Parent", "evolve", "sample_mutation"]

StepSampler = Callable[[np.random.Generator, int], FloatArray]
MAX_EXPONENT = 5.0
MAX_STEP = float(np.exp(MAX_EXPONENT))


def sample_gaussian_steps(rng: np.random.Generator, n: int) -> FloatArray:
    """Sample from N(0, 1)."""
    return rng.standard_normal(n)


def sample_cauchy_steps(rng: np.random.Generator, n: int) -> FloatArray:
    """Sample N(0, 1)·exp(Cauchy(0, 1)), as published; the exponent is clipped to ±5."""
    exponent = np.clip(rng.standard_cauchy(n), -MAX_EXPONENT, MAX_EXPONENT)
    return rng.standard_normal(n) * np.exp(exponent)


def sample_levy_steps(rng: np.random.Generator, n: int) -> FloatArray:
    """Sample Lévy flights of index 3/2 by Mantegna's ratio of normal variables, clipped to ±e⁵."""
    numerator, denominator = 0.6965745 * rng.standard_normal(n), np.abs(rng.standard_normal(n))
    return np.clip(numerator / denominator ** (2 / 3), -MAX_STEP, MAX_STEP)


STEP_DISTRIBUTIONS: Mapping[str, StepSampler] = MappingProxyType(
    {"gaussian": sample_gaussian_steps, "cauchy": sample_cauchy_steps, "levy": sample_levy_steps}
)


def sample_mutation(
    rng: np.random.Generator, n_weights: int, step_distribution: str
) -> tuple[IntArray, FloatArray]:
    """Sample a random number of random weights, and the change of each.

    >>> columns, steps = sample_mutation(np.random.default_rng(3), 9, "gaussian")
    >>> len(columns) == len(steps), bool(np.all(np.diff(columns) > 0))
    (True, True)
    """
    columns = rng.choice(n_weights, rng.integers(1, n_weights, endpoint=True), replace=False)
    return np.sort(columns), STEP_DISTRIBUTIONS[step_distribution](rng, len(columns))


@dataclass(frozen=True)
class EvaluationSplit:
    """Encoded features of documents, the metric of their scores, and the weight of each query in it."""

    table: Features
    metric: RepeatedMetric
    query_weights: FloatArray
    """Sum to 1; 0 for queries that the metric leaves out."""

    def compute_fitness(self, coef: FloatArray) -> float:
        """Compute the metric for these weights."""
        return self.compute_fitness_of_scores(score_rows(self.table, coef))

    def compute_fitness_of_scores(self, scores: FloatArray) -> float:
        """Compute the metric for these scores."""
        return float(np.nan_to_num(self.metric.per_query(scores), copy=False) @ self.query_weights)


class Parent:
    """The current weights with their scores, and a buffer for the scores of the child."""

    def __init__(self, split: EvaluationSplit, coef: FloatArray) -> None:
        self._split = split
        self._scores = score_rows(split.table, coef)
        self._child_scores = np.empty_like(self._scores)
        self.coef = coef
        self.fitness = split.compute_fitness_of_scores(self._scores)

    def try_mutation(self, columns: IntArray, steps: FloatArray) -> bool:
        """Replace the parent by the mutated child if the child is strictly fitter; return whether it is."""
        update_scores(self._split.table, self._scores, columns, steps, self._child_scores)
        fitness = self._split.compute_fitness_of_scores(self._child_scores)
        if not fitness > self.fitness:
            return False
        self.coef = self.coef.copy()
        self.coef[columns] += steps
        self.fitness = fitness
        self._scores, self._child_scores = self._child_scores, self._scores
        return True


def evolve(
    parent: Parent,
    rounds: Rounds,
    *,
    step_distribution: str,
    seed: int,
    validation: EvaluationSplit | None = None,
) -> FloatArray:
    """Return the weights of the last parent, or of the parent with the best validation metric."""
    rng = np.random.default_rng((seed, 13))
    best, succeeded = parent.coef, False
    metric = None if validation is None else validation.compute_fitness(parent.coef)
    for _ in rounds:
        if not succeeded:
            columns, steps = sample_mutation(rng, len(parent.coef), step_distribution)
        succeeded = parent.try_mutation(columns, steps)
        if succeeded and validation is not None:
            metric = validation.compute_fitness(parent.coef)
        if rounds.record(parent.fitness, metric):
            best = parent.coef
    return best
