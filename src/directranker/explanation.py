"""Why does a document rank before another? What each feature adds to g(better) − g(worse).

For linear rankers a feature adds its weight times the difference, exactly. For nets the gradient is
integrated on the straight line between the encoded documents (integrated gradients: Sundararajan, Taly and
Yan, Axiomatic Attribution for Deep Networks, 2017), in float64. For trees it is the difference of the
documents' Shapley values along the paths, by LightGBM. An ensemble is the mean of its members. What rounding
and the finite number of steps miss is `residual`: contributions and `residual` sum to the difference.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import RankSVM
>>> data = example_dataset()
>>> ranker = RankSVM().fit(data)
>>> explanation = explain_difference(ranker, data.select([0]), better=0, worse=1)
>>> bool(np.isclose(explanation.contributions.sum() + explanation.residual, explanation.difference))
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from directranker.data.dataset import RankingDataset
from directranker.rankers import Ranker

__all__ = ["Explanation", "explain_difference", "explain_differences"]

Vector = NDArray[np.float64]
STEPS = 512


@dataclass(frozen=True)
class Explanation:
    """What each feature adds to the difference of two scores."""

    names: tuple[str, ...]
    contributions: Vector
    """One per feature; they and `residual` sum to the difference."""
    values: NDArray[np.float32]
    """The features of the better and of the worse document, (2, n_features)."""
    scores: tuple[float, float]
    method: str
    residual: float
    """The part of the difference that no feature accounts for: rounding, and what the steps on the line miss,
    such as a jump of a net whose gradient is 0 on both sides of it."""

    @property
    def difference(self) -> float:
        """g(better) − g(worse)."""
        return self.scores[0] - self.scores[1]


def explain_difference(ranker: Ranker, query: RankingDataset, *, better: int, worse: int) -> Explanation:
    """Explain by its features why one row of a query has another score than a second row."""
    (explanation,) = explain_differences(ranker, query, [(better, worse)])
    return explanation


def explain_differences(
    ranker: Ranker, query: RankingDataset, pairs: Sequence[tuple[int, int]], *, steps: int = STEPS
) -> list[Explanation]:
    """The same for several pairs of rows, (better, worse), of one query; nets are integrated in `steps`.

    >>> from directranker.data.synthetic import example_dataset
    >>> from directranker.rankers import RankSVM
    >>> data = example_dataset()
    >>> first, second = explain_differences(RankSVM().fit(data), data.select([0]), [(0, 1), (1, 0)])
    >>> first.difference == -second.difference
    True
    """
    if query.n_queries != 1:
        raise ValueError(f"the data has {query.n_queries} queries; give the one that both documents are of")
    table = np.asarray(query.features)
    rows = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    for name, chosen in (("better", rows[:, 0]), ("worse", rows[:, 1])):
        for row in chosen[(chosen < 0) | (chosen >= query.n_documents)]:
            raise ValueError(f"{name} is row {row}; the query has rows 0 to {query.n_documents - 1}")
    scores = ranker.predict(query).astype(np.float64)
    parts, method = ranker._contributions(table, rows, n_steps=steps)
    names = ranker._feature_names()
    explanations = []
    for of_pair, (better, worse) in zip(parts, rows, strict=True):
        two = (float(scores[better]), float(scores[worse]))
        residual = two[0] - two[1] - float(of_pair.sum())
        explanations.append(Explanation(names, of_pair, table[[better, worse]], two, method, residual))
    return explanations
