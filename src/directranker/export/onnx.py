"""A ranker as an ONNX graph from features to scores, the feature transform included.

The input `features` is float32 (n_documents, n_features) with any number of documents, the output `scores`
float32 (n_documents,). The graph uses opset 20, and opset 3 of ai.onnx.ml for trees.

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
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker._version import __version__
from directranker.arrays import Features, Float32Array
from directranker.description.model import LayerNorm, Model, Net, Tree, Trees
from directranker.export.categories import NUMBERS_INSTEAD, refuse_categories
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
    refuse_categories(model, "the exported ONNX graph", NUMBERS_INSTEAD)
    graph = Graph()
    if isinstance(model, Net):
        _add_net(graph, model)
    else:
        _add_trees(graph, model)
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    proto = helper.make_graph(
        graph.nodes,
        name,
        [helper.make_tensor_value_info("features", kind, ["n_documents", len(model.feature_names)])],
        [helper.make_tensor_value_info("scores", kind, ["n_documents"])],
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
    helper.set_model_props(built, {"feature_names": "\n".join(model.feature_names), **(metadata or {})})
    onnx.checker.check_model(built)
    content: bytes = built.SerializeToString()
    return content


def score_onnx(content: bytes, table: Features) -> Float32Array:
    """Score a table with onnxruntime."""
    runtime = _import_package("onnxruntime")
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    scores: Float32Array = session.run(["scores"], {"features": table})[0]
    return scores


def _import_package(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(f"{name} is not installed; pip install 'directranker[onnx]'") from None


def _add_net(graph: Graph, model: Net) -> None:
    values, places, by_column = add_columns(graph, model.columns, n_features=len(model.feature_names))
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


def _add_trees(graph: Graph, model: Trees) -> None:
    attributes: dict[str, Any] = {}
    for number, tree in enumerate(model.trees):
        for name, values in _build_tree(tree, number).items():
            attributes.setdefault(name, []).extend(values)
    # Sums in float64, as in LightGBM.
    doubles = {
        f"{name}_as_tensor": graph.tensor(np.array(attributes.pop(name), dtype=np.float64))
        for name in ("nodes_values", "target_weights")
    }
    wide = graph.cast("features", np.float64)
    scores = graph.add(
        "TreeEnsembleRegressor", wide, domain="ai.onnx.ml", n_targets=1, **attributes, **doubles
    )
    graph.add("Squeeze", scores, graph.constant(np.array([1])), output="scores")


def _build_tree(tree: Tree, number: int) -> dict[str, list[object]]:
    """Return a tree as attributes of `TreeEnsembleRegressor`: its nodes, then its leaves."""
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
        "nodes_modes": ["BRANCH_LEQ"] * n_nodes + ["LEAF"] * num_leaves,
        "nodes_values": [*round_down_float32(tree.threshold).tolist(), *blank],
        "nodes_truenodeids": [*left, *blank],
        "nodes_falsenodeids": [*right, *blank],
        "nodes_missing_value_tracks_true": [*map(int, tree.missing_left), *blank],
        "target_treeids": [number] * num_leaves,
        "target_nodeids": list(range(n_nodes, n_nodes + num_leaves)),
        "target_ids": blank,
        "target_weights": tree.value.tolist(),
    }
