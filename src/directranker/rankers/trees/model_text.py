"""LightGBM's model text, validated before LightGBM reads it.

LightGBM does not validate the text: a child or a feature out of range would be an invalid memory access. So
the text is parsed, its numbers are checked, and LightGBM reads a text written from them.

A categorical split sends a set of codes to the left. The text has the sets of a tree as bits of 32-bit words,
`cat_threshold`; set s has the words from `cat_boundaries[s]` to `cat_boundaries[s + 1]`, and the threshold of
a node is the number of its set.

>>> text = sanitise_text(TreeText(n_features=2, trees=[dict(
...     split_feature=[1], threshold=[0.5], decision_type=[2], left_child=[-1], right_child=[-2],
...     leaf_value=[0.0, 1.0])]).to_text())
>>> load_booster(text).predict([[9, 0.4], [9, 0.6]]).tolist()
[0.0, 1.0]
>>> sanitise_text(text.replace("right_child=-2", "right_child=0"))
Traceback (most recent call last):
ValueError: tree 0: the nodes do not form a tree
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from directranker.arrays import BoolArray, IntArray

if TYPE_CHECKING:
    import lightgbm

__all__ = [
    "CATEGORICAL",
    "TreeText",
    "get_category_set",
    "load_booster",
    "pack_category_sets",
    "parse_trees",
    "sanitise_text",
    "to_booster",
]

MAX_LEAVES = 131_072  # LightGBM's limit
CATEGORICAL = 1  # bit of LightGBM's decision_type
NUMERICAL_DECISIONS = (0, 2, 4, 6, 8, 10)  # missing values to the right or left
CATEGORICAL_DECISIONS = (1, 9)
WORD_BITS = 32
INT, FLOAT = np.dtype(np.int64), np.dtype(np.float64)
NODE_FIELDS = {
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
LEAF_FIELDS = {"leaf_value": FLOAT, "leaf_weight": FLOAT, "leaf_count": INT}
SET_FIELDS = ("cat_boundaries", "cat_threshold")
REQUIRED_FIELDS = ("split_feature", "threshold", "decision_type", "left_child", "right_child", "leaf_value")


@dataclass(frozen=True)
class TreeText:
    """The numbers of the trees, a list per field of each tree."""

    n_features: int
    trees: list[dict[str, Any]]

    def to_text(self) -> str:
        """Return the trees in LightGBM's format."""
        names = " ".join(f"Column_{column}" for column in range(self.n_features))
        infos = " ".join(["none"] * self.n_features)
        head = (
            "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
            f"max_feature_idx={self.n_features - 1}\nfeature_names={names}\nfeature_infos={infos}\n\n"
        )
        trees = [
            f"Tree={at}\nnum_leaves={len(tree['leaf_value'])}\n"
            f"num_cat={len(tree.get('cat_boundaries', [0])) - 1}\n"
            + "".join(f"{name}={' '.join(map(repr, numbers))}\n" for name, numbers in tree.items())
            + "is_linear=0\nshrinkage=1\n\n\n"
            for at, tree in enumerate(self.trees)
        ]
        return head + "".join(trees) + "end of trees\n"

    def check_categories(self, is_categorical: BoolArray, n_codes: IntArray) -> None:
        """Raise unless the trees split categorical features by sets of codes up to these numbers of them."""
        for at, tree in enumerate(self.trees):
            features = np.array(tree.get("split_feature", []), dtype=INT)
            by_set = np.array(tree.get("decision_type", []), dtype=INT) & CATEGORICAL != 0
            if (by_set != is_categorical[features]).any():
                raise ValueError(f"tree {at} splits a number as a category, or a category as a number")
            for node in np.flatnonzero(by_set):
                codes = get_category_set(tree, int(node))
                if len(codes) and codes[-1] >= n_codes[features[node]]:
                    raise ValueError(
                        f"tree {at} has category {codes[-1]}, which feature {features[node]} lacks"
                    )


def get_category_set(tree: dict[str, Any], node: int) -> IntArray:
    """Return the codes that a categorical split sends to the left, in ascending order.

    >>> tree = dict(threshold=[1.0], cat_boundaries=[0, 1, 3], cat_threshold=[8, 5, 1])
    >>> get_category_set(tree, 0).tolist()
    [0, 2, 32]
    """
    start, stop = tree["cat_boundaries"][int(tree["threshold"][node]) :][:2]
    words = np.array(tree["cat_threshold"][start:stop], dtype="<u4")
    return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).astype(np.int64)


def sanitise_text(text: str) -> str:
    """Return the same trees in a text written from checked numbers; raise ValueError if invalid."""
    return parse_trees(text).to_text()


def parse_trees(text: str) -> TreeText:
    """Parse and check the numbers of the trees; raise ValueError if invalid."""
    head, *trees = text.partition("\nend of trees")[0].split("\nTree=")
    n_features = _parse_count(_split_fields(head), "max_feature_idx") + 1
    if not 1 <= n_features <= len(head):  # the names alone take more
        raise ValueError(f"the trees are for {n_features} features")
    if not trees:
        raise ValueError("there are no trees")
    return TreeText(n_features, [_parse_tree(tree, at, n_features) for at, tree in enumerate(trees)])


def pack_category_sets(sets: Sequence[IntArray]) -> dict[str, list[int]]:
    """Return sets of codes as fields of a tree.

    >>> pack_category_sets([np.array([3]), np.array([0, 2, 32])])
    {'cat_boundaries': [0, 1, 3], 'cat_threshold': [8, 5, 1]}
    """
    words = []
    for codes in sets:
        bits = np.zeros((int(codes.max(initial=0)) // WORD_BITS + 1) * WORD_BITS, dtype=np.uint8)
        bits[codes] = 1
        words.append(np.packbits(bits, bitorder="little").view("<u4"))
    boundaries = np.cumsum([0, *map(len, words)])
    return {"cat_boundaries": boundaries.tolist(), "cat_threshold": np.concatenate(words).tolist()}


def load_booster(text: str) -> lightgbm.Booster:
    """Check the text and load it into a LightGBM booster."""
    return to_booster(parse_trees(text))


def to_booster(trees: TreeText) -> lightgbm.Booster:
    """Load checked trees into a LightGBM booster."""
    import lightgbm  # noqa: PLC0415 - slow to import

    try:
        return lightgbm.Booster(model_str=trees.to_text())
    except lightgbm.basic.LightGBMError as error:
        raise ValueError(f"LightGBM cannot read the trees: {error}") from None


def _split_fields(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _parse_count(fields: dict[str, str], name: str) -> int:
    value = fields.get(name, "")
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise ValueError(f"{name} is {value[:20]!r}, not a whole number")
    return int(value)


def _parse_tree(text: str, at: int, n_features: int) -> dict[str, Any]:
    fields = _split_fields(text)
    num_leaves = _parse_count(fields, "num_leaves")
    if not 1 <= num_leaves <= MAX_LEAVES:
        raise ValueError(f"tree {at} has {num_leaves} leaves")
    if fields.get("is_linear", "0") != "0":
        raise ValueError(f"tree {at} is of a kind that LambdaMART does not grow")
    tree = {
        name: _parse_numbers(fields[name], name, dtype, size, at)
        for dtypes, size in ((NODE_FIELDS, num_leaves - 1), (LEAF_FIELDS, num_leaves))
        for name, dtype in dtypes.items()
        if name in fields and (num_leaves > 1 or name == "leaf_value")
    }
    required = REQUIRED_FIELDS if num_leaves > 1 else ("leaf_value",)
    if not all(name in tree for name in required):
        raise ValueError(f"tree {at} lacks one of {', '.join(required)}")
    tree |= _parse_sets(fields, at)
    if num_leaves > 1:
        _check_nodes(tree, at, n_features)
    return {name: numbers.tolist() for name, numbers in tree.items()}


def _parse_sets(fields: dict[str, str], at: int) -> dict[str, Any]:
    """Parse the sets of categories of a tree; empty if it has none."""
    n_sets = _parse_count(fields, "num_cat")
    if not n_sets:
        return {}
    if not all(name in fields for name in SET_FIELDS):
        raise ValueError(f"tree {at} lacks one of {', '.join(SET_FIELDS)}")
    boundaries = _parse_numbers(fields["cat_boundaries"], "cat_boundaries", INT, n_sets + 1, at)
    n_words = len(fields["cat_threshold"].split())
    if boundaries[0] != 0 or boundaries[-1] != n_words or (np.diff(boundaries) < 0).any():
        raise ValueError(f"tree {at}: cat_boundaries do not divide the {n_words} words of cat_threshold")
    words = _parse_numbers(fields["cat_threshold"], "cat_threshold", INT, n_words, at)
    if n_words and (words.min() < 0 or words.max() >= 2**WORD_BITS):
        raise ValueError(f"tree {at}: cat_threshold has a number that is not of {WORD_BITS} bits")
    return {"cat_boundaries": boundaries, "cat_threshold": words}


def _parse_numbers(text: str, name: str, dtype: np.dtype[Any], size: int, at: int) -> Any:
    values = text.split()
    if len(values) != size:
        raise ValueError(f"tree {at}: {name} has {len(values)} numbers, not {size}")
    try:
        numbers = np.array(values, dtype=np.bytes_).astype(dtype)
    except (ValueError, OverflowError):
        raise ValueError(f"tree {at}: {name} has an entry that is not a number") from None
    # A threshold may be infinite: it separates missing values from all others.
    if np.isnan(numbers).any() or (name == "leaf_value" and np.isinf(numbers).any()):
        raise ValueError(f"tree {at}: {name} has a number that is not finite")
    return numbers


def _check_nodes(tree: dict[str, Any], at: int, n_features: int) -> None:
    if tree["split_feature"].min() < 0 or tree["split_feature"].max() >= n_features:
        raise ValueError(f"tree {at} splits on a feature that does not exist")
    if not np.isin(tree["decision_type"], (*NUMERICAL_DECISIONS, *CATEGORICAL_DECISIONS)).all():
        raise ValueError(f"tree {at} has decisions of a kind that LambdaMART does not make")
    sets = tree["threshold"][tree["decision_type"] & CATEGORICAL != 0]
    if not np.isin(sets, np.arange(len(tree.get("cat_boundaries", [0])) - 1)).all():
        raise ValueError(f"tree {at} splits by a set of categories that does not exist")
    children = np.concatenate([tree["left_child"], tree["right_child"]])
    n_nodes = len(tree["left_child"])
    parents = np.tile(np.arange(n_nodes), 2)
    # Each node and leaf but the root is the child of exactly one node, and a node comes after its parent.
    expected = np.concatenate([np.arange(-n_nodes - 1, 0), np.arange(1, n_nodes)])
    is_after_parent = (children < 0) | (children > parents)
    if not np.array_equal(np.sort(children), expected) or not is_after_parent.all():
        raise ValueError(f"tree {at}: the nodes do not form a tree")
