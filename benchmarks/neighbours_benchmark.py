"""Does r peak where classes change, on real data too? The paper's section on neighbours, in numbers.

A ranker sorts each query, and r between neighbours of different classes is compared with r between neighbours
of the same class: both means over the queries that have both, their difference with its standard error over
queries, and the fraction of queries with a positive difference. These means are biased: in the thin tails of
a ranking all gaps are wide, so the classes in the tails dominate. So the last column compares locally: how
often r at a class change is larger than r at the adjacent position.

Synthetic data as in the paper; the first fold of MQ2008 and the sample of MSLR-WEB10K, graded and binarised,
where the ranker is trained and evaluated on the binarised labels.

    DIRECTRANKER_DATA=folder python benchmarks/neighbours_benchmark.py
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker import DirectRanker, RankingDataset, make_synthetic, read_letor
from directranker.experiments.neighbours import Neighbours, compare_neighbours
from directranker.experiments.sensitivity import PROCEDURE, Setting, make_study_ranker

from measuring import describe_machine

N_QUERIES, N_DOCUMENTS = 50, 100


def main() -> None:
    """Print a row for each ranker on each data set."""
    print(describe_machine("torch"))
    print(f"{'':42}{'queries':>8}{'change':>8}{'same':>8}{'difference':>20}{'positive in':>13}{'locally':>9}")
    for name, ranker, train, test in _iterate_cases():
        fitted = ranker.set_params(random_state=0, progress=False).fit(train)
        queries = [compare_neighbours(fitted, test, query=str(query)) for query in test.query_ids]
        _print_row(name, [each for each in queries if 0 < each.changes.sum() < len(each.changes)])


def _iterate_cases() -> Iterator[tuple[str, Any, RankingDataset, RankingDataset]]:
    synthetic = make_synthetic(n_train=100_000, n_test=N_QUERIES * N_DOCUMENTS, random_state=0)
    qid = np.repeat(np.arange(N_QUERIES), N_DOCUMENTS)
    test = RankingDataset.from_arrays(synthetic.test.features, synthetic.test.relevance, qid=qid)
    yield "synthetic, the studies' ranker", make_study_ranker(PROCEDURE, Setting()), synthetic.train, test
    default_folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("DIRECTRANKER_DATA", default_folder))
    mslr, mq2008 = folder / "MSLR-WEB10K-sample", folder / "MQ2008" / "Fold1"
    for name, threshold, paths in (
        ("MSLR sample", 2, (mslr / "train.txt", mslr / "vali.txt")),
        ("MQ2008", 1, (mq2008 / "train.txt", mq2008 / "test.txt")),
    ):
        if not all(path.is_file() for path in paths):
            print(f"{paths[0]} does not exist; set DIRECTRANKER_DATA to the folder that contains it")
            continue
        graded = [read_letor(path) for path in paths]
        for kind, (train, test) in (
            ("graded", graded),
            ("binarised", [split.binarise(threshold) for split in graded]),
        ):
            yield f"{name}, {kind}, the paper's ranker", DirectRanker.paper(), train, test
            yield f"{name}, {kind}, the default ranker", DirectRanker(), train, test


def _print_row(name: str, queries: list[Neighbours]) -> None:
    change, same = np.array([each.mean_steps() for each in queries]).T
    difference = change - same
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    locally = np.concatenate([_compare_locally(each) for each in queries])
    print(
        f"{name:42}{len(queries):8}{change.mean():8.4f}{same.mean():8.4f}"
        f"{difference.mean():+11.4f} ± {error:.4f}{np.mean(difference > 0):12.0%}{locally.mean():9.0%}",
        flush=True,
    )


def _compare_locally(neighbours: Neighbours) -> NDArray[np.float64]:
    """Compare r at each class change with r at adjacent positions without one: 1 if larger, 0 if smaller."""
    results = []
    for index in np.flatnonzero(neighbours.changes):
        for adjacent in (index - 1, index + 1):
            if 0 <= adjacent < len(neighbours.steps) and not neighbours.changes[adjacent]:
                step, other = neighbours.steps[index], neighbours.steps[adjacent]
                results.append(0.5 if step == other else float(step > other))
    return np.array(results)


if __name__ == "__main__":
    main()
