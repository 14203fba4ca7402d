"""The evolution strategy of ES-Rank: one parent, one child, and steps that are taken again while they help.

>>> from directranker.metrics import Metric
>>> table = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
>>> relevance, offsets = (table[:, 0] > 0).astype(float), np.array([0, 20, 40])
>>> part = Part(table, RepeatedMetric(Metric("average_precision"), relevance, offsets), np.array([0.5, 0.5]))
>>> best = evolve(Parent(part, np.ones(3)), Rounds("evolving", 50), steps="gaussian", seed=0)
>>> part.fitness(best) > part.fitness(np.ones(3))
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

__all__ = ["STEPS", "Parent", "Part", "draw_change", "evolve"]

Steps = Callable[[np.random.Generator, int], FloatArray]
LARGEST_EXPONENT = 5.0
LARGEST_STEP = float(np.exp(LARGEST_EXPONENT))


def gaussian_steps(rng: np.random.Generator, n: int) -> FloatArray:
    """N(0, 1)."""
    return rng.standard_normal(n)


def cauchy_steps(rng: np.random.Generator, n: int) -> FloatArray:
    """N(0, 1)·exp(Cauchy(0, 1)), the published ones; the exponent is cut off at ±5."""
    exponent = np.clip(rng.standard_cauchy(n), -LARGEST_EXPONENT, LARGEST_EXPONENT)
    return rng.standard_normal(n) * np.exp(exponent)


def levy_steps(rng: np.random.Generator, n: int) -> FloatArray:
    """Steps of a Lévy flight of index 3/2 by Mantegna's ratio of normal numbers, cut off at ±e⁵."""
    numerator, denominator = 0.6965745 * rng.standard_normal(n), np.abs(rng.standard_normal(n))
    return np.clip(numerator / denominator ** (2 / 3), -LARGEST_STEP, LARGEST_STEP)


STEPS: Mapping[str, Steps] = MappingProxyType(
    {"gaussian": gaussian_steps, "cauchy": cauchy_steps, "levy": levy_steps}
)


def draw_change(rng: np.random.Generator, n_weights: int, steps: str) -> tuple[IntArray, FloatArray]:
    """Which weights change, a random number of random ones, and by how much.

    >>> columns, sizes = draw_change(np.random.default_rng(3), 9, "gaussian")
    >>> len(columns) == len(sizes), bool(np.all(np.diff(columns) > 0))
    (True, True)
    """
    columns = rng.choice(n_weights, rng.integers(1, n_weights, endpoint=True), replace=False)
    return np.sort(columns), STEPS[steps](rng, len(columns))


@dataclass(frozen=True)
class Part:
    """Encoded features of documents, the metric of any scores of them, and what each query counts in it."""

    table: Features
    metric: RepeatedMetric
    share: FloatArray
    """Of the mean over queries, 1 in all; 0 for queries that the metric leaves out."""

    def fitness(self, coef: FloatArray) -> float:
        """The metric under these weights."""
        return self.fitness_of_scores(score_rows(self.table, coef))

    def fitness_of_scores(self, scores: FloatArray) -> float:
        """The metric under these scores."""
        return float(np.nan_to_num(self.metric.per_query(scores), copy=False) @ self.share)


class Parent:
    """Weights with the scores of a part's documents, and a place for those of the child."""

    def __init__(self, part: Part, coef: FloatArray) -> None:
        self._part = part
        self._scores = score_rows(part.table, coef)
        self._childs = np.empty_like(self._scores)
        self.coef = coef
        self.fitness = part.fitness_of_scores(self._scores)

    def succeeded_by_child(self, columns: IntArray, sizes: FloatArray) -> bool:
        """Give way to a child with these changes if it is strictly fitter → whether it is."""
        update_scores(self._part.table, self._scores, columns, sizes, self._childs)
        fitness = self._part.fitness_of_scores(self._childs)
        if not fitness > self.fitness:
            return False
        self.coef = self.coef.copy()
        self.coef[columns] += sizes
        self.fitness = fitness
        self._scores, self._childs = self._childs, self._scores
        return True


def evolve(
    parent: Parent, rounds: Rounds, *, steps: str, seed: int, validation: Part | None = None
) -> FloatArray:
    """The weights of the last parent, or of the one with the best metric on a validation part."""
    rng = np.random.default_rng((seed, 13))
    best, succeeded = parent.coef, False
    metric = None if validation is None else validation.fitness(parent.coef)
    for _ in rounds:
        if not succeeded:
            columns, sizes = draw_change(rng, len(parent.coef), steps)
        succeeded = parent.succeeded_by_child(columns, sizes)
        if succeeded and validation is not None:
            metric = validation.fitness(parent.coef)
        if rounds.record(parent.fitness, metric):
            best = parent.coef
    return best
