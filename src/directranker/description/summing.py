"""Several models as one: nets side by side in one net, or all trees in one list.

>>> tree = Tree(*np.zeros((5, 0), int), np.array([3.0]))
>>> both = summed([Trees(("a",), (tree,)), Trees(("a",), (tree,))], np.array([0.5, 2.0]))
>>> [float(one.value[0]) for one in both.trees]
[1.5, 6.0]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from directranker.description.columns import Columns, Ramps
from directranker.description.model import Layer, Model, Net, Tree, Trees
from directranker.errors import ExportError

__all__ = ["summed"]


def summed(models: Sequence[Model], factors: NDArray[np.float64]) -> Model:
    """The model whose score is the sum of these models' scores, each times its factor."""
    pairs = list(zip(models, factors.tolist(), strict=True))
    names = models[0].feature_names
    trees = [_times(tree, factor) for one, factor in pairs if isinstance(one, Trees) for tree in one.trees]
    nets = [_net_times(one, factor) for one, factor in pairs if isinstance(one, Net)]
    if trees and not nets:
        return Trees(names, tuple(trees))
    if trees or len({tuple(map(_kind, net.layers)) for net in nets}) > 1:
        raise ExportError(
            "the rankers of this Ensemble are of different kinds, or their nets have other layers"
        )
    if any(layer.normalisation is not None for layer in nets[0].layers):
        raise ExportError("nets with layer normalisation cannot stand side by side in one")
    return _side_by_side(nets)


def _times(tree: Tree, factor: float) -> Tree:
    return replace(tree, value=tree.value * factor)


def _net_times(net: Net, factor: float) -> Net:
    return replace(net, head=(net.head * factor).astype(net.head.dtype))


def _kind(layer: Layer) -> tuple[str, bool]:
    return layer.activation, layer.normalisation is not None


def _side_by_side(nets: Sequence[Net]) -> Net:
    first = nets[0]
    share_columns = all(_are_equal(net.columns, first.columns) for net in nets)
    heads = [net.head for net in nets]
    layers = []
    for number, of_nets in enumerate(zip(*(net.layers for net in nets), strict=True)):
        weights = [layer.weight for layer in of_nets]
        weight = np.concatenate(weights) if number == 0 and share_columns else block_diag(*weights)
        bias = np.concatenate([layer.bias for layer in of_nets])
        layers.append(Layer(weight.astype(np.float32), bias, None, of_nets[0].activation))
    on_same_columns = share_columns and not layers
    return Net(
        first.feature_names,
        columns=first.columns if share_columns else _columns_of_all(nets),
        n_columns=first.n_columns if share_columns else sum(net.n_columns for net in nets),
        layers=tuple(layers),
        head=np.sum(heads, axis=0) if on_same_columns else np.concatenate(heads),
    )


def _are_equal(groups: Sequence[Columns], others: Sequence[Columns]) -> bool:
    return len(groups) == len(others) and all(map(_is_equal, groups, others))


def _is_equal(group: Columns, other: Columns) -> bool:
    names = [field.name for field in fields(group)]
    return type(group) is type(other) and all(
        np.array_equal(getattr(group, name), getattr(other, name)) for name in names
    )


def _columns_of_all(nets: Sequence[Net]) -> tuple[Columns, ...]:
    """The columns of one net after another; all bins are one group."""
    starts = np.cumsum([0, *(net.n_columns for net in nets)])
    groups: list[Any] = [
        replace(group, places=group.places + start)
        for net, start in zip(nets, starts, strict=False)
        for group in net.columns
    ]
    ramps = [group for group in groups if isinstance(group, Ramps)]
    if not ramps:
        return tuple(groups)
    together = {
        field.name: np.concatenate([getattr(one, field.name) for one in ramps]) for field in fields(Ramps)
    }
    return (Ramps(**together), *(group for group in groups if not isinstance(group, Ramps)))
