"""Choose a transform for each feature from the training split.

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
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from directranker.arrays import BoolArray, Float32Array, FloatArray, IntArray
from directranker.data.column_kinds import ColumnKinds
from directranker.data.grouping import Grouping, group_by_query, resolve_query_ids
from directranker.encoding.base import RowTransform, check_kinds
from directranker.encoding.blocks import Table, copy_block, map_query_tiles, map_row_blocks
from directranker.encoding.moments import (
    Moments,
    compute_block_moments,
    compute_range_per_query,
    merge_moments,
    rescale,
    share_moments,
)
from directranker.encoding.scaling import signed_log
from directranker.fitted_checks import check_fitted_array

__all__ = ["AS_IS", "SIGNED_LOG", "STANDARD", "AutoTransform"]

AS_IS, SIGNED_LOG, STANDARD = "as is", "signed-log", "standard"

# The supremum of the gain of a 0/1 feature, for which the logarithm changes nothing.
MIN_GAIN = -np.log(np.log(2))


class AutoTransform(RowTransform):
    """Choose the best transform for each feature, from the training split alone.

    - `as is`: all values are in [0, 1] and the feature is normalised per query: in most queries where it
      varies, its minimum is 0 and its maximum 1 (within 0.001). Needs `qid`. A feature that is 0
      everywhere, which is what per-query normalisation makes of a constant feature, is kept too.
    - `signed-log`: a heavy tail. The signed logarithm brings the feature closer to a normal distribution,
      by a gain in log-likelihood per value (Box and Cox, 1964) of more than -log(log 2) ≈ 0.37, which no
      feature of only 0 and 1 can reach. For l = sign(x)·log(1 + |x|) the gain is
      log σ(x) - log σ(l) - mean |l|. A heavy tail far below 1 is not detected, because log(1 + x) ≈ x there.
    - `standard`: everything else.

    NaN becomes 0: the mean, or the minimum if the feature is kept as is. `fit` ignores NaN. A feature that
    is constant or all missing in the training split becomes 0. All dimensions of a vector have the same
    choice, centre and width.

    Fitted attributes: `choices_`, one of the names above per feature; `centre_` and `width_`, by which the
    feature or its logarithm is rescaled.

    >>> X, qid = [[0.0, 3.0], [1.0, 4.0], [1.0, 5.0], [0.0, 3.0]], [1, 1, 2, 2]
    >>> AutoTransform().fit(X, qid=qid).choices_
    ['as is', 'standard']
    """

    def fit(
        self,
        X: ArrayLike,
        y: object = None,  # noqa: ARG002
        *,
        qid: ArrayLike | None = None,
        kinds: ColumnKinds | None = None,
    ) -> Self:
        """Choose and fit a transform per feature; `qid` is needed to detect per-query normalisation."""
        table = self._validate(X, reset=True)
        vector = check_kinds(kinds, table.shape[1]).vector
        raw, logarithms, mean_size = _compute_moments_with_logarithms(table, vector)
        has_heavy_tail = _compute_gain_of_logarithm(raw, logarithms, mean_size) > MIN_GAIN
        is_normalised = np.zeros(table.shape[1], dtype=bool)
        qid = resolve_query_ids(X, qid)
        if qid is not None:
            is_normalised = _detect_query_normalisation(table, group_by_query(qid, n_rows=len(table)))
            for number in range(vector.max(initial=-1) + 1):
                is_normalised[vector == number] = is_normalised[vector == number].all()
        conditions = [is_normalised, has_heavy_tail]
        self.choices_ = np.select(conditions, [AS_IS, SIGNED_LOG], STANDARD).tolist()
        self.centre_ = np.select(conditions, [np.zeros_like(raw.mean), logarithms.mean], raw.mean)
        self.width_ = np.select(conditions, [np.ones_like(raw.mean), logarithms.deviation], raw.deviation)
        return self

    def describe(self) -> str:
        """Summarise the choices: `40 features as is, 6 features standard`."""
        check_is_fitted(self)
        counts = Counter(self.choices_).most_common()
        return ", ".join(f"{n} feature{'s' if n > 1 else ''} {choice}" for choice, n in counts)

    def _encode(self, block: FloatArray) -> Float32Array:
        has_heavy_tail = np.flatnonzero(np.array(self.choices_) == SIGNED_LOG)
        prepared = block.copy()
        prepared[:, has_heavy_tail] = signed_log(block[:, has_heavy_tail])
        return rescale(prepared, self.centre_, self.width_)

    def _check_fitted(self, n_features: int) -> None:
        check_fitted_array(self, "centre_", np.float64, (n_features,))
        check_fitted_array(self, "width_", np.float64, (n_features,))
        choices = getattr(self, "choices_", None)
        if not isinstance(choices, list) or len(choices) != n_features:
            raise ValueError(f"choices_ of AutoTransform does not have {n_features} entries")
        if not all(choice in (AS_IS, SIGNED_LOG, STANDARD) for choice in choices):
            raise ValueError("choices_ of AutoTransform has an unknown name")


def _compute_moments_with_logarithms(table: Table, vector: IntArray) -> tuple[Moments, Moments, FloatArray]:
    """Compute the moments of features and of their signed logarithms, and the mean |logarithm|."""

    def process_block(rows: slice) -> tuple[Moments, Moments, FloatArray]:
        block = copy_block(table, rows)
        logarithms = signed_log(block)
        size = np.nansum(np.abs(logarithms), axis=0)
        return compute_block_moments(block), compute_block_moments(logarithms), size

    raw, logarithms, sizes = zip(*map_row_blocks(process_block, len(table)), strict=True)
    total_raw, total_logarithms = (share_moments(merge_moments(each), vector) for each in (raw, logarithms))
    size = np.sum(sizes, axis=0)
    for number in range(vector.max(initial=-1) + 1):
        size[vector == number] = size[vector == number].sum()
    return total_raw, total_logarithms, size / np.maximum(total_raw.n_values, 1)


def _compute_gain_of_logarithm(raw: Moments, logarithms: Moments, mean_size: FloatArray) -> FloatArray:
    varies = (raw.deviation > 0) & (logarithms.deviation > 0)
    ratio = np.ones_like(mean_size)
    np.divide(raw.deviation, logarithms.deviation, out=ratio, where=varies)
    gain: FloatArray = np.log(ratio) - mean_size
    return gain


def _detect_query_normalisation(table: Table, grouping: Grouping) -> BoolArray:
    """Detect the features with all values in [0, 1] that span [0, 1] in most queries where they vary."""
    n_varying, n_spanning = np.zeros(table.shape[1]), np.zeros(table.shape[1])
    low, high = np.full(table.shape[1], np.inf), np.full(table.shape[1], -np.inf)

    def process_tile(
        rows: slice | IntArray, columns: slice, offsets: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        return compute_range_per_query(copy_block(table, rows, columns), offsets)

    for columns, (lows, highs) in map_query_tiles(process_tile, grouping, n_columns=table.shape[1]):
        n_varying[columns] += (lows < highs).sum(axis=0)
        n_spanning[columns] += ((lows <= 0.001) & (highs >= 0.999)).sum(axis=0)
        low[columns] = np.minimum(low[columns], lows.min(axis=0))
        high[columns] = np.maximum(high[columns], highs.max(axis=0))
    is_in_unit_range = (low >= 0) & (high <= 1)
    spans_unit_range = (n_varying > 0) & (n_spanning > n_varying / 2)
    is_always_zero = (low == 0) & (high == 0)
    is_normalised: BoolArray = is_always_zero | (is_in_unit_range & spans_unit_range)
    return is_normalised
