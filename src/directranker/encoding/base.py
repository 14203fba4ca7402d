"""What every feature transform promises.

It is a scikit-learn transformer: `fit` learns from the training part alone, `transform` gives a float32
array in C order, whatever came in (NumPy, pandas, polars, anything with `__array__`). Query ids may always
be given and are routed by default, so a transform can be changed without changing the code around it.
Numbers must fit float32; NaN means "missing" and each transform says what becomes of it.

>>> class Halved(RowTransform):
...     def _encode(self, block):
...         return block / 2
>>> Halved().fit_transform([[1.0, 3.0]])
array([[0.5, 1.5]], dtype=float32)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from directranker.data.checking import locate_non_numeric_column
from directranker.encoding.blocks import Block, Encoded, Table, encode_rows, over_rows
from directranker.encoding.moments import FLOAT32_MAX
from directranker.errors import DataError
from directranker.fitted_checks import check_fitted_inputs
from directranker.parameters import Constraint, check_parameters

__all__ = ["FeatureTransform", "RowTransform"]


class FeatureTransform(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """The base of all transforms: input checked in one place, what is learnt from a table in `_fit`."""

    _rules: ClassVar[Mapping[str, Constraint]] = {}
    """What parameters may be, by name."""

    __metadata_request__fit = {"qid": True}  # noqa: RUF012 - scikit-learn's name and form
    __metadata_request__transform = {"qid": True}  # noqa: RUF012

    def fit(self, X: ArrayLike, y: object = None, *, qid: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Learn from the training part; `y` is never used, `qid` only by transforms that say so."""
        self._fit(self._checked(X, reset=True))
        return self

    @abstractmethod
    def transform(self, X: ArrayLike, *, qid: ArrayLike | None = None) -> Encoded:
        """Encode rows by what `fit` learnt; nothing is learnt from them."""

    def fit_transform(self, X: ArrayLike, y: object = None, *, qid: ArrayLike | None = None) -> Encoded:
        """Learn from the training part and encode it."""
        return self.fit(X, y, qid=qid).transform(X, qid=qid)

    def _fit(self, table: Table) -> None:
        """Set the fitted attributes: arrays and plain values, so that they can be saved as such."""

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Take over fitted attributes that a file held; raise a ValueError if they do not fit together."""
        for name, value in state.items():
            setattr(self, name, value)
        self._check_fitted(check_fitted_inputs(self))

    def _check_fitted(self, n_features: int) -> None:
        """Check whatever a compiled kernel would trust."""

    def _checked(self, X: ArrayLike, *, reset: bool) -> Table:
        if reset:
            check_parameters(self, self._rules)
        else:
            check_is_fitted(self)
        with locate_non_numeric_column(X):
            table: Table = validate_data(
                self, X, reset=reset, dtype=(np.float64, np.float32), ensure_all_finite=False
            )
        over_rows(lambda rows: self._refuse_too_large(table, rows), len(table))
        return table

    def _refuse_too_large(self, table: Table, rows: slice) -> None:
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


class RowTransform(FeatureTransform):
    """The base of transforms that encode each row by itself: a subclass encodes a block (`_encode`)."""

    def transform(self, X: ArrayLike, *, qid: ArrayLike | None = None) -> Encoded:  # noqa: ARG002
        """Encode rows by what `fit` learnt; nothing is learnt from them."""
        table = self._checked(X, reset=False)
        return encode_rows(table, self._encode, n_columns=self._n_columns_out())

    @abstractmethod
    def _encode(self, block: Block) -> NDArray[Any]:
        """Encode a block of rows."""

    def _n_columns_out(self) -> int:
        return int(self.n_features_in_)
