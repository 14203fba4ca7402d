"""The objectives of LambdaMART: LightGBM's lambdarank, or lambdas of our own; and its metric.

>>> resolve_pair_weight("metric", Metric.parse("map"))
PairWeight(name='delta_map', k=None)
>>> resolve_pair_weight("metric", Metric.parse("ndcg@10"))
'lambdarank'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from directranker.arrays import FloatArray
from directranker.costs.curvatures import EvenLambdas, Lambdas, SwapLambdas
from directranker.errors import DataError
from directranker.metrics import Metric
from directranker.metrics.metric import mean_over_queries
from directranker.pairs.weights import BY_SWAP, PairWeight, parse_pair_weight
from directranker.training.data import TrainingData

__all__ = [
    "LAMBDARANK",
    "LightGBMObjective",
    "ResolvedWeight",
    "as_lightgbm_metric",
    "build_objective",
    "resolve_pair_weight",
]

LAMBDARANK: Literal["lambdarank"] = "lambdarank"
ResolvedWeight = PairWeight | Literal["lambdarank"] | None
LightGBMObjective = Callable[[FloatArray, Any], tuple[FloatArray, FloatArray]]
"""Takes scores and LightGBM's data set, returns gradients and hessians."""


def resolve_pair_weight(pair_weight: str | None, metric: Metric) -> ResolvedWeight:
    """Return the weight of pairs: our own weight of swaps, LightGBM's lambdarank, or None."""
    if pair_weight is None:
        return None
    if pair_weight != "metric":
        named = parse_pair_weight(pair_weight)
        if named.code != BY_SWAP:
            raise ValueError(
                f"pair_weight is {pair_weight!r}; give 'metric', 'delta_ndcg@k', 'delta_map' or None"
            )
        return named
    if metric.measure == "ndcg":
        return LAMBDARANK
    if metric.measure == "average_precision" and metric.k is None:
        return PairWeight("delta_map")
    raise ValueError(
        f"metric is {str(metric)!r}; LambdaMART optimises 'ndcg', 'ndcg@k' or 'map'. To stop early by "
        f"{str(metric)!r}, set pair_weight to what it optimises instead, such as 'delta_map' or "
        "'delta_ndcg@10'"
    )


def build_objective(
    pair_weight: ResolvedWeight,
    data: TrainingData,
    metric: Metric,
    *,
    weight: FloatArray | None,
    gains: list[float],
) -> tuple[dict[str, object], LightGBMObjective | None]:
    """Return LightGBM's parameters of the objective, and our own objective unless it is lambdarank.

    `weight` is that of each document, `gains` the label gains of `encode_labels`.
    """
    if pair_weight is None:
        return {"objective": "none"}, _weight_lambdas(EvenLambdas(data.relevance, data.offsets), weight)
    if pair_weight != LAMBDARANK:
        lambdas = _build_swap_lambdas(pair_weight, data, metric.convention.threshold)
        return {"objective": "none"}, _weight_lambdas(lambdas, weight)
    longest = int(np.diff(data.offsets).max())
    parameters = {
        "objective": LAMBDARANK,
        "label_gain": gains,
        "lambdarank_truncation_level": min(metric.k or longest, longest),
        "lambdarank_norm": False,
    }
    return parameters, None


def _build_swap_lambdas(pair_weight: PairWeight, data: TrainingData, threshold: float) -> SwapLambdas:
    if pair_weight.name == "delta_ndcg":  # as in `encode_labels`, labels below 0 are shifted to start at 0
        grades = data.relevance - min(float(data.relevance.min()), 0.0)
        return SwapLambdas(pair_weight, grades, data.offsets, threshold=threshold)
    relevant = (data.relevance >= threshold).astype(np.float64)
    lambdas = SwapLambdas(pair_weight, relevant, data.offsets, threshold=1.0)
    if not lambdas.n_pairs.any():
        raise DataError(
            f"no query has documents both of label {threshold:g} or more and below, so MAP cannot be "
            "optimised; give metric='ndcg', or a Metric with another threshold in its convention"
        )
    return lambdas


def _weight_lambdas(lambdas: Lambdas, weight: FloatArray | None) -> LightGBMObjective:
    """Multiply lambdas by the weights of documents, in the form that LightGBM calls."""

    def compute(scores: FloatArray, _: object) -> tuple[FloatArray, FloatArray]:
        gradient, curvature = lambdas(scores)
        return (gradient, curvature) if weight is None else (gradient * weight, curvature * weight)

    return compute


def as_lightgbm_metric(
    metric: Metric, data: TrainingData
) -> Callable[[FloatArray, Any], tuple[str, float, bool]]:
    """Return the weighted mean metric in the form that LightGBM calls."""
    relevance, offsets = data.relevance, data.offsets
    weights = data.weight_of_queries if data.is_weighted else None

    def evaluate(scores: FloatArray, _: object) -> tuple[str, float, bool]:
        values = metric.per_query(relevance, scores[: len(relevance)], offsets=offsets)
        return str(metric), mean_over_queries(values, weights), True

    return evaluate
