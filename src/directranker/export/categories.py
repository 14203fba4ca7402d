"""Models with categorical features: the names of their inputs, and documents with strings to score.

>>> from directranker.description.model import Trees
>>> model = Trees(("price", "brand"), (), {1: ("Acme", "Zeta")})
>>> get_number_names(model), get_category_names(model)
(('price',), ('brand',))
>>> refuse_categories(model, "Solr")  # doctest: +ELLIPSIS
Traceback (most recent call last):
directranker.errors.ExportError: feature 'brand' is categorical, and Solr scores numbers only; export to ...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from directranker.arrays import Features, IntArray
from directranker.data.categories import decode, encode_values
from directranker.data.dataset import RankingDataset
from directranker.description.columns import Indicators
from directranker.description.model import Model, Trees
from directranker.description.preparation import Prepared
from directranker.errors import ExportError

__all__ = [
    "Documents",
    "Values",
    "check_vocabularies",
    "get_category_names",
    "get_number_names",
    "refuse_categories",
]

Values: TypeAlias = NDArray[Any]
"""Strings (n_documents, n_categorical), None where a value is missing."""
MAX_CHANGED = 16  # documents that get unseen and missing values


def get_number_names(model: Model) -> tuple[str, ...]:
    """Return the names of the features that are numbers, in the order of an export's input."""
    return tuple(name for at, name in enumerate(model.feature_names) if at not in model.categories)


def get_category_names(model: Model) -> tuple[str, ...]:
    """Return the names of the categorical features, in the order of an export's input."""
    return tuple(model.feature_names[at] for at in sorted(model.categories))


def refuse_categories(model: Model, program: str) -> None:
    """Raise an ExportError for a model with categorical features."""
    for name in get_category_names(model):
        raise ExportError(
            f"feature {name!r} is categorical, and {program} scores numbers only; export to 'onnx' or 'c', "
            "or train on numbers in its place, such as a mean label per value of past data"
        )


def check_vocabularies(model: Model | Prepared) -> None:
    """Raise unless all look-ups have as many codes as their vocabulary; a file may contain anything."""
    if isinstance(model, Trees | Prepared):
        return
    groups = [group for group in model.columns if isinstance(group, Indicators)]
    sizes = [
        *((int(group.features[0]), len(group.column_of_code)) for group in groups),
        *((lookup.feature, len(lookup.values)) for lookup in model.derived),
    ]
    for feature, size in sizes:
        if size != len(model.categories.get(feature, ())):
            raise ExportError(f"feature {feature} is encoded for {size} categories, which it does not have")


@dataclass(frozen=True)
class Documents:
    """Documents as the input of an exported model."""

    numbers: Features
    """(n_documents, n_numbers): the features that are not categorical."""
    values: Values | None
    """The categories; None for a model without any."""
    offsets: IntArray

    @classmethod
    def read(cls, data: RankingDataset, table: Features, model: Model | Prepared) -> Documents:
        """Read the documents of a data set; `table` has its features in the order of the model."""
        if not model.categories:
            return cls(table, None, data.offsets)
        columns = []
        for feature in sorted(model.categories):
            name = model.feature_names[feature]
            column = decode(data.features[:, data.feature_names.index(name)], data.categories[name])
            columns.append(column.to_pylist())
        numbers = [at for at in range(len(model.feature_names)) if at not in model.categories]
        return cls(np.ascontiguousarray(table[:, numbers]), _to_values(columns), data.offsets)

    def to_dataset(self, model: Model | Prepared) -> RankingDataset:
        """Return the documents as a data set without labels, for the ranker itself."""
        n_rows, query_ids = len(self.numbers), np.arange(len(self.offsets) - 1)
        names = model.feature_names
        if self.values is None:
            return RankingDataset(self.numbers, np.zeros(n_rows), self.offsets, query_ids, names)
        table = np.empty((n_rows, len(model.feature_names)), dtype=np.float32)
        table[:, [at for at in range(table.shape[1]) if at not in model.categories]] = self.numbers
        categories = {}
        for values, feature in zip(self.values.T, sorted(model.categories), strict=True):
            name = model.feature_names[feature]
            column = pa.chunked_array([pa.array(values.tolist(), pa.large_string())])
            table[:, feature], categories[name] = encode_values(column, name)
        return RankingDataset(table, np.zeros(n_rows), self.offsets, query_ids, names, categories=categories)

    def change_categories(self, model: Model | Prepared) -> Documents:
        """Return some of the documents with missing values, and with values that are not in a vocabulary."""
        assert self.values is not None  # noqa: S101 - the model has categories
        chosen, n_columns = np.arange(min(MAX_CHANGED, len(self.numbers))), self.values.shape[1]
        vocabularies = [model.categories[feature] for feature in sorted(model.categories)]
        rows, changed = [], []
        for column, vocabulary in enumerate(vocabularies):
            unseen = _make_unseen(vocabulary)
            for row in chosen.tolist():
                known = self.values[row, column] or unseen
                others = [unseen, f"{known} ", known[:-1] or unseen, None]
                rows += [row] * len(others)
                changed += [
                    (*self.values[row, :column], one, *self.values[row, column + 1 :]) for one in others
                ]
        rows.append(0)
        changed.append(tuple(map(_make_unseen, vocabularies)))
        values = np.empty((len(rows), n_columns), dtype=object)
        values[:] = changed
        return Documents(self.numbers[rows], values, np.array([0, len(rows)]))


def _to_values(columns: Sequence[Sequence[str | None]]) -> Values:
    values = np.empty((len(columns[0]), len(columns)), dtype=object)
    for at, column in enumerate(columns):
        values[:, at] = column
    return values


def _make_unseen(vocabulary: Sequence[str]) -> str:
    """Return a string that is not in a vocabulary.

    >>> _make_unseen(["unseen", "x"])
    'unseen?'
    """
    known, unseen = set(vocabulary), "unseen"
    while unseen in known:
        unseen += "?"
    return unseen
