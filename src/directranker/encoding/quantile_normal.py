"""Map features to a normal distribution by their quantiles, as in the paper.

The DirectRanker's published results map each feature to a normal distribution with σ = 1/3, so that almost
all values are in [-1, 1]. A value is mapped to its cumulative probability among the training values, and that
to the normal quantile of the same probability.

>>> X = np.array([[1.0], [2.0], [400.0], [8000.0], [160000.0]])
>>> QuantileNormal().fit(X).transform([[2.0], [400.0], [8000.0]]).ravel().round(3)
array([-0.225,  0.   ,  0.225], dtype=float32)
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from directranker.arrays import FloatArray, IntArray
from directranker.compilation import compiled
from directranker.data.column_kinds import ColumnKinds
from directranker.encoding.base import RowTransform
from directranker.encoding.blocks import Table
from directranker.encoding.quantiles import RandomState, compute_quantiles, sample_rows
from directranker.fitted_checks import check_fitted_array
from directranker.parameters import SEED, above, check_parameters, integer, or_none

__all__ = ["QuantileNormal"]

# scikit-learn clips here too, at about ±5.2 standard deviations.
MIN_PROBABILITY = float(1e-7 - np.spacing(1))


class QuantileNormal(RowTransform):
    """Map each feature to a normal distribution with standard deviation `scale`, by quantiles.

    Equal to scikit-learn's `QuantileTransformer(output_distribution="normal")` times `scale`: linear between
    quantiles, the middle of a run of equal quantiles; the minimum and maximum of the training values (and
    everything beyond) become about ±5.2·`scale`. Unlike scikit-learn, it does not treat features on a tiny
    scale as constant.

    NaN becomes 0, the median, and is ignored in `fit`. A feature that is constant or all missing in the
    training split becomes 0.

    There are `n_quantiles` quantiles (fewer if there are fewer rows), computed on at most `subsample` rows,
    sampled with `random_state`; None uses all rows.

    Fitted attributes: `quantiles_` (n_quantiles, n_features) and their probabilities `references_`.

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

    def _fit(self, table: Table, kinds: ColumnKinds) -> None:  # noqa: ARG002
        sample = sample_rows(table, limit=self.subsample, random_state=self.random_state)
        self.references_ = np.linspace(0, 1, min(self.n_quantiles, len(sample)))
        self.quantiles_ = compute_quantiles(sample, len(self.references_))

    def _encode(self, block: FloatArray) -> FloatArray:
        probabilities = _compute_probabilities(
            block, np.ascontiguousarray(self.quantiles_.T), self.references_
        )
        return ndtri(np.clip(probabilities, MIN_PROBABILITY, 1 - MIN_PROBABILITY)) * self.scale  # type: ignore[no-any-return]

    def _check_fitted(self, n_features: int) -> None:
        references = getattr(self, "references_", None)
        n_quantiles = len(references) if isinstance(references, np.ndarray) and references.ndim == 1 else 0
        if n_quantiles < 1:
            raise ValueError("references_ of QuantileNormal is empty")
        check_fitted_array(self, "references_", np.float64, (n_quantiles,))
        check_fitted_array(self, "quantiles_", np.float64, (n_quantiles, n_features))
        check_parameters(self, self._rules)


@compiled
def _compute_probabilities(block: FloatArray, quantiles: FloatArray, references: FloatArray) -> FloatArray:
    """Compute the cumulative probability of each value; 0.5 for NaN and for a constant feature."""
    probabilities = np.full(block.shape, 0.5)
    for column in range(block.shape[1]):
        if quantiles[column][0] < quantiles[column][-1]:
            probabilities[:, column] = _interpolate_probabilities(
                quantiles[column], block[:, column].copy(), references
            )
    return probabilities


@compiled
def _interpolate_probabilities(
    quantiles: FloatArray, values: FloatArray, references: FloatArray
) -> FloatArray:
    middles = _find_middles_of_runs(quantiles, references)
    indices = _find_last_not_above(quantiles, values)
    probabilities = np.empty(len(values))
    for row in range(len(values)):
        value, index = values[row], indices[row]
        if np.isnan(value):
            probabilities[row] = 0.5
        elif value <= quantiles[0]:
            probabilities[row] = 0.0
        elif value >= quantiles[-1]:
            probabilities[row] = 1.0
        elif value == quantiles[index]:
            probabilities[row] = middles[index]
        else:
            fraction = (value - quantiles[index]) / (quantiles[index + 1] - quantiles[index])
            probabilities[row] = references[index] + fraction * (references[index + 1] - references[index])
    return probabilities


@compiled
def _find_middles_of_runs(quantiles: FloatArray, references: FloatArray) -> FloatArray:
    """Find the middle reference of the run of equal quantiles that ends at each quantile."""
    middles = np.empty(len(quantiles))
    first = 0
    for index in range(len(quantiles)):
        if quantiles[index] != quantiles[first]:
            first = index
        middles[index] = 0.5 * (references[first] + references[index])
    return middles


@compiled
def _find_last_not_above(quantiles: FloatArray, values: FloatArray) -> IntArray:
    """Find the index of the last quantile that is not above each value; 0 if there is none."""
    indices = np.zeros(len(values), dtype=np.int64)
    remaining = len(quantiles)
    while remaining > 1:
        half = remaining // 2
        # Without a branch the processor searches for many values at once.
        for row in range(len(values)):
            index = indices[row]
            indices[row] = index + half * np.int64(quantiles[index + half] <= values[row])
        remaining -= half
    return indices
