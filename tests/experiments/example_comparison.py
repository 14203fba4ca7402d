"""A small comparison with known values, for the tests of its formats."""

from __future__ import annotations

from dataclasses import replace

from directranker.experiments.published import PublishedValue
from directranker.experiments.results import (
    Comparison,
    FoldScore,
    MetricResult,
    PairedTest,
    QueryValues,
    RankerResult,
    Timing,
)

__all__ = ["make_comparison"]

NOTE = "evaluated by other rules & with 100 % other data; not comparable"


def make_comparison() -> Comparison:
    """Make three rankers by two metrics: by NDCG A_1 is best, B tied and C worse; only C has a MAP."""
    return Comparison(
        request={
            "name": "data_1 #2",
            "n_folds": 2,
            "origin": "given",
            "threshold": 2.0,
            "metrics": ["ndcg@10", "map"],
            "convention": "paper",
            "grid_name": "quick",
            "inner_folds": 5,
            "seeds": 1,
        },
        rankers=(
            _make_result("A_1", 0.75, None),
            _make_result("B", 0.74, PublishedValue(0.72, 0.012)),
            replace(_make_result("C", 0.5, PublishedValue(0.507, None, NOTE)), n_candidates=3),
        ),
        tests=(
            PairedTest("ndcg@10", "A_1", "B", 0.01, 0.3, 0.3, 1.5),
            PairedTest("ndcg@10", "A_1", "C", 0.25, 0.001, 0.003, 20.0),
            PairedTest("ndcg@10", "B", "C", 0.24, 0.001, 0.003, 19.0),
        ),
        environment={
            "machine": "M",
            "cores": 2,
            "workers": 2,
            "cluster": None,
            "threads": 1,
            "python": "3",
            "versions": {},
        },
        digest="d1",
        per_query=(
            QueryValues("ndcg@10", ("Fold1", "Fold2"), (7, "q"), {"A_1": (0.8, None), "C": (0.5, 0.25)}),
        ),
    )


def _make_result(name: str, mean: float, published: PublishedValue | None) -> RankerResult:
    folds = (
        FoldScore("Fold1", mean - 0.01, (mean - 0.01,), {"hidden_layers": [64, 32], "alpha": 0.1}),
        FoldScore("Fold2", mean + 0.01, (mean + 0.01,), {}),
    )
    ndcg = MetricResult("ndcg@10", mean, 0.01, folds, published)
    only_c = 0.25 if name == "C" else None
    by_map = MetricResult("map", only_c, None, tuple(replace(fold, score=only_c, seeds=()) for fold in folds))
    timing = Timing(2.0, 0.5, 0.01, None, n_train=4000, n_test=1000)
    return RankerResult(name, f"description of {name}", 1, (ndcg, by_map), timing)
