"""Explain why a document ranks before another: each feature's contribution to g(better) − g(worse).

In a linear ranker, a feature contributes its weight times its difference, exactly. In a net, the gradient is
integrated along the straight line between the encoded documents (integrated gradients: Sundararajan, Taly and
Yan, Axiomatic Attribution for Deep Networks, 2017), in float64. In trees, the contribution is the difference
of the documents' Shapley values along the paths, by LightGBM. An ensemble averages its members. `residual` is
the error of rounding and of the finite number of steps: contributions and `residual` sum to the difference.

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

from directranker.arrays import FloatArray
from directranker.data.dataset import RankingDataset
from directranker.data.feature_groups import FeatureGroups, FeatureValue, read_values
from directranker.rankers import Ranker

__all__ = ["Explanation", "explain_difference", "explain_differences"]

STEPS = 512


@dataclass(frozen=True)
class Explanation:
    """Each feature's contribution to the difference of two scores; a vector counts as one feature."""

    names: tuple[str, ...]
    contributions: FloatArray
    """One per feature; their sum plus `residual` is the difference."""
    values: tuple[Sequence[FeatureValue], Sequence[FeatureValue]]
    """The features of the better and of the worse document: a number, or the value of a category (None where
    it is missing)."""
    scores: tuple[float, float]
    method: str
    residual: float
    """The rest of the difference: rounding, and what the integration steps miss, such as a jump of a net
    whose gradient is 0 on both sides."""

    @property
    def difference(self) -> float:
        """g(better) − g(worse)."""
        return self.scores[0] - self.scores[1]


def explain_difference(ranker: Ranker, query: RankingDataset, *, better: int, worse: int) -> Explanation:
    """Explain the score difference of two rows of a query by their features."""
    (explanation,) = explain_differences(ranker, query, [(better, worse)])
    return explanation


def explain_differences(
    ranker: Ranker, query: RankingDataset, pairs: Sequence[tuple[int, int]], *, steps: int = STEPS
) -> list[Explanation]:
    """Explain several pairs of rows (better, worse) of one query; nets are integrated in `steps` steps.

    >>> from directranker.data.synthetic import example_dataset
    >>> from directranker.rankers import RankSVM
    >>> data = example_dataset()
    >>> first, second = explain_differences(RankSVM().fit(data), data.select([0]), [(0, 1), (1, 0)])
    >>> first.difference == -second.difference
    True
    """
    if query.n_queries != 1:
        raise ValueError(f"query has {query.n_queries} queries; pass the one query of both documents")
    rows = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    for name, column in (("better", rows[:, 0]), ("worse", rows[:, 1])):
        for row in column[(column < 0) | (column >= query.n_documents)]:
            raise ValueError(f"{name} is row {row}; the query has rows 0 to {query.n_documents - 1}")
    scores = ranker.predict(query).astype(np.float64)
    table = ranker._validate_features(query, reset=False)
    contributions, method = ranker._contributions(table, rows, n_steps=steps)
    names = ranker._feature_names()
    groups = FeatureGroups.of(names)
    explanations = []
    for of_pair, (better, worse) in zip(groups.sum(contributions), rows.tolist(), strict=True):
        pair_scores = (float(scores[better]), float(scores[worse]))
        residual = pair_scores[0] - pair_scores[1] - float(of_pair.sum())
        values = read_values(query, better, names), read_values(query, worse, names)
        explanations.append(Explanation(groups.names, of_pair, values, pair_scores, method, residual))
    return explanations
