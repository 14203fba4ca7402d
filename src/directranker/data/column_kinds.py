"""What the columns of a feature table hold: numbers, codes of categories, or the dimensions of a vector.

>>> kinds = ColumnKinds.of(("price", "brand", "text[0]", "text[1]"), {"brand": 3})
>>> kinds.n_categories.tolist(), kinds.vector.tolist()
([0, 3, 0, 0], [-1, -1, 0, 0])
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from directranker.arrays import BoolArray, IntArray

__all__ = ["ColumnKinds", "find_vectors", "name_dimensions"]

DIMENSION = re.compile(r"(.*)\[(0|[1-9][0-9]*)\]", re.DOTALL)


@dataclass(frozen=True, eq=False)
class ColumnKinds:
    """The kind of each column of a feature table."""

    n_categories: IntArray
    """The number of categories of each column; 0 for numbers. A code is the index of a category; −1 is a
    category that the training data does not have, and NaN is a missing value."""
    vector: IntArray
    """The vector that each column is a dimension of, numbered from 0; −1 for other columns."""

    @classmethod
    def of(cls, names: Sequence[str], n_categories: Mapping[str, int] | None = None) -> ColumnKinds:
        """Return the kinds of columns with these names; `n_categories` has the categorical ones."""
        counts = n_categories or {}
        return cls(np.array([counts.get(name, 0) for name in names], dtype=np.int64), find_vectors(names))

    @classmethod
    def numbers(cls, n_columns: int) -> ColumnKinds:
        """Return the kinds of a table of numbers.

        >>> ColumnKinds.numbers(2).is_categorical.tolist()
        [False, False]
        """
        return cls(np.zeros(n_columns, dtype=np.int64), np.full(n_columns, -1, dtype=np.int64))

    @property
    def is_categorical(self) -> BoolArray:
        """Whether each column holds codes of categories."""
        return self.n_categories > 0

    @property
    def are_numbers(self) -> bool:
        """Whether all columns are plain numbers."""
        return not self.is_categorical.any() and not (self.vector >= 0).any()

    def count_dimensions(self, names: Sequence[str]) -> dict[str, int]:
        """Return the number of dimensions of each vector; `names` are those of the columns.

        >>> ColumnKinds.of(("price", "text[0]", "text[1]")).count_dimensions(("price", "text[0]", "text[1]"))
        {'text': 2}
        """
        is_dimension = self.vector >= 0
        return dict(
            Counter(names[index].rpartition("[")[0] for index in np.flatnonzero(is_dimension).tolist())
        )


def name_dimensions(name: str, n_dimensions: int) -> tuple[str, ...]:
    """Return the feature names of the dimensions of a vector.

    >>> name_dimensions("embedding", 2)
    ('embedding[0]', 'embedding[1]')
    """
    return tuple(f"{name}[{number}]" for number in range(n_dimensions))


def find_vectors(names: Sequence[str]) -> IntArray:
    """Return the vector that each feature is a dimension of: consecutive names `x[0]`, `x[1]`, …, else −1.

    >>> find_vectors(["a[0]", "a[1]", "b[0]", "price", "c[1]", "c[2]"]).tolist()
    [0, 0, -1, -1, -1, -1]
    """
    vectors = np.full(len(names), -1, dtype=np.int64)
    n_vectors, start = 0, 0
    while start < len(names):
        stop = _find_end(names, start)
        if stop - start > 1:
            vectors[start:stop] = n_vectors
            n_vectors += 1
        start = max(stop, start + 1)
    return vectors


def _find_end(names: Sequence[str], start: int) -> int:
    """Return the index after the last dimension of the vector that begins at `start`."""
    found = DIMENSION.fullmatch(names[start])
    stop = start
    while found and stop < len(names) and names[stop] == f"{found[1]}[{stop - start}]":
        stop += 1
    return stop
