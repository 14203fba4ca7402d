"""How Solr and the Elasticsearch plugin score a document, written from their documented rules alone.

Nothing here knows of rankers: it reads what an export wrote, as the engine would, and computes in float32 in
the engine's order. https://solr.apache.org/guide/solr/latest/query-guide/learning-to-rank.html and
https://elasticsearch-learning-to-rank.readthedocs.io.

>>> definition = json.dumps({"title": 2.0, "body": 0.5})
>>> model = {"model": {"name": "m", "model": {"type": "model/linear", "definition": definition}}}
>>> elasticsearch_scores(model, ["body", "title"], np.array([[4, 1]], dtype=np.float32)).tolist()
[4.0]
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

__all__ = ["elasticsearch_scores", "solr_scores"]

Floats = NDArray[np.float32]
Goes = Callable[[Any, Floats], tuple[NDArray[np.bool_], Any, Any]]
SLACK = np.float32(1e-6)


def solr_scores(features: Sequence[dict[str, Any]], model: dict[str, Any], table: Floats) -> Floats:
    """Scores by Solr's `LinearModel`, `NeuralNetworkModel` or `MultipleAdditiveTreesModel`."""
    place = {feature["name"]: at for at, feature in enumerate(features)}
    inputs = np.column_stack([_solr_value(one, table[:, place[one["name"]]]) for one in model["features"]])
    params, kind = model["params"], model["class"].rpartition(".")[2]
    names = [one["name"] for one in model["features"]]
    if kind == "LinearModel":
        return _weighted_sum([params["weights"][name] for name in names], inputs)
    if kind == "NeuralNetworkModel":
        for layer in params["layers"]:
            inputs = _solr_layer(layer, inputs)
        return inputs[:, 0]
    total = np.zeros(len(table), dtype=np.float32)
    for tree in params["trees"]:
        total += np.float32(tree["weight"]) * _tree_values(tree["root"], inputs, _solr_split(names))
    return total


def elasticsearch_scores(model: dict[str, Any], names: Sequence[str], table: Floats) -> Floats:
    """Scores by `model/linear`, `model/ranklib` or `model/xgboost+json` over a feature set of these names."""
    kind, definition = model["model"]["model"]["type"], model["model"]["model"]["definition"]
    norms = model["model"]["model"].get("feature_normalizers", {})
    inputs = np.column_stack(
        [_standard(norms[name]["standard"], table[:, at]) if name in norms else table[:, at]
         for at, name in enumerate(names)]
    )  # fmt: skip
    if kind == "model/linear":
        weights = json.loads(definition)
        return _weighted_sum([weights.get(name, 0.0) for name in names], inputs)
    total = np.zeros(len(table), dtype=np.float32)
    if kind == "model/ranklib":
        text = "\n".join(line for line in definition.splitlines() if not line.startswith("##"))
        for tree in ElementTree.fromstring(text):  # noqa: S314 - a text that was made here
            values = _tree_values(tree.find("split"), inputs, _ranklib_split)
            total += np.float32(tree.get("weight")) * values
        return total
    for tree in json.loads(definition):
        total += _tree_values(tree, inputs, _xgboost_split(names))
    return total


def _weighted_sum(weights: Sequence[float], inputs: Floats) -> Floats:
    total = np.zeros(len(inputs), dtype=np.float32)
    for at, weight in enumerate(weights):
        total += np.float32(weight) * inputs[:, at]
    return total


def _solr_value(feature: dict[str, Any], x: Floats) -> Floats:
    if "norm" not in feature:
        return x
    params = feature["norm"]["params"]
    values: Floats = (x - np.float32(params["avg"])) / np.float32(params["std"])
    return values


def _standard(norm: dict[str, float], x: Floats) -> Floats:
    values: Floats = (x - np.float32(norm["mean"])) / np.float32(norm["standard_deviation"])
    return values


def _solr_layer(layer: dict[str, Any], inputs: Floats) -> Floats:
    matrix = np.array(layer["matrix"], dtype=np.float32)
    outputs = np.tile(np.array(layer["bias"], dtype=np.float32), (len(inputs), 1))
    for at in range(inputs.shape[1]):
        outputs += matrix[:, at] * inputs[:, at : at + 1]
    return _activated(layer["activation"], outputs)


def _activated(name: str, x: Floats) -> Floats:
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


def _tree_values(node: Any, inputs: Floats, split: Goes) -> Floats:
    """The value of each row's leaf; `split` tells which rows go left, and both children."""
    found = split(node, inputs)
    if not isinstance(found, tuple):
        return np.full(len(inputs), np.float32(found))
    goes_left, left, right = found
    values = np.empty(len(inputs), dtype=np.float32)
    values[goes_left] = _tree_values(left, inputs[goes_left], split)
    values[~goes_left] = _tree_values(right, inputs[~goes_left], split)
    return values


def _solr_split(names: Sequence[str]) -> Any:
    def split(node: dict[str, Any], inputs: Floats) -> Any:
        if "feature" not in node:
            return node["value"]
        x = inputs[:, names.index(node["feature"])]
        return x <= np.float32(node["threshold"]) + SLACK, node["left"], node["right"]

    return split


def _ranklib_split(node: Any, inputs: Floats) -> Any:
    if node.find("output") is not None:
        return node.findtext("output").strip()
    x = inputs[:, int(node.findtext("feature")) - 1]  # features count from 1
    left, right = node.findall("split")
    return x <= np.float32(node.findtext("threshold").strip()), left, right


def _xgboost_split(names: Sequence[str]) -> Any:
    def split(node: dict[str, Any], inputs: Floats) -> Any:
        if "leaf" in node:
            return node["leaf"]
        x = inputs[:, names.index(node["split"])]
        children = {child["nodeid"]: child for child in node["children"]}
        return np.float32(node["split_condition"]) > x, children[node["yes"]], children[node["no"]]

    return split
