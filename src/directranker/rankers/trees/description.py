"""LightGBM's trees as exports read them.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import LambdaMART
>>> ranker = LambdaMART(n_estimators=3, random_state=0).fit(example_dataset())
>>> len(described_trees(ranker.booster_.model_to_string())) <= 3
True
"""

from __future__ import annotations

from typing import Any

import numpy as np

from directranker.description.model import Tree
from directranker.errors import ExportError
from directranker.rankers.trees.model_text import parsed_trees

__all__ = ["described_trees"]

DEFAULT_LEFT, MISSING_ZERO, MISSING_NAN = 2, 4, 8  # bits of LightGBM's decision_type


def described_trees(text: str) -> tuple[Tree, ...]:
    """The trees of LightGBM's text."""
    return tuple(map(_tree, parsed_trees(text).trees))


def _tree(numbers: dict[str, Any]) -> Tree:
    whole = {
        name: np.array(numbers.get(name, []), dtype=np.int64)
        for name in ("split_feature", "left_child", "right_child", "decision_type")
    }
    decision, threshold = whole["decision_type"], np.array(numbers.get("threshold", []), dtype=np.float64)
    if (decision & MISSING_ZERO).any():
        raise ExportError("the trees take 0 for a missing value; train without zero_as_missing")
    # Where no value was missing in training, LightGBM takes a missing one for 0.
    missing_left = np.where(decision & MISSING_NAN, decision & DEFAULT_LEFT != 0, threshold >= 0)
    return Tree(
        feature=whole["split_feature"],
        threshold=threshold,
        left=whole["left_child"],
        right=whole["right_child"],
        missing_left=missing_left,
        value=np.array(numbers["leaf_value"], dtype=np.float64),
    )
