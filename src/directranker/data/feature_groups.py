"""Features as people read them: a vector is one group, and a category is its value.

>>> groups = FeatureGroups.of(("price", "text[0]", "text[1]", "brand"))
>>> groups.names, groups.group_of_feature.tolist()
(('price', 'text', 'brand'), [0, 1, 1, 2])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from directranker.arrays import FloatArray, IntArray
from directranker.data.column_kinds import find_vectors
from directranker.data.dataset import RankingDataset

__all__ = ["FeatureGroups", "FeatureValue", "read_values"]

FeatureValue = float | str | None
"""A number (NaN where it is missing), the value of a category (None where it is missing), or a note on a
vector."""


@dataclass(frozen=True)
class FeatureGroups:
    """The names of groups of features, and the group of each feature."""

    names: tuple[str, ...]
    group_of_feature: IntArray

    @classmethod
    def of(cls, feature_names: Sequence[str]) -> FeatureGroups:
        """Return one group per vector, and one per other feature."""
        vectors = find_vectors(feature_names)
        names: list[str] = []
        group_of_feature = np.empty(len(vectors), dtype=np.int64)
        for feature, (name, vector) in enumerate(zip(feature_names, vectors, strict=True)):
            if vector < 0 or feature == 0 or vectors[feature - 1] != vector:
                names.append(name if vector < 0 else name.removesuffix("[0]"))
            group_of_feature[feature] = len(names) - 1
        return cls(tuple(names), group_of_feature)

    def sum(self, by_feature: FloatArray) -> FloatArray:
        """Sum (…, n_features) over the features of each group.

        >>> FeatureGroups.of(("a[0]", "a[1]", "b")).sum(np.array([[1.0, 2.0, 4.0]])).tolist()
        [[3.0, 4.0]]
        """
        starts = np.flatnonzero(np.diff(self.group_of_feature, prepend=-1))
        summed: FloatArray = np.add.reduceat(by_feature, starts, axis=-1)
        return summed


def read_values(data: RankingDataset, row: int, feature_names: Sequence[str]) -> list[FeatureValue]:
    """Return the value of each group of these features in a row.

    >>> from directranker.data.unlabelled import read_unlabelled
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"price": [1.5], "brand": ["Acme"], "text[0]": [0.0], "text[1]": [2.0]})
    >>> data = read_unlabelled(frame)
    >>> read_values(data, 0, data.feature_names)
    [1.5, 'Acme', '2 numbers']
    """
    groups = FeatureGroups.of(feature_names)
    sizes = np.bincount(groups.group_of_feature)
    values: list[FeatureValue] = [f"{size} numbers" for size in sizes]
    position = {name: index for index, name in enumerate(data.feature_names)}
    for index, (name, group) in enumerate(zip(feature_names, groups.group_of_feature, strict=True)):
        if sizes[group] == 1:
            # By position where the data set has no names of its own.
            values[group] = _read_value(data, row, position.get(name, index))
    return values


def _read_value(data: RankingDataset, row: int, feature: int) -> FeatureValue:
    value = float(data.features[row, feature])
    vocabulary = data.categories.get(data.feature_names[feature])
    if vocabulary is None:
        return value
    return None if np.isnan(value) else str(vocabulary[int(value)])
