"""Ranking quality on real tables with categories, compared with boosted trees and their native categories.

Peers are the best of six settings on the validation split; ours have their defaults. The validation split is
also that of early stopping for all. NDCG@10 is that of graded labels; `first` is the rate of queries whose
first document has the best label. Differences are paired by query and averaged over seeds and splits before
their standard error is computed.

    DIRECTRANKER_DATA=… python benchmarks/categories_benchmark.py [--seeds 3] [--results results.json]

Finished runs are stored in the results file, so that the same command resumes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker import DirectRanker, Ensemble, Fold, LambdaMART, RankingDataset, evaluate_per_query

from category_peers import PEERS, Scores
from category_tasks import TASKS, find_tables
from measuring import describe_machine

METRICS = ("ndcg@10", "first")
RANKERS: dict[str, Callable[[int], Any]] = {
    "DirectRanker": lambda seed: DirectRanker(random_state=seed, progress=False),
    "Ensemble": lambda seed: Ensemble(DirectRanker(progress=False), random_state=seed),
    "LambdaMART": lambda seed: LambdaMART(random_state=seed, progress=False),
}
Values = dict[str, list[float]]
"""Per query, by metric."""


def measure(data: RankingDataset, scores: Scores) -> Values:
    """Return NDCG@10, and whether the first document is the best, of each query with a label above 0."""
    ndcg = evaluate_per_query(
        data.relevance, scores, offsets=data.offsets, metrics=["ndcg@10"], convention="graded"
    )["ndcg@10"]
    first = []
    for start, stop in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        labels, own = data.relevance[start:stop], scores[start:stop]
        first.append(np.mean(labels[own == own.max()] == labels.max()))  # ties are broken at random
    counts = np.maximum.reduceat(data.relevance, data.offsets[:-1]) > 0
    return {"ndcg@10": np.asarray(ndcg)[counts].tolist(), "first": np.asarray(first)[counts].tolist()}


def run_ours(name: str, fold: Fold, seed: int) -> Values:
    """Fit one of our rankers with its defaults, and measure it on the test split."""
    ranker = RANKERS[name](seed).fit(fold.train, eval_set=fold.validation)
    return measure(fold.test, ranker.predict(fold.test))


def run_peer(name: str, fold: Fold, seed: int) -> Values:
    """Fit all settings of a peer, and measure the best on validation on the test split."""
    fit, settings = PEERS[name]
    scores = [fit(fold, seed, **setting) for setting in settings]
    best = max(scores, key=lambda pair: np.mean(measure(fold.validation, pair[0])["ndcg@10"]))
    return measure(fold.test, best[1])


def run_all(
    folder: Path, seeds: int, peer_seeds: int, tasks: list[str], results: Path
) -> Iterator[tuple[str, str, Values]]:
    """Yield (task, ranker, values), run by run; finished runs are read from the results."""
    finished: dict[str, Values] = json.loads(results.read_text()) if results.exists() else {}
    for task in TASKS:
        if tasks and task.name not in tasks:
            continue
        for number, fold in enumerate(task.folds(folder)):
            for name in (*RANKERS, *PEERS):
                for seed in range(seeds if name in RANKERS else peer_seeds):
                    key = f"{task.name} | {number} | {name} | {seed}"
                    if key not in finished:
                        start = time.perf_counter()
                        finished[key] = (run_ours if name in RANKERS else run_peer)(name, fold, seed)
                        results.write_text(json.dumps(finished))
                        value = np.mean(finished[key]["ndcg@10"])
                        print(f"  {key}: {value:.4f} in {time.perf_counter() - start:.0f} s", file=sys.stderr)
                    yield task.name, name, finished[key] | {"fold": [number]}


def average(runs: list[Values], metric: str) -> NDArray[np.float64]:
    """Average runs of the same fold over seeds, and concatenate folds: a value per query."""
    folds = sorted({int(run["fold"][0]) for run in runs})
    means = [np.mean([run[metric] for run in runs if run["fold"][0] == fold], axis=0) for fold in folds]
    return np.concatenate(means)


def print_table(table: dict[tuple[str, str], list[Values]]) -> bool:
    """Print a row per task and ranker; return whether DirectRanker is nowhere significantly behind."""
    reached = True
    for task in dict.fromkeys(task for task, _ in table):
        print(f"\n{task:<24}{'NDCG@10':>18}{'first':>18}{'− best peer':>22}")
        values = {name: average(runs, "ndcg@10") for (where, name), runs in table.items() if where == task}
        best = max(PEERS, key=lambda name: values[name].mean())
        for name, own in values.items():
            first = average(table[task, name], "first")
            difference = own - values[best]
            error = difference.std(ddof=1) / np.sqrt(len(own))
            shown = "" if name == best else f"{difference.mean():+.4f} ± {error:.4f}"
            print(f"  {name:<22}{_format(own):>18}{_format(first):>18}{shown:>22}")
            reached &= name != "DirectRanker" or difference.mean() > -2 * error
    names = dict.fromkeys(name for _, name in table)
    print("\nmean over the tables")
    for name in names:
        means = [average(runs, "ndcg@10").mean() for (_, other), runs in table.items() if other == name]
        print(f"  {name:<22}{np.mean(means):>10.4f}")
    return reached


def _format(values: NDArray[np.float64]) -> str:
    return f"{values.mean():.4f} ± {values.std(ddof=1) / np.sqrt(len(values)):.4f}"


def main() -> None:
    """Run what is not finished, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--peer-seeds", type=int, default=1)
    parser.add_argument("--task", action="append", default=[], help="the name of a table; default: all")
    parser.add_argument("--results", type=Path, default=Path("categories_results.json"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(describe_machine("lightgbm", "xgboost-cpu", "catboost", "torch"))
    table: dict[tuple[str, str], list[Values]] = {}
    runs = run_all(find_tables(), options.seeds, options.peer_seeds, options.task, options.results)
    for task, name, values in runs:
        table.setdefault((task, name), []).append(values)
    sys.exit(0 if print_table(table) else 1)


if __name__ == "__main__":
    main()
