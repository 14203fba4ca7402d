"""Does r peak where classes change, on real data too? The paper's section on neighbours, in numbers.

A ranker sorts each query, and r between neighbours of different classes is compared with r between neighbours
of the same class: the mean of both over queries that have either, by how much the first is larger, with its
standard error over queries, and in how many queries it is. Lists as a ranker sorts them are not balanced: in
the thin tails all gaps are wide, and which class lies there decides the means. So beside it stands the same
for ranks within neighbourhoods: whether r at a change is larger than r of the places next to it.

Synthetic data as in the paper; the first fold of MQ2008 and the sample of MSLR-WEB10K, graded and binarised,
where the ranker is trained on the binarised labels and judged by them too.

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

from measuring import machine

N_LISTS, LIST = 50, 100


def main() -> None:
    """Print a line for each ranker on each data set."""
    print(machine("torch"))
    print(f"{'':42}{'queries':>8}{'change':>8}{'same':>8}{'difference':>20}{'larger in':>11}{'locally':>9}")
    for name, ranker, train, test in _cases():
        fitted = ranker.set_params(random_state=0, progress=False).fit(train)
        lists = [compare_neighbours(fitted, test, query=str(query)) for query in test.query_ids]
        _print_row(name, [one for one in lists if 0 < one.changes.sum() < len(one.changes)])


def _cases() -> Iterator[tuple[str, Any, RankingDataset, RankingDataset]]:
    made = make_synthetic(n_train=100_000, n_test=N_LISTS * LIST, random_state=0)
    of_list = np.repeat(np.arange(N_LISTS), LIST)
    test = RankingDataset.from_arrays(made.test.features, made.test.relevance, qid=of_list)
    yield "synthetic, the studies' ranker", make_study_ranker(PROCEDURE, Setting()), made.train, test
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("DIRECTRANKER_DATA", beside))
    mslr, mq2008 = folder / "MSLR-WEB10K-sample", folder / "MQ2008" / "Fold1"
    for name, threshold, paths in (
        ("MSLR sample", 2, (mslr / "train.txt", mslr / "vali.txt")),
        ("MQ2008", 1, (mq2008 / "train.txt", mq2008 / "test.txt")),
    ):
        if not all(path.is_file() for path in paths):
            print(f"{paths[0]} is not there; set DIRECTRANKER_DATA to a folder that has it")
            continue
        graded = [read_letor(path) for path in paths]
        for kind, (train, test) in (
            ("graded", graded),
            ("binarised", [part.binarise(threshold) for part in graded]),
        ):
            yield f"{name}, {kind}, the paper's ranker", DirectRanker.paper(), train, test
            yield f"{name}, {kind}, the default ranker", DirectRanker(), train, test


def _print_row(name: str, lists: list[Neighbours]) -> None:
    change, same = np.array([one.mean_steps() for one in lists]).T
    difference = change - same
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    locally = np.concatenate([_larger_than_beside(one) for one in lists])
    print(
        f"{name:42}{len(lists):8}{change.mean():8.4f}{same.mean():8.4f}"
        f"{difference.mean():+11.4f} ± {error:.4f}{np.mean(difference > 0):10.0%}{locally.mean():9.0%}",
        flush=True,
    )


def _larger_than_beside(one: Neighbours) -> NDArray[np.float64]:
    """For each change: 1 where r is larger than at a place next to it without a change, 0 where smaller."""
    found = []
    for place in np.flatnonzero(one.changes):
        for beside in (place - 1, place + 1):
            if 0 <= beside < len(one.steps) and not one.changes[beside]:
                step, other = one.steps[place], one.steps[beside]
                found.append(0.5 if step == other else float(step > other))
    return np.array(found)


if __name__ == "__main__":
    main()
