"""The description of LightGBM's trees that exports read.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import LambdaMART
>>> ranker = LambdaMART(n_estimators=3, random_state=0).fit(example_dataset())
>>> len(describe_trees(ranker.booster_.model_to_string())) <= 3
True
"""

from __future__ import annotations

import numpy as np

from directranker.description.model import Tree
from directranker.errors import ExportError
from directranker.rankers.trees.model_text import parse_trees

__all__ = ["describe_trees"]

DEFAULT_LEFT, MISSING_ZERO, MISSING_NAN = 2, 4, 8  # bits of LightGBM's decision_type


def describe_trees(text: str) -> tuple[Tree, ...]:
    """Describe the trees of LightGBM's model text."""
    return tuple(map(_describe_tree, parse_trees(text).trees))


def _describe_tree(numbers: dict[str, object]) -> Tree:
    integers = {
        name: np.array(numbers.get(name, []), dtype=np.int64)
        for name in ("split_feature", "left_child", "right_child", "decision_type")
    }
    decision, threshold = integers["decision_type"], np.array(numbers.get("threshold", []), dtype=np.float64)
    if (decision & MISSING_ZERO).any():
        raise ExportError("the trees treat 0 as a missing value; train without zero_as_missing")
    # Where no value was missing in training, LightGBM treats a missing value as 0.
    missing_left = np.where(decision & MISSING_NAN, decision & DEFAULT_LEFT != 0, threshold >= 0)
    return Tree(
        feature=integers["split_feature"],
        threshold=threshold,
        left=integers["left_child"],
        right=integers["right_child"],
        missing_left=missing_left,
        value=np.array(numbers["leaf_value"], dtype=np.float64),
    )
