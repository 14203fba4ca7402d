"""The feature transform in an ONNX graph: some operators for each group of columns.

There are many more bins than features, so a table with bins is (n_columns, n_documents): a feature's row is
copied as a whole to each of its bins, and the first layer's product needs no transpose.

Differences of float32 numbers are computed in float32, everything else in float64, as in the transforms.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from directranker.arrays import FloatArray, IntArray
from directranker.description.columns import (
    Columns,
    Copies,
    Indicators,
    MissingIndicators,
    NormalQuantiles,
    Ramps,
    Rescaled,
)
from directranker.export.normal_quantile import (
    MIDDLE,
    MIN_PROBABILITY,
    Interpolation,
    interpolate_middle,
    interpolate_tail,
)
from directranker.export.onnx_categories import add_indicators
from directranker.export.onnx_graph import Graph

__all__ = ["EncodedTable", "add_columns"]

FLOAT32_MAX = float(np.finfo(np.float32).max)


class EncodedTable(NamedTuple):
    """An encoded table in a graph: its name, the encoding's column at each position, and its layout."""

    name: str
    places: IntArray
    by_column: bool
    """(n_columns, n_documents) instead of (n_documents, n_columns)."""


def add_columns(graph: Graph, groups: tuple[Columns, ...], table: str, *, n_features: int) -> EncodedTable:
    """Add the operators that compute the columns from a table of features, group by group."""
    if not groups:  # all columns are 0
        every = graph.add("Mul", table, graph.constant(np.float32(0)))
        none = graph.add("Gather", every, graph.constant(np.empty(0, dtype=np.int64)), axis=1)
        return EncodedTable(none, np.empty(0, int), by_column=False)
    by_column = any(isinstance(group, Ramps) for group in groups)
    parts = [_add_group(graph, group, table, n_features, by_column) for group in groups]
    places = np.concatenate([group.indices for group in groups])
    encoded = parts[0] if len(parts) == 1 else graph.add("Concat", *parts, axis=0 if by_column else 1)
    return EncodedTable(encoded, places, by_column)


def _add_group(graph: Graph, group: Columns, table: str, n_features: int, by_column: bool) -> str:
    if isinstance(group, Ramps):
        return _add_ramps(graph, group, table)
    if isinstance(group, Indicators):
        codes = graph.add("Gather", table, graph.constant(group.features[:1]), axis=1)
        return add_indicators(graph, codes, group, by_column=by_column)
    x = table
    if not np.array_equal(group.features, np.arange(n_features)):
        x = graph.add("Gather", x, graph.constant(group.features), axis=1)
    values = _add_elementwise(graph, x, group)
    return graph.add("Transpose", values) if by_column else values


def _add_elementwise(graph: Graph, x: str, group: Columns) -> str:
    if isinstance(group, Copies):
        return x
    if isinstance(group, MissingIndicators):
        return graph.cast(graph.add("IsNaN", x), np.float32)
    if isinstance(group, Rescaled):
        return _add_rescaled(graph, x, group)
    if isinstance(group, NormalQuantiles):
        return _add_normal_quantiles(graph, x, group)
    raise AssertionError(group)


def _replace_nan(graph: Graph, value: str, dtype: type[np.floating]) -> str:
    return graph.add("Where", graph.add("IsNaN", value), graph.constant(dtype(0)), value)


def _add_ramps(graph: Graph, group: Ramps, table: str) -> str:
    """Add (n_bins, n_documents) ramps."""
    # A missing value fills no bin. Replace it in the features, which are fewer than the bins; ONNX does not
    # define Clip of NaN.
    missing = graph.add("IsNaN", table)
    whole = graph.add("Where", missing, graph.constant(np.float32(-FLOAT32_MAX)), table)
    x = graph.add("Gather", graph.add("Transpose", whole), graph.constant(group.features), axis=0)
    width = group.high.astype(np.float64) - group.low
    # Only a bin over the whole range of float32 is wider than FLOAT32_MAX.
    narrow = np.minimum(width, FLOAT32_MAX).astype(np.float32)
    low, widths = (graph.constant(values[:, None]) for values in (group.low, narrow))  # (n_bins, 1)
    fraction = graph.add("Div", graph.add("Sub", x, low), widths)
    return graph.add("Clip", fraction, graph.constant(np.float32(0)), graph.constant(np.float32(1)))


def _add_rescaled(graph: Graph, x: str, group: Rescaled) -> str:
    if group.logarithm:
        x = graph.cast(x, np.float64)
        size = graph.add("Log", graph.add("Add", graph.add("Abs", x), graph.constant(np.float64(1))))
        x = graph.add("Mul", size, graph.add("Sign", x))
        y = graph.add("Div", graph.add("Sub", x, graph.constant(group.centre)), graph.constant(group.width))
        return graph.cast(_replace_nan(graph, y, np.float64), np.float32)
    # With the centre split into two float32 numbers, float32 differences are exact; float64 is half as fast.
    coarse = group.centre.astype(np.float32)
    fine = (group.centre - coarse).astype(np.float32)
    centred = graph.add("Sub", graph.add("Sub", x, graph.constant(coarse)), graph.constant(fine))
    # Replace NaN first: ONNX does not define Clip of NaN.
    y = _replace_nan(
        graph, graph.add("Div", centred, graph.constant(group.width.astype(np.float32))), np.float32
    )
    return graph.add(
        "Clip", y, graph.constant(np.float32(-FLOAT32_MAX)), graph.constant(np.float32(FLOAT32_MAX))
    )


def _add_normal_quantiles(graph: Graph, x: str, group: NormalQuantiles) -> str:
    """Find each value's knot by bisection, with the same number of steps for all, then p, then Φ⁻¹."""
    lengths = np.diff(group.offsets)
    n_steps = int(np.ceil(np.log2(lengths.max() + 1)))
    n_slots = 2**n_steps
    tables = {
        name: graph.constant(_pad_knots(getattr(group, name), group.offsets, n_slots, fill))
        for name, fill in (("knots", np.inf), ("on", 1.0), ("after", 1.0), ("slope", 0.0))
    }
    x = graph.cast(x, np.float64)
    knot = graph.constant(np.arange(len(lengths)) * n_slots)
    for step in reversed(range(n_steps)):
        beyond = graph.add("Add", knot, graph.constant(np.int64(2**step)))
        is_below = graph.add("LessOrEqual", graph.add("Gather", tables["knots"], beyond), x)
        knot = graph.add("Where", is_below, beyond, knot)
    low, on, after, slope = (
        graph.add("Gather", tables[name], knot) for name in ("knots", "on", "after", "slope")
    )
    high = graph.add("Gather", tables["knots"], graph.add("Add", knot, graph.constant(np.int64(1))))
    fraction = graph.add("Div", graph.add("Sub", x, low), graph.add("Sub", high, low))
    between = graph.add("Add", after, graph.add("Mul", fraction, slope))
    p = graph.add("Where", graph.add("Equal", x, low), on, between)
    p = graph.add("Where", graph.add("Less", x, low), graph.constant(0.0), p)
    scaled = graph.add("Mul", _add_quantile_function(graph, p), graph.constant(group.scale))
    return graph.cast(_replace_nan(graph, scaled, np.float64), np.float32)


def _pad_knots(values: FloatArray, offsets: IntArray, n_slots: int, fill: float) -> FloatArray:
    """Pad the values of each feature to `n_slots` with `fill`, and concatenate them."""
    padded = np.full((len(offsets) - 1, n_slots), fill)
    for row, (start, stop) in enumerate(pairwise(offsets)):
        padded[row, : stop - start] = values[start:stop]
    return np.append(padded.ravel(), fill)


def _add_quantile_function(graph: Graph, p: str) -> str:
    lowest = graph.constant(MIN_PROBABILITY)
    one = graph.constant(1.0)
    p = graph.add("Clip", p, lowest, graph.constant(1 - MIN_PROBABILITY))
    q = graph.add("Sub", p, graph.constant(0.5))
    inner = graph.add("Mul", q, _add_polynomial(graph, graph.add("Mul", q, q), interpolate_middle()))
    smaller = graph.add("Min", p, graph.add("Sub", one, p))
    t = graph.add("Sqrt", graph.add("Mul", graph.add("Log", smaller), graph.constant(-2.0)))
    # Q is negative, as Φ⁻¹ is in the lower tail.
    outer = graph.add(
        "Mul", graph.add("Neg", graph.add("Sign", q)), _add_polynomial(graph, t, interpolate_tail())
    )
    is_inner = graph.add("LessOrEqual", graph.add("Abs", q), graph.constant(MIDDLE))
    return graph.add("Where", is_inner, inner, outer)


def _add_polynomial(graph: Graph, x: str, polynomial: Interpolation) -> str:
    shifted = graph.add("Sub", x, graph.constant(polynomial.centre))
    u = graph.add("Mul", shifted, graph.constant(polynomial.factor))
    highest, *lower = reversed(polynomial.coefficients)
    value = graph.constant(highest)
    for coefficient in lower:
        value = graph.add("Add", graph.add("Mul", value, u), graph.constant(coefficient))
    return value
