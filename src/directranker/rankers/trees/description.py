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
from directranker.rankers.trees.split_categories import SplitCategories

__all__ = ["describe_trees"]

DEFAULT_LEFT, MISSING_ZERO, MISSING_NAN = 2, 4, 8  # bits of LightGBM's decision_type


def describe_trees(text: str, categories: SplitCategories | None = None) -> tuple[Tree, ...]:
    """Describe the trees of LightGBM's model text; `categories` has the codes behind its numbers."""
    parsed = parse_trees(text)
    if categories is None:
        categories = SplitCategories.restore(None, np.zeros(parsed.n_features, dtype=np.int64))
    return tuple(_describe_tree(tree, categories) for tree in parsed.trees)


def _describe_tree(numbers: dict[str, Any], categories: SplitCategories) -> Tree:
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
        feature = int(integers["split_feature"][node])
        codes = categories.get_codes(feature)[get_category_set(numbers, int(node))]
        is_missing = codes == categories.n_categories[feature]
        sets[node], missing_left[node] = codes[~is_missing], is_missing.any()
    return Tree(
        feature=integers["split_feature"],
        threshold=np.where(decision & CATEGORICAL, 0.0, threshold),
        left=integers["left_child"],
        right=integers["right_child"],
        missing_left=missing_left,
        value=np.array(numbers["leaf_value"], dtype=np.float64),
        category_set=tuple(sets) if (decision & CATEGORICAL).any() else (),
    )
