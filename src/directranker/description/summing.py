"""Sum several models into one: nets side by side in one net, or all trees in one list.

>>> tree = Tree(*np.zeros((5, 0), int), np.array([3.0]))
>>> both = sum_models([Trees(("a",), (tree,)), Trees(("a",), (tree,))], np.array([0.5, 2.0]))
>>> [float(tree.value[0]) for tree in both.trees]
[1.5, 6.0]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
from scipy.linalg import block_diag

from directranker.arrays import FloatArray
from directranker.description.columns import Columns, Ramps
from directranker.description.model import CategoryLookup, Layer, Model, Net, Tree, Trees
from directranker.errors import ExportError

__all__ = ["sum_models"]


def sum_models(models: Sequence[Model], factors: FloatArray) -> Model:
    """Return the model whose score is the sum of the models' scores, each times its factor."""
    pairs = list(zip(models, factors.tolist(), strict=True))
    names = models[0].feature_names
    trees = [
        _scale_tree(tree, factor)
        for model, factor in pairs
        if isinstance(model, Trees)
        for tree in model.trees
    ]
    nets = [_scale_net(model, factor) for model, factor in pairs if isinstance(model, Net)]
    if trees and not nets:
        return Trees(names, tuple(trees), models[0].categories)
    if trees or len({tuple(map(_get_kind, net.layers)) for net in nets}) > 1:
        raise ExportError(
            "the rankers of this Ensemble are of different kinds, or their nets have different layers"
        )
    if any(layer.normalisation is not None for layer in nets[0].layers):
        raise ExportError("nets with layer normalisation cannot be merged into one net")
    return _merge_nets(nets)


def _scale_tree(tree: Tree, factor: float) -> Tree:
    return replace(tree, value=tree.value * factor)


def _scale_net(net: Net, factor: float) -> Net:
    head: FloatArray = (net.head * factor).astype(net.head.dtype)
    return replace(net, head=head)


def _get_kind(layer: Layer) -> tuple[str, bool]:
    return layer.activation, layer.normalisation is not None


def _merge_nets(nets: Sequence[Net]) -> Net:
    first = nets[0]
    share_columns = all(
        _are_equal(net.columns, first.columns) and _are_equal(net.derived, first.derived) for net in nets
    )
    heads = [net.head for net in nets]
    layers = []
    for depth, same_depth in enumerate(zip(*(net.layers for net in nets), strict=True)):
        weights = [layer.weight for layer in same_depth]
        weight = np.concatenate(weights) if depth == 0 and share_columns else block_diag(*weights)
        bias = np.concatenate([layer.bias for layer in same_depth])
        layers.append(Layer(weight.astype(np.float32), bias, None, same_depth[0].activation))
    add_heads = share_columns and not layers
    head: FloatArray = np.sum(heads, axis=0) if add_heads else np.concatenate(heads)
    return Net(
        first.feature_names,
        columns=first.columns if share_columns else _concatenate_columns(nets),
        n_columns=first.n_columns if share_columns else sum(net.n_columns for net in nets),
        layers=tuple(layers),
        head=head,
        categories=first.categories,
        derived=first.derived if share_columns else tuple(one for net in nets for one in net.derived),
    )


Described = Columns | CategoryLookup


def _are_equal(groups: Sequence[Described], others: Sequence[Described]) -> bool:
    return len(groups) == len(others) and all(map(_is_equal, groups, others))


def _is_equal(group: Described, other: Described) -> bool:
    names = [field.name for field in fields(group)]
    return type(group) is type(other) and all(
        np.array_equal(getattr(group, name), getattr(other, name)) for name in names
    )


def _concatenate_columns(nets: Sequence[Net]) -> tuple[Columns, ...]:
    """Concatenate the columns of the nets, all ramps in one group."""
    starts = np.cumsum([0, *(net.n_columns for net in nets)])
    first_derived = np.cumsum([0, *(len(net.derived) for net in nets)])
    groups = [
        replace(
            group,
            indices=group.indices + start,
            features=np.where(
                group.features < len(net.feature_names), group.features, group.features + derived
            ),
        )
        for net, start, derived in zip(nets, starts, first_derived, strict=False)
        for group in net.columns
    ]
    ramps = [group for group in groups if isinstance(group, Ramps)]
    if not ramps:
        return tuple(groups)
    merged = {
        field.name: np.concatenate([getattr(ramp, field.name) for ramp in ramps]) for field in fields(Ramps)
    }
    return (Ramps(**merged), *(group for group in groups if not isinstance(group, Ramps)))
