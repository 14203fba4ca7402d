"""One AdaRank fit of 500 rounds on data of the size of MSLR-WEB10K, beside a literal NumPy implementation.

6,000 queries, about 717,000 documents, 136 features; all rounds run. The literal implementation computes the
metric of each feature and query once, as ours does; it is timed on a tenth of the queries and its time taken
ten times. Both get features that are encoded already, and are compared first: they must pick the same. They
take turns; the ratio is the median over rounds. Exit code 1 tells that it is missed.

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
from directranker.rankers import AdaRank

from measuring import compare, machine, print_ratios, seconds_of
from mslr_like import mslr_like

ROUNDS = 3
REQUIRED = 20.0
OURS, LITERAL = "directranker AdaRank", "literal NumPy, a tenth × 10"
Floats = NDArray[np.float64]
DISCOUNTS = 1 / np.log2(np.arange(2, 12))


def literal_adarank(
    features: NDArray[np.float32], gains: list[Floats], offsets: NDArray[np.int64], n_rounds: int
) -> list[int]:
    """The picks; gains of each query are divided by what it can reach."""
    lists = list(zip(offsets[:-1], offsets[1:], gains, strict=True))
    table = np.array([[ndcg(own, column[start:stop]) for start, stop, own in lists] for column in features.T])
    weights = np.full(len(lists), 1 / len(lists))
    scores = np.zeros(len(features))
    picks = []
    for _ in range(n_rounds):
        strengths = table @ weights
        pick = int(strengths.argmax())
        alpha = 0.5 * math.log((1 + strengths[pick]) / (1 - strengths[pick]))
        scores += alpha * features[:, pick]
        values = np.array([ndcg(own, scores[start:stop]) for start, stop, own in lists])
        weights = weights * np.exp(-alpha * values)
        weights /= weights.sum()
        picks.append(pick)
    return picks


def ndcg(gains: Floats, scores: NDArray[Any]) -> float:
    """NDCG@10 of one list, equal scores averaged over their orders."""
    order = np.argsort(-scores)
    falling = scores[order]
    starts = np.flatnonzero(np.concatenate([[True], falling[1:] != falling[:-1]]))
    sizes = np.diff(np.append(starts, len(scores)))
    mean_gains = np.repeat(np.add.reduceat(gains[order], starts) / sizes, sizes)[:10]
    return float(mean_gains @ DISCOUNTS[: len(mean_gains)])


def reachable_gains(data: RankingDataset) -> list[Floats]:
    """Binary gains of each query, divided by the best DCG@10."""
    lists = np.split((data.relevance >= 1).astype(np.float64), data.offsets[1:-1])
    return [gains / (np.sort(gains)[::-1][:10] @ DISCOUNTS[: len(gains)]) for gains in lists]


def main() -> None:
    """Measure, print the table, and leave with 1 if the ratio is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=6000)
    parser.add_argument("--boosting-rounds", type=int, default=500)
    parser.add_argument("--turns", type=int, default=ROUNDS)
    options = parser.parse_args()
    data = mslr_like(options.queries).only_queries_with_relevant()
    data = replace(data, features=AutoTransform().fit_transform(data.features))
    print(machine("numpy", "numba"))
    print(
        f"{data.n_queries:,} queries, {data.n_documents:,} documents, {data.n_features} features, "
        f"{options.boosting_rounds} boosting rounds\n"
    )
    ranker = AdaRank(
        max_iter=options.boosting_rounds,
        tol=None,
        max_consecutive=None,
        cumulative=True,
        negative=False,
        early_stopping=False,
        transform="none",
    )
    tenth = data.select(range(data.n_queries // 10))
    gains = reachable_gains(tenth)
    print(f"first fit, with compilation or loading: {seconds_of(lambda: ranker.fit(tenth)):.1f} s")
    picks = literal_adarank(tenth.features, gains, tenth.offsets, 30)
    if ranker.features_[:30].tolist() != picks:
        sys.exit(f"they do not pick the same features: {ranker.features_[:30].tolist()} and {picks}")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = compare(
        {
            OURS: lambda: ranker.fit(data),
            LITERAL: lambda: literal_adarank(tenth.features, gains, tenth.offsets, options.boosting_rounds),
        },
        options.turns,
    )
    seconds[LITERAL] = [10 * each for each in seconds[LITERAL]]
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(
        f"{len(set(ranker.features_))} different features picked; "
        f"the features have {data.features.nbytes >> 20:,} MB, fitting took {grown:,.0f} MB more\n"
    )
    sys.exit(0 if print_ratios(seconds, OURS, {LITERAL: REQUIRED}) else 1)


if __name__ == "__main__":
    main()
