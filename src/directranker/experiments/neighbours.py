"""What a ranker says of neighbours in the list that it sorted: r(d_n, d_{n+1}), beside the true classes.

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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import IntArray
from directranker.classification import Boundaries, class_boundaries
from directranker.data.dataset import RankingDataset
from directranker.rankers.base import Ranker

__all__ = ["Neighbours", "compare_neighbours"]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The documents of one query, best first, and how the ranker compares each with the next."""

    query: str
    rows: IntArray
    """Where each document stands among the query's, from 0."""
    documents: tuple[str, ...]
    """Their ids; their rows in words where they have none."""
    scores: NDArray[np.float64]
    classes: NDArray[np.float64]
    """The true labels."""
    steps: NDArray[np.float64]
    """r(d_n, d_{n+1}), one less than there are documents; never below 0."""
    boundaries: Boundaries
    """Where classes change to judge by the scores alone."""

    @property
    def changes(self) -> NDArray[np.bool_]:
        """Between which neighbours the true class changes."""
        return np.not_equal(self.classes[:-1], self.classes[1:])

    @property
    def peaks(self) -> NDArray[np.bool_]:
        """Between which neighbours a boundary was found."""
        found = self.boundaries.classes_of(self.scores)
        return np.not_equal(found[:-1], found[1:])

    def mean_steps(self) -> tuple[float, float]:
        """The mean r between neighbours of different classes and of the same class; nan where none are."""
        different, same = self.steps[self.changes], self.steps[~self.changes]
        return _mean(different), _mean(same)

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
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
        Its documents are sorted by query.
    query
        The id of the query; the first one unless given.
    n_classes
        How many classes to look for by score; as many as can be told apart unless given.

    """
    one = data.select([_number_of(query, data)])
    scores = ranker.predict(one).astype(np.float64)
    order = np.argsort(-scores, kind="stable")
    ids = one.document_ids
    names = [f"row {row + 1}" for row in order] if ids is None else [str(ids[row]) for row in order]
    in_order = scores[order]
    return Neighbours(
        query=str(one.query_ids[0]),
        rows=order,
        documents=tuple(names),
        scores=in_order,
        classes=one.relevance[order],
        # On scores of the whole list: a part of it would be another list to transforms that work per query.
        steps=ranker._compare(in_order[:-1], in_order[1:]),
        boundaries=_boundaries(scores, n_classes, str(one.query_ids[0])),
    )


def _boundaries(scores: NDArray[np.float64], n_classes: int | None, query: str) -> Boundaries:
    try:
        return class_boundaries(scores, n_classes)
    except ValueError as error:
        raise ValueError(f"query {query}: {error}") from None


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _number_of(query: str | None, data: RankingDataset) -> int:
    if not data.n_documents:
        raise ValueError("the data set has no documents; there is nothing to sort")
    if query is None:
        return int(np.flatnonzero(np.diff(data.offsets))[0])
    found = np.flatnonzero(data.query_ids.astype(str) == str(query))
    if not len(found):
        first = ", ".join(map(str, data.query_ids[:3]))
        raise ValueError(f"no query is called {query!r}; the first of {data.n_queries} are {first}")
    return int(found[0])
