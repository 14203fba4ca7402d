"""A ranker for Solr's learning-to-rank module: `features.json` for its feature store, and `model.json`.

Linear rankers become a `LinearModel`, nets a `NeuralNetworkModel`, trees a `MultipleAdditiveTreesModel`.
Standardised features get a `StandardNormalizer`. Piecewise-linear bins have no normaliser, but a bin equals
relu(1 − relu(1 − u)) with u = (x − low)/(high − low), that is, two more layers. Where bins are narrow and far
from 0, a normaliser first subtracts a bin edge, because x / (high − low) would lose digits.

Each feature is stored as a `FieldValueFeature` of its name; replace it by the class that computes it.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import RankSVM
>>> model = RankSVM(transform="standard").fit(example_dataset())._describe()
>>> features, content = write_solr(model, name="svm")
>>> content["class"], len(content["params"]["weights"]), features[0]["class"]
('org.apache.solr.ltr.model.LinearModel', 20, 'org.apache.solr.ltr.feature.FieldValueFeature')
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from directranker.arrays import FloatArray, IntArray
from directranker.description.columns import Copies, Ramps, Rescaled
from directranker.description.model import Layer, Model, Net, Tree, Trees
from directranker.errors import ExportError
from directranker.export.categories import refuse_categories
from directranker.export.engine_models import (
    Norms,
    check_missing_marks,
    check_rescaled_once,
    check_trees,
    has_only_ramps,
    round_float32,
    round_norms,
    to_linear,
    transform_error,
)
from directranker.export.thresholds import subtract_slack

__all__ = ["write_solr"]

PACKAGE = "org.apache.solr.ltr"
ACTIVATIONS = {
    "identity": "identity",
    "relu": "relu",
    "tanh": "tanh",
    "sigmoid": "sigmoid",
    "leaky_relu": "leakyrelu",
}
MAX_BINS = 4096  # the second layer of ramps has MAX_BINS² weights
MIN_BIN_WIDTH = 1 / float(np.finfo(np.float32).max)


def write_solr(model: Model, *, name: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Write the features and the model to upload to Solr."""
    refuse_categories(model, "Solr")
    store = f"{name}_features"
    features = [
        {
            "store": store,
            "name": feature,
            "class": f"{PACKAGE}.feature.FieldValueFeature",
            "params": {"field": feature},
        }
        for feature in model.feature_names
    ]
    norms: Norms = {}
    params: dict[str, Any]
    if isinstance(model, Trees):
        check_trees(model, "Solr")
        kind, params = "MultipleAdditiveTreesModel", {"trees": _write_trees(model)}
    elif not model.layers and not has_only_ramps(model):
        weights, norms = to_linear(model, "Solr")
        named = zip(model.feature_names, map(round_float32, weights), strict=True)
        kind, params = "LinearModel", {"weights": dict(named)}
    else:
        kind = "NeuralNetworkModel"
        layers, norms = _write_layers(model)
        params = {"layers": layers}
    listed = [_write_feature(feature, norms.get(at)) for at, feature in enumerate(model.feature_names)]
    return features, {
        "store": store,
        "name": name,
        "class": f"{PACKAGE}.model.{kind}",
        "features": listed,
        "params": params,
    }


def _write_feature(name: str, norm: tuple[float, float] | None) -> dict[str, object]:
    if norm is None:
        return {"name": name}
    params = {"avg": str(round_float32(norm[0])), "std": str(round_float32(norm[1]))}
    return {"name": name, "norm": {"class": f"{PACKAGE}.norm.StandardNormalizer", "params": params}}


def _write_layers(model: Net) -> tuple[list[dict[str, Any]], Norms]:
    check_missing_marks(model, "Solr")
    last = Layer(model.head[None, :].astype(np.float32), np.zeros(1, dtype=np.float32))
    layers = [*model.layers, last]
    norms: Norms = {}
    if has_only_ramps(model) and model.columns:
        ramps, places, norms = _build_ramp_layers(model)
        layers = [*ramps, replace(layers[0], weight=layers[0].weight[:, places]), *layers[1:]]
    else:
        check_rescaled_once(model, "Solr")
        layers[0], norms = _add_normalisers(layers[0], model)
    return [_write_layer(layer) for layer in layers], norms


def _add_normalisers(layer: Layer, model: Net) -> tuple[Layer, Norms]:
    """Rewrite the first layer to take normalised features; return it and the normalisers."""
    weight = np.zeros((len(layer.weight), len(model.feature_names)))
    bias = layer.bias.astype(np.float64)
    norms: Norms = {}
    for group in model.columns:
        weights = layer.weight[:, group.indices].astype(np.float64)
        if isinstance(group, Rescaled) and not group.logarithm:
            of_group, factors, shifts = round_norms(group)
            norms.update(of_group)
            bias += weights @ shifts
            weights *= factors
        elif not isinstance(group, Copies):
            raise transform_error(group, "Solr")
        weight[:, group.features] = weights
    return replace(layer, weight=weight.astype(np.float32), bias=bias.astype(np.float32)), norms


def _build_ramp_layers(model: Net) -> tuple[list[Layer], IntArray, Norms]:
    """Build the layers relu(1 − u) and relu(1 − that) of all bins; return them, their columns and norms."""
    (group,) = model.columns
    assert isinstance(group, Ramps)  # noqa: S101 - has_only_ramps
    n_bins = len(group.features)
    if n_bins > MAX_BINS:
        raise ExportError(
            f"{n_bins} bins need a matrix of {n_bins}² weights in Solr; train with transform='standard' or "
            "fewer bins, or export to 'onnx' or 'c'"
        )
    width = group.high.astype(np.float64) - group.low
    if width.min() < MIN_BIN_WIDTH:
        raise ExportError(
            f"a bin is {width.min():.1g} wide, too narrow to divide by in float32, which Solr computes in; "
            "rescale that feature to larger values and train again, or export to 'onnx' or 'c'"
        )
    origin = np.zeros(len(model.feature_names))
    for feature in np.unique(group.features):
        of_feature = group.features == feature
        origin[feature] = _select_origin(
            group.low[of_feature].astype(np.float64), group.high[of_feature].astype(np.float64)
        )
    slopes = np.zeros((n_bins, len(model.feature_names)), dtype=np.float32)
    slopes[np.arange(n_bins), group.features] = -1 / width
    ends = (group.high - origin[group.features]) / width
    first = Layer(slopes, ends.astype(np.float32), None, "relu")
    second = Layer(-np.eye(n_bins, dtype=np.float32), np.ones(n_bins, dtype=np.float32), None, "relu")
    norms = {int(feature): (float(origin[feature]), 1.0) for feature in np.flatnonzero(origin)}
    return [first, second], group.indices, norms


def _select_origin(low: FloatArray, high: FloatArray) -> float:
    """Select 0 or the bin edge that minimises the distance of the farthest bin, relative to its width.

    >>> low, high = np.array([1e6, 1e6 + 4]), np.array([1e6 + 4, 2e6])
    >>> _select_origin(low, high), _select_origin(low - 1e6, high - 1e6)
    (1000004.0, 4.0)
    >>> _select_origin(np.array([-1e6]), np.array([1.0]))
    0.0
    """
    candidates = np.concatenate([[0.0], low, high[-1:]])[:, None]  # (n_candidates, 1)
    farthest = np.maximum(np.abs(low - candidates), np.abs(high - candidates))  # (n_candidates, n_bins)
    return float(candidates[np.argmin((farthest / (high - low)).max(axis=1)), 0])


def _write_layer(layer: Layer) -> dict[str, object]:
    if layer.normalisation is not None:
        raise ExportError(
            "Solr's NeuralNetworkModel has no layer normalisation; train with normalisation='batch' or None, "
            "or export to 'onnx' or 'c'"
        )
    if layer.activation not in ACTIVATIONS:
        raise ExportError(
            f"Solr's NeuralNetworkModel has no {layer.activation}; train with one of "
            f"{', '.join(map(repr, ACTIVATIONS))}, or export to 'onnx' or 'c'"
        )
    return {
        "matrix": [list(map(round_float32, row)) for row in layer.weight],
        "bias": list(map(round_float32, layer.bias)),
        "activation": ACTIVATIONS[layer.activation],
    }


def _write_trees(model: Trees) -> list[dict[str, Any]]:
    return [{"weight": "1", "root": _write_node(tree, model.feature_names)} for tree in model.trees]


def _write_node(tree: Tree, names: tuple[str, ...]) -> dict[str, Any]:
    leaves = [{"value": str(round_float32(value))} for value in tree.value]
    if not len(tree.feature):
        return leaves[0]
    thresholds, is_exact = subtract_slack(tree.threshold)
    if not is_exact.all():
        raise ExportError(
            f"Solr adds 0.000001 to every threshold, so it cannot split at {tree.threshold[~is_exact][0]:g}; "
            "rescale that feature to larger values and train again, or export to 'elasticsearch', 'onnx' "
            "or 'c'"
        )
    nodes: list[dict[str, Any]] = [
        {"feature": names[feature], "threshold": str(round_float32(threshold))}
        for feature, threshold in zip(tree.feature, thresholds, strict=True)
    ]
    for node, left, right in zip(nodes, tree.left, tree.right, strict=True):
        node["left"] = nodes[left] if left >= 0 else leaves[-left - 1]
        node["right"] = nodes[right] if right >= 0 else leaves[-right - 1]
    return nodes[0]
