"""A ranker as an ONNX graph: features in, scores out, the transform inside.

Input `features` is float32 (n_documents, n_features) with any number of documents, output `scores` float32
(n_documents,). Operators are those of opset 20 (and 3 of ai.onnx.ml for trees).

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import RankSVM
>>> data = example_dataset()
>>> ranker = RankSVM().fit(data)
>>> graph = onnx_bytes(ranker._describe(), name="svm")
>>> bool(abs(onnx_scores(graph, data.features) - ranker.predict(data)).max() < 1e-5)
True
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker._version import __version__
from directranker.arrays import Features
from directranker.description.model import LayerNorm, Model, Net, Tree, Trees
from directranker.export.onnx_columns import encoded
from directranker.export.onnx_graph import Graph
from directranker.export.thresholds import at_most_float32

__all__ = ["OPSET", "TREE_OPSET", "onnx_bytes", "onnx_scores"]

Floats = NDArray[np.float32]
OPSET, TREE_OPSET = 20, 3
IR_VERSION = 10  # the oldest that knows these operators, so that older runtimes read it
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


def onnx_bytes(model: Model, *, name: str, metadata: dict[str, str] | None = None) -> bytes:
    """The graph as the bytes of an ONNX file."""
    onnx = _package("onnx")
    graph = Graph()
    if isinstance(model, Net):
        _net(graph, model)
    else:
        _trees(graph, model)
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    made = helper.make_graph(
        graph.nodes,
        name,
        [helper.make_tensor_value_info("features", kind, ["n_documents", len(model.feature_names)])],
        [helper.make_tensor_value_info("scores", kind, ["n_documents"])],
        initializer=graph.constants,
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", TREE_OPSET)]
    built = helper.make_model(
        made,
        opset_imports=opsets,
        ir_version=IR_VERSION,
        producer_name="directranker",
        producer_version=__version__,
    )
    helper.set_model_props(built, {"feature_names": "\n".join(model.feature_names), **(metadata or {})})
    onnx.checker.check_model(built)
    content: bytes = built.SerializeToString()
    return content


def onnx_scores(content: bytes, table: Features) -> Floats:
    """The scores that onnxruntime gives."""
    runtime = _package("onnxruntime")
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    scores: Floats = session.run(["scores"], {"features": table})[0]
    return scores


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(f"{name} is not installed; pip install 'directranker[onnx]'") from None


def _net(graph: Graph, model: Net) -> None:
    held, places, by_column = encoded(graph, model.columns, n_features=len(model.feature_names))
    for at, layer in enumerate(model.layers):
        # The columns come group by group, so the first weights are brought into that order.
        weight = layer.weight[:, places] if at == 0 else layer.weight
        held = _sums(graph, held, weight, layer.bias, by_column)
        if layer.normalisation is not None:
            held, by_column = graph.add("Transpose", held) if by_column else held, False
            held = _normalised(graph, held, layer.normalisation)
        held = _activated(graph, held, layer.activation)
    _head(graph, held, model.head if model.layers else model.head[places], by_column)


def _sums(graph: Graph, held: str, weight: Floats, bias: Floats, by_column: bool) -> str:
    if by_column:
        return graph.add("Gemm", graph.constant(weight), held, graph.constant(bias[:, None]))
    return graph.add("Gemm", held, graph.constant(weight), graph.constant(bias), transB=1)


def _normalised(graph: Graph, held: str, norm: LayerNorm) -> str:
    scale, bias = graph.constant(norm.weight), graph.constant(norm.bias)
    return graph.add("LayerNormalization", held, scale, bias, axis=-1, epsilon=norm.epsilon)


def _activated(graph: Graph, held: str, activation: str) -> str:
    if activation == "silu":
        return graph.add("Mul", held, graph.add("Sigmoid", held))
    if activation == "leaky_relu":
        return graph.add("LeakyRelu", held, alpha=0.01)
    return held if activation == "identity" else graph.add(OPERATORS[activation], held)


def _head(graph: Graph, held: str, head: NDArray[Any], by_column: bool) -> None:
    is_wide = head.dtype == np.float64
    if is_wide:
        held = graph.cast(held, np.float64)
    # As a row or column: a vector is another case to each runtime, and has been computed wrongly by one.
    factors = (graph.constant(head[None, :]), held) if by_column else (held, graph.constant(head[:, None]))
    product, ones = graph.add("MatMul", *factors), graph.constant(np.array([0 if by_column else 1]))
    if is_wide:
        graph.cast(graph.add("Squeeze", product, ones), np.float32, output="scores")
    else:
        graph.add("Squeeze", product, ones, output="scores")


def _trees(graph: Graph, model: Trees) -> None:
    attributes: dict[str, Any] = {}
    for number, tree in enumerate(model.trees):
        for name, values in _tree_attributes(tree, number).items():
            attributes.setdefault(name, []).extend(values)
    # In float64 the sums are LightGBM's own.
    doubles = {
        f"{name}_as_tensor": graph.tensor(np.array(attributes.pop(name), dtype=np.float64))
        for name in ("nodes_values", "target_weights")
    }
    wide = graph.cast("features", np.float64)
    scores = graph.add(
        "TreeEnsembleRegressor", wide, domain="ai.onnx.ml", n_targets=1, **attributes, **doubles
    )
    graph.add("Squeeze", scores, graph.constant(np.array([1])), output="scores")


def _tree_attributes(tree: Tree, number: int) -> dict[str, list[Any]]:
    """A tree as `TreeEnsembleRegressor` takes it: its nodes, then its leaves."""
    n_nodes, num_leaves = len(tree.feature), len(tree.value)
    blank = [0] * num_leaves
    # Leaf k is −k − 1 as a child.
    left, right = (
        np.where(children < 0, n_nodes - children - 1, children).tolist()
        for children in (tree.left, tree.right)
    )
    return {
        "nodes_treeids": [number] * (n_nodes + num_leaves),
        "nodes_nodeids": list(range(n_nodes + num_leaves)),
        "nodes_featureids": [*tree.feature.tolist(), *blank],
        "nodes_modes": ["BRANCH_LEQ"] * n_nodes + ["LEAF"] * num_leaves,
        "nodes_values": [*at_most_float32(tree.threshold).tolist(), *blank],
        "nodes_truenodeids": [*left, *blank],
        "nodes_falsenodeids": [*right, *blank],
        "nodes_missing_value_tracks_true": [*map(int, tree.missing_left), *blank],
        "target_treeids": [number] * num_leaves,
        "target_nodeids": list(range(n_nodes, n_nodes + num_leaves)),
        "target_ids": blank,
        "target_weights": tree.value.tolist(),
    }
