"""A ranker as an ONNX graph from features to scores, the feature transform included.

The input `features` is float32 (n_documents, n_features) with any number of documents, the output `scores`
float32 (n_documents,). The graph uses opset 20, and opset 3 of ai.onnx.ml for trees and categories.

If some features are categorical, `features` has only the numbers, and a second input `categories` has the
others: strings (n_documents, n_categorical), an empty string where the value is missing. Without any number
there is no input `features`. The metadata `feature_names` and `category_names` has their names, in order.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import RankSVM
>>> data = example_dataset()
>>> ranker = RankSVM().fit(data)
>>> graph = write_onnx(ranker._describe(), name="svm")
>>> bool(abs(score_onnx(graph, data.features) - ranker.predict(data)).max() < 1e-5)
True
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker._version import __version__
from directranker.arrays import BoolArray, Features, Float32Array
from directranker.description.model import LayerNorm, Model, Net, Tree, Trees
from directranker.export.categories import Values, get_category_names, get_number_names
from directranker.export.onnx_categories import add_table
from directranker.export.onnx_columns import add_columns
from directranker.export.onnx_graph import Graph
from directranker.export.thresholds import round_down_float32

__all__ = ["OPSET", "TREE_OPSET", "score_onnx", "write_onnx"]

OPSET, TREE_OPSET = 20, 3
IR_VERSION = 10  # the oldest with these operators, so that older runtimes can read it
OPERATORS = {
    "relu": "Relu",
    "tanh": "Tanh",
    "gelu": "Gelu",
    "elu": "Elu",
    "leaky_relu": "LeakyRelu",
    "sigmoid": "Sigmoid",
    "softplus": "Softplus",
    "softsign": "Softsign",
}


def write_onnx(model: Model, *, name: str, metadata: dict[str, str] | None = None) -> bytes:
    """Write a model as the bytes of an ONNX file."""
    onnx = _import_package("onnx")
    graph = Graph()
    table = add_table(graph, model)
    if isinstance(model, Net):
        _add_net(graph, model, table)
    else:
        _add_trees(graph, model, table)
    helper, number, string = onnx.helper, onnx.TensorProto.FLOAT, onnx.TensorProto.STRING
    names = {"feature_names": get_number_names(model), "category_names": get_category_names(model)}
    inputs = zip(("features", "categories"), (number, string), names.values(), strict=True)
    proto = helper.make_graph(
        graph.nodes,
        name,
        [
            helper.make_tensor_value_info(of_input, kind, ["n_documents", len(columns)])
            for of_input, kind, columns in inputs
            if columns
        ],
        [helper.make_tensor_value_info("scores", number, ["n_documents"])],
        initializer=graph.constants,
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", TREE_OPSET)]
    built = helper.make_model(
        proto,
        opset_imports=opsets,
        ir_version=IR_VERSION,
        producer_name="directranker",
        producer_version=__version__,
    )
    listed = {key: "\n".join(columns) for key, columns in names.items() if columns}
    helper.set_model_props(built, {**listed, **(metadata or {})})
    onnx.checker.check_model(built)
    content: bytes = built.SerializeToString()
    return content


def score_onnx(content: bytes, table: Features, categories: Values | None = None) -> Float32Array:
    """Score numbers, and categories where there are any, with onnxruntime."""
    runtime = _import_package("onnxruntime")
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    inputs: dict[str, Any] = {"features": table} if table.shape[1] else {}
    if categories is not None:
        inputs["categories"] = np.where(categories == None, "", categories)  # noqa: E711 - by element
    scores: Float32Array = session.run(["scores"], inputs)[0]
    return scores


def _import_package(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(f"{name} is not installed; pip install 'directranker[onnx]'") from None


def _add_net(graph: Graph, model: Net, table: str) -> None:
    n_features = len(model.feature_names) + len(model.derived)
    values, places, by_column = add_columns(graph, model.columns, table, n_features=n_features)
    for index, layer in enumerate(model.layers):
        # The columns come group by group; reorder the first weights in the same way.
        weight = layer.weight[:, places] if index == 0 else layer.weight
        values = _add_linear(graph, values, weight, layer.bias, by_column)
        if layer.normalisation is not None:
            values, by_column = graph.add("Transpose", values) if by_column else values, False
            values = _add_normalisation(graph, values, layer.normalisation)
        values = _add_activation(graph, values, layer.activation)
    _add_head(graph, values, model.head if model.layers else model.head[places], by_column)


def _add_linear(graph: Graph, values: str, weight: Float32Array, bias: Float32Array, by_column: bool) -> str:
    if by_column:
        return graph.add("Gemm", graph.constant(weight), values, graph.constant(bias[:, None]))
    return graph.add("Gemm", values, graph.constant(weight), graph.constant(bias), transB=1)


def _add_normalisation(graph: Graph, values: str, norm: LayerNorm) -> str:
    scale, bias = graph.constant(norm.weight), graph.constant(norm.bias)
    return graph.add("LayerNormalization", values, scale, bias, axis=-1, epsilon=norm.epsilon)


def _add_activation(graph: Graph, values: str, activation: str) -> str:
    if activation == "silu":
        return graph.add("Mul", values, graph.add("Sigmoid", values))
    if activation == "leaky_relu":
        return graph.add("LeakyRelu", values, alpha=0.01)
    return values if activation == "identity" else graph.add(OPERATORS[activation], values)


def _add_head(graph: Graph, values: str, head: NDArray[np.generic], by_column: bool) -> None:
    is_wide = head.dtype == np.float64
    if is_wide:
        values = graph.cast(values, np.float64)
    # A matrix of one row or column: one runtime has a bug with vectors.
    factors = (
        (graph.constant(head[None, :]), values) if by_column else (values, graph.constant(head[:, None]))
    )
    product, ones = graph.add("MatMul", *factors), graph.constant(np.array([0 if by_column else 1]))
    if is_wide:
        graph.cast(graph.add("Squeeze", product, ones), np.float32, output="scores")
    else:
        graph.add("Squeeze", product, ones, output="scores")


def _add_trees(graph: Graph, model: Trees, table: str) -> None:
    attributes: dict[str, Any] = {}
    for number, tree in enumerate(model.trees):
        for name, values in _build_tree(tree, number).items():
            attributes.setdefault(name, []).extend(values)
    # Sums in float64, as in LightGBM.
    doubles = {
        f"{name}_as_tensor": graph.tensor(np.array(attributes.pop(name), dtype=np.float64))
        for name in ("nodes_values", "target_weights")
    }
    wide = graph.cast(table, np.float64)
    scores = graph.add(
        "TreeEnsembleRegressor", wide, domain="ai.onnx.ml", n_targets=1, **attributes, **doubles
    )
    graph.add("Squeeze", scores, graph.constant(np.array([1])), output="scores")


def _build_tree(tree: Tree, number: int) -> dict[str, list[object]]:
    """Return a tree as attributes of `TreeEnsembleRegressor`: its nodes, then its leaves."""
    tree, is_equality = _replace_sets(tree)
    n_nodes, num_leaves = len(tree.feature), len(tree.value)
    blank = [0] * num_leaves
    # A child below 0 is the leaf −child − 1.
    left, right = (
        np.where(children < 0, n_nodes - children - 1, children).tolist()
        for children in (tree.left, tree.right)
    )
    return {
        "nodes_treeids": [number] * (n_nodes + num_leaves),
        "nodes_nodeids": list(range(n_nodes + num_leaves)),
        "nodes_featureids": [*tree.feature.tolist(), *blank],
        "nodes_modes": [*np.where(is_equality, "BRANCH_EQ", "BRANCH_LEQ").tolist(), *["LEAF"] * num_leaves],
        "nodes_values": [*round_down_float32(tree.threshold).tolist(), *blank],
        "nodes_truenodeids": [*left, *blank],
        "nodes_falsenodeids": [*right, *blank],
        "nodes_missing_value_tracks_true": [*map(int, tree.missing_left), *blank],
        "target_treeids": [number] * num_leaves,
        "target_nodeids": list(range(n_nodes, n_nodes + num_leaves)),
        "target_ids": blank,
        "target_weights": tree.value.tolist(),
    }


def _replace_sets(tree: Tree) -> tuple[Tree, BoolArray]:
    """Replace each split by a set of categories by one split x = code per category; return where these are.

    All of them have the same left child; to the right is the next one. ONNX has no split by a set before
    opset 5 of ai.onnx.ml.

    >>> split = {name: np.zeros(1, int) for name in ("feature", "threshold")}
    >>> tree = Tree(**split, left=np.array([-1]), right=np.array([-2]), missing_left=np.array([True]),
    ...             value=np.array([1.0, 2.0]), category_set=(np.array([3, 8]),))
    >>> chain, _ = _replace_sets(tree)
    >>> chain.threshold.tolist(), chain.left.tolist(), chain.right.tolist(), chain.missing_left.tolist()
    ([3.0, 8.0], [-1, -1], [1, -2], [True, False])
    """
    if not tree.category_set:
        return tree, np.zeros(len(tree.feature), dtype=bool)
    # A set without a known code compares with −2, which is no code.
    values = [
        threshold[None] if codes is None else codes if len(codes) else np.array([-2])
        for threshold, codes in zip(tree.threshold, tree.category_set, strict=True)
    ]
    lengths = np.array([len(of_node) for of_node in values])
    first = np.cumsum(lengths) - lengths
    last = first + lengths - 1
    left, right = (
        np.where(child < 0, child, first[np.maximum(child, 0)]) for child in (tree.left, tree.right)
    )  # to the first of a child's splits
    next_split = np.arange(1, lengths.sum() + 1)
    next_split[last] = right
    missing_left = np.zeros(lengths.sum(), dtype=bool)
    missing_left[first] = tree.missing_left
    is_equality = np.repeat([codes is not None for codes in tree.category_set], lengths)
    chain = replace(
        tree,
        feature=np.repeat(tree.feature, lengths),
        threshold=np.concatenate(values).astype(np.float64),
        left=np.repeat(left, lengths),
        right=next_split,
        missing_left=missing_left,
        category_set=(),
    )
    return chain, is_equality
