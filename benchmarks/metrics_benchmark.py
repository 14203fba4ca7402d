"""NDCG@10 and MAP of a data set as large as MSLR-WEB10K, side by side with scikit-learn and ranx.

6,000 queries, about 717,000 documents, five grades. scikit-learn is asked for NDCG@10 alone, query by
query; ranx for both measures, its dictionaries built and its code compiled before the clock starts.
All take turns for several rounds, each turn with a call before that does not count; a ratio is the median
over rounds. Exit code 1 tells that one is missed.

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

from measuring import compare, machine, print_ratios, seconds_of

QUERIES = 6_000
ROUNDS = 5
REQUIRED = {"scikit-learn ndcg_score, per query": 100.0, "ranx.evaluate, warm": 15.0}
OURS = "directranker evaluate"


def generated() -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Labels with WEB10K's shares of grades, scores that know a little of them, and offsets."""
    rng = np.random.default_rng(0)
    offsets = np.r_[0, np.cumsum(rng.integers(40, 200, QUERIES))]
    labels = rng.choice(5, size=offsets[-1], p=[0.52, 0.32, 0.13, 0.02, 0.01])
    return labels, rng.normal(size=len(labels)) + 0.3 * labels, offsets


def sklearn_loop(
    labels: NDArray[np.int64], scores: NDArray[np.float64], offsets: NDArray[np.int64]
) -> Callable[[], float]:
    """NDCG@10 by scikit-learn; cutting the lists is not counted."""
    lists = list(zip(np.split(labels, offsets[1:-1]), np.split(scores, offsets[1:-1]), strict=True))
    return lambda: float(np.mean([ndcg_score(y[None], s[None], k=10) for y, s in lists]))


def warm_ranx(
    labels: NDArray[np.int64], scores: NDArray[np.float64], offsets: NDArray[np.int64]
) -> Callable[[], Any]:
    """NDCG@10 and MAP by ranx, with its dictionaries and its compiled code ready."""
    judged: dict[str, dict[str, int]] = {}
    ranked: dict[str, dict[str, float]] = {}
    for query in range(QUERIES):
        rows = range(offsets[query], offsets[query + 1])
        judged[f"q{query}"] = {f"d{row}": int(labels[row]) for row in rows}
        ranked[f"q{query}"] = {f"d{row}": float(scores[row]) for row in rows}
    qrels, run = Qrels(judged), Run(ranked)

    def work() -> Any:
        return ranx_evaluate(qrels, run, ["ndcg@10", "map"])

    work()
    return work


def main() -> None:
    """Measure, print the table, and leave with 1 if a required ratio is missed."""
    warnings.simplefilter("ignore")
    data = generated()
    labels, scores, offsets = data
    print(machine("numpy", "numba", "scikit-learn", "ranx"))
    print(f"{len(offsets) - 1:,} queries, {len(labels):,} documents\n")
    works: dict[str, Callable[[], Any]] = {
        OURS: lambda: evaluate(labels, scores, offsets=offsets),
        "scikit-learn ndcg_score, per query": sklearn_loop(*data),
        "ranx.evaluate, warm": warm_ranx(*data),
    }
    print(f"first call of directranker, with compilation or loading: {seconds_of(works[OURS]):.1f} s\n")
    sys.exit(0 if print_ratios(compare(works, ROUNDS, warm=True), OURS, REQUIRED) else 1)


if __name__ == "__main__":
    main()
