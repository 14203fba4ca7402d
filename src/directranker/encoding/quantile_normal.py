"""Features to a normal distribution by their quantiles, as in the paper.

The DirectRanker's published results take each feature to a normal distribution with σ = 1/3, so that
almost all values lie in [-1, 1]. A value goes to its place among the training values, a probability, and
from there to the point of the normal distribution with that probability below it.

>>> X = np.array([[1.0], [2.0], [400.0], [8000.0], [160000.0]])
>>> QuantileNormal().fit(X).transform([[2.0], [400.0], [8000.0]]).ravel().round(3)
array([-0.225,  0.   ,  0.225], dtype=float32)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from directranker.arrays import IntArray
from directranker.compilation import compiled
from directranker.encoding.base import RowTransform
from directranker.encoding.blocks import Block, Table
from directranker.encoding.moments import Vector
from directranker.encoding.quantiles import RandomState, column_quantiles, sampled_rows
from directranker.fitted_checks import check_fitted_array
from directranker.parameters import SEED, above, check_parameters, integer, or_none

__all__ = ["QuantileNormal"]

# The normal distribution is cut where scikit-learn cuts it, at about ±5.2 standard deviations.
LOWEST_PROBABILITY = float(1e-7 - np.spacing(1))


class QuantileNormal(RowTransform):
    """Each feature to a normal distribution with standard deviation `scale`, by quantiles.

    As scikit-learn's `QuantileTransformer(output_distribution="normal")` times `scale`: linear between
    quantiles, the middle of a run of equal quantiles, the lowest and highest training value (and all
    beyond) at the ends, about ±5.2·`scale`. Unlike it, features on a tiny scale are not taken for
    constant.

    NaN becomes 0, the median, and does not count in `fit`. A feature that is constant or missing in the
    training part becomes 0.

    `n_quantiles` are learnt (fewer where there are fewer rows), from at most `subsample` rows drawn by
    `random_state`; None takes all.

    Fitted: `quantiles_` (n_quantiles, n_features) and their probabilities `references_`.

    >>> transform = QuantileNormal().fit([[1.0], [2.0], [4.0]])
    >>> transform.transform([[2.0], [float("nan")], [3.0]]).ravel().round(3)
    array([0.   , 0.   , 0.225], dtype=float32)
    """

    _rules = {  # noqa: RUF012 - as in the base
        "scale": above(0, ", in the paper 1/3"),
        "n_quantiles": integer(2),
        "subsample": or_none(integer(2)),
        "random_state": SEED,
    }

    def __init__(
        self,
        *,
        scale: float = 1 / 3,
        n_quantiles: int = 1000,
        subsample: int | None = 100_000,
        random_state: RandomState = 0,
    ) -> None:
        self.scale = scale
        self.n_quantiles = n_quantiles
        self.subsample = subsample
        self.random_state = random_state

    def _fit(self, table: Table) -> None:
        sample = sampled_rows(table, limit=self.subsample, random_state=self.random_state)
        self.references_ = np.linspace(0, 1, min(self.n_quantiles, len(sample)))
        self.quantiles_ = column_quantiles(sample, len(self.references_))

    def _encode(self, block: Block) -> NDArray[Any]:
        places = _places(block, np.ascontiguousarray(self.quantiles_.T), self.references_)
        return ndtri(np.clip(places, LOWEST_PROBABILITY, 1 - LOWEST_PROBABILITY)) * self.scale  # type: ignore[no-any-return]

    def _check_fitted(self, n_features: int) -> None:
        references = getattr(self, "references_", None)
        n_quantiles = len(references) if isinstance(references, np.ndarray) and references.ndim == 1 else 0
        if n_quantiles < 1:
            raise ValueError("references_ of QuantileNormal is empty")
        check_fitted_array(self, "references_", np.float64, (n_quantiles,))
        check_fitted_array(self, "quantiles_", np.float64, (n_quantiles, n_features))
        check_parameters(self, self._rules)


@compiled
def _places(block: Block, quantiles: Block, references: Vector) -> Block:
    """Where values lie among their feature's quantiles, in [0, 1]; the middle if nothing is known."""
    places = np.full(block.shape, 0.5)
    for column in range(block.shape[1]):
        ladder = quantiles[column]
        if ladder[0] < ladder[-1]:
            places[:, column] = _places_on(ladder, block[:, column].copy(), references)
    return places


@compiled
def _places_on(ladder: Vector, values: Vector, references: Vector) -> Vector:
    middles = _middles_of_runs(ladder, references)
    rungs = _rungs_below(ladder, values)
    places = np.empty(len(values))
    for row in range(len(values)):
        value, rung = values[row], rungs[row]
        if np.isnan(value):
            places[row] = 0.5
        elif value <= ladder[0]:
            places[row] = 0.0
        elif value >= ladder[-1]:
            places[row] = 1.0
        elif value == ladder[rung]:
            places[row] = middles[rung]
        else:
            filled = (value - ladder[rung]) / (ladder[rung + 1] - ladder[rung])
            places[row] = references[rung] + filled * (references[rung + 1] - references[rung])
    return places


@compiled
def _middles_of_runs(ladder: Vector, references: Vector) -> Vector:
    """The middle reference of the run of equal quantiles that ends at each rung."""
    middles = np.empty(len(ladder))
    first = 0
    for rung in range(len(ladder)):
        if ladder[rung] != ladder[first]:
            first = rung
        middles[rung] = 0.5 * (references[first] + references[rung])
    return middles


@compiled
def _rungs_below(ladder: Vector, values: Vector) -> IntArray:
    """The last rung that is not above each value, or the first of all."""
    rungs = np.zeros(len(values), dtype=np.int64)
    remaining = len(ladder)
    while remaining > 1:
        half = remaining // 2
        # Without a branch the processor searches for many values at once.
        for row in range(len(values)):
            rung = rungs[row]
            rungs[row] = rung + half * np.int64(ladder[rung + half] <= values[row])
        remaining -= half
    return rungs
