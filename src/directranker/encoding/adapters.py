"""scikit-learn's transformers as feature transforms of rankers.

A ranker calls its transform with float32 tables, block by block, and needs scores that no batch changes. An
adapter fits a transformer with `y`, and with `qid` where a step takes it; passes tables with names as pandas
frames, so that a `ColumnTransformer` can select columns and encode the values of categories; and converts
sparse output to dense float32, block by block, in bounded memory.

A row has the same bits in any batch. scikit-learn's scalers, encoders and imputers compute each value on its
own. Others, such as matrix products, may round a row differently in another batch: they get blocks of 64 rows,
the last one padded, if a test shows that a row has the same bits at each position and beside any others, or
else single rows. A transformer that encodes a row differently beside other rows raises an error.

>>> from sklearn.preprocessing import MaxAbsScaler
>>> adapt_transformer(MaxAbsScaler()).fit([[2.0], [-4.0]]).transform([[1.0]])
array([[0.25]], dtype=float32)
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import FunctionTransformer, TargetEncoder

from directranker.arrays import Features, Float32Array
from directranker.data.checking import locate_non_numeric_column
from directranker.data.column_kinds import ColumnKinds
from directranker.data.feature_frames import build_feature_frame
from directranker.encoding.base import FeatureTransform, RowTransform
from directranker.encoding.blocks import Table

__all__ = ["Adapter", "QueryAdapter", "RowAdapter", "adapt_transformer", "is_routed", "takes_qid"]

BLOCK_ROWS = 4096  # rows that a transformer encodes at a time
MAX_BLOCK_BYTES = 64 << 20  # of their dense encoding
PADDED_ROWS = 64  # of a block of fixed size; a multiple of the width of vector routines
N_TESTED = 24
ANY_SIZE = 0
ELEMENTWISE_MODULES = (
    "sklearn.compose.",
    "sklearn.feature_selection.",
    "sklearn.impute._base",
    "sklearn.pipeline",
    "sklearn.preprocessing.",
)


def takes_qid(method: Any) -> bool:
    """Whether a method has a parameter `qid`.

    >>> takes_qid(RowTransform.fit), takes_qid(BaseEstimator.get_params)
    (True, False)
    """
    return "qid" in inspect.signature(method).parameters


def adapt_transformer(
    transformer: BaseEstimator, *, names: Sequence[str] = (), categories: Mapping[str, Sequence[str]] = {}
) -> FeatureTransform:
    """Return an unfitted transform that adapts a transformer; it is cloned.

    With `names` the transformer gets pandas frames, with the values of `categories` instead of their codes.
    """
    parts = [transformer, *_list_steps(transformer)]
    for part in parts:
        if isinstance(part, TargetEncoder):
            raise TypeError(
                "transform has a TargetEncoder, which encodes training rows by the labels of other rows; a "
                "ranker encodes all rows alike, so each would see its own label. Put it before the ranker: "
                "make_pipeline(TargetEncoder(), ranker)"
            )
    per_query = any(not isinstance(part, RowTransform) and takes_qid(part.transform) for part in parts)
    adapter = QueryAdapter if per_query else RowAdapter
    return adapter(clone(transformer), tuple(names), dict(categories))


def _list_steps(transformer: BaseEstimator) -> Iterable[BaseEstimator]:
    """List the transformers within a transformer."""
    values = transformer.get_params().values() if hasattr(transformer, "get_params") else ()
    return [value for value in values if hasattr(value, "transform") and not isinstance(value, type)]


class Adapter(FeatureTransform):
    """What both adapters share; `transformer_` is the fitted transformer."""

    def __init__(
        self,
        transformer: BaseEstimator = None,
        names: Sequence[str] = (),
        categories: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.transformer = transformer
        self.names = names
        self.categories = categories

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        qid: ArrayLike | None = None,
        kinds: ColumnKinds | None = None,  # noqa: ARG002 - a transformer gets values, not codes
    ) -> Self:
        """Fit the transformer; it gets `y`, and `qid` where one of its steps takes it."""
        table = self._validate(X, reset=True)
        self.transformer_ = clone(self.transformer)
        self._call(self.transformer_.fit, table, y, qid=qid)
        first = table[:1].astype(np.float32, copy=False)
        one_query = None if qid is None else np.zeros(1, dtype=np.int64)
        self.n_columns_out_ = int(self._call(self.transformer_.transform, first, qid=one_query).shape[1])
        return self

    def _call(self, method: Any, table: Table, *labels: object, qid: ArrayLike | None = None) -> Any:
        """Call a method of the transformer with features of the form that it expects."""
        rows: Any = table.astype(np.float32, copy=False)
        if self.names:
            rows = build_feature_frame(rows, self.names, self.categories or {})
        if qid is not None and takes_qid(method):
            return method(rows, *labels, qid=qid)
        with config_context(enable_metadata_routing=True):
            if qid is not None and is_routed(method, "qid"):
                return method(rows, *labels, qid=qid)
        with locate_non_numeric_column(rows):
            return method(rows, *labels)

    def _restore(self, state: Mapping[str, object]) -> None:
        super()._restore(state)
        if not hasattr(getattr(self, "transformer_", None), "transform"):
            raise ValueError("transformer_ is not a transformer")
        n_columns = getattr(self, "n_columns_out_", None)
        if type(n_columns) is not int or n_columns < 0:
            raise ValueError(f"n_columns_out_ is {n_columns!r}; expected a number of columns")
        names, categories = self.names, self.categories or {}
        are_names = len(names) in (0, self.n_features_in_) and all(isinstance(one, str) for one in names)
        if not are_names or not set(categories) <= set(names):
            raise ValueError("names and categories of a transform do not match its features")
        if not all(isinstance(value, str) for values in categories.values() for value in values):
            raise ValueError("a category of a transform is not a string")
        self.transformer = clone(self.transformer_)


class RowAdapter(Adapter, RowTransform):
    """A transformer that encodes each row independently.

    Fitted attributes: `transformer_`, `n_columns_out_`, and `block_rows_`: the size of the blocks of rows
    that have the same bits in any batch, or 0 if this is true of any size.
    """

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        qid: ArrayLike | None = None,
        kinds: ColumnKinds | None = None,
    ) -> Self:
        """Fit the transformer, and find the blocks in which a row has the same bits in any batch."""
        super().fit(X, y, qid=qid, kinds=kinds)
        self.block_rows_ = self._find_block_rows(self._validate(X, reset=False))
        return self

    def transform(self, X: ArrayLike, *, qid: ArrayLike | None = None) -> Float32Array:  # noqa: ARG002
        """Encode rows block by block; `qid` is ignored."""
        return self._encode(self._validate(X, reset=False))

    def _encode(self, block: Table) -> Float32Array:
        rows = block.astype(np.float32, copy=False)
        size = self.block_rows_
        if size == ANY_SIZE:
            size = max(1, min(BLOCK_ROWS, MAX_BLOCK_BYTES // (4 * max(1, self.n_columns_out_))))
        encoded = np.empty((len(rows), self.n_columns_out_), dtype=np.float32)
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            encoded[start : start + size] = self._encode_block(part, padded_to=self.block_rows_)
        return encoded

    def _encode_block(self, rows: Features, *, padded_to: int) -> Float32Array:
        """Encode rows in one call, padded with copies of the last one."""
        n_rows = len(rows)
        if n_rows < padded_to:
            rows = np.concatenate([rows, np.repeat(rows[-1:], padded_to - n_rows, axis=0)])
        return _to_dense(self._call(self.transformer_.transform, rows))[:n_rows]

    def _n_columns_out(self) -> int:
        return int(self.n_columns_out_)

    def _find_block_rows(self, table: Table) -> int:
        rng = np.random.default_rng(0)
        rows = table[np.sort(rng.permutation(len(table))[:N_TESTED])].astype(np.float32)
        alone = np.concatenate([self._encode_block(row[None], padded_to=0) for row in rows])
        mixed = [rng.integers(len(rows), size=size) for size in (2, 7, PADDED_ROWS, 1000)]
        beside = [self._encode_block(rows[numbers], padded_to=0) for numbers in mixed]
        for numbers, encoded in zip(mixed, beside, strict=True):
            self._check_row_wise(alone[numbers], encoded)
        is_same = all(_are_same_bits(alone[numbers], one) for numbers, one in zip(mixed, beside, strict=True))
        if is_same and all(map(_is_elementwise, [self.transformer_, *_list_steps(self.transformer_)])):
            return ANY_SIZE
        blocks = rng.integers(len(rows), size=(N_TESTED, PADDED_ROWS))
        repeated = [np.full(PADDED_ROWS, number) for number in range(len(rows))]
        expected = np.concatenate([self._encode_block(rows[one], padded_to=0)[:1] for one in repeated])
        same = (
            _are_same_bits(expected[one], self._encode_block(rows[one], padded_to=0))
            for one in [*repeated, *blocks]
        )
        return PADDED_ROWS if all(same) else 1

    def _check_row_wise(self, alone: Float32Array, beside: Float32Array) -> None:
        scale = np.abs(alone).max(axis=0, initial=0.0, where=np.isfinite(alone))
        differences = np.abs(alone - beside) > 1e-3 * np.maximum(scale, 1e-30)
        if differences.any():
            raise TypeError(
                f"{type(self.transformer_).__name__} encodes a row differently beside other rows, so scores "
                "would depend on the batch; give a transformer that encodes each row by itself, or one that "
                "takes qid and encodes whole queries"
            )

    def _restore(self, state: Mapping[str, object]) -> None:
        super()._restore(state)
        if getattr(self, "block_rows_", None) not in (ANY_SIZE, 1, PADDED_ROWS):
            raise ValueError("block_rows_ is not a size of blocks")


class QueryAdapter(Adapter):
    """A transformer with a step that needs the whole query, such as a pipeline with `QueryZScore`."""

    def transform(self, X: ArrayLike, *, qid: ArrayLike | None = None) -> Float32Array:
        """Encode whole queries."""
        table = self._validate(X, reset=False)
        query = np.zeros(len(table), dtype=np.int64) if qid is None else qid
        return _to_dense(self._call(self.transformer_.transform, table, qid=query))


def _is_elementwise(transformer: BaseEstimator) -> bool:
    """Whether a transformer computes each value on its own, so that no batch changes its rounding."""
    if isinstance(transformer, FunctionTransformer):
        return transformer.func is None or isinstance(transformer.func, np.ufunc)
    module = type(transformer).__module__
    return isinstance(transformer, RowTransform) or module.startswith(ELEMENTWISE_MODULES)


def is_routed(method: Any, name: str) -> bool:
    """Whether the method's estimator, or one within it, requests this by scikit-learn's metadata routing."""
    owner = method.__self__
    if not hasattr(owner, "get_metadata_routing"):
        return False
    return bool(owner.get_metadata_routing().consumes(method.__name__, [name]))


def _to_dense(encoded: Any) -> Float32Array:
    dense = encoded.toarray() if hasattr(encoded, "toarray") else np.asarray(encoded)
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(dense, dtype=np.float32)


def _are_same_bits(first: Float32Array, second: Float32Array) -> bool:
    return bool(np.array_equal(first.view(np.uint32), np.ascontiguousarray(second).view(np.uint32)))
