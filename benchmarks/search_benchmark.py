"""What a search costs beside its trainings, what two workers gain, and how quick a finished one comes back.

A grid search of DirectRankers with a fixed number of epochs on generated data, each training of a second or
two, all on one core. Beside it the same trainings in a plain loop: fit, predict, measure; they take turns.
Then the same search in two worker processes. They start in the first round, whose seconds hold that too, and
stay for the others, as they stay for all that a comparison trains. Last, what is finished already: the same
search again in this process, and `directranker compare` in a fresh one. Exit code 1: something is missed.

    python benchmarks/search_benchmark.py [--queries 600] [--epochs 8] [--candidates 8] [--only fits,workers]
"""

from __future__ import annotations

import os

# One core for each training, told to everybody before they are imported.
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

from measuring import compare, machine, seconds_of
from mslr_like import mslr_like

FOLDS = 5
ROUNDS = 3
OVERHEAD, TWO_WORKERS, RESUMED_SECONDS = 1.1, 0.6, 3.0


def ranker_of(epochs: int) -> DirectRanker:
    """The same number of epochs, whatever comes out."""
    return DirectRanker(max_epochs=epochs, early_stopping=False, random_state=0)


def grid_of(candidates: int) -> dict[str, list[float]]:
    """Some learning rates."""
    return {"learning_rate": np.geomspace(1e-4, 1e-2, candidates).tolist()}


def search(
    data: RankingDataset, epochs: int, candidates: int, workers: int, store: Path | None = None
) -> None:
    """The search itself."""
    grid_search(
        ranker_of(epochs), grid_of(candidates), data, folds=FOLDS, refit=False, workers=workers, store=store
    )


def plain_loop(data: RankingDataset, epochs: int, candidates: int) -> None:
    """The same trainings without a search."""
    splits = [
        (train.select({"": data}), test.select({"": data})) for train, test in split_queries("", data, FOLDS)
    ]
    for rate in grid_of(candidates)["learning_rate"]:
        for train, test in splits:
            ranker = ranker_of(epochs).set_params(learning_rate=rate, progress=False).fit(train)
            scores = ranker.predict(test.features)
            evaluate(test.relevance, scores, offsets=test.offsets, metrics="ndcg@10", convention="paper")


def check(name: str, value: float, most: float, unit: str = "") -> bool:
    """Print what came out and whether it is enough."""
    print(f"{name}: {value:.2f}{unit} (at most {most:g}{unit})", flush=True)
    return value <= most


def check_fits(run: Callable[..., None], loop: Callable[..., None]) -> bool:
    """The search beside the plain loop, with a quarter of the candidates."""
    works: dict[str, Callable[[], None]] = {"plain loop": loop, "search": partial(run, workers=1)}
    return check_ratio(works, "search", "plain loop", OVERHEAD)


def check_workers(run: Callable[..., None]) -> bool:
    """Two workers beside one."""
    works: dict[str, Callable[[], None]]
    works = {"one worker": partial(run, workers=1), "two workers": partial(run, workers=2)}
    return check_ratio(works, "two workers", "one worker", TWO_WORKERS)


def check_ratio(works: Mapping[str, Callable[[], None]], first: str, second: str, most: float) -> bool:
    """Time both in turns; the median of the ratios counts."""
    seconds = compare(works, ROUNDS)
    for name, each in seconds.items():
        print(f"{name}: {', '.join(f'{one:.1f}' for one in each)} s")
    ratios = [one / other for one, other in zip(seconds[first], seconds[second], strict=True)]
    return check(f"{first} ÷ {second}", median(ratios), most)


def check_resumed(data: RankingDataset, run: Callable[..., None]) -> bool:
    """What is finished already."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        finished = partial(run, workers=1, epochs=1, store=folder / "jobs.sqlite")
        finished()
        again = median(seconds_of(finished) for _ in range(ROUNDS))
        data.select(range(90)).save(folder / "data")
        words = [
            "--rankers",
            "RankSVM,DirectRanker",
            "--inner-folds",
            "validation",
            "--out",
            str(folder / "out"),
        ]
        command = [sys.executable, "-m", "directranker", "compare", str(folder / "data"), *words]
        works = [partial(subprocess.run, command, check=True, capture_output=True) for _ in range(ROUNDS + 1)]
        whole, *shown = [seconds_of(work) for work in works]
    reached = check("a finished search again", again, RESUMED_SECONDS, " s")
    print(f"directranker compare took {whole:.1f} s")
    return check("the finished one in a fresh process", median(shown), RESUMED_SECONDS, " s") and reached


def main() -> None:
    """Measure, and leave with 1 if something is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=600)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--candidates", type=int, default=8)
    parser.add_argument("--only", default="fits,workers,resumed")
    options = parser.parse_args()
    print(machine("torch", "joblib", "scikit-learn"))
    data = mslr_like(options.queries, n_features=20)
    print(data)
    ranker_of(1).fit(data)  # compiles what is compiled once
    few = max(1, options.candidates // 4)
    run = partial(search, data, epochs=options.epochs, candidates=options.candidates)
    checks: dict[str, Callable[[], bool]] = {
        "fits": lambda: check_fits(
            partial(run, candidates=few), partial(plain_loop, data, options.epochs, few)
        ),
        "workers": lambda: check_workers(run),
        "resumed": lambda: check_resumed(data, run),
    }
    reached = [checks[name]() for name in options.only.split(",")]
    sys.exit(0 if all(reached) else 1)


if __name__ == "__main__":
    main()
