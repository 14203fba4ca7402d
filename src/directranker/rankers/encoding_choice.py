"""Which encoding of the features suits a net on this data: the one by which it orders unseen queries better.

Piecewise-linear bins take any shape and fear no outlier, and are better on most data. Where features are
counts and scores with long tails and queries are few, what is linear in their logarithms is learnt sooner,
and `"auto"` is better. So nets of both kinds learn from two thirds of the queries and score the others, in
turn, and the kind whose scores explain the labelled pairs better is taken.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers.direct_ranker import DirectRanker
>>> data = example_dataset()
>>> queries = TrainingData(data.features, None, data.relevance, data.offsets)
>>> meant_encoding(DirectRanker(), queries, None, seed=0)
'piecewise-linear'
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import clone

from directranker.rankers.base import Ranker
from directranker.rankers.training_data import TrainingData
from directranker.rankers.unseen_scores import as_log_odds, unseen_scores

__all__ = ["CROSS_VALIDATED", "IN_BINS", "SCALED", "meant_encoding"]

CROSS_VALIDATED = "cross-validated"
IN_BINS, SCALED = "piecewise-linear", "auto"
FEWEST_QUERIES, MOST_DOCUMENTS = 30, 20_000  # between which both are tried
TRIED_TWICE = 5_000  # documents up to which one trial leaves too much to chance


def meant_encoding(
    ranker: Ranker,
    data: TrainingData,
    validation: TrainingData | None,
    *,
    seed: int,
    progress: bool | None = False,
) -> Any:
    """What the ranker's parameter `transform` means: itself, or for `"cross-validated"` what suits better.

    With few queries, with much data, and for a net of one's own, which may want a certain number of columns,
    that is `"piecewise-linear"` without a trial.
    """
    parameters = ranker.get_params(deep=False)
    transform = parameters.get("transform")
    if not isinstance(transform, str) or transform != CROSS_VALIDATED:
        return transform
    is_usual = parameters["feature_net"] is None and not hasattr(ranker, "input_shape_")
    is_small = data.n_queries >= FEWEST_QUERIES and len(data.relevance) <= MOST_DOCUMENTS
    if not (is_usual and is_small):
        return IN_BINS

    def cost(encoding: str) -> float:
        alone: dict[str, Any] = {"teacher": None, "checkpoint": None, "callbacks": (), "progress": False}
        trial = clone(ranker).set_params(transform=encoding, **alone)
        scores = unseen_scores(
            trial,
            data,
            validation,
            seed=seed,
            n_repeats=2 if len(data.relevance) <= TRIED_TWICE else 1,
            title=f"trying {encoding}",
            progress=progress,
        )
        # A net that went astray explains nothing; where both do, training itself says so.
        return as_log_odds(scores, data).cost if np.isfinite(scores).all() else math.inf

    return min((IN_BINS, SCALED), key=cost)
