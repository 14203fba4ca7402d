"""A statistic of the labels for each category: a number that replaces its code, or stands beside it.

The statistic of a value is Σ (label − mean label of the query) / (count + prior) over the training rows with
the value: how much better than the other documents of their queries these documents are, shrunk towards 0
where there are few.

In training, a row must not see its own label through the statistic. So the queries are put in a random order,
and the statistic of a row is that of the queries before its own (as in CatBoost: Prokhorenkova and others,
2018). Statistics of all other queries, as by cross-validation, would leak: the sum over the other queries is
the total minus the row's own label, so that within a value a lower statistic means a higher label.

>>> kinds = ColumnKinds.of(["brand"], {"brand": 2})
>>> X, labels, qid = [[0.0], [1.0], [0.0], [1.0]], [2, 0, 1, 0], [7, 7, 8, 8]
>>> statistics = CategoryStatistics(prior=1).fit(X, labels, qid=qid, kinds=kinds)
>>> statistics.transform([[0.0], [1.0], [-1.0]]).ravel()
array([ 0.5, -0.5,  0. ], dtype=float32)
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from directranker.arrays import BoolArray, Float32Array, FloatArray, IntArray
from directranker.compilation import compiled
from directranker.data.column_kinds import ColumnKinds
from directranker.data.grouping import group_by_query
from directranker.encoding.base import FeatureTransform, check_kinds
from directranker.encoding.blocks import Table
from directranker.encoding.category_columns import assign_columns, varies_within_queries
from directranker.fitted_checks import check_fitted_array
from directranker.parameters import SEED, above, check_parameters, integer

__all__ = ["CategoryStatistics"]

MIN_RARE, MIN_KNOWN = 0.2, 0.9  # fractions of rows, see `append`
RESOLUTION = 2.0**-20  # of the labels' range: rounding errors must not become values


class CategoryStatistics(FeatureTransform):
    """Replace codes of categories by a statistic of the labels; with `append`, append it as a column.

    Parameters
    ----------
    append
        Keep the codes, and append statistics, but only of features that vary within most queries and have
        many rare values and few new ones: more than a fifth of the training rows have a rare value, and at
        least nine tenths of held-out rows have a value that the training rows have. Otherwise the statistic
        replaces the codes of all categorical features.
    min_count, max_categories
        A value is rare if it has fewer than `min_count` rows, or is not among the `max_categories` most
        frequent ones.
    prior
        The number of rows with a statistic of 0 that is added to each value.
    random_state
        The seed of the order of queries.

    A missing value has a statistic of its own, a value that the training split does not have has 0. A feature
    that is constant within all queries has the statistic 0 for all values.

    Fitted attributes: `features_`, the indices of the features with a statistic; that of the k-th is
    `statistics_[statistic_offsets_[k]:statistic_offsets_[k + 1]]`: of a missing value, of an unseen one, and
    of each code.

    """

    features_: IntArray
    statistics_: Float32Array
    statistic_offsets_: IntArray

    _rules = {  # noqa: RUF012 - as in the base
        "min_count": integer(1),
        "max_categories": integer(1),
        "prior": above(0),
        "random_state": SEED,
    }

    def __init__(
        self,
        *,
        append: bool = False,
        min_count: int = 20,
        max_categories: int = 128,
        prior: float = 20.0,
        random_state: int = 0,
    ) -> None:
        self.append = append
        self.min_count = min_count
        self.max_categories = max_categories
        self.prior = prior
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        qid: ArrayLike | None = None,
        kinds: ColumnKinds | None = None,
        sample_weight: ArrayLike | None = None,
        held_out: Table | None = None,
    ) -> Self:
        """Fit the statistics to labels `y`, one per row.

        `held_out` has rows that are not trained on, to find features with new values; without them, each
        query of the training split is held out in turn.
        """
        self._fit_and_order(X, y, qid, kinds, sample_weight, held_out)
        return self

    def fit_transform(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        qid: ArrayLike | None = None,
        kinds: ColumnKinds | None = None,
        sample_weight: ArrayLike | None = None,
        held_out: Table | None = None,
    ) -> Float32Array:
        """Fit the statistics, and return the training rows, each with statistics of earlier queries only."""
        table, in_order = self._fit_and_order(X, y, qid, kinds, sample_weight, held_out)
        return self._add_columns(table, in_order)

    def transform(self, X: ArrayLike, *, qid: ArrayLike | None = None) -> Float32Array:  # noqa: ARG002
        """Return rows with the statistics of all training rows; `qid` is ignored."""
        table = self._validate(X, reset=False)
        columns = []
        for number, feature in enumerate(self.features_):
            statistics = self._get_statistics(number)
            columns.append(statistics[_find_positions(table[:, feature], len(statistics) - 2)])
        return self._add_columns(table, columns)

    def change_kinds(self, kinds: ColumnKinds) -> ColumnKinds:
        """Return the kinds of the columns that `transform` returns."""
        n_categories, vector = kinds.n_categories, kinds.vector
        if self.append:
            n_appended = len(self.features_)
            n_categories = np.append(n_categories, np.zeros(n_appended, dtype=np.int64))
            vector = np.append(vector, np.full(n_appended, -1, dtype=np.int64))
        else:
            n_categories = np.where(np.isin(np.arange(len(n_categories)), self.features_), 0, n_categories)
        return ColumnKinds(n_categories, vector)

    @property
    def feature_of_column(self) -> IntArray:
        """The feature that each column of the output comes from."""
        own = np.arange(self.n_features_in_)
        return np.append(own, self.features_) if self.append else own

    def _fit_and_order(
        self,
        X: ArrayLike,
        y: object,
        qid: ArrayLike | None,
        kinds: ColumnKinds | None,
        sample_weight: ArrayLike | None,
        held_out: Table | None,
    ) -> tuple[Table, list[Float32Array]]:
        """Set the fitted attributes; return the table, and the statistics of each row, by feature."""
        table = self._validate(X, reset=True)
        kinds = check_kinds(kinds, table.shape[1])
        grouping = group_by_query(qid, n_rows=len(table))
        rows = np.arange(len(table)) if grouping.order is None else grouping.order
        weights = (np.ones(len(table)) if sample_weight is None else np.asarray(sample_weight, float))[rows]
        labels = np.asarray(y, dtype=np.float64)[rows]
        deviations = _subtract_query_means(labels, weights, grouping.offsets)
        query_order = np.random.default_rng(self.random_state).permutation(len(grouping.offsets) - 1)
        step = RESOLUTION * float(np.ptp(labels)) or 1.0
        features, statistics, in_order = [], [], []
        for feature in np.flatnonzero(kinds.is_categorical):
            n_categories = int(kinds.n_categories[feature])
            positions = _find_positions(table[rows, feature], n_categories)
            new = None if held_out is None else _find_positions(held_out[:, feature], n_categories)
            if self.append and not (
                varies_within_queries(table[:, feature], grouping)
                and self._has_rare_and_known_values(positions, grouping.offsets, new)
            ):
                continue
            varies = _find_varying_rows(positions, grouping.offsets)
            totals, ordered = _accumulate(
                positions,
                np.where(varies, deviations, 0.0) * weights,
                weights,
                grouping.offsets,
                query_order,
                float(self.prior),
                n_categories + 2,
            )
            column = np.empty(len(table), dtype=np.float32)
            column[rows] = _round(ordered, step)
            features.append(feature)
            statistics.append(_round(totals, step))
            in_order.append(column)
        self.features_ = np.array(features, dtype=np.int64)
        self.statistics_ = np.concatenate([np.empty(0, np.float32), *statistics])
        self.statistic_offsets_ = np.cumsum([0, *map(len, statistics)], dtype=np.int64)
        return table, in_order

    def _has_rare_and_known_values(
        self, positions: IntArray, offsets: IntArray, held_out: IntArray | None
    ) -> bool:
        """Whether a feature has many rare values and few new ones; see `append`."""
        counts = np.bincount(positions, minlength=2)
        columns, _ = assign_columns(counts[2:], min_count=self.min_count, max_columns=self.max_categories)
        if counts[2:][columns[1:] == columns[0]].sum() <= MIN_RARE * len(positions):
            return False
        if held_out is not None and len(held_out):
            is_known = np.append(counts, np.zeros(held_out.max() + 1, dtype=np.int64))[held_out] > 0
        else:
            query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
            n_positions = int(positions.max()) + 1
            in_queries = np.unique(query * n_positions + positions) % n_positions
            is_known = np.bincount(in_queries)[positions] > 1
        return bool(is_known.mean() >= MIN_KNOWN)

    def _add_columns(self, table: Table, columns: list[Float32Array]) -> Float32Array:
        n_features = table.shape[1]
        n_appended = len(columns) if self.append else 0
        changed = np.empty((len(table), n_features + n_appended), dtype=np.float32)
        changed[:, :n_features] = table
        for number, (feature, column) in enumerate(zip(self.features_, columns, strict=True)):
            changed[:, n_features + number if self.append else feature] = column
        return changed

    def _get_statistics(self, number: int) -> Float32Array:
        return self.statistics_[self.statistic_offsets_[number] : self.statistic_offsets_[number + 1]]

    def _check_fitted(self, n_features: int) -> None:
        check_parameters(self, self._rules)
        features = getattr(self, "features_", None)
        n = len(features) if isinstance(features, np.ndarray) and features.ndim == 1 else 0
        features = check_fitted_array(self, "features_", np.int64, (n,))
        if (features < 0).any() or (features >= n_features).any() or len(np.unique(features)) < n:
            raise ValueError("features_ of CategoryStatistics are not different features")
        offsets = check_fitted_array(self, "statistic_offsets_", np.int64, (n + 1,))
        if offsets[0] != 0 or (np.diff(offsets) < 2).any():
            raise ValueError("statistic_offsets_ of CategoryStatistics do not increase from 0")
        statistics = check_fitted_array(self, "statistics_", np.float32, (int(offsets[-1]),))
        if not np.isfinite(statistics).all():
            raise ValueError("statistics_ of CategoryStatistics are not all finite")


def _find_positions(codes: Table, n_categories: int) -> IntArray:
    """Return the position of each code among the statistics of a feature: missing, unseen, 0, 1, …"""
    is_known = (codes >= 0) & (codes < n_categories)
    positions = np.where(is_known, codes, -1).astype(np.int64) + 2
    positions[np.isnan(codes)] = 0
    return positions


def _subtract_query_means(labels: FloatArray, weights: FloatArray, offsets: IntArray) -> FloatArray:
    sizes = np.diff(offsets)
    query = np.repeat(np.arange(len(sizes)), sizes)
    total = np.bincount(query, weights, minlength=len(sizes))
    means = np.bincount(query, labels * weights, minlength=len(sizes)) / np.where(total > 0, total, 1.0)
    deviations: FloatArray = labels - means[query]
    return deviations


def _find_varying_rows(positions: IntArray, offsets: IntArray) -> BoolArray:
    """Whether the query of each row has different values: elsewhere deviations sum to rounding errors."""
    sizes = np.diff(offsets)
    first = np.repeat(positions[np.minimum(offsets[:-1], len(positions) - 1)], sizes)
    query = np.repeat(np.arange(len(sizes)), sizes)
    varies = np.bincount(query, positions != first, minlength=len(sizes)) > 0
    return np.repeat(varies, sizes)


def _round(statistics: FloatArray, step: float) -> Float32Array:
    return (np.rint(statistics / step) * step).astype(np.float32)


@compiled
def _accumulate(
    positions: IntArray,
    summands: FloatArray,
    weights: FloatArray,
    offsets: IntArray,
    query_order: IntArray,
    prior: float,
    n_positions: int,
) -> tuple[FloatArray, FloatArray]:
    """Return the statistic of each position, and for each row that of the queries before its own."""
    sums, counts = np.zeros(n_positions), np.full(n_positions, prior)
    in_order = np.empty(len(positions))
    for query in query_order:
        rows = range(offsets[query], offsets[query + 1])
        for row in rows:
            in_order[row] = sums[positions[row]] / counts[positions[row]]
        for row in rows:
            sums[positions[row]] += summands[row]
            counts[positions[row]] += weights[row]
    return sums / counts, in_order
