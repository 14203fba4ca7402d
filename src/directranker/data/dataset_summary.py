"""A data set in a line, and as a table of its columns.

>>> data = RankingDataset.from_arrays([[0.5], [1.5]], [0, 1], feature_names=["bm25"])
>>> describe_sizes(data)
'2 documents, 1 query, 1 feature'
>>> print(describe_columns(data))
column  kind    values      missing
bm25    number  0.5 to 1.5  0
"""

from __future__ import annotations

import numpy as np

from directranker.arrays import Features
from directranker.data.category_inspection import MAX_FREQUENT, summarise_categories
from directranker.data.dataset import RankingDataset

__all__ = ["describe_columns", "describe_sizes"]


def describe_sizes(data: RankingDataset) -> str:
    """Return the numbers of documents, queries and columns as text."""
    features = _count(data.n_features, "feature", "features")
    if data.categories:
        features += f" ({len(data.categories)} categorical)"
    counts = [
        _count(data.n_documents, "document", "documents"),
        _count(data.n_queries, "query", "queries"),
        features,
    ]
    if data.kept:
        counts.append(_count(len(data.kept), "kept column", "kept columns"))
    return ", ".join(counts)


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


def describe_columns(data: RankingDataset) -> str:
    """Return a table of all columns as text; see `RankingDataset.describe`."""
    summaries = {one.name: one for one in summarise_categories(data)}
    rows = [("column", "kind", "values", "missing")]
    for name, columns in _group_columns(data).items():
        values = data.features[:, columns]
        missing = f"{int(np.isnan(values).any(axis=1).sum()):,}"
        if name in summaries:
            frequent = ", ".join(value for value, _ in summaries[name].most_frequent)
            n_values = summaries[name].n_values
            shown = f"{n_values:,}: {frequent}{', …' if n_values > MAX_FREQUENT else ''}"
            rows.append((name, "category", shown, missing))
        else:
            kind = "number" if len(columns) == 1 else f"vector of {len(columns)}"
            rows.append((name, kind, _format_range(values), missing))
    for name, kept in data.kept.items():
        rows.append((name, f"kept, {kept.type}", "", f"{kept.null_count:,}"))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = ["  ".join([*map(str.ljust, row, widths), row[3]]) for row in rows]
    return "\n".join(lines)


def _group_columns(data: RankingDataset) -> dict[str, list[int]]:
    """Return the columns of each feature; the dimensions of a vector are one feature."""
    groups: dict[str, list[int]] = {}
    for column, name in enumerate(data.feature_names):
        is_dimension = data.kinds.vector[column] >= 0
        groups.setdefault(name.rpartition("[")[0] if is_dimension else name, []).append(column)
    return groups


def _format_range(values: Features) -> str:
    known = values[~np.isnan(values)]
    return f"{known.min():g} to {known.max():g}" if len(known) else ""
