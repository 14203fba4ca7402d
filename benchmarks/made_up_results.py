"""Synthetic results as `compare`, `sensitivity` and `neighbours` write them, of any size and with any names.

The rankers are linear, so that scores, r and explanations are consistent, as in real results.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker.experiments.folder import EXAMPLES, HISTORIES, NEIGHBOURS, SENSITIVITY
from directranker.experiments.published import PublishedValue
from directranker.experiments.results import (
    Comparison,
    FoldScore,
    MetricResult,
    PairedTest,
    QueryValues,
    RankerResult,
    Timing,
    write_json,
    write_results,
)
from directranker.experiments.significance import apply_holm_correction, randomisation_tests, sigma_distance
from directranker.model_selection.diagnostics import select_explained_rows

__all__ = ["write_made_up_comparison", "write_made_up_neighbours", "write_made_up_studies"]

METRICS = ("ndcg@10", "map")
N_SHOWN, N_DOCUMENTS, N_FEATURES = 12, 25, 30


def write_made_up_comparison(
    folder: Path, *, rankers: Sequence[str], n_folds: int, n_queries: int, mark: str = "", seed: int = 0
) -> Comparison:
    """Write a comparison with `n_queries` test queries per fold; `mark` is appended to all other names."""
    rng = np.random.default_rng(seed)
    per_query = [_make_query_values(metric, rankers, n_folds, n_queries, mark, rng) for metric in METRICS]
    results = tuple(_make_ranker_result(name, per_query, n_folds, rng) for name in rankers)
    comparison = Comparison(
        request={
            "name": f"made up{mark}", "n_folds": n_folds, "origin": "given", "threshold": 1.0,
            "data_fingerprint": "made up", "rankers": list(rankers), "metrics": list(METRICS),
            "convention": "paper", "inner_folds": 5, "seeds": 3, "grid_name": "quick",
            "command": f"directranker compare 'made up{mark}'",
        },
        rankers=results,
        tests=tuple(test for values in per_query for test in _make_tests(values, results)),
        environment={"machine": f"M{mark}", "cores": 2, "workers": 2, "python": "3.11", "threads": 1,
                     "cluster": None, "versions": {"directranker": "0", "torch": "2"}},
        digest="made up",
        per_query=tuple(per_query),
    )  # fmt: skip
    about = {"data_fingerprint": "made up", "metric": METRICS[0]}
    names = [f"feature {number}{mark}" for number in range(N_FEATURES)]
    queries = [_make_example(number, rankers, per_query[0], mark, rng) for number in range(N_SHOWN)]
    write_json({**about, "features": names, "queries": queries}, folder / EXAMPLES)
    curves = {name: {f"Fold{k + 1}": _make_curve(rng) for k in range(n_folds)} for name in rankers}
    write_json({**about, "histories": curves}, folder / HISTORIES)
    write_results(comparison, folder)
    return comparison


def _make_query_values(
    metric: str, rankers: Sequence[str], n_folds: int, n_queries: int, mark: str, rng: np.random.Generator
) -> QueryValues:
    difficulty = rng.uniform(0.2, 0.7, n_folds * n_queries)
    columns = {
        name: np.clip(difficulty + 0.02 * index + rng.normal(0, 0.1, len(difficulty)), 0, 1)
        for index, name in enumerate(rankers)
    }
    return QueryValues(
        metric=metric,
        folds=tuple(f"Fold{1 + index // n_queries}" for index in range(len(difficulty))),
        queries=tuple(f"q{index}{mark}" for index in range(len(difficulty))),
        values={name: tuple(column.tolist()) for name, column in columns.items()},
    )


def _make_ranker_result(
    name: str, per_query: Sequence[QueryValues], n_folds: int, rng: np.random.Generator
) -> RankerResult:
    measured = []
    for values in per_query:
        fold_means = np.array(values.values[name]).reshape(n_folds, -1).mean(axis=1)
        folds = tuple(
            FoldScore(f"Fold{index + 1}", float(score), (float(score),), {"alpha": 0.1})
            for index, score in enumerate(fold_means)
        )
        error = float(fold_means.std(ddof=1) / np.sqrt(n_folds))
        published = PublishedValue(0.5, 0.01) if values.metric == METRICS[0] else None
        measured.append(MetricResult(values.metric, float(fold_means.mean()), error, folds, published))
    seconds = float(10 ** rng.uniform(-2, 2))
    return RankerResult(
        name, f"description of {name}", 2, tuple(measured), Timing(seconds, 0.1, 0.01, 0.0, 900, 300)
    )


def _make_tests(values: QueryValues, results: Sequence[RankerResult]) -> list[PairedTest]:
    pairs = list(combinations(results, 2))
    columns = {name: np.array(column, dtype=np.float64) for name, column in values.values.items()}
    rows = np.array([columns[first.ranker] - columns[second.ranker] for first, second in pairs])
    p_values = randomisation_tests(rows, n_resamples=2000)
    tests = []
    for (first, second), row, p, corrected in zip(
        pairs, rows, p_values, apply_holm_correction(p_values), strict=True
    ):
        one, other = first.by(values.metric), second.by(values.metric)
        sigma = sigma_distance(one.mean or 0, one.error or 0, other.mean or 0, other.error or 0)
        tests.append(
            PairedTest(
                values.metric,
                first.ranker,
                second.ranker,
                float(row.mean()),
                float(p),
                float(corrected),
                sigma,
            )
        )
    return tests


def _make_example(
    number: int, rankers: Sequence[str], values: QueryValues, mark: str, rng: np.random.Generator
) -> dict[str, Any]:
    index = number * len(values.queries) // N_SHOWN
    grades = rng.integers(0, 3, N_DOCUMENTS).astype(np.float64)
    features = rng.normal(grades[:, None], 1.0, (N_DOCUMENTS, N_FEATURES))
    rows = select_explained_rows(grades)
    return {
        "fold": values.folds[index],
        "query": str(values.queries[index]),
        "documents": [f"d{row}{mark}" for row in range(N_DOCUMENTS)],
        "grades": grades.tolist(),
        "explained": rows,
        "values": features[rows].tolist(),
        "by": {name: _make_diagnostics(features, rows, rng) for name in rankers},
    }


def _make_diagnostics(
    features: NDArray[np.float64], rows: Sequence[int], rng: np.random.Generator
) -> dict[str, Any]:
    weights = rng.normal(size=N_FEATURES)
    scores = features @ weights
    pairs = [weights * (features[better] - features[worse]) for better, worse in combinations(rows, 2)]
    largest = [np.argsort(-np.abs(contributions))[:8] for contributions in pairs]
    return {
        "scores": scores.tolist(),
        "r": (-np.diff(np.sort(scores)[::-1])).tolist(),
        "thresholds": [float(np.median(scores))],
        "confidences": [0.99],
        "why": {
            "method": "weights times differences",
            "features": [indices.tolist() for indices in largest],
            "adds": [each[indices].tolist() for each, indices in zip(pairs, largest, strict=True)],
            "others": [float(np.delete(each, at).sum()) for each, at in zip(pairs, largest, strict=True)],
        },
    }


def _make_curve(rng: np.random.Generator) -> list[dict[str, float]]:
    costs = np.exp(-np.arange(1, 101) / 30) + rng.normal(0, 0.01, 100)
    return [{"epoch": n + 1, "cost": float(c), "metric": float(1 - c / 2)} for n, c in enumerate(costs)]


def write_made_up_studies(folder: Path, *, mark: str = "") -> list[dict[str, Any]]:
    """Write two studies of one ranker; return the points."""
    points = [
        {"study": study, "value": value, "ranker": f"R{mark}", "mean": 0.95 - value / 9, "error": 0.01,
         "n_sets": 2, "seconds": 1.0}
        for study in ("noise", "size")
        for value in (0.25, 0.5, 0.75)
    ]  # fmt: skip
    claims = [
        {"ranker": f"R{mark}", "text": "stays above 0.80 at σ = 0.75", "held": True, "figures": "0.8667"}
    ]
    request = {"command": "directranker sensitivity --quick", "n_features": 70}
    write_json(
        {"request": request, "environment": {}, "points": points, "claims": claims}, folder / SENSITIVITY
    )
    return points


def write_made_up_neighbours(folder: Path, *, mark: str = "") -> list[dict[str, Any]]:
    """Write two sorted queries; return them."""
    lists = [
        {
            "query": f"{query}{mark}",
            "documents": [f"d{row}{mark}" for row in range(4)],
            "rows": [0, 1, 2, 3],
            "scores": [3.0, 2.0 + shift, 0.5, 0.0],
            "classes": [1.0, 1.0, 0.0, 0.0],
            "r": [1.0 - shift, 1.5 + shift, 0.5],
            "changes": [False, True, False],
            "thresholds": [1.25],
            "confidences": [0.9],
        }
        for query, shift in (("first", 0.0), ("second", 0.25))
    ]
    about = {"request": {"command": "directranker neighbours"}, "environment": {}}
    write_json({**about, "ranker": f"R{mark}", "lists": lists}, folder / NEIGHBOURS)
    return lists
