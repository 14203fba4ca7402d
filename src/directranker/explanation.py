"""Why does a document rank before another? What each feature adds to g(better) − g(worse).

For linear rankers a feature adds its weight times the difference, exactly. For nets the gradient is
integrated on the straight line between the encoded documents (integrated gradients: Sundararajan, Taly and
Yan, Axiomatic Attribution for Deep Networks, 2017), in float64. For trees it is the difference of the
documents' Shapley values along the paths, by LightGBM. An ensemble is the mean of its members. What rounding
and the finite number of steps miss is `left_over`: contributions and `left_over` sum to the difference.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import RankSVM
>>> data = example_dataset()
>>> ranker = RankSVM().fit(data)
>>> explanation = explain_difference(ranker, data.select([0]), better=0, worse=1)
>>> bool(np.isclose(explanation.contributions.sum() + explanation.left_over, explanation.difference))
True
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from directranker.compilation import IntArray
from directranker.data.dataset import RankingDataset
from directranker.description.columns import columns_of
from directranker.encoding import bins_of
from directranker.errors import ExportError
from directranker.export.description import feature_names
from directranker.rankers import DirectRanker, Ensemble, LambdaMART, Ranker
from directranker.rankers.linear.base import LinearRanker

__all__ = ["Explanation", "explain_difference", "explain_differences"]

Vector = NDArray[np.float64]
STEPS = 512
LINE_NUMBERS = 4_000_000  # of encoded documents on lines, at a time


@dataclass(frozen=True)
class Explanation:
    """What each feature adds to the difference of two scores."""

    names: tuple[str, ...]
    contributions: Vector
    """One per feature; they and `left_over` sum to the difference."""
    values: NDArray[np.float32]
    """The features of the better and of the worse document, (2, n_features)."""
    scores: tuple[float, float]
    method: str
    left_over: float
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
    parts, method = _contributions(ranker, table, rows, steps)
    names = feature_names(ranker)
    explanations = []
    for of_pair, (better, worse) in zip(parts, rows, strict=True):
        two = (float(scores[better]), float(scores[worse]))
        left_over = two[0] - two[1] - float(of_pair.sum())
        explanations.append(Explanation(names, of_pair, table[[better, worse]], two, method, left_over))
    return explanations


def _contributions(ranker: Ranker, table: Any, rows: IntArray, steps: int) -> tuple[Vector, str]:
    """Of each feature to each pair, (n_pairs, n_features), and by which method."""
    better, worse = rows.T
    if isinstance(ranker, LambdaMART):
        shares = np.asarray(ranker.booster_.predict(table, pred_contrib=True))[:, :-1]
        return shares[better] - shares[worse], "Shapley values along the paths of the trees"
    if isinstance(ranker, Ensemble):
        return _of_ensemble(ranker, table, rows, steps)
    if not isinstance(ranker, DirectRanker | LinearRanker):
        raise TypeError(
            f"{type(ranker).__name__} is not a ranker of directranker; its score cannot be explained"
        )
    query = np.zeros(len(table), dtype=np.int64)
    encoded = ranker.transform_.transform(table, qid=query).astype(np.float64)
    feature_of_column = _features_of_columns(ranker.transform_, encoded.shape[1])
    if isinstance(ranker, LinearRanker):
        of_columns, method = ranker.coef_ * (encoded[better] - encoded[worse]), "weights times differences"
    else:
        of_columns, method = _integrated_gradients(ranker, encoded, rows, steps), "integrated gradients"
    belongs = feature_of_column[:, None] == np.arange(table.shape[1])  # (n_columns, n_features)
    return of_columns @ belongs.astype(np.float64), method


def _of_ensemble(ranker: Ensemble, table: Any, rows: IntArray, steps: int) -> tuple[Vector, str]:
    total, method = np.zeros((len(rows), table.shape[1])), ""
    for member, factor in zip(ranker.rankers_, ranker.factors_, strict=True):
        parts, method = _contributions(member, table, rows, steps)
        total += factor * parts
    return total, f"the mean over rankers of {method}"


def _features_of_columns(transform: Any, n_columns: int) -> IntArray:
    if n_columns == transform.n_features_in_:
        return np.arange(n_columns)
    try:
        groups, _ = columns_of(bins_of(transform) or transform)
    except ExportError:
        raise TypeError(
            f"{type(transform).__name__} makes {n_columns} columns of {transform.n_features_in_} features, "
            "and which of which is not known; train with one of directranker's transforms"
        ) from None
    features = np.zeros(n_columns, dtype=np.int64)
    for group in groups:
        features[group.places] = group.features
    # In the bins of `InContext` a feature's z-scores and ranks come behind all features.
    return np.asarray(features % transform.n_features_in_)


def _integrated_gradients(ranker: DirectRanker, encoded: Vector, rows: IntArray, steps: int) -> Vector:
    """The mean gradient in the middles of equal steps on each pair's line, times the difference."""
    net = copy.deepcopy(ranker.net_).double().eval()
    documents = torch.from_numpy(encoded)
    shape = getattr(ranker, "input_shape_", (encoded.shape[1],))
    shares = ((torch.arange(steps, dtype=torch.float64) + 0.5) / steps)[:, None]
    parts = []
    n_lines = max(1, LINE_NUMBERS // (steps * encoded.shape[1]))
    for start in range(0, len(rows), n_lines):
        some = torch.from_numpy(rows[start : start + n_lines])
        worse = documents[some[:, 1]]
        difference = documents[some[:, 0]] - worse  # (n_pairs, n_columns)
        lines = worse[:, None] + shares * difference[:, None]  # (n_pairs, n_steps, n_columns)
        lines.requires_grad_()
        (gradient,) = torch.autograd.grad(net(lines.reshape(-1, *shape)).sum(), lines)
        parts.append((gradient.mean(dim=1) * difference).detach().numpy())
    return np.concatenate(parts) if parts else np.zeros((0, encoded.shape[1]))
