"""A ranker for Solr's learning-to-rank module: `features.json` for its feature store, `model.json`.

Linear rankers become a `LinearModel`, nets a `NeuralNetworkModel`, trees a `MultipleAdditiveTreesModel`.
Standardised features get a `StandardNormalizer`. Piecewise-linear encoding has none, but a bin's filling is
relu(1 − relu(1 − u)) with u = (x − low)/(high − low), so two more layers make it, exactly. There a normaliser
takes an edge off where bins are narrow far from 0: x / (high − low) would lose what they tell apart.

A feature is stored as a `FieldValueFeature` of its own name, to be replaced by what computes it.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import RankSVM
>>> model = RankSVM(transform="standard").fit(example_dataset())._describe()
>>> features, written = solr_files(model, name="svm")
>>> written["class"], len(written["params"]["weights"]), features[0]["class"]
('org.apache.solr.ltr.model.LinearModel', 20, 'org.apache.solr.ltr.feature.FieldValueFeature')
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import IntArray
from directranker.description.columns import Copies, Ramps, Rescaled
from directranker.description.model import Layer, Model, Net, Tree, Trees
from directranker.errors import ExportError
from directranker.export.engine_models import (
    Norms,
    check_trees,
    is_rampable,
    linear_parts,
    plain,
    refuse_missing_marks,
    refuse_rescaled_twice,
    refuse_transform,
    rescaled_by,
)
from directranker.export.thresholds import before_slack

__all__ = ["solr_files"]

PACKAGE = "org.apache.solr.ltr"
ACTIVATIONS = {
    "identity": "identity",
    "relu": "relu",
    "tanh": "tanh",
    "sigmoid": "sigmoid",
    "leaky_relu": "leakyrelu",
}
MAX_BINS = 4096  # the second layer of ramps has the square of it
NARROWEST = 1 / float(np.finfo(np.float32).max)


def solr_files(model: Model, *, name: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What to upload to Solr: the features, and the model."""
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
        kind, params = "MultipleAdditiveTreesModel", {"trees": _trees(model)}
    elif not model.layers and not is_rampable(model):
        weights, norms = linear_parts(model, "Solr")
        named = zip(model.feature_names, map(plain, weights), strict=True)
        kind, params = "LinearModel", {"weights": dict(named)}
    else:
        kind = "NeuralNetworkModel"
        layers, norms = _layers(model)
        params = {"layers": layers}
    listed = [_feature(feature, norms.get(at)) for at, feature in enumerate(model.feature_names)]
    return features, {
        "store": store,
        "name": name,
        "class": f"{PACKAGE}.model.{kind}",
        "features": listed,
        "params": params,
    }


def _feature(name: str, norm: tuple[float, float] | None) -> dict[str, Any]:
    if norm is None:
        return {"name": name}
    params = {"avg": str(plain(norm[0])), "std": str(plain(norm[1]))}
    return {"name": name, "norm": {"class": f"{PACKAGE}.norm.StandardNormalizer", "params": params}}


def _layers(model: Net) -> tuple[list[dict[str, Any]], Norms]:
    refuse_missing_marks(model, "Solr")
    last = Layer(model.head[None, :].astype(np.float32), np.zeros(1, dtype=np.float32))
    layers = [*model.layers, last]
    norms: Norms = {}
    if is_rampable(model) and model.columns:
        ramps, places, norms = _ramp_layers(model)
        layers = [*ramps, replace(layers[0], weight=layers[0].weight[:, places]), *layers[1:]]
    else:
        refuse_rescaled_twice(model, "Solr")
        layers[0], norms = _on_features(layers[0], model)
    return [_layer(layer) for layer in layers], norms


def _on_features(layer: Layer, model: Net) -> tuple[Layer, Norms]:
    """The first layer behind normalisers, and those."""
    weight = np.zeros((len(layer.weight), len(model.feature_names)))
    bias = layer.bias.astype(np.float64)
    norms: Norms = {}
    for group in model.columns:
        own = layer.weight[:, group.indices].astype(np.float64)
        if isinstance(group, Rescaled) and not group.logarithm:
            of_group, shares, shifts = rescaled_by(group)
            norms.update(of_group)
            bias += own @ shifts
            own *= shares
        elif not isinstance(group, Copies):
            raise refuse_transform(group, "Solr")
        weight[:, group.features] = own
    return replace(layer, weight=weight.astype(np.float32), bias=bias.astype(np.float32)), norms


def _ramp_layers(model: Net) -> tuple[list[Layer], IntArray, Norms]:
    """relu(1 − u) of every bin, then relu(1 − that); the columns that these are; what is taken off first."""
    (group,) = model.columns
    assert isinstance(group, Ramps)  # noqa: S101 - is_rampable
    n_bins = len(group.features)
    if n_bins > MAX_BINS:
        raise ExportError(
            f"{n_bins} bins would take a matrix of their square in Solr; train with transform='standard' or "
            "fewer bins, or export to 'onnx' or 'c'"
        )
    width = group.high.astype(np.float64) - group.low
    if width.min() < NARROWEST:
        raise ExportError(
            f"a bin is {width.min():.1g} wide, and float32, which Solr computes in, cannot divide by that; "
            "train with that feature in a larger unit, or export to 'onnx' or 'c'"
        )
    origin = np.zeros(len(model.feature_names))
    for feature in np.unique(group.features):
        own = group.features == feature
        origin[feature] = _origin(group.low[own].astype(np.float64), group.high[own].astype(np.float64))
    slopes = np.zeros((n_bins, len(model.feature_names)), dtype=np.float32)
    slopes[np.arange(n_bins), group.features] = -1 / width
    ends = (group.high - origin[group.features]) / width
    first = Layer(slopes, ends.astype(np.float32), None, "relu")
    second = Layer(-np.eye(n_bins, dtype=np.float32), np.ones(n_bins, dtype=np.float32), None, "relu")
    norms = {int(feature): (float(origin[feature]), 1.0) for feature in np.flatnonzero(origin)}
    return [first, second], group.indices, norms


def _origin(low: NDArray[np.float64], high: NDArray[np.float64]) -> float:
    """0 or the edge from which no bin lies many of its own widths away, as float32 has seven digits.

    >>> low, high = np.array([1e6, 1e6 + 4]), np.array([1e6 + 4, 2e6])
    >>> _origin(low, high), _origin(low - 1e6, high - 1e6)
    (1000004.0, 4.0)
    >>> _origin(np.array([-1e6]), np.array([1.0]))
    0.0
    """
    candidates = np.concatenate([[0.0], low, high[-1:]])[:, None]  # (n_candidates, 1)
    farthest = np.maximum(np.abs(low - candidates), np.abs(high - candidates))  # (n_candidates, n_bins)
    return float(candidates[np.argmin((farthest / (high - low)).max(axis=1)), 0])


def _layer(layer: Layer) -> dict[str, Any]:
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
        "matrix": [list(map(plain, row)) for row in layer.weight],
        "bias": list(map(plain, layer.bias)),
        "activation": ACTIVATIONS[layer.activation],
    }


def _trees(model: Trees) -> list[dict[str, Any]]:
    return [{"weight": "1", "root": _node(tree, model.feature_names)} for tree in model.trees]


def _node(tree: Tree, names: tuple[str, ...]) -> dict[str, Any]:
    leaves = [{"value": str(plain(value))} for value in tree.value]
    if not len(tree.feature):
        return leaves[0]
    given, is_exact = before_slack(tree.threshold)
    if not is_exact.all():
        raise ExportError(
            f"Solr adds 0.000001 to every threshold, so it cannot split at {tree.threshold[~is_exact][0]:g}; "
            "train with that feature in a larger unit, or export to 'elasticsearch', 'onnx' or 'c'"
        )
    nodes: list[dict[str, Any]] = [
        {"feature": names[feature], "threshold": str(plain(threshold))}
        for feature, threshold in zip(tree.feature, given, strict=True)
    ]
    for node, left, right in zip(nodes, tree.left, tree.right, strict=True):
        node["left"] = nodes[left] if left >= 0 else leaves[-left - 1]
        node["right"] = nodes[right] if right >= 0 else leaves[-right - 1]
    return nodes[0]
