"""Categories in an ONNX graph: strings become codes, and codes become numbers or indicator columns."""

from __future__ import annotations

import numpy as np

from directranker.arrays import IntArray
from directranker.description.columns import Indicators
from directranker.description.model import Model, Net
from directranker.export.onnx_graph import Graph

__all__ = ["add_indicators", "add_table"]


def add_table(graph: Graph, model: Model) -> str:
    """Add (n_documents, n_features) of numbers and codes, followed by derived numbers; return its name."""
    if not model.categories:
        return "features"
    categorical = sorted(model.categories)
    numbers = [feature for feature in range(len(model.feature_names)) if feature not in model.categories]
    codes = {
        feature: _add_codes(graph, at, model.categories[feature]) for at, feature in enumerate(categorical)
    }
    parts = ["features"] * bool(numbers) + list(codes.values())
    table = parts[0] if len(parts) == 1 else graph.add("Concat", *parts, axis=1)
    order = np.argsort([*numbers, *categorical])
    if (order != np.arange(len(order))).any():
        table = graph.add("Gather", table, graph.constant(order), axis=1)
    derived = [
        _add_look_up(graph, codes[lookup.feature], lookup.values, lookup.unseen, lookup.missing)
        for lookup in (model.derived if isinstance(model, Net) else ())
    ]
    return graph.add("Concat", table, *derived, axis=1) if derived else table


def _add_codes(graph: Graph, at: int, values: tuple[str, ...]) -> str:
    """Add the codes (n_documents, 1) of a column of strings; an empty string is missing."""
    column = graph.add("Gather", "categories", graph.constant(np.array([at])), axis=1)
    missing = [] if "" in values else [""]
    return graph.add(
        "LabelEncoder",
        column,
        domain="ai.onnx.ml",
        keys_strings=[*values, *missing],
        values_floats=[*map(float, range(len(values))), *[np.nan] * len(missing)],
        default_float=-1.0,
    )


def _add_look_up(graph: Graph, codes: str, values: object, unseen: object, missing: object) -> str:
    """Add the number of each code: `values[code]`, or that of unseen (−1) or missing (NaN)."""
    table = np.append(np.asarray(values), [unseen, missing]).astype(np.asarray(values).dtype)
    n_codes = len(table) - 2
    known = graph.add("Where", graph.add("IsNaN", codes), graph.constant(np.float32(n_codes + 1)), codes)
    is_unseen = graph.add("Less", known, graph.constant(np.float32(0)))
    known = graph.add("Where", is_unseen, graph.constant(np.float32(n_codes)), known)
    return graph.add("Gather", graph.constant(table), graph.cast(known, np.int64))


def add_indicators(graph: Graph, codes: str, group: Indicators, *, by_column: bool) -> str:
    """Add the indicators (n_documents, n_columns), or transposed, of the codes (n_documents, 1)."""
    column = _add_look_up(graph, codes, group.column_of_code, group.column_of_unseen, -1)
    columns: IntArray = np.arange(len(group.indices))[None, :]
    if by_column:
        column, columns = graph.add("Transpose", column), columns.T
    return graph.cast(graph.add("Equal", column, graph.constant(columns)), np.float32)
