"""The description of LightGBM's trees that exports read.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import LambdaMART
>>> ranker = LambdaMART(n_estimators=3, random_state=0).fit(example_dataset())
>>> len(describe_trees(ranker.booster_.model_to_string())) <= 3
True
"""

from __future__ import annotations

from typing import Any

import numpy as np

from directranker.arrays import IntArray
from directranker.description.model import Tree
from directranker.errors import ExportError
from directranker.rankers.trees.model_text import CATEGORICAL, get_category_set, parse_trees

__all__ = ["describe_trees"]

DEFAULT_LEFT, MISSING_ZERO, MISSING_NAN = 2, 4, 8  # bits of LightGBM's decision_type


def describe_trees(text: str, n_categories: IntArray | None = None) -> tuple[Tree, ...]:
    """Describe the trees of LightGBM's model text; `n_categories` is 0 for numbers, by default all are."""
    parsed = parse_trees(text)
    if n_categories is None:
        n_categories = np.zeros(parsed.n_features, dtype=np.int64)
    return tuple(_describe_tree(tree, n_categories) for tree in parsed.trees)


def _describe_tree(numbers: dict[str, Any], n_categories: IntArray) -> Tree:
    integers = {
        name: np.array(numbers.get(name, []), dtype=np.int64)
        for name in ("split_feature", "left_child", "right_child", "decision_type")
    }
    decision, threshold = integers["decision_type"], np.array(numbers.get("threshold", []), dtype=np.float64)
    if (decision & MISSING_ZERO).any():
        raise ExportError("the trees treat 0 as a missing value; train without zero_as_missing")
    # Where no value was missing in training, LightGBM treats a missing value as 0.
    missing_left = np.where(decision & MISSING_NAN, decision & DEFAULT_LEFT != 0, threshold >= 0)
    sets: list[IntArray | None] = [None] * len(decision)
    for node in np.flatnonzero(decision & CATEGORICAL):
        codes, n_codes = get_category_set(numbers, int(node)), n_categories[integers["split_feature"][node]]
        sets[node] = codes[codes < n_codes]
        missing_left[node] = n_codes in codes  # a missing category has the code after the last one
    return Tree(
        feature=integers["split_feature"],
        threshold=np.where(decision & CATEGORICAL, 0.0, threshold),
        left=integers["left_child"],
        right=integers["right_child"],
        missing_left=missing_left,
        value=np.array(numbers["leaf_value"], dtype=np.float64),
        category_set=tuple(sets) if (decision & CATEGORICAL).any() else (),
    )
