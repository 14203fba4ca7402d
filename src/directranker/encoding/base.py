"""The base classes of all feature transforms.

A transform is a scikit-learn transformer: `fit` uses the training split alone, `transform` returns a float32
array in C order for any array-like input (NumPy, pandas, polars, anything with `__array__`). Every transform
accepts `qid`, and metadata routing passes it by default, so you can switch transforms without changing
other code. Values must fit float32. NaN means "missing"; each transform documents its output for NaN.

>>> class Halved(RowTransform):
...     def _encode(self, block):
...         return block / 2
>>> Halved().fit_transform([[1.0, 3.0]])
array([[0.5, 1.5]], dtype=float32)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from directranker.arrays import Float32Array, FloatArray
from directranker.data.checking import locate_non_numeric_column
from directranker.data.column_kinds import ColumnKinds
from directranker.encoding.blocks import Table, encode_rows, map_row_blocks
from directranker.encoding.moments import FLOAT32_MAX
from directranker.errors import DataError
from directranker.fitted_checks import check_fitted_inputs
from directranker.parameters import Constraint, check_parameters

__all__ = ["FeatureTransform", "RowTransform", "check_kinds"]


class FeatureTransform(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Base class of all transforms; it validates the input, and a subclass fits a table in `_fit`."""

    _rules: ClassVar[Mapping[str, Constraint]] = {}
    """The valid values of each parameter, by name."""

    __metadata_request__fit = {"qid": True}  # noqa: RUF012 - scikit-learn's name and form
    __metadata_request__transform = {"qid": True}  # noqa: RUF012

    def fit(
        self,
        X: ArrayLike,
        y: object = None,  # noqa: ARG002
        *,
        qid: ArrayLike | None = None,  # noqa: ARG002
        kinds: ColumnKinds | None = None,
    ) -> Self:
        """Fit to the training split; `y` is ignored, and `qid` too unless the transform documents its use.

        `kinds` tells which columns are the dimensions of a vector, and which hold codes of categories: only
        transforms that document it encode categories, others take their codes for numbers.
        """
        table = self._validate(X, reset=True)
        self._fit(table, check_kinds(kinds, table.shape[1]))
        return self

    @abstractmethod
    def transform(self, X: ArrayLike, *, qid: ArrayLike | None = None) -> Float32Array:
        """Encode rows with the fitted transform."""

    def fit_transform(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        qid: ArrayLike | None = None,
        kinds: ColumnKinds | None = None,
    ) -> Float32Array:
        """Fit to the training split and encode it."""
        return self.fit(X, y, qid=qid, kinds=kinds).transform(X, qid=qid)

    def _fit(self, table: Table, kinds: ColumnKinds) -> None:
        """Set the fitted attributes; only arrays, numbers, strings and lists, so that they can be saved."""

    def _restore(self, state: Mapping[str, object]) -> None:
        """Set fitted attributes that were read from a file; raise a ValueError if they are inconsistent."""
        for name, value in state.items():
            setattr(self, name, value)
        self._check_fitted(check_fitted_inputs(self))

    def _check_fitted(self, n_features: int) -> None:
        """Check the type and shape of each fitted array that a compiled kernel reads."""

    def _validate(self, X: ArrayLike, *, reset: bool) -> Table:
        if reset:
            check_parameters(self, self._rules)
        else:
            check_is_fitted(self)
        with locate_non_numeric_column(X):
            table: Table = validate_data(
                self, X, reset=reset, dtype=(np.float64, np.float32), ensure_all_finite=False
            )
        map_row_blocks(lambda rows: self._check_float32_range(table, rows), len(table))
        return table

    def _check_float32_range(self, table: Table, rows: slice) -> None:
        too_large = np.abs(table[rows]) > FLOAT32_MAX
        if not too_large.any():
            return
        row, column = np.argwhere(too_large)[0]
        row += rows.start
        name = repr(self.feature_names_in_[column]) if hasattr(self, "feature_names_in_") else column
        raise DataError(
            f"X has {table[row, column]} in row {row}, column {name}; "
            "give finite numbers that fit float32, or NaN where a value is missing"
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def check_kinds(kinds: ColumnKinds | None, n_columns: int) -> ColumnKinds:
    """Return the kinds of so many columns; None means that all are numbers."""
    if kinds is None:
        return ColumnKinds.numbers(n_columns)
    if kinds.n_categories.shape != (n_columns,) or kinds.vector.shape != (n_columns,):
        raise ValueError(f"kinds are of {len(kinds.n_categories)} columns, but X has {n_columns}")
    return kinds


class RowTransform(FeatureTransform):
    """Base class of transforms that encode each row independently; a subclass implements `_encode`."""

    def transform(self, X: ArrayLike, *, qid: ArrayLike | None = None) -> Float32Array:  # noqa: ARG002
        """Encode rows with the fitted transform; `qid` is ignored."""
        table = self._validate(X, reset=False)
        return encode_rows(table, self._encode, n_columns=self._n_columns_out())

    @abstractmethod
    def _encode(self, block: FloatArray) -> FloatArray | Float32Array:
        """Encode a block of rows."""

    def _n_columns_out(self) -> int:
        return int(self.n_features_in_)
