"""Diagnostics of a trained ranker: its training history, and its scores and explanations of a few queries.

Trained rankers are not stored, so the report's diagnostics are collected right after training. They are plain
JSON data whose size is bounded for any data set.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import RankSVM
>>> data = example_dataset()
>>> examples = select_example_queries(data, 2)
>>> ranker = RankSVM().fit(data)
>>> diagnostics = collect_diagnostics(ranker, data, ranker.predict(data), examples)
>>> n_documents = np.diff(data.offsets)[list(examples)].tolist()
>>> [len(query["scores"]) for query in diagnostics["queries"]] == n_documents
True
>>> first = diagnostics["queries"][0]
>>> (better, worse), *_ = list_pairs(select_explained_rows(data.select(examples[:1]).relevance))
>>> difference = first["scores"][better] - first["scores"][worse]
>>> bool(np.isclose(sum(first["why"]["adds"][0]) + first["why"]["others"][0], difference))
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from directranker.arrays import IntArray, Relevance
from directranker.data.dataset import RankingDataset
from directranker.explanation import Explanation, explain_differences
from directranker.rankers import Ranker
from directranker.rankers.pipelines import get_ranker

__all__ = [
    "MAX_EXAMPLES",
    "collect_diagnostics",
    "list_pairs",
    "select_example_queries",
    "select_explained_rows",
]

MAX_EXAMPLES = 12
"""The number of example queries of a whole comparison."""
MAX_DOCUMENTS = 200  # of an example query, if the data has such queries
MAX_EXPLAINED = 10  # documents of a query; all their pairs are explained
MAX_FEATURES = 8  # of a pair that are stored one by one; the others are summed
MAX_RECORDS = 120  # of a training history
N_STEPS = 24  # of the integral


def select_example_queries(data: RankingDataset, n: int) -> tuple[int, ...]:
    """Select at most `n` queries with documents of different labels, spaced evenly over the data set."""
    sizes = np.diff(data.offsets)
    has_labels = np.array(
        [len(np.unique(data.relevance[start:stop])) > 1 for start, stop in pairwise(data.offsets)]
    )
    eligible = np.flatnonzero(has_labels & (sizes <= MAX_DOCUMENTS))
    if not len(eligible):
        eligible = np.flatnonzero(has_labels)[:1]
    indices = np.linspace(0, len(eligible) - 1, min(n, len(eligible))).round().astype(np.int64)
    return tuple(eligible[indices].tolist())


def select_explained_rows(relevance: Relevance) -> list[int]:
    """Select the documents of a query whose pairs are explained: round-robin over labels, highest first.

    >>> select_explained_rows(np.array([0.0] * 20 + [1.0, 2.0]))[:4]
    [0, 1, 2, 3]
    >>> select_explained_rows(np.array([0.0] * 20 + [1.0, 2.0]))[-2:]
    [20, 21]
    """
    turns = np.zeros(len(relevance), dtype=np.int64)
    for label in np.unique(relevance):
        has_label = relevance == label
        turns[has_label] = np.arange(np.count_nonzero(has_label))
    order = np.lexsort((-relevance, turns))
    return sorted(order[:MAX_EXPLAINED].tolist())


def list_pairs(rows: Sequence[int]) -> list[tuple[int, int]]:
    """List the pairs that are explained, in the order in which they are stored."""
    return list(combinations(rows, 2))


def collect_diagnostics(
    estimator: object, data: RankingDataset, scores: NDArray[Any], examples: Sequence[int]
) -> dict[str, Any]:
    """Collect the history of a fitted estimator, and scores, r and explanations of the example queries."""
    if not np.isfinite(scores).all():
        examples = ()  # a diverged training has no order to show
    return {
        "history": _thin_history(estimator),
        "queries": [
            {
                "number": index,
                **_diagnose_query(
                    estimator, data.select([index]), scores[slice(*data.offsets[index : index + 2])]
                ),
            }
            for index in examples
        ],
    }


def _thin_history(estimator: object) -> list[dict[str, float | None]]:
    """Return at most `MAX_RECORDS` records of the training, always including the last one."""
    records = list(getattr(get_ranker(estimator), "history_", []))
    indices = np.linspace(0, len(records) - 1, min(len(records), MAX_RECORDS)).round().astype(int)
    return [
        {name: _finite_or_none(value) for name, value in asdict(records[index]).items()}
        for index in indices.tolist()
    ]


def _finite_or_none(value: float | None) -> float | None:
    return value if value is None or np.isfinite(value) else None


def _diagnose_query(estimator: object, query: RankingDataset, scores: NDArray[Any]) -> dict[str, Any]:
    diagnosed: dict[str, Any] = {"scores": _round(scores)}
    if isinstance(estimator, Ranker):
        in_order = np.sort(scores.astype(np.float64))[::-1]
        diagnosed["r"] = _round(estimator._compare(in_order[:-1], in_order[1:]))
        diagnosed["why"] = _explain_pairs(estimator, query)
    return diagnosed


def _explain_pairs(ranker: Ranker, query: RankingDataset) -> dict[str, Any] | None:
    """Explain each pair: the features that contribute most, their contributions, and the sum of the rest.

    The rest is the contribution of all other features and the `residual` of the explanation.
    """
    try:
        pairs = list_pairs(select_explained_rows(query.relevance))
        explanations = explain_differences(ranker, query, pairs, steps=N_STEPS)
    except TypeError:  # a user's transform or ranker that cannot be explained
        return None
    if not all(np.isfinite(one.contributions).all() for one in explanations):
        return None
    kept = [_select_largest(one) for one in explanations]
    return {
        "method": explanations[0].method,
        "features": [features.tolist() for features in kept],
        "adds": [
            _round(one.contributions[features]) for one, features in zip(explanations, kept, strict=True)
        ],
        "others": _round(
            [
                one.difference - one.contributions[features].sum()
                for one, features in zip(explanations, kept, strict=True)
            ]
        ),
    }


def _select_largest(explanation: Explanation) -> IntArray:
    sizes = np.abs(explanation.contributions)
    order = np.argsort(-sizes, kind="stable")[:MAX_FEATURES]
    largest: IntArray = order[sizes[order] > 0].astype(np.int64)
    return largest


def _round(values: ArrayLike) -> list[float]:
    """Round to seven significant digits, the precision of float32."""
    return [float(f"{value:.7g}") for value in np.asarray(values, dtype=np.float64).tolist()]
