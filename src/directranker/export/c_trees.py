"""Trees in C: one array per property of all nodes, and a loop from the root of each tree to a leaf."""

from __future__ import annotations

import numpy as np

from directranker.arrays import IntArray
from directranker.description.model import Trees
from directranker.export.c_source import format_array

__all__ = ["write_trees"]


def write_trees(model: Trees) -> str:
    """Write the arrays of all nodes and leaves, and `score_document`, which sums the trees."""
    n_nodes = np.cumsum([0, *(len(tree.feature) for tree in model.trees)])
    num_leaves = np.cumsum([0, *(len(tree.value) for tree in model.trees)])
    arrays = []
    for side in ("left", "right"):
        children = [
            np.where(child < 0, child - leaf, child + node)
            for child, node, leaf in zip(
                (getattr(tree, side) for tree in model.trees), n_nodes, num_leaves, strict=False
            )
        ]
        arrays.append(format_array("int", side, np.concatenate(children)))
    # A tree without nodes is a single leaf.
    roots = [
        node if len(tree.feature) else -leaf - 1
        for tree, node, leaf in zip(model.trees, n_nodes, num_leaves, strict=False)
    ]
    arrays += [
        format_array("int", "roots", roots),
        format_array("int", "split_feature", np.concatenate([tree.feature for tree in model.trees])),
        format_array("double", "threshold", np.concatenate([tree.threshold for tree in model.trees])),
        format_array(
            "unsigned char", "missing_left", np.concatenate([tree.missing_left for tree in model.trees])
        ),
        format_array("double", "leaf_value", np.concatenate([tree.value for tree in model.trees])),
    ]
    goes_left = "x <= threshold[node]"
    if any(tree.category_set for tree in model.trees):
        arrays.append(_write_sets(model))
        goes_left = f"category_set[node] >= 0 ? is_in_set(x, category_set[node]) : {goes_left}"
    return (
        "\n".join(arrays)
        + f"""

static float score_document(const float *features) {{
    double total = 0.0;
    for (int tree = 0; tree < {len(model.trees)}; tree++) {{
        int node = roots[tree];
        while (node >= 0) {{
            const double x = features[split_feature[node]];
            const int goes_left = isnan(x) ? missing_left[node] : {goes_left};
            node = goes_left ? left[node] : right[node];
        }}
        total += leaf_value[-node - 1];
    }}
    return (float)total;
}}"""
    )


def _write_sets(model: Trees) -> str:
    """Write the set of each node, −1 for a number, the codes of each set, and a search in a set."""
    sets: list[IntArray] = []
    set_of_node: list[int] = []
    for tree in model.trees:
        for codes in tree.category_set or (None,) * len(tree.feature):
            set_of_node.append(-1 if codes is None else len(sets))
            sets += [] if codes is None else [codes]
    arrays = [
        format_array("int", "category_set", set_of_node),
        format_array("int", "set_start", np.cumsum([0, *map(len, sets)])),
        format_array("int", "set_codes", np.concatenate(sets)),
    ]
    return (
        "\n".join(arrays)
        + """

static int is_in_set(double code, int set) {
    int low = set_start[set], high = set_start[set + 1] - 1;
    while (low <= high) {
        const int middle = low + (high - low) / 2;
        if (set_codes[middle] == code) return 1;
        if (set_codes[middle] < code) low = middle + 1; else high = middle - 1;
    }
    return 0;
}"""
    )
