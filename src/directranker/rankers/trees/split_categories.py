"""The categories that trees split on, renumbered from 0.

LightGBM stores a set of categories as bits up to the highest code, so a split on one of a million categories
would take a hundred thousand bytes. Few of them are in any set. Once trained, only these have a number, in
ascending order of their codes; all others are −1, as unseen ones are. The code after the last category is
that of a missing value.

>>> trees = TreeText(1, [dict(split_feature=[0], threshold=[0.0], decision_type=[1], left_child=[-1],
...     right_child=[-2], leaf_value=[0.0, 1.0], cat_boundaries=[0, 2], cat_threshold=[2, 5])])
>>> split = SplitCategories.of(trees, np.array([34]))
>>> split.codes.tolist(), split.renumber_trees(trees).trees[0]["cat_threshold"]
([1, 32, 34], [7])
>>> split.renumber(np.array([[1], [2], [32], [np.nan], [-1]], dtype=np.float32)).ravel().tolist()
[0.0, -1.0, 1.0, 2.0, -1.0]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from directranker.arrays import Features, IntArray
from directranker.fitted_checks import check_fitted_array
from directranker.rankers.trees.model_text import CATEGORICAL, TreeText, get_category_set, pack_category_sets

__all__ = ["SplitCategories"]


@dataclass(frozen=True)
class SplitCategories:
    """The codes of each feature that trees split on."""

    n_categories: IntArray
    """The number of categories of each feature; 0 for numbers."""
    codes: IntArray
    """The codes of feature j, in ascending order, are `codes[offsets[j]:offsets[j + 1]]`."""
    offsets: IntArray

    @classmethod
    def of(cls, trees: TreeText, n_categories: IntArray) -> Self:
        """Collect the categories in the sets of trees."""
        found: list[set[int]] = [set() for _ in n_categories]
        for tree in trees.trees:
            for node, kind in enumerate(tree.get("decision_type", [])):
                if kind & CATEGORICAL:
                    found[tree["split_feature"][node]].update(get_category_set(tree, node).tolist())
        codes = np.array([code for of_feature in found for code in sorted(of_feature)], dtype=np.int64)
        return cls(n_categories, codes, np.cumsum([0, *map(len, found)], dtype=np.int64))

    @classmethod
    def restore(cls, state: Mapping[str, Any] | None, n_categories: IntArray) -> Self:
        """Return the categories that `to_state` gave and a file stored; raise ValueError if invalid."""
        if state is None:
            return cls(n_categories, np.empty(0, dtype=np.int64), np.zeros(len(n_categories) + 1, np.int64))
        split = cls(n_categories, state["codes"], state["offsets"])
        offsets = check_fitted_array(split, "offsets", np.int64, (len(n_categories) + 1,))
        if offsets[0] != 0 or (np.diff(offsets) < 0).any():
            raise ValueError("the offsets of the split categories do not increase from 0")
        check_fitted_array(split, "codes", np.int64, (int(offsets[-1]),))
        for feature, n in enumerate(n_categories.tolist()):
            codes = split.get_codes(feature)
            if len(codes) and (n == 0 or codes[0] < 0 or codes[-1] > n or (np.diff(codes) < 1).any()):
                raise ValueError(
                    f"the split categories of feature {feature} are not codes in ascending order"
                )
        return split

    def to_state(self) -> dict[str, IntArray] | None:
        """Return the arrays to save; None without categorical features."""
        return {"codes": self.codes, "offsets": self.offsets} if self.n_categories.any() else None

    def get_codes(self, feature: int) -> IntArray:
        """Return the codes of a feature that the trees split on."""
        return self.codes[self.offsets[feature] : self.offsets[feature + 1]]

    @property
    def n_codes(self) -> IntArray:
        """The number of codes of each feature that the trees split on."""
        return np.diff(self.offsets)

    def renumber_trees(self, trees: TreeText) -> TreeText:
        """Return the trees with renumbered sets."""
        renumbered = []
        for tree in trees.trees:
            nodes = np.flatnonzero(np.array(tree.get("decision_type", []), dtype=np.int64) & CATEGORICAL)
            sets = [
                np.searchsorted(self.get_codes(tree["split_feature"][node]), get_category_set(tree, node))
                for node in nodes.tolist()
            ]
            threshold = np.array(tree.get("threshold", []))
            threshold[nodes] = np.arange(len(nodes))
            renumbered.append(
                {**tree, "threshold": threshold.tolist(), **pack_category_sets(sets)} if sets else tree
            )
        return TreeText(trees.n_features, renumbered)

    def renumber(self, table: Features) -> Features:
        """Return a table of features as the renumbered trees take it."""
        columns = np.flatnonzero(self.n_categories).tolist()
        if not columns:
            return table
        table = np.array(table)
        for column in columns:
            own, values = self.get_codes(column), table[:, column]
            codes = np.where(np.isnan(values), self.n_categories[column], values)
            at = np.searchsorted(own, codes)
            is_own = np.append(own, -1)[at] == codes
            table[:, column] = np.where(is_own & (codes >= 0), at, -1)
        return table
