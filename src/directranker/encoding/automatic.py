"""A transform per feature, chosen from the training part.

>>> generator = np.random.default_rng(0)
>>> X = np.column_stack([generator.normal(size=200), np.exp(generator.normal(size=200, scale=3))])
>>> transform = AutoTransform().fit(X)
>>> transform.choices_
['standard', 'signed-log']
>>> transform.describe()
'1 feature standard, 1 feature signed-log'
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from directranker.arrays import IntArray
from directranker.data.grouping import Grouping, group_by_query, resolve_query_ids
from directranker.encoding.base import RowTransform
from directranker.encoding.blocks import Block, Table, over_queries, over_rows, working_copy
from directranker.encoding.moments import (
    Moments,
    Vector,
    block_moments,
    extremes_of_queries,
    merged,
    rescale,
)
from directranker.encoding.scaling import signed_log
from directranker.fitted_checks import check_fitted_array

__all__ = ["AS_IS", "SIGNED_LOG", "STANDARD", "AutoTransform"]

AS_IS, SIGNED_LOG, STANDARD = "as is", "signed-log", "standard"

# No feature of only 0 and 1 gains more than -log(log 2), and for those the logarithm changes nothing.
GAIN_OF_HEAVY_TAILS = -np.log(np.log(2))


class AutoTransform(RowTransform):
    """Per feature what suits it best, judged by the training part alone.

    - `as is`: all values lie in [0, 1] and the feature is normalised per query: in most queries where it
      varies, its lowest value is 0 and its highest 1 (within 0.001). Needs `qid`. A feature that is 0
      everywhere, as normalising leaves a constant one, is kept too.
    - `signed-log`: a heavy tail: the signed logarithm brings the feature nearer to a normal distribution,
      by a gain in log-likelihood per value (Box and Cox, 1964) of more than -log(log 2) ≈ 0.37, which no
      feature of only 0 and 1 can reach. For l = sign(x)·log(1 + |x|) the gain is
      log σ(x) - log σ(l) - mean |l|. A heavy tail far below 1 stays, as the logarithm would not change it.
    - `standard`: everything else.

    NaN becomes 0: the mean, or the lowest value where the feature is kept as is. It does not count in
    `fit`. A feature that is constant or missing in the training part becomes 0.

    Fitted: `choices_`, one of the words above per feature; `centre_` and `width_`, by which the feature
    or its logarithm is rescaled.

    >>> X, qid = [[0.0, 3.0], [1.0, 4.0], [1.0, 5.0], [0.0, 3.0]], [1, 1, 2, 2]
    >>> AutoTransform().fit(X, qid=qid).choices_
    ['as is', 'standard']
    """

    def fit(self, X: ArrayLike, y: object = None, *, qid: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Choose and learn a transform per feature; only with `qid` is one found to be query-normalised."""
        table = self._checked(X, reset=True)
        raw, logarithms, mean_size = _moments_with_logarithms(table)
        with_heavy_tail = _gain_of_logarithm(raw, logarithms, mean_size) > GAIN_OF_HEAVY_TAILS
        normalised = np.zeros(table.shape[1], dtype=bool)
        qid = resolve_query_ids(X, qid)
        if qid is not None:
            normalised = _normalised_by_query(table, group_by_query(qid, n_rows=len(table)))
        choose = [normalised, with_heavy_tail]
        self.choices_ = np.select(choose, [AS_IS, SIGNED_LOG], STANDARD).tolist()
        self.centre_ = np.select(choose, [np.zeros_like(raw.mean), logarithms.mean], raw.mean)
        self.width_ = np.select(choose, [np.ones_like(raw.mean), logarithms.deviation], raw.deviation)
        return self

    def describe(self) -> str:
        """What was chosen, in words: `40 features as is, 6 features standard`."""
        check_is_fitted(self)
        counts = Counter(self.choices_).most_common()
        return ", ".join(f"{n} feature{'s' if n > 1 else ''} {choice}" for choice, n in counts)

    def _encode(self, block: Block) -> NDArray[Any]:
        with_heavy_tail = np.flatnonzero(np.array(self.choices_) == SIGNED_LOG)
        prepared = block.copy()
        prepared[:, with_heavy_tail] = signed_log(block[:, with_heavy_tail])
        return rescale(prepared, self.centre_, self.width_)

    def _check_fitted(self, n_features: int) -> None:
        check_fitted_array(self, "centre_", np.float64, (n_features,))
        check_fitted_array(self, "width_", np.float64, (n_features,))
        choices = getattr(self, "choices_", None)
        if not isinstance(choices, list) or len(choices) != n_features:
            raise ValueError(f"choices_ of AutoTransform does not have {n_features} entries")
        if not all(choice in (AS_IS, SIGNED_LOG, STANDARD) for choice in choices):
            raise ValueError("choices_ of AutoTransform has an unknown name")


def _moments_with_logarithms(table: Table) -> tuple[Moments, Moments, Vector]:
    """Moments of the features and of their signed logarithms, and the logarithms' mean size."""

    def both(rows: slice) -> tuple[Moments, Moments, Vector]:
        block = working_copy(table, rows)
        logarithms = signed_log(block)
        return block_moments(block), block_moments(logarithms), np.nansum(np.abs(logarithms), axis=0)

    raw, logarithms, sizes = zip(*over_rows(both, len(table)), strict=True)
    total = merged(raw)
    return total, merged(logarithms), np.sum(sizes, axis=0) / np.maximum(total.n_values, 1)


def _gain_of_logarithm(raw: Moments, logarithms: Moments, mean_size: Vector) -> Vector:
    varies = (raw.deviation > 0) & (logarithms.deviation > 0)
    ratio = np.ones_like(mean_size)
    np.divide(raw.deviation, logarithms.deviation, out=ratio, where=varies)
    gain: Vector = np.log(ratio) - mean_size
    return gain


def _normalised_by_query(table: Table, grouping: Grouping) -> NDArray[np.bool_]:
    """Which features lie in [0, 1] and span it in most queries where they vary."""
    n_varying, n_spanning = np.zeros(table.shape[1]), np.zeros(table.shape[1])
    low, high = np.full(table.shape[1], np.inf), np.full(table.shape[1], -np.inf)

    def of_tile(rows: slice | IntArray, columns: slice, offsets: IntArray) -> tuple[Block, Block]:
        return extremes_of_queries(working_copy(table, rows, columns), offsets)

    for columns, (lows, highs) in over_queries(of_tile, grouping, n_columns=table.shape[1]):
        n_varying[columns] += (lows < highs).sum(axis=0)
        n_spanning[columns] += ((lows <= 0.001) & (highs >= 0.999)).sum(axis=0)
        low[columns] = np.minimum(low[columns], lows.min(axis=0))
        high[columns] = np.maximum(high[columns], highs.max(axis=0))
    in_unit_range = (low >= 0) & (high <= 1)
    spans_it = (n_varying > 0) & (n_spanning > n_varying / 2)
    always_zero = (low == 0) & (high == 0)
    normalised: NDArray[np.bool_] = always_zero | (in_unit_range & spans_it)
    return normalised
