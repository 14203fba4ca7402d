"""A slow, literal evaluation of a model description with categories."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker.description.columns import Indicators, MissingIndicators, Ramps, Rescaled
from directranker.description.model import Net

__all__ = ["evaluate_net"]


def evaluate_net(net: Net, table: NDArray[np.float32]) -> NDArray[np.float64]:
    """Score rows of numbers and codes."""
    derived = []
    for lookup in net.derived:
        codes = table[:, lookup.feature]
        derived.append([
            lookup.missing if np.isnan(code) else lookup.unseen if code < 0 else lookup.values[int(code)]
            for code in codes
        ])  # fmt: skip
    inputs = np.column_stack([table, *derived]).astype(np.float64)
    columns = np.zeros((len(table), net.n_columns))
    for group in net.columns:
        columns[:, group.indices] = _evaluate(group, inputs[:, group.features])
    for layer in net.layers:
        assert layer.activation in ("relu", "identity")
        columns = columns @ layer.weight.T + layer.bias
        columns = np.maximum(columns, 0) if layer.activation == "relu" else columns
    scores: NDArray[np.float64] = columns @ net.head
    return scores


def _evaluate(group: Any, values: NDArray[np.float64]) -> NDArray[Any]:
    if isinstance(group, Ramps):
        low, high = group.low.astype(np.float64), group.high.astype(np.float64)
        return np.nan_to_num(np.clip((values - low) / (high - low), 0, 1))
    if isinstance(group, MissingIndicators):
        return np.isnan(values)
    if isinstance(group, Rescaled):
        values = np.copysign(np.log1p(np.abs(values)), values) if group.logarithm else values
        return np.nan_to_num((values - group.centre) / group.width)
    assert isinstance(group, Indicators)
    indicated = np.zeros_like(values)
    for row, code in enumerate(values[:, 0]):
        if np.isnan(code):
            continue
        column = group.column_of_unseen if code < 0 else group.column_of_code[int(code)]
        if column >= 0:
            indicated[row, column] = 1
    return indicated
