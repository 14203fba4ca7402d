"""AdaRank with 500 rounds at the size of MSLR-WEB10K, compared with a literal NumPy implementation.

6,000 queries, about 717,000 documents, 136 features; all rounds run. The literal implementation computes the
metric of each feature and query once, as ours does; it is timed on a tenth of the queries and its time is
multiplied by ten. Both get encoded features, and must select the same features. They run in turns; the ratio
is the median over rounds. Exit code 1 means that it is missed.

    python benchmarks/adarank_benchmark.py [--queries 6000] [--boosting-rounds 500]
"""

from __future__ import annotations

import argparse
import math
import resource
import sys
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker import AutoTransform, RankingDataset
from directranker.arrays import Float32Array, FloatArray, IntArray
from directranker.rankers import AdaRank

from measuring import compare, describe_machine, measure_seconds, print_ratios
from mslr_like import make_mslr_like

ROUNDS = 3
REQUIRED_RATIO = 20.0
OURS, LITERAL = "directranker AdaRank", "literal NumPy, a tenth × 10"
DISCOUNTS = 1 / np.log2(np.arange(2, 12))


def run_literal_adarank(
    features: Float32Array, gains: list[FloatArray], offsets: IntArray, n_rounds: int
) -> list[int]:
    """Return the selected features; `gains` of each query are divided by its ideal DCG."""
    queries = list(zip(offsets[:-1], offsets[1:], gains, strict=True))
    table = np.array(
        [[compute_ndcg(own, column[start:stop]) for start, stop, own in queries] for column in features.T]
    )
    weights = np.full(len(queries), 1 / len(queries))
    scores = np.zeros(len(features))
    selected = []
    for _ in range(n_rounds):
        strengths = table @ weights
        best = int(strengths.argmax())
        alpha = 0.5 * math.log((1 + strengths[best]) / (1 - strengths[best]))
        scores += alpha * features[:, best]
        values = np.array([compute_ndcg(own, scores[start:stop]) for start, stop, own in queries])
        weights = weights * np.exp(-alpha * values)
        weights /= weights.sum()
        selected.append(best)
    return selected


def compute_ndcg(gains: FloatArray, scores: NDArray[Any]) -> float:
    """Compute NDCG@10 of one query, averaged over the orders of equal scores."""
    order = np.argsort(-scores)
    descending = scores[order]
    starts = np.flatnonzero(np.concatenate([[True], descending[1:] != descending[:-1]]))
    sizes = np.diff(np.append(starts, len(scores)))
    mean_gains = np.repeat(np.add.reduceat(gains[order], starts) / sizes, sizes)[:10]
    return float(mean_gains @ DISCOUNTS[: len(mean_gains)])


def compute_normalised_gains(data: RankingDataset) -> list[FloatArray]:
    """Compute the binary gains of each query, divided by the ideal DCG@10."""
    per_query = np.split((data.relevance >= 1).astype(np.float64), data.offsets[1:-1])
    return [gains / (np.sort(gains)[::-1][:10] @ DISCOUNTS[: len(gains)]) for gains in per_query]


def main() -> None:
    """Measure, print the table, and exit with 1 if the ratio is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=6000)
    parser.add_argument("--boosting-rounds", type=int, default=500)
    parser.add_argument("--turns", type=int, default=ROUNDS)
    options = parser.parse_args()
    data = make_mslr_like(options.queries).only_queries_with_relevant()
    data = replace(data, features=AutoTransform().fit_transform(data.features))
    print(describe_machine("numpy", "numba"))
    print(
        f"{data.n_queries:,} queries, {data.n_documents:,} documents, {data.n_features} features, "
        f"{options.boosting_rounds} boosting rounds\n"
    )
    ranker = AdaRank(
        metric="ndcg@10",  # binary gains, as in the literal implementation
        max_iter=options.boosting_rounds,
        tol=None,
        max_consecutive=None,
        cumulative=True,
        negative=False,
        early_stopping=False,
        transform="none",
    )
    tenth = data.select(range(data.n_queries // 10))
    gains = compute_normalised_gains(tenth)
    print(f"first fit, including compilation or loading: {measure_seconds(lambda: ranker.fit(tenth)):.1f} s")
    selected = run_literal_adarank(tenth.features, gains, tenth.offsets, 30)
    if ranker.features_[:30].tolist() != selected:
        sys.exit(f"they do not select the same features: {ranker.features_[:30].tolist()} and {selected}")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = compare(
        {
            OURS: lambda: ranker.fit(data),
            LITERAL: lambda: run_literal_adarank(
                tenth.features, gains, tenth.offsets, options.boosting_rounds
            ),
        },
        options.turns,
    )
    seconds[LITERAL] = [10 * each for each in seconds[LITERAL]]
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(
        f"{len(set(ranker.features_))} distinct features selected; "
        f"the features take {data.features.nbytes >> 20:,} MB, the fit {grown:,.0f} MB more\n"
    )
    sys.exit(0 if print_ratios(seconds, OURS, {LITERAL: REQUIRED_RATIO}) else 1)


if __name__ == "__main__":
    main()
