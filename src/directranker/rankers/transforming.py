"""Rankers whose features first go through a transform, which is fitted on the training part alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import FloatArray, IntArray
from directranker.data.checking import Features
from directranker.description.columns import map_columns_to_features
from directranker.encoding import InContext, Unchanged, as_transform
from directranker.encoding.base import FeatureTransform, RowTransform
from directranker.encoding.blocks import map_row_blocks
from directranker.errors import DataError
from directranker.rankers.base import Ranker
from directranker.rankers.training_data import TrainingData

__all__ = ["TransformingRanker", "check_encoded", "n_columns_of", "row_by_row"]

FITTED_ROWS = 200_000  # documents that a transform is fitted on at the most


class TransformingRanker(Ranker):
    """A ranker with a parameter `transform`; a subclass calls `_fit_transform` before it learns."""

    @property
    def transform(self) -> Any:
        """Hidden: scikit-learn takes whatever has a `transform` for a transformer, and would call it."""
        raise AttributeError("a ranker does not transform; its parameter of this name is in get_params()")

    @transform.setter
    def transform(self, transform: Any) -> None:
        self._transform = transform

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters by name, `transform` among them; with `deep` also those of a transformer."""
        names = self._get_param_names()
        parameters = {name: self._transform if name == "transform" else getattr(self, name) for name in names}
        if deep and hasattr(self._transform, "get_params") and not isinstance(self._transform, type):
            inner = self._transform.get_params()
            parameters |= {f"transform__{name}": value for name, value in inner.items()}
        return parameters

    def _scores_as_one_list(
        self, first: Features, second: Features
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if isinstance(self.transform_, RowTransform):
            return super()._scores_as_one_list(first, second)
        both = np.ascontiguousarray(np.concatenate([first, second]))
        # In an order of their own, so that the tables may change places and no sum is rounded otherwise.
        order = np.argsort(both.view(np.dtype((np.void, both.itemsize * both.shape[1]))).ravel())
        scores = np.empty(len(both))
        scores[order] = self._checked_scores(both[order], np.zeros(len(both), dtype=np.int64))
        return scores[: len(first)], scores[len(first) :]

    _unsaved_parameters = Ranker._unsaved_parameters | {"transform"}  # it is saved fitted

    def _restore(self, state: Mapping[str, Any]) -> None:
        super()._restore(state)
        transform = getattr(self, "transform_", None)
        if not isinstance(transform, FeatureTransform):
            raise ValueError("transform_ is not a transform of directranker")
        if transform.n_features_in_ != self.n_features_in_:
            raise ValueError(
                f"the transform is for {transform.n_features_in_} features, the ranker for "
                f"{self.n_features_in_}"
            )

    def _contributions(self, table: Features, pairs: IntArray, *, n_steps: int) -> tuple[FloatArray, str]:
        one_query = np.zeros(len(table), dtype=np.int64)
        encoded = self.transform_.transform(table, qid=one_query).astype(np.float64)
        feature_of_column = map_columns_to_features(self.transform_, encoded.shape[1])
        of_columns, method = self._column_contributions(encoded, pairs, n_steps)
        belongs = feature_of_column[:, None] == np.arange(table.shape[1])  # (n_columns, n_features)
        return of_columns @ belongs.astype(np.float64), method

    @abstractmethod
    def _column_contributions(
        self, encoded: FloatArray, pairs: IntArray, n_steps: int
    ) -> tuple[FloatArray, str]:
        """The same for each column of the encoded documents, (n_pairs, n_columns)."""

    def _fit_transform(self, data: TrainingData, seed: int, transform: Any = None) -> None:
        """Fit `transform_`, the given one or the parameter, on what is trained on, and on nothing else."""
        sample, query = data.sample(FITTED_ROWS, seed)
        chosen = self._transform if transform is None else transform
        self.transform_ = as_transform(chosen).fit(sample, qid=query)


def n_columns_of(transform: Any) -> int:
    """How many columns a fitted transform makes; one that is not ours is tried on a row of zeros."""
    if isinstance(transform, RowTransform):
        return transform._n_columns_out()
    row = np.zeros((1, transform.n_features_in_), dtype=np.float32)
    return int(transform.transform(row).shape[1])


def row_by_row(transform: Any, table: Features, query: IntArray) -> tuple[Features, Any]:
    """A table and a transform whose rows may be encoded some at a time.

    A transform within queries needs all rows of a query, so it is applied here, and nothing or only bins are
    left to do.
    """
    if isinstance(transform, RowTransform):
        return table, transform
    if isinstance(transform, InContext):
        return transform.with_context(table, query), transform.bins
    encoded = np.ascontiguousarray(transform.transform(table, qid=query), dtype=np.float32)
    return encoded, Unchanged().fit(encoded[:1])


def check_encoded(
    table: Features, transform: Any, *, names: Sequence[str] = (), rows: IntArray | None = None
) -> None:
    """Raise where a feature is not finite after a transform.

    `names` are the features', and `rows` the user's row of each row of the table.
    """
    not_finite = np.any(
        map_row_blocks(lambda block: ~np.isfinite(table[block]).all(axis=0), len(table)), axis=0
    )
    if not not_finite.any():
        return
    column = int(np.argmax(not_finite))
    row = int(np.argmax(~np.isfinite(table[:, column])))
    where = f"row {row if rows is None else rows[row]}, {_source_of_column(column, table, transform, names)}"
    raise DataError(
        f"X has {table[row, column]} in {where} after the transform {transform!r}; "
        "choose one that fills missing values, such as 'auto' or 'standard'"
    )


def _source_of_column(column: int, table: Features, transform: Any, names: Sequence[str]) -> str:
    try:
        feature = int(map_columns_to_features(transform, table.shape[1])[column])
    except TypeError:  # a transformer of the user's own that makes more columns
        return f"column {column} of the transformed features"
    return f"column {str(names[feature])!r}" if len(names) else f"column {feature}"
