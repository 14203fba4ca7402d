"""The first look that `make run` gives: the embedded data set and its best single feature.

>>> result = demonstrate()
>>> list(result.rows)[1].startswith("best single feature")
True
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from directranker.data.dataset import RankingDataset
from directranker.data.inspection import Inspection, inspect_dataset
from directranker.data.synthetic import example_dataset
from directranker.metrics import evaluate, evaluate_per_query

__all__ = ["Demonstration", "SingleFeature", "best_single_feature", "demonstrate"]

METRICS = ("ndcg@10", "map")


@dataclass(frozen=True)
class SingleFeature:
    """Ranks by one feature, upwards or downwards."""

    number: int
    sign: int

    def scores(self, data: RankingDataset) -> NDArray[np.float64]:
        """The feature's values, turned so that higher is better."""
        return self.sign * data.features[:, self.number].astype(np.float64)


@dataclass(frozen=True)
class Demonstration:
    """What the data set is, and how well simple orders rank its test part."""

    inspection: Inspection
    n_train: int
    n_test: int
    rows: dict[str, dict[str, tuple[float, float]]]
    """By way of ranking and metric: mean and standard error over the queries."""


def best_single_feature(data: RankingDataset, *, metric: str = "ndcg@10") -> SingleFeature:
    """Find the feature and direction that rank this data best.

    >>> data = RankingDataset.from_arrays([[5, 1], [5, 2], [5, 3]], [2, 1, 0])
    >>> best_single_feature(data)
    SingleFeature(number=1, sign=-1)
    """

    def quality(candidate: SingleFeature) -> float:
        scores = candidate.scores(data)
        return evaluate(data.relevance, scores, offsets=data.offsets, metrics=metric, convention="graded")[
            metric
        ]

    candidates = [SingleFeature(number, sign) for number in range(data.n_features) for sign in (1, -1)]
    return max(candidates, key=quality)


def demonstrate() -> Demonstration:
    """Choose the best single feature on a training part and measure it on the rest."""
    data = example_dataset()
    train, test = data.split(0.6, random_state=0)
    best = best_single_feature(train)
    direction = "high" if best.sign > 0 else "low"
    ways = {
        "chance": np.zeros(test.n_documents),  # ties are averaged over their orders
        f"best single feature ({test.feature_names[best.number]}, {direction} first)": best.scores(test),
    }
    return Demonstration(
        inspection=inspect_dataset(data),
        n_train=train.n_queries,
        n_test=test.n_queries,
        rows={name: _measured(test, scores) for name, scores in ways.items()},
    )


def _measured(data: RankingDataset, scores: NDArray[np.float64]) -> dict[str, tuple[float, float]]:
    values = evaluate_per_query(
        data.relevance, scores, offsets=data.offsets, metrics=METRICS, convention="paper"
    )
    return {metric: _mean_and_error(column[~np.isnan(column)]) for metric, column in values.items()}


def _mean_and_error(values: NDArray[np.float64]) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
