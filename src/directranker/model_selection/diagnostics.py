"""A closer look at a trained ranker: how its training went, and how it ranks a few queries and why.

Trained rankers are not kept, so whoever wants to show them looks before they go. A look is plain data that
JSON holds, bounded in size whatever the data set.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import RankSVM
>>> data = example_dataset()
>>> shown = shown_queries(data, 2)
>>> ranker = RankSVM().fit(data)
>>> look = collect_diagnostics(ranker, data, ranker.predict(data), shown)
>>> [len(query["scores"]) for query in look["queries"]] == np.diff(data.offsets)[list(shown)].tolist()
True
>>> first = look["queries"][0]["why"]
>>> (better, worse), *_ = pairs_of(explained_rows(data.select(shown[:1]).relevance))
>>> difference = look["queries"][0]["scores"][better] - look["queries"][0]["scores"][worse]
>>> bool(np.isclose(sum(first["adds"][0]) + first["others"][0], difference))
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker.data.dataset import RankingDataset
from directranker.explanation import Explanation, explain_differences
from directranker.rankers import Ranker

__all__ = ["MAX_SHOWN", "collect_diagnostics", "explained_rows", "pairs_of", "shown_queries"]

MAX_SHOWN = 12
"""How many queries of a whole comparison are looked at closely."""
MAX_DOCUMENTS = 200  # of a query that is shown, if there are such
MAX_EXPLAINED = 10  # documents of a query, each pair of which is explained
MAX_FEATURES = 8  # of a pair that are kept one by one; the others together
MAX_RECORDS = 120  # of a training's history
STEPS = 24  # of the integral


def shown_queries(data: RankingDataset, n: int) -> tuple[int, ...]:
    """At most `n` queries that show something, evenly over the data set: documents of different labels."""
    sizes = np.diff(data.offsets)
    differ = np.array(
        [len(np.unique(data.relevance[start:stop])) > 1 for start, stop in pairwise(data.offsets)]
    )
    telling = np.flatnonzero(differ & (sizes <= MAX_DOCUMENTS))
    if not len(telling):
        telling = np.flatnonzero(differ)[:1]
    places = np.linspace(0, len(telling) - 1, min(n, len(telling))).round().astype(np.int64)
    return tuple(telling[places].tolist())


def explained_rows(relevance: NDArray[np.float64]) -> list[int]:
    """The documents of a query whose pairs are explained: of all labels in turn, the highest first.

    >>> explained_rows(np.array([0.0] * 20 + [1.0, 2.0]))[:4]
    [0, 1, 2, 3]
    >>> explained_rows(np.array([0.0] * 20 + [1.0, 2.0]))[-2:]
    [20, 21]
    """
    turns = np.zeros(len(relevance), dtype=np.int64)
    for label in np.unique(relevance):
        of_label = relevance == label
        turns[of_label] = np.arange(np.count_nonzero(of_label))
    order = np.lexsort((-relevance, turns))
    return sorted(order[:MAX_EXPLAINED].tolist())


def pairs_of(rows: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs that are explained, in the order in which they are kept."""
    return list(combinations(rows, 2))


def collect_diagnostics(
    estimator: Any, data: RankingDataset, scores: NDArray[Any], shown: Sequence[int]
) -> dict[str, Any]:
    """The history of a fitted estimator, and for each shown query its scores, r and explanations."""
    if not np.isfinite(scores).all():
        shown = ()  # a training that went wrong has no order to show
    return {
        "history": _history(estimator),
        "queries": [
            {
                "number": number,
                **_query(estimator, data.select([number]), scores[slice(*data.offsets[number : number + 2])]),
            }
            for number in shown
        ],
    }


def _history(estimator: Any) -> list[dict[str, float | None]]:
    """Records of the training, thinned where there are many; the last one is always there."""
    records = list(getattr(estimator, "history_", []))
    places = np.linspace(0, len(records) - 1, min(len(records), MAX_RECORDS)).round().astype(int)
    return [
        {name: _finite(value) for name, value in asdict(records[place]).items()} for place in places.tolist()
    ]


def _finite(value: float | None) -> float | None:
    return value if value is None or np.isfinite(value) else None


def _query(estimator: Any, query: RankingDataset, scores: NDArray[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"scores": _short(scores)}
    if isinstance(estimator, Ranker):
        in_order = np.sort(scores.astype(np.float64))[::-1]
        found["r"] = _short(estimator._compare(in_order[:-1], in_order[1:]))
        found["why"] = _why(estimator, query)
    return found


def _why(ranker: Ranker, query: RankingDataset) -> dict[str, Any] | None:
    """For each pair the features that add most, what each adds, and what is left of the difference.

    That is what all other features add, and the `residual` of the explanation.
    """
    try:
        pairs = pairs_of(explained_rows(query.relevance))
        explanations = explain_differences(ranker, query, pairs, steps=STEPS)
    except TypeError:  # a transform or a ranker of the user's own
        return None
    if not all(np.isfinite(one.contributions).all() for one in explanations):
        return None
    kept = [_largest(one) for one in explanations]
    return {
        "method": explanations[0].method,
        "features": [features.tolist() for features in kept],
        "adds": [
            _short(one.contributions[features]) for one, features in zip(explanations, kept, strict=True)
        ],
        "others": _short(
            [
                one.difference - one.contributions[features].sum()
                for one, features in zip(explanations, kept, strict=True)
            ]
        ),
    }


def _largest(explanation: Explanation) -> NDArray[np.int64]:
    sizes = np.abs(explanation.contributions)
    order = np.argsort(-sizes, kind="stable")[:MAX_FEATURES]
    chosen: NDArray[np.int64] = order[sizes[order] > 0].astype(np.int64)
    return chosen


def _short(values: Any) -> list[float]:
    """Seven significant digits, which is all that a float32 has."""
    return [float(f"{value:.7g}") for value in np.asarray(values, dtype=np.float64).tolist()]
