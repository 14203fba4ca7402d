"""NDCG@10 and MAP of a data set of the size of MSLR-WEB10K, compared with scikit-learn and ranx.

6,000 queries, about 717,000 documents, five grades. scikit-learn computes NDCG@10 only, query by query; ranx
computes both metrics, with its dictionaries built and its code compiled beforehand. All run in turns for
several rounds, each turn after one call that is not timed; a ratio is the median over rounds. Exit code 1
means that one is missed.

    python benchmarks/metrics_benchmark.py
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ranx import Qrels, Run
from ranx import evaluate as ranx_evaluate
from sklearn.metrics import ndcg_score

from directranker.metrics import evaluate

from measuring import compare, describe_machine, measure_seconds, print_ratios

QUERIES = 6_000
ROUNDS = 5
REQUIRED = {"scikit-learn ndcg_score, per query": 100.0, "ranx.evaluate, warm": 15.0}
OURS = "directranker evaluate"


def make_data() -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Make labels with WEB10K's distribution of grades, correlated scores, and offsets."""
    rng = np.random.default_rng(0)
    offsets = np.r_[0, np.cumsum(rng.integers(40, 200, QUERIES))]
    labels = rng.choice(5, size=offsets[-1], p=[0.52, 0.32, 0.13, 0.02, 0.01])
    return labels, rng.normal(size=len(labels)) + 0.3 * labels, offsets


def make_sklearn_task(
    labels: NDArray[np.int64], scores: NDArray[np.float64], offsets: NDArray[np.int64]
) -> Callable[[], float]:
    """Compute NDCG@10 with scikit-learn; splitting by query is not timed."""
    queries = list(zip(np.split(labels, offsets[1:-1]), np.split(scores, offsets[1:-1]), strict=True))
    return lambda: float(np.mean([ndcg_score(y[None], s[None], k=10) for y, s in queries]))


def make_ranx_task(
    labels: NDArray[np.int64], scores: NDArray[np.float64], offsets: NDArray[np.int64]
) -> Callable[[], Any]:
    """Compute NDCG@10 and MAP with ranx, after building its dictionaries and compiling."""
    judged: dict[str, dict[str, int]] = {}
    ranked: dict[str, dict[str, float]] = {}
    for query in range(QUERIES):
        rows = range(offsets[query], offsets[query + 1])
        judged[f"q{query}"] = {f"d{row}": int(labels[row]) for row in rows}
        ranked[f"q{query}"] = {f"d{row}": float(scores[row]) for row in rows}
    qrels, run = Qrels(judged), Run(ranked)

    def task() -> Any:
        return ranx_evaluate(qrels, run, ["ndcg@10", "map"])

    task()
    return task


def main() -> None:
    """Measure, print the table, and exit with 1 if a required ratio is missed."""
    warnings.simplefilter("ignore")
    data = make_data()
    labels, scores, offsets = data
    print(describe_machine("numpy", "numba", "scikit-learn", "ranx"))
    print(f"{len(offsets) - 1:,} queries, {len(labels):,} documents\n")
    tasks: dict[str, Callable[[], Any]] = {
        OURS: lambda: evaluate(labels, scores, offsets=offsets),
        "scikit-learn ndcg_score, per query": make_sklearn_task(*data),
        "ranx.evaluate, warm": make_ranx_task(*data),
    }
    print(f"first call, including compilation or loading: {measure_seconds(tasks[OURS]):.1f} s\n")
    sys.exit(0 if print_ratios(compare(tasks, ROUNDS, warm=True), OURS, REQUIRED) else 1)


if __name__ == "__main__":
    main()
