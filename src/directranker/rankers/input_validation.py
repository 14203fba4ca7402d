"""Input validation of all rankers: tables, data sets, query ids, labels and weights.

Query ids come per row, ints or strings, in any order: as `qid`, or as the index of a pandas table that is
named `qid`. Without them all rows are one query. A `RankingDataset` can replace X, y and qid; weights and
scores are then in the data set's own order of rows. For arrays and tables they are in the order of X.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from directranker.arrays import Features, FloatArray, IntArray, query_of_rows
from directranker.data.categories import recode
from directranker.data.checking import (
    as_feature_names,
    as_relevance,
    check_finite,
    densify,
    locate_non_numeric_column,
)
from directranker.data.column_kinds import ColumnKinds
from directranker.data.column_roles import ColumnRoles
from directranker.data.dataset import RankingDataset
from directranker.data.grouping import compute_query_means, group_by_query, resolve_query_ids
from directranker.data.unlabelled import format_names, has_categories, read_columns, read_unlabelled
from directranker.errors import DataError
from directranker.training.data import NO_VARYING_FEATURE, TrainingData

__all__ = ["EvalSet", "InputValidation", "average_weight_by_query", "encode_query_ids"]

INTEGER = re.compile(r"-?[0-9]+")
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?")
NO_VALUES = pa.array([], pa.large_string())
EvalSet = RankingDataset | tuple[Any, ...] | None
"""The validation split of early stopping: a data set, (X, y) or (X, y, qid)."""


class InputValidation:
    """The input validation that `Ranker` inherits; it sets `n_features_in_` and `feature_names_in_`."""

    n_features_in_: int

    def _validate_training_data(
        self, X: Any, y: ArrayLike | None, qid: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> TrainingData:
        data = self._group_by_query(X, y, qid, sample_weight, reset=True)
        if not data.has_unequal_labels:
            raise DataError(
                "no query has documents of two different labels, so there is no order to fit; "
                f"check the labels and qid (n_samples={data.n_documents}, n_queries={data.n_queries})"
            )
        if not data.has_varying_features:
            raise DataError(NO_VARYING_FEATURE)
        return data

    def _validate_eval_set(self, eval_set: EvalSet) -> TrainingData:
        if isinstance(eval_set, RankingDataset):
            eval_set = (eval_set, None)
        if not isinstance(eval_set, tuple) or len(eval_set) not in (2, 3):
            raise TypeError("eval_set must be a RankingDataset, (X, y) or (X, y, qid)")
        X, y, *qid = eval_set
        try:
            return self._group_by_query(X, y, qid[0] if qid else None, None, reset=False)
        except DataError as error:
            raise DataError(f"eval_set: {error}") from None

    def _group_by_query(
        self,
        X: Any,
        y: ArrayLike | None,
        qid: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        reset: bool,
    ) -> TrainingData:
        table = self._validate_features(X, reset=reset)
        if isinstance(X, RankingDataset):
            if y is not None or qid is not None:
                raise TypeError("a RankingDataset has its own labels and queries; leave out y and qid")
            weights = _validate_sample_weight(sample_weight, None, len(table), X.n_queries)
            return TrainingData(table, None, X.relevance, X.offsets, *weights, self._column_kinds())
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        relevance = as_relevance(y, len(table))
        grouping = group_by_query(resolve_query_ids(X, qid), n_rows=len(table))
        n_queries = len(grouping.query_ids)
        weights = _validate_sample_weight(sample_weight, grouping.order, len(table), n_queries)
        if grouping.order is not None:
            relevance = relevance[grouping.order]
        return TrainingData(
            table, grouping.order, relevance, grouping.offsets, *weights, self._column_kinds()
        )

    def _column_kinds(self) -> ColumnKinds | None:
        counts = {name: len(values) for name, values in getattr(self, "categories_", {}).items()}
        kinds = ColumnKinds.of(self._feature_names(), counts)
        return None if kinds.are_numbers else kinds

    @abstractmethod
    def _feature_names(self) -> tuple[str, ...]:
        """Return the feature names of the fit."""

    def _validate_features(self, X: Any, *, reset: bool) -> Features:
        """Return X as a float32 table; with `reset` store its columns, else compare them with the fit's."""
        if isinstance(X, RankingDataset):
            check_finite(X.features, X.features, names=X.feature_names, rows=X.original_rows)
            return self._match_columns(X, reset=reset)
        is_matched = not reset and (hasattr(self, "categories_") or self._find_table_columns(X) is not None)
        if is_matched or has_categories(X):
            return self._match_columns(self._read_frame(X, reset=reset), reset=reset)
        if reset:
            self.__dict__.pop("categories_", None)
            self.__dict__.pop("columns_", None)
        X = self._flatten_documents(densify(X), reset=reset)
        with locate_non_numeric_column(X), np.errstate(over="ignore", invalid="ignore"):
            table: Features = validate_data(
                self, X, reset=reset, dtype=np.float32, ensure_all_finite=False, order="C"
            )
        check_finite(table, X, names=getattr(self, "feature_names_in_", None))
        return table

    def _read_frame(self, X: Any, *, reset: bool) -> RankingDataset:
        """Read a frame with categorical columns as a data set without labels."""
        if reset:
            return read_unlabelled(X)
        categories: Mapping[str, Sequence[str]] = getattr(self, "categories_", {})
        if not hasattr(X, "columns"):
            raise DataError(
                f"X is a {type(X).__name__} without column names, but feature {next(iter(categories))!r} is "
                "categorical; give a table, or a RankingDataset"
            )
        if (columns := self._find_table_columns(X)) is not None:
            return read_columns(X, columns)
        # Numbers are categories again where the categories of the fit are whole numbers, such as ids.
        ids = [name for name, values in categories.items() if all(map(INTEGER.fullmatch, values))]
        return read_unlabelled(X, categorical=ids, names=self._feature_names())

    def _find_table_columns(self, X: Any) -> ColumnRoles | None:
        """Return the columns of the fit if X has dates or vectors, which are several features each."""
        columns = ColumnRoles(**getattr(self, "columns_", {}))
        names = getattr(X, "columns", None)
        if columns.features is None or names is None or columns.features == self._feature_names():
            return None
        return columns if set(columns.features) <= set(map(str, names)) else None

    def _match_columns(self, data: RankingDataset, *, reset: bool) -> Features:
        """Return the features in the order and with the codes of the fit."""
        if reset:
            self._store_columns(data)
            return data.features
        self._check_columns(data)
        names, table = self._feature_names(), data.features
        if _has_names(data) and names != data.feature_names and hasattr(self, "feature_names_in_"):
            position = {name: index for index, name in enumerate(data.feature_names)}
            table = np.ascontiguousarray(table[:, [position[name] for name in names]])
        categories = getattr(self, "categories_", {})
        for index, name in enumerate(names):
            if name in categories:
                table = np.array(table) if table is data.features else table
                vocabulary = pa.array(categories[name], pa.large_string())
                given = data.categories.get(name, NO_VALUES)  # a column without a value has no type
                table[:, index] = recode(table[:, index], given, into=vocabulary)
        return table

    def _store_columns(self, data: RankingDataset) -> None:
        self.n_features_in_ = data.n_features
        for name in ("feature_names_in_", "categories_", "columns_", "input_shape_"):
            self.__dict__.pop(name, None)
        if _has_names(data) or data.categories:
            self.feature_names_in_ = np.array(data.feature_names, dtype=object)
        if data.categories:
            self.categories_ = {name: tuple(values.to_pylist()) for name, values in data.categories.items()}
        if data.columns is not None:
            self.columns_ = asdict(data.columns)
            for name in ("keep", "or_default"):  # a ranker does not see kept columns
                del self.columns_[name]

    def _check_columns(self, data: RankingDataset) -> None:
        """Raise unless the data set has all features of the fit, of the same kind."""
        owner, fitted = type(self).__name__, getattr(self, "feature_names_in_", None)
        if fitted is None or not _has_names(data):
            if data.n_features != self.n_features_in_:
                raise ValueError(
                    f"X has {data.n_features} features, but {owner} was fitted with {self.n_features_in_}"
                )
        elif missing := [name for name in fitted if name not in set(data.feature_names)]:
            raise DataError(f"X lacks {format_names(missing)}, which {owner} was fitted with")
        categories = getattr(self, "categories_", {})
        for index, name in enumerate(data.feature_names):
            if name in categories:
                _check_values(name, categories[name], data, index, owner)
            elif name in data.categories and name in self._feature_names():
                raise DataError(
                    f"feature {name!r} is a category in X, but {owner} was fitted with it as a number; give "
                    "it the type that it had"
                )

    def _flatten_documents(self, X: Any, *, reset: bool) -> Any:
        """Reshape documents of several dimensions, such as images, to rows; `input_shape_` is their shape."""
        shape = np.shape(X)[1:] if getattr(X, "ndim", 2) > 2 else None
        if reset:
            self.__dict__.pop("input_shape_", None)
            if shape is not None:
                self.input_shape_ = tuple(shape)
        elif shape is not None and shape != getattr(self, "input_shape_", None):
            fitted = getattr(self, "input_shape_", (self.n_features_in_,))
            raise ValueError(
                f"documents have shape {shape}, but {type(self).__name__} was fitted with {fitted}"
            )
        return X if shape is None else np.asarray(X).reshape(len(X), -1)


def _check_values(name: str, categories: Sequence[str], data: RankingDataset, index: int, owner: str) -> None:
    """Raise where a categorical feature of the fit has numbers instead of its categories."""
    values = data.categories.get(name)
    if values is None:
        has_numbers = not np.isnan(data.features[:, index]).all()
    else:  # text of a CSV file may be numbers, too
        has_numbers = len(values) > 0 and all(map(NUMBER.fullmatch, values.to_pylist()))
        has_numbers = has_numbers and not any(map(NUMBER.fullmatch, categories))
    if has_numbers:
        raise DataError(
            f"feature {name!r} is a number in X, but {owner} was fitted with categories such as "
            f"{next(iter(categories), '')!r}; give it the type that it had (categorical=… makes ids "
            "categories)"
        )


def _has_names(data: RankingDataset) -> bool:
    """Whether a data set has names of its own: default names count as none."""
    return data.feature_names != as_feature_names((), data.n_features)


def encode_query_ids(qid: ArrayLike | None, n_rows: int) -> IntArray:
    """Return the query number of each row, in the order of the rows.

    >>> encode_query_ids(["b", "a", "b"], 3).tolist()
    [0, 1, 0]
    """
    grouping = group_by_query(qid, n_rows=n_rows)
    codes = query_of_rows(grouping.offsets)
    if grouping.order is None:
        return codes
    in_order = np.empty_like(codes)
    in_order[grouping.order] = codes
    return in_order


def average_weight_by_query(sample_weight: ArrayLike, qid: ArrayLike | None, n_rows: int) -> FloatArray:
    """Return the weight of each query: its own, or the mean over its rows."""
    grouping = group_by_query(qid, n_rows=n_rows)
    n_queries = len(grouping.query_ids)
    per_row, per_query = _validate_sample_weight(sample_weight, grouping.order, n_rows, n_queries)
    if per_query is not None:
        return per_query
    assert per_row is not None  # noqa: S101 - one of the two is given
    return compute_query_means(per_row, grouping.offsets)


def _validate_sample_weight(
    sample_weight: ArrayLike | None, order: IntArray | None, n_rows: int, n_queries: int
) -> tuple[FloatArray | None, FloatArray | None]:
    """Return (weights per document, weights per query); at most one of them is given."""
    if sample_weight is None:
        return None, None
    try:
        weights = np.asarray(sample_weight).astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight has an entry that is not a number: {error}") from None
    if weights.ndim != 1 or len(weights) not in (n_rows, n_queries):
        raise ValueError(
            f"sample_weight has shape {weights.shape}; give one per row ({n_rows}) or per query ({n_queries})"
        )
    invalid = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(invalid):
        unit = "row" if len(weights) == n_rows else "query"
        raise ValueError(
            f"sample_weight is {weights[invalid[0]]} at {unit} {invalid[0]}; weights must be finite and not "
            "negative"
        )
    if not weights.any():
        raise ValueError("sample_weight is zero everywhere; give some row or query a positive weight")
    if len(weights) == n_rows:
        return weights if order is None else weights[order], None
    return None, weights
