"""Rankers with a feature transform, which is fitted on the training split only."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any, NoReturn

import numpy as np
from sklearn.base import BaseEstimator

from directranker.arrays import Features, FloatArray, IntArray
from directranker.description.columns import Columns, describe_columns, map_columns_to_features
from directranker.description.model import CategoryLookup
from directranker.encoding import InContext, Unchanged, as_transform
from directranker.encoding.adapters import Adapter, QueryAdapter
from directranker.encoding.base import FeatureTransform, RowTransform
from directranker.encoding.blocks import map_row_blocks
from directranker.encoding.category_statistics import CategoryStatistics
from directranker.encoding.piecewise_linear import BinnedTransform
from directranker.errors import DataError
from directranker.rankers.base import Ranker
from directranker.training.data import TrainingData

__all__ = ["TransformingRanker", "as_row_transform", "check_encoded", "count_columns"]

MAX_FITTED_DOCUMENTS = 200_000  # of the sample that a transform is fitted on


class TransformingRanker(Ranker):
    """A ranker with a parameter `transform`; a subclass calls `_fit_transform` in `_fit`.

    Fitted attributes: `transform_`, and `statistics_` (`CategoryStatistics`) where categories need them.
    """

    statistics_: CategoryStatistics

    @property
    def transform(self) -> NoReturn:
        """Hidden: scikit-learn takes every object with a `transform` for a transformer, and would call it."""
        raise AttributeError("a ranker has no method transform; get_params() has its parameter of this name")

    @transform.setter
    def transform(self, transform: BaseEstimator) -> None:
        self._transform = transform

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters by name, including `transform`; with `deep` also those of a transformer."""
        names = self._get_param_names()
        parameters = {name: self._transform if name == "transform" else getattr(self, name) for name in names}
        if deep and hasattr(self._transform, "get_params") and not isinstance(self._transform, type):
            inner = self._transform.get_params()
            parameters |= {f"transform__{name}": value for name, value in inner.items()}
        return parameters

    def _score_as_one_query(self, first: Features, second: Features) -> tuple[FloatArray, FloatArray]:
        if isinstance(self.transform_, RowTransform):
            return super()._score_as_one_query(first, second)
        both = np.ascontiguousarray(np.concatenate([first, second]))
        # Sorted by content, so that swapping the tables changes no rounding and r is odd.
        order = np.argsort(both.view(np.dtype((np.void, both.itemsize * both.shape[1]))).ravel())
        scores = np.empty(len(both))
        scores[order] = self._finite_scores(both[order], np.zeros(len(both), dtype=np.int64))
        return scores[: len(first)], scores[len(first) :]

    _unsaved_parameters = Ranker._unsaved_parameters | {"transform"}  # the fitted transform is saved

    def _restore(self, state: Mapping[str, object]) -> None:
        super()._restore(state)
        transform = getattr(self, "transform_", None)
        if not isinstance(transform, FeatureTransform):
            raise ValueError("transform_ is not a directranker transform")
        n_columns = self.n_features_in_
        statistics = getattr(self, "statistics_", None)
        if statistics is not None:
            if not isinstance(statistics, CategoryStatistics) or statistics.n_features_in_ != n_columns:
                raise ValueError(f"statistics_ are not those of categories among {n_columns} features")
            n_columns = len(statistics.feature_of_column)
        if transform.n_features_in_ != n_columns:
            raise ValueError(
                f"the transform is for {transform.n_features_in_} features, the ranker for {n_columns}"
            )

    def _contributions(self, table: Features, pairs: IntArray, *, n_steps: int) -> tuple[FloatArray, str]:
        one_query = np.zeros(len(table), dtype=np.int64)
        encoded = self.transform_.transform(self._add_statistics(table), qid=one_query).astype(np.float64)
        feature_of_column = map_columns_to_features(self.transform_, encoded.shape[1])
        if hasattr(self, "statistics_"):
            feature_of_column = self.statistics_.feature_of_column[feature_of_column]
        by_column, method = self._column_contributions(encoded, pairs, n_steps)
        belongs = feature_of_column[:, None] == np.arange(table.shape[1])  # (n_columns, n_features)
        return by_column @ belongs.astype(np.float64), method

    def _describe_inputs(self) -> dict[str, Any]:
        """Return the fields of a `Net` before its layers."""
        names = self._feature_names()
        columns, n_columns = describe_columns(self.transform_)
        statistics, derived = getattr(self, "statistics_", None), []
        if statistics is not None:
            for number, feature in enumerate(statistics.features_.tolist()):
                missing, unseen, *values = statistics._get_statistics(number).tolist()
                derived.append(CategoryLookup(feature, np.array(values, np.float32), unseen, missing))
            if not statistics.append:
                columns = _rename_features(columns, statistics.features_, len(names))
        categories = getattr(self, "categories_", {})
        return {
            "feature_names": names,
            "columns": columns,
            "n_columns": n_columns,
            "categories": {
                index: tuple(categories[name]) for index, name in enumerate(names) if name in categories
            },
            "derived": tuple(derived),
        }

    @abstractmethod
    def _column_contributions(
        self, encoded: FloatArray, pairs: IntArray, n_steps: int
    ) -> tuple[FloatArray, str]:
        """Return the contribution of each encoded column, (n_pairs, n_columns), and the method's name."""

    def _fit_transform(
        self,
        data: TrainingData,
        seed: int,
        transform: BaseEstimator = None,
        *,
        held_out: TrainingData | None = None,
    ) -> TrainingData:
        """Fit `transform_` on the training split: the given transform, or the parameter.

        Return the data to train on: with statistics of categories, which are fitted here, too. `held_out`
        data shows which categories have values that the training split does not have.
        """
        unfitted = as_transform(
            self._transform if transform is None else transform,
            names=tuple(map(str, getattr(self, "feature_names_in_", ()))),
            categories=getattr(self, "categories_", None),
        )
        statistics = CategoryStatistics(random_state=seed)
        if isinstance(unfitted, BinnedTransform):
            rare = {"min_count": unfitted.min_category_count, "max_categories": unfitted.max_categories}
            statistics.set_params(append=True, **rare)
        # A transformer of scikit-learn gets the values of categories.
        if not (isinstance(unfitted, Adapter) and unfitted.categories):
            data = self._fit_statistics(data, statistics, held_out)
        sample = data.sample_queries(MAX_FITTED_DOCUMENTS, seed)
        options: dict[str, object] = {"kinds": data.kinds} if isinstance(unfitted, FeatureTransform) else {}
        if "y" in signature(unfitted.fit).parameters:
            options["y"] = sample.relevance
        self.transform_ = unfitted.fit(sample.features, qid=sample.query_of_row, **options)
        return data

    def _fit_statistics(
        self, data: TrainingData, statistics: CategoryStatistics, held_out: TrainingData | None
    ) -> TrainingData:
        """Fit `statistics_` where categories need them; return the data with the statistics of its rows.

        Bins encode categories, so that the statistics of some of them are appended. Other transforms need
        numbers, so that the statistics replace the codes.
        """
        self.__dict__.pop("statistics_", None)
        if not data.kinds.is_categorical.any():
            return data
        in_order = statistics.fit_transform(
            data.features,
            data.relevance,
            qid=data.query_of_row,
            kinds=data.kinds,
            sample_weight=data.weight_of_rows,
            held_out=None if held_out is None else held_out.features,
        )
        if not len(statistics.features_):
            return data
        self.statistics_ = statistics
        changed = self._add_statistics_to(data)
        changed.table[slice(None) if data.rows is None else data.rows] = in_order
        return changed

    def _add_statistics(self, table: Features) -> Features:
        """Return a table of features as `transform_` takes it: with statistics of categories."""
        return self.statistics_.transform(table) if hasattr(self, "statistics_") else table

    def _add_statistics_to(self, data: TrainingData) -> TrainingData:
        if not hasattr(self, "statistics_"):
            return data
        table, kinds = self._add_statistics(data.table), self.statistics_.change_kinds(data.kinds)
        return replace(data, table=table, column_kinds=kinds)


def _rename_features(columns: Sequence[Columns], replaced: IntArray, n_features: int) -> tuple[Columns, ...]:
    """Return columns that read the derived number in place of each replaced feature."""
    names = np.arange(n_features)
    names[replaced] = n_features + np.arange(len(replaced))
    return tuple(replace(group, features=names[group.features]) for group in columns)


def count_columns(transform: BaseEstimator) -> int:
    """Return the number of columns of a fitted transform; a user's transformer encodes a row of zeros."""
    if isinstance(transform, RowTransform):
        return transform._n_columns_out()
    if isinstance(transform, QueryAdapter):
        return int(transform.n_columns_out_)
    row = np.zeros((1, transform.n_features_in_), dtype=np.float32)
    return int(transform.transform(row).shape[1])


def as_row_transform(transform: BaseEstimator, table: Features, query: IntArray) -> tuple[Features, Any]:
    """Return a table and a transform that encodes each row on its own.

    A per-query transform needs all rows of a query, so it is applied here. The returned transform then only
    encodes bins, or nothing.
    """
    if isinstance(transform, RowTransform):
        return table, transform
    if isinstance(transform, InContext):
        return transform.with_context(table, query), transform.bins
    encoded = np.ascontiguousarray(transform.transform(table, qid=query), dtype=np.float32)
    return encoded, Unchanged().fit(encoded[:1])


def check_encoded(
    table: Features, transform: BaseEstimator, *, names: Sequence[str] = (), rows: IntArray | None = None
) -> None:
    """Raise where an encoded feature is not finite.

    `names` are the feature names, `rows` the input row of each row of the table.
    """
    not_finite = np.any(
        map_row_blocks(lambda block: ~np.isfinite(table[block]).all(axis=0), len(table)), axis=0
    )
    if not not_finite.any():
        return
    column = int(np.argmax(not_finite))
    row = int(np.argmax(~np.isfinite(table[:, column])))
    position = f"row {row if rows is None else rows[row]}, {_format_column(column, table, transform, names)}"
    raise DataError(
        f"X has {table[row, column]} in {position} after the transform {transform!r}; "
        "choose one that fills missing values, such as 'auto' or 'standard'"
    )


def _format_column(column: int, table: Features, transform: BaseEstimator, names: Sequence[str]) -> str:
    try:
        feature = int(map_columns_to_features(transform, table.shape[1])[column])
    except TypeError:  # a user's transformer that makes more columns
        return f"column {column} of the transformed features"
    return f"column {str(names[feature])!r}" if len(names) else f"column {feature}"
