"""What a search costs beside its trainings, what two workers gain, and how quick a finished one comes back.

A grid search of DirectRankers with a fixed number of epochs on generated data, each training of a second or
two, all on one core. Beside it the same trainings in a plain loop: fit, predict, measure. Then the same
search in two worker processes, whose start counts, and in a fresh process on a store that has all cells,
where imports count; a process that only imports is timed beside it. Exit code 1: something is missed.

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
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from directranker import DirectRanker, RankingDataset, evaluate, grid_search
from directranker.model_selection.cross_validation import query_folds

from measuring import machine, seconds_of
from mslr_like import mslr_like

FOLDS = 5
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
    splits = [(train.of({"": data}), test.of({"": data})) for train, test in query_folds("", data, FOLDS)]
    for rate in grid_of(candidates)["learning_rate"]:
        for train, test in splits:
            ranker = ranker_of(epochs).set_params(learning_rate=rate, progress=False).fit(train)
            scores = ranker.predict(test.features)
            evaluate(test.relevance, scores, offsets=test.offsets, metrics="ndcg@10", convention="paper")


def check(name: str, value: float, most: float, unit: str = "") -> bool:
    """Print what came out and whether it is enough."""
    print(f"{name}: {value:.2f}{unit} (at most {most:g}{unit})", flush=True)
    return value <= most


def check_fits(run: Callable[..., None], loop: Callable[[], None]) -> bool:
    """The search beside the plain loop."""
    bare, searched = seconds_of(loop), seconds_of(lambda: run(workers=1))
    print(f"plain loop {bare:.1f} s, search {searched:.1f} s")
    return check("search ÷ plain loop", searched / bare, OVERHEAD)


def check_workers(run: Callable[..., None]) -> bool:
    """Two workers beside one."""
    two, one = seconds_of(lambda: run(workers=2)), seconds_of(lambda: run(workers=1))
    print(f"one worker {one:.1f} s, two workers {two:.1f} s with their start")
    return check("two workers ÷ one", two / one, TWO_WORKERS)


def check_resumed(run: Callable[..., None], options: argparse.Namespace) -> bool:
    """A fresh process on a store that has all cells."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "cells.sqlite"
        run(workers=1, epochs=2, store=store)
        words = f"mslr_like({options.queries}), 2, {options.candidates}, 1, {str(store)!r}"
        script = f"from search_benchmark import search, mslr_like; search({words})"
        again = [seconds_of(lambda: run_python(script)) for _ in range(3)]
    imports = [seconds_of(lambda: run_python("import directranker.rankers")) for _ in range(3)]
    print(f"a process that only imports torch, scikit-learn and numba takes {min(imports):.2f} s")
    return check("a finished search in a fresh process", min(again), RESUMED_SECONDS, " s")


def run_python(script: str) -> None:
    """In a process of its own."""
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "PYTHONPATH": path})


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
    run = partial(search, data, epochs=options.epochs, candidates=options.candidates)
    checks: dict[str, Callable[[], bool]] = {
        "fits": lambda: check_fits(run, lambda: plain_loop(data, options.epochs, options.candidates)),
        "workers": lambda: check_workers(run),
        "resumed": lambda: check_resumed(run, options),
    }
    reached = [checks[name]() for name in options.only.split(",")]
    sys.exit(0 if all(reached) else 1)


if __name__ == "__main__":
    main()
