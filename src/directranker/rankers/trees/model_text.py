"""LightGBM's text of boosted trees, looked through before LightGBM reads it.

LightGBM believes what it reads: a child or a feature out of range in the text would be read out of memory. So
the text is taken apart into numbers, these are checked, and LightGBM gets a text written anew from them.

>>> text = checked_trees(TreeText(n_features=2, trees=[dict(
...     split_feature=[1], threshold=[0.5], decision_type=[2], left_child=[-1], right_child=[-2],
...     leaf_value=[0.0, 1.0])]).written())
>>> trees_from_text(text).predict([[9, 0.4], [9, 0.6]]).tolist()
[0.0, 1.0]
>>> checked_trees(text.replace("right_child=-2", "right_child=0"))
Traceback (most recent call last):
ValueError: tree 0: the nodes are no tree
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import lightgbm

__all__ = ["TreeText", "checked_trees", "parsed_trees", "trees_from_text"]

MAX_LEAVES = 131_072  # LightGBM's own bound
DECISIONS = (0, 2, 4, 6, 8, 10)  # by number, missing values to the right or left; none by category
INT, FLOAT = np.dtype(np.int64), np.dtype(np.float64)
OF_NODES = {
    "split_feature": INT,
    "split_gain": FLOAT,
    "threshold": FLOAT,
    "decision_type": INT,
    "left_child": INT,
    "right_child": INT,
    "internal_value": FLOAT,
    "internal_weight": FLOAT,
    "internal_count": INT,
}
OF_LEAVES = {"leaf_value": FLOAT, "leaf_weight": FLOAT, "leaf_count": INT}
NEEDED = ("split_feature", "threshold", "decision_type", "left_child", "right_child", "leaf_value")


@dataclass(frozen=True)
class TreeText:
    """The numbers of the trees, each tree a list per name."""

    n_features: int
    trees: list[dict[str, Any]]

    def written(self) -> str:
        """In LightGBM's format."""
        names = " ".join(f"Column_{column}" for column in range(self.n_features))
        infos = " ".join(["none"] * self.n_features)
        head = (
            "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
            f"max_feature_idx={self.n_features - 1}\nfeature_names={names}\nfeature_infos={infos}\n\n"
        )
        trees = [
            f"Tree={at}\nnum_leaves={len(tree['leaf_value'])}\nnum_cat=0\n"
            + "".join(f"{name}={' '.join(map(repr, numbers))}\n" for name, numbers in tree.items())
            + "is_linear=0\nshrinkage=1\n\n\n"
            for at, tree in enumerate(self.trees)
        ]
        return head + "".join(trees) + "end of trees\n"


def checked_trees(text: str) -> str:
    """The same trees in a text of our own; a ValueError where they are none."""
    return parsed_trees(text).written()


def parsed_trees(text: str) -> TreeText:
    """The numbers of the trees, checked; a ValueError where they are none."""
    head, *parts = text.partition("\nend of trees")[0].split("\nTree=")
    n_features = _whole(_fields(head), "max_feature_idx") + 1
    if not 1 <= n_features <= len(head):  # the names alone take more
        raise ValueError(f"the trees are for {n_features} features")
    if not parts:
        raise ValueError("there are no trees")
    return TreeText(n_features, [_tree(part, at, n_features) for at, part in enumerate(parts)])


def trees_from_text(text: str) -> lightgbm.Booster:
    """The trees, after a check."""
    import lightgbm  # noqa: PLC0415 - it takes seconds on a cold start

    try:
        return lightgbm.Booster(model_str=checked_trees(text))
    except lightgbm.basic.LightGBMError as error:
        raise ValueError(f"LightGBM cannot read the trees: {error}") from None


def _fields(part: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in part.splitlines() if "=" in line)


def _whole(fields: dict[str, str], name: str) -> int:
    word = fields.get(name, "")
    if not (word.isascii() and word.isdigit() and len(word) < 10):
        raise ValueError(f"{name} is {word[:20]!r}, not a whole number")
    return int(word)


def _tree(part: str, at: int, n_features: int) -> dict[str, Any]:
    fields = _fields(part)
    num_leaves = _whole(fields, "num_leaves")
    if not 1 <= num_leaves <= MAX_LEAVES:
        raise ValueError(f"tree {at} has {num_leaves} leaves")
    if fields.get("num_cat") != "0" or fields.get("is_linear", "0") != "0":
        raise ValueError(f"tree {at} is of a kind that LambdaMART does not grow")
    tree = {
        name: _numbers(fields[name], name, dtype, size, at)
        for kinds, size in ((OF_NODES, num_leaves - 1), (OF_LEAVES, num_leaves))
        for name, dtype in kinds.items()
        if name in fields and (num_leaves > 1 or name == "leaf_value")
    }
    needed = NEEDED if num_leaves > 1 else ("leaf_value",)
    if not all(name in tree for name in needed):
        raise ValueError(f"tree {at} lacks one of {', '.join(needed)}")
    if num_leaves > 1:
        _check_nodes(tree, at, n_features)
    return {name: numbers.tolist() for name, numbers in tree.items()}


def _numbers(words: str, name: str, dtype: np.dtype[Any], size: int, at: int) -> Any:
    parts = words.split()
    if len(parts) != size:
        raise ValueError(f"tree {at}: {name} has {len(parts)} numbers, not {size}")
    try:
        numbers = np.array(parts, dtype=np.bytes_).astype(dtype)
    except (ValueError, OverflowError):
        raise ValueError(f"tree {at}: {name} has something else than numbers") from None
    # A threshold may be infinite: it tells missing values from all others.
    if np.isnan(numbers).any() or (name == "leaf_value" and np.isinf(numbers).any()):
        raise ValueError(f"tree {at}: {name} has a number that is not finite")
    return numbers


def _check_nodes(tree: dict[str, Any], at: int, n_features: int) -> None:
    if tree["split_feature"].min() < 0 or tree["split_feature"].max() >= n_features:
        raise ValueError(f"tree {at} splits on a feature that there is not")
    if not np.isin(tree["decision_type"], DECISIONS).all():
        raise ValueError(f"tree {at} has decisions of a kind that LambdaMART does not make")
    children = np.concatenate([tree["left_child"], tree["right_child"]])
    n_nodes = len(tree["left_child"])
    parents = np.tile(np.arange(n_nodes), 2)
    # All but the root, leaves too, are the child of one node, and a node comes after its parent.
    expected = np.concatenate([np.arange(-n_nodes - 1, 0), np.arange(1, n_nodes)])
    after = (children < 0) | (children > parents)
    if not np.array_equal(np.sort(children), expected) or not after.all():
        raise ValueError(f"tree {at}: the nodes are no tree")
