"""Overhead of a search over its trainings, the gain from two workers, and reloading a finished search.

A grid search of DirectRankers with a fixed number of epochs on synthetic data, each training of one or two
seconds, on one core. It is compared with the same trainings in a plain loop (fit, predict, evaluate), in
turns. Then the same search in two worker processes, which start in the first round and stay for the others,
as they do in a comparison. Last, a finished search: again in this process, and `directranker compare` in a
new one. Exit code 1 means that a requirement is missed.

    python benchmarks/search_benchmark.py [--queries 600] [--epochs 8] [--candidates 8] [--only fits,workers]
"""

from __future__ import annotations

import os

# One core per training; set before the libraries are imported.
os.environ |= {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from directranker import DirectRanker, RankingDataset, evaluate, grid_search
from directranker.model_selection.cross_validation import split_queries

from measuring import compare, describe_machine, measure_seconds
from mslr_like import make_mslr_like

FOLDS = 5
ROUNDS = 3
MAX_OVERHEAD, MAX_TWO_WORKERS, MAX_RESUMED_SECONDS = 1.1, 0.6, 3.0


def make_ranker(epochs: int) -> DirectRanker:
    """Make a ranker with a fixed number of epochs."""
    return DirectRanker(max_epochs=epochs, early_stopping=False, random_state=0)


def make_grid(candidates: int) -> dict[str, list[float]]:
    """Make a grid of learning rates."""
    return {"learning_rate": np.geomspace(1e-4, 1e-2, candidates).tolist()}


def search(
    data: RankingDataset, epochs: int, candidates: int, workers: int, store: Path | None = None
) -> None:
    """Run the search."""
    grid_search(
        make_ranker(epochs),
        make_grid(candidates),
        data,
        folds=FOLDS,
        refit=False,
        workers=workers,
        store=store,
    )


def run_plain_loop(data: RankingDataset, epochs: int, candidates: int) -> None:
    """Run the same trainings without a search."""
    splits = [
        (train.select({"": data}), test.select({"": data})) for train, test in split_queries("", data, FOLDS)
    ]
    for rate in make_grid(candidates)["learning_rate"]:
        for train, test in splits:
            ranker = make_ranker(epochs).set_params(learning_rate=rate, progress=False).fit(train)
            scores = ranker.predict(test.features)
            evaluate(test.relevance, scores, offsets=test.offsets, metrics="ndcg@10", convention="paper")


def check(name: str, value: float, limit: float, unit: str = "") -> bool:
    """Print a figure and its limit; return whether it is met."""
    print(f"{name}: {value:.2f}{unit} (at most {limit:g}{unit})", flush=True)
    return value <= limit


def check_fits(run: Callable[..., None], loop: Callable[..., None]) -> bool:
    """Compare the search with the plain loop, with a quarter of the candidates."""
    tasks: dict[str, Callable[[], None]] = {"plain loop": loop, "search": partial(run, workers=1)}
    return check_ratio(tasks, "search", "plain loop", MAX_OVERHEAD)


def check_workers(run: Callable[..., None]) -> bool:
    """Compare two workers with one."""
    tasks: dict[str, Callable[[], None]]
    tasks = {"one worker": partial(run, workers=1), "two workers": partial(run, workers=2)}
    return check_ratio(tasks, "two workers", "one worker", MAX_TWO_WORKERS)


def check_ratio(tasks: Mapping[str, Callable[[], None]], first: str, second: str, limit: float) -> bool:
    """Time both in turns; check the median of the ratios."""
    seconds = compare(tasks, ROUNDS)
    for name, each in seconds.items():
        print(f"{name}: {', '.join(f'{value:.1f}' for value in each)} s")
    ratios = [ours / theirs for ours, theirs in zip(seconds[first], seconds[second], strict=True)]
    return check(f"{first} ÷ {second}", median(ratios), limit)


def check_resumed(data: RankingDataset, run: Callable[..., None]) -> bool:
    """Measure how fast a finished search and comparison are loaded."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        finished = partial(run, workers=1, epochs=1, store=folder / "jobs.sqlite")
        finished()
        again = median(measure_seconds(finished) for _ in range(ROUNDS))
        data.select(range(90)).save(folder / "data")
        arguments = [
            "--rankers",
            "RankSVM,DirectRanker",
            "--inner-folds",
            "validation",
            "--out",
            str(folder / "out"),
        ]
        command = [sys.executable, "-m", "directranker", "compare", str(folder / "data"), *arguments]
        tasks = [partial(subprocess.run, command, check=True, capture_output=True) for _ in range(ROUNDS + 1)]
        first, *later = [measure_seconds(task) for task in tasks]
    reached = check("a finished search again", again, MAX_RESUMED_SECONDS, " s")
    print(f"directranker compare took {first:.1f} s")
    return (
        check("the finished comparison in a new process", median(later), MAX_RESUMED_SECONDS, " s")
        and reached
    )


def main() -> None:
    """Measure, and exit with 1 if a requirement is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=600)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--candidates", type=int, default=8)
    parser.add_argument("--only", default="fits,workers,resumed")
    options = parser.parse_args()
    print(describe_machine("torch", "joblib", "scikit-learn"))
    data = make_mslr_like(options.queries, n_features=20)
    print(data)
    make_ranker(1).fit(data)  # compile
    few = max(1, options.candidates // 4)
    run = partial(search, data, epochs=options.epochs, candidates=options.candidates)
    checks: dict[str, Callable[[], bool]] = {
        "fits": lambda: check_fits(
            partial(run, candidates=few), partial(run_plain_loop, data, options.epochs, few)
        ),
        "workers": lambda: check_workers(run),
        "resumed": lambda: check_resumed(data, run),
    }
    reached = [checks[name]() for name in options.only.split(",")]
    sys.exit(0 if all(reached) else 1)


if __name__ == "__main__":
    main()
