"""Generations of ES-Rank beside bare NDCG evaluations of the same documents.

Data of the shape of MSLR-WEB10K: 6,000 queries, about 717,000 documents, 136 features. A generation draws a
change, updates the scores and evaluates NDCG@10; the bare evaluation is `evaluate` of NDCG@10 on scores that
lie ready. Both take turns, so many calls each; a ratio is the median over the rounds. 1,300 generations are
not run but scaled. Exit code 1 tells that the ratio is missed. Beside it: what a fit costs besides the
generations, RankSVM, and the peak of memory.

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
from directranker.rankers.linear.evolution import Parent, Part, evolve
from directranker.rankers.rounds import Rounds

from measuring import compare, machine, seconds_of
from mslr_like import mslr_like

MOST = 4.0
GENERATIONS = 1300


class Generations:
    """The evolution of a fitted ranker's weights, without what a fit does once."""

    def __init__(self, ranker: ESRank, data: RankingDataset) -> None:
        metric = RepeatedMetric(Metric.parse("ndcg@10", convention="paper"), data.relevance, data.offsets)
        counted = ~np.isnan(metric.per_query(np.zeros(data.n_documents)))
        table = ranker.transform_.transform(data.features)
        self.parent = Parent(Part(table, metric, counted / counted.sum()), np.ones(table.shape[1]))
        self.turn = 0

    def run(self, n: int) -> None:
        """Some more generations."""
        self.turn += 1
        evolve(self.parent, Rounds("", n, progress=False), steps="cauchy", seed=self.turn)


def check_generations(data: RankingDataset, n: int, rounds: int) -> bool:
    """The ratio of a generation to a bare evaluation."""
    generations = Generations(ESRank(n_generations=0).fit(data), data)
    scores = np.random.default_rng(0).normal(size=data.n_documents)

    def bare() -> None:
        for _ in range(n):
            evaluate(data.relevance, scores, offsets=data.offsets, metrics="ndcg@10", convention="paper")

    bare()
    generations.run(2)
    seconds = compare({"bare": bare, "n_generations": lambda: generations.run(n)}, rounds)
    ratio = median(ours / bare for ours, bare in zip(seconds["n_generations"], seconds["bare"], strict=True))
    for name, each in seconds.items():
        one = median(each) / n
        print(f"{name:12}{1e3 * one:8.1f} ms each, {GENERATIONS * one:7.1f} s for {GENERATIONS:,}")
    print(f"a generation takes {ratio:.2f} times a bare evaluation (at most {MOST:g})")
    return ratio <= MOST


def show_fits(data: RankingDataset) -> None:
    """What is done once: the transform, the start, and all of RankSVM."""
    for ranker in (ESRank(n_generations=0), IESRRank(n_generations=0), IESVMRank(n_generations=0), RankSVM()):
        seconds = seconds_of(lambda ranker=ranker: ranker.fit(data))  # type: ignore[misc]
        rounds = f", {ranker.n_rounds_} rounds" if isinstance(ranker, RankSVM) else ", its start alone"
        print(f"{type(ranker).__name__:12}{seconds:8.1f} s{rounds}", flush=True)


def main() -> None:
    """Measure, and leave with 1 if the ratio is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=6000)
    parser.add_argument("--generations", type=int, default=20, help="in each turn")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(machine("numba", "numpy", "scikit-learn"))
    data = mslr_like(options.queries)
    print(data)
    reached = check_generations(data, options.n_generations, options.rounds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"peak memory so far {peak / 1e6:,.0f} MB, the data {data.features.nbytes / 1e6:,.0f} MB")
    show_fits(data)
    sys.exit(0 if reached else 1)


if __name__ == "__main__":
    main()
