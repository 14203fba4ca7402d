"""Generations of ES-Rank, compared with plain NDCG evaluations of the same documents.

Data of the shape of MSLR-WEB10K: 6,000 queries, about 717,000 documents, 136 features. A generation samples a
mutation, updates the scores and evaluates NDCG@10; the plain evaluation is `evaluate` of NDCG@10 on
precomputed scores. Both run in turns, several calls each; a ratio is the median over the rounds. The time of
1,300 generations is extrapolated. Exit code 1 means that the ratio is missed. Also printed: the cost of a fit
apart from the generations, RankSVM, and the peak memory.

    python benchmarks/es_rank_benchmark.py [--queries 6000] [--generations 20] [--rounds 5]
"""

from __future__ import annotations

import argparse
import resource
import sys
from statistics import median

import numpy as np

from directranker import Metric, RankingDataset, evaluate
from directranker.metrics.repeated import RepeatedMetric
from directranker.rankers import ESRank, IESRRank, IESVMRank, RankSVM
from directranker.rankers.linear.evolution import EvaluationSplit, Parent, evolve
from directranker.rankers.rounds import Rounds

from measuring import compare, describe_machine, measure_seconds
from mslr_like import make_mslr_like

MAX_RATIO = 4.0
GENERATIONS = 1300


class Generations:
    """The evolution of a fitted ranker's weights, without the one-time cost of a fit."""

    def __init__(self, ranker: ESRank, data: RankingDataset) -> None:
        metric = RepeatedMetric(Metric.parse("ndcg@10", convention="paper"), data.relevance, data.offsets)
        is_counted = ~np.isnan(metric.per_query(np.zeros(data.n_documents)))
        table = ranker.transform_.transform(data.features)
        self.parent = Parent(
            EvaluationSplit(table, metric, is_counted / is_counted.sum()), np.ones(table.shape[1])
        )
        self.turn = 0

    def run(self, n: int) -> None:
        """Run n more generations."""
        self.turn += 1
        evolve(self.parent, Rounds("", n, progress=False), step_distribution="cauchy", seed=self.turn)


def check_generations(data: RankingDataset, n: int, rounds: int) -> bool:
    """Return whether the ratio of a generation to a plain evaluation is small enough."""
    generations = Generations(ESRank(n_generations=0).fit(data), data)
    scores = np.random.default_rng(0).normal(size=data.n_documents)

    def evaluate_repeatedly() -> None:
        for _ in range(n):
            evaluate(data.relevance, scores, offsets=data.offsets, metrics="ndcg@10", convention="paper")

    evaluate_repeatedly()
    generations.run(2)
    seconds = compare({"evaluations": evaluate_repeatedly, "generations": lambda: generations.run(n)}, rounds)
    ratio = median(
        ours / plain for ours, plain in zip(seconds["generations"], seconds["evaluations"], strict=True)
    )
    for name, each in seconds.items():
        one = median(each) / n
        print(f"{name:12}{1e3 * one:8.1f} ms each, {GENERATIONS * one:7.1f} s for {GENERATIONS:,}")
    print(f"a generation takes {ratio:.2f} times a plain evaluation (at most {MAX_RATIO:g})")
    return ratio <= MAX_RATIO


def print_fits(data: RankingDataset) -> None:
    """Print the one-time cost: the transform and the initial weights, and a whole fit of RankSVM."""
    for ranker in (ESRank(n_generations=0), IESRRank(n_generations=0), IESVMRank(n_generations=0), RankSVM()):
        seconds = measure_seconds(lambda ranker=ranker: ranker.fit(data))  # type: ignore[misc]
        rounds = f", {ranker.n_rounds_} rounds" if isinstance(ranker, RankSVM) else ", initial weights only"
        print(f"{type(ranker).__name__:12}{seconds:8.1f} s{rounds}", flush=True)


def main() -> None:
    """Measure, and exit with 1 if the ratio is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=6000)
    parser.add_argument("--generations", type=int, default=20, help="per turn")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(describe_machine("numba", "numpy", "scikit-learn"))
    data = make_mslr_like(options.queries)
    print(data)
    reached = check_generations(data, options.generations, options.rounds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"peak memory so far {peak / 1e6:,.0f} MB, data {data.features.nbytes / 1e6:,.0f} MB")
    print_fits(data)
    sys.exit(0 if reached else 1)


if __name__ == "__main__":
    main()
