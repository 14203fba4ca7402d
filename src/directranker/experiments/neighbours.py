"""Neighbours in a sorted list: r(d_n, d_{n+1}) of consecutive documents, and their true classes.

Section "Comparing Neighbors in a Sorted List" of the paper: r peaks where relevance classes change.

>>> from directranker.data.synthetic import GaussianClasses
>>> from directranker.rankers import RankSVM
>>> import numpy as np
>>> classes = GaussianClasses(np.array([[0.0], [9.0]]), np.ones((2, 1)))
>>> data = classes.sample(200, random_state=0).data
>>> neighbours = compare_neighbours(RankSVM().fit(data), data)
>>> int(neighbours.steps.argmax()) == int(neighbours.changes.argmax())
True
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from directranker.arrays import BoolArray, FloatArray, IntArray
from directranker.classification import Boundaries, class_boundaries
from directranker.data.dataset import RankingDataset
from directranker.rankers.base import Ranker

__all__ = ["Neighbours", "compare_neighbours"]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The documents of one query, best first, and r of each with the next."""

    query: str
    rows: IntArray
    """The row of each document within the query, from 0."""
    documents: tuple[str, ...]
    """Document ids, or names such as `row 3` if the data has none."""
    scores: FloatArray
    classes: FloatArray
    """The true labels."""
    steps: FloatArray
    """r(d_n, d_{n+1}), (n_documents − 1,); never negative."""
    boundaries: Boundaries
    """The class boundaries found from the scores alone."""

    @property
    def changes(self) -> BoolArray:
        """Whether the true class changes between neighbours."""
        return np.not_equal(self.classes[:-1], self.classes[1:])

    @property
    def peaks(self) -> BoolArray:
        """Whether a boundary was found between neighbours."""
        predicted = self.boundaries.classes_of(self.scores)
        return np.not_equal(predicted[:-1], predicted[1:])

    def mean_steps(self) -> tuple[float, float]:
        """Return the mean r of neighbours of different classes and of the same class; nan if none."""
        different, same = self.steps[self.changes], self.steps[~self.changes]
        return _mean(different), _mean(same)

    def to_dict(self) -> dict[str, object]:
        """Convert to a dictionary of JSON values."""
        return {
            "query": self.query,
            "documents": list(self.documents),
            "rows": self.rows.tolist(),
            "scores": self.scores.tolist(),
            "classes": self.classes.tolist(),
            "r": self.steps.tolist(),
            "changes": self.changes.tolist(),
            "thresholds": self.boundaries.thresholds.tolist(),
            "confidences": self.boundaries.confidences.tolist(),
        }


def compare_neighbours(
    ranker: Ranker, data: RankingDataset, *, query: str | None = None, n_classes: int | None = None
) -> Neighbours:
    """Sort a query's documents with a fitted ranker and compare each with the next.

    Parameters
    ----------
    ranker
        Any fitted ranker.
    data
        The data set with the query.
    query
        The id of the query; by default the first one with documents.
    n_classes
        The number of classes to find from the scores; by default as many as can be distinguished.

    """
    documents = data.select([_find_query(query, data)])
    scores = ranker.predict(documents).astype(np.float64)
    order = np.argsort(-scores, kind="stable")
    ids = documents.document_ids
    names = [f"row {row + 1}" for row in order] if ids is None else [str(ids[row]) for row in order]
    in_order = scores[order]
    return Neighbours(
        query=str(documents.query_ids[0]),
        rows=order,
        documents=tuple(names),
        scores=in_order,
        classes=documents.relevance[order],
        # On scores of the whole query: transforms that work per query would change on a subset.
        steps=ranker._compare(in_order[:-1], in_order[1:]),
        boundaries=_find_boundaries(scores, n_classes, str(documents.query_ids[0])),
    )


def _find_boundaries(scores: FloatArray, n_classes: int | None, query: str) -> Boundaries:
    try:
        return class_boundaries(scores, n_classes)
    except ValueError as error:
        raise ValueError(f"query {query}: {error}") from None


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _find_query(query: str | None, data: RankingDataset) -> int:
    if not data.n_documents:
        raise ValueError("the data set has no documents; pass one with documents")
    if query is None:
        return int(np.flatnonzero(np.diff(data.offsets))[0])
    matches = np.flatnonzero(data.query_ids.astype(str) == str(query))
    if not len(matches):
        first = ", ".join(map(str, data.query_ids[:3]))
        raise ValueError(f"no query is called {query!r}; the first of {data.n_queries} are {first}")
    return int(matches[0])
