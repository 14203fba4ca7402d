"""The scoring of Solr and of the Elasticsearch plugin, implemented from their documentation.

This module does not use rankers. It reads an export as the engine would, and computes in float32 in the
engine's order. https://solr.apache.org/guide/solr/latest/query-guide/learning-to-rank.html and
https://elasticsearch-learning-to-rank.readthedocs.io.

>>> definition = json.dumps({"title": 2.0, "body": 0.5})
>>> model = {"model": {"name": "m", "model": {"type": "model/linear", "definition": definition}}}
>>> score_elasticsearch(model, ["body", "title"], np.array([[4, 1]], dtype=np.float32)).tolist()
[4.0]
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import BoolArray, Float32Array

__all__ = ["score_elasticsearch", "score_solr"]

Split = Callable[[Any, Float32Array], tuple[BoolArray, Any, Any] | Any]
"""Returns which rows go left and both children of a node, or the value of a leaf."""
SLACK = np.float32(1e-6)


def score_solr(
    features: Sequence[dict[str, Any]], model: dict[str, Any], table: Float32Array
) -> Float32Array:
    """Score by Solr's `LinearModel`, `NeuralNetworkModel` or `MultipleAdditiveTreesModel`."""
    positions = {feature["name"]: index for index, feature in enumerate(features)}
    inputs = np.column_stack(
        [_normalise_solr(one, table[:, positions[one["name"]]]) for one in model["features"]]
    )
    params, kind = model["params"], model["class"].rpartition(".")[2]
    names = [one["name"] for one in model["features"]]
    if kind == "LinearModel":
        return _compute_weighted_sum([params["weights"][name] for name in names], inputs)
    if kind == "NeuralNetworkModel":
        for layer in params["layers"]:
            inputs = _apply_layer(layer, inputs)
        return inputs[:, 0]
    total = np.zeros(len(table), dtype=np.float32)
    for tree in params["trees"]:
        total += np.float32(tree["weight"]) * _score_tree(tree["root"], inputs, _make_solr_split(names))
    return total


def score_elasticsearch(model: dict[str, Any], names: Sequence[str], table: Float32Array) -> Float32Array:
    """Score by `model/linear`, `model/ranklib` or `model/xgboost+json` with a feature set of these names."""
    kind, definition = model["model"]["model"]["type"], model["model"]["model"]["definition"]
    norms = model["model"]["model"].get("feature_normalizers", {})
    inputs = np.column_stack(
        [_normalise(norms[name]["standard"], table[:, index]) if name in norms else table[:, index]
         for index, name in enumerate(names)]
    )  # fmt: skip
    if kind == "model/linear":
        weights = json.loads(definition)
        return _compute_weighted_sum([weights.get(name, 0.0) for name in names], inputs)
    total = np.zeros(len(table), dtype=np.float32)
    if kind == "model/ranklib":
        text = "\n".join(line for line in definition.splitlines() if not line.startswith("##"))
        for tree in ElementTree.fromstring(text):  # noqa: S314 - written by this package
            values = _score_tree(tree.find("split"), inputs, _split_ranklib)
            total += np.float32(tree.get("weight")) * values
        return total
    for tree in json.loads(definition):
        total += _score_tree(tree, inputs, _make_xgboost_split(names))
    return total


def _compute_weighted_sum(weights: Sequence[float], inputs: Float32Array) -> Float32Array:
    total = np.zeros(len(inputs), dtype=np.float32)
    for index, weight in enumerate(weights):
        total += np.float32(weight) * inputs[:, index]
    return total


def _normalise_solr(feature: dict[str, Any], x: Float32Array) -> Float32Array:
    if "norm" not in feature:
        return x
    params = feature["norm"]["params"]
    values: Float32Array = (x - np.float32(params["avg"])) / np.float32(params["std"])
    return values


def _normalise(norm: dict[str, float], x: Float32Array) -> Float32Array:
    values: Float32Array = (x - np.float32(norm["mean"])) / np.float32(norm["standard_deviation"])
    return values


def _apply_layer(layer: dict[str, Any], inputs: Float32Array) -> Float32Array:
    matrix = np.array(layer["matrix"], dtype=np.float32)
    outputs = np.tile(np.array(layer["bias"], dtype=np.float32), (len(inputs), 1))
    for index in range(inputs.shape[1]):
        outputs += matrix[:, index] * inputs[:, index : index + 1]
    return _apply_activation(layer["activation"], outputs)


def _apply_activation(name: str, x: Float32Array) -> Float32Array:
    wide = x.astype(np.float64)
    with np.errstate(over="ignore"):
        values: dict[str, NDArray[Any]] = {
            "identity": x,
            "relu": np.where(x < 0, np.float32(0), x),
            "leakyrelu": np.where(x < 0, np.float32(0.01) * x, x),
            "tanh": np.tanh(wide),
            "sigmoid": 1 / (1 + np.exp(-wide)),
        }
    return values[name].astype(np.float32)


def _score_tree(node: Any, inputs: Float32Array, split: Split) -> Float32Array:
    """Compute the leaf value of each row; `split` returns which rows go left, and both children."""
    found = split(node, inputs)
    if not isinstance(found, tuple):
        return np.full(len(inputs), np.float32(found))
    goes_left, left, right = found
    values = np.empty(len(inputs), dtype=np.float32)
    values[goes_left] = _score_tree(left, inputs[goes_left], split)
    values[~goes_left] = _score_tree(right, inputs[~goes_left], split)
    return values


def _make_solr_split(names: Sequence[str]) -> Split:
    def split(node: dict[str, Any], inputs: Float32Array) -> Any:
        if "feature" not in node:
            return node["value"]
        x = inputs[:, names.index(node["feature"])]
        return x <= np.float32(node["threshold"]) + SLACK, node["left"], node["right"]

    return split


def _split_ranklib(node: Any, inputs: Float32Array) -> Any:
    if node.find("output") is not None:
        return node.findtext("output").strip()
    x = inputs[:, int(node.findtext("feature")) - 1]  # RankLib numbers features from 1
    left, right = node.findall("split")
    return x <= np.float32(node.findtext("threshold").strip()), left, right


def _make_xgboost_split(names: Sequence[str]) -> Split:
    def split(node: dict[str, Any], inputs: Float32Array) -> Any:
        if "leaf" in node:
            return node["leaf"]
        x = inputs[:, names.index(node["split"])]
        children = {child["nodeid"]: child for child in node["children"]}
        return np.float32(node["split_condition"]) > x, children[node["yes"]], children[node["no"]]

    return split
