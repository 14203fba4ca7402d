"""Start-up time of a new process: import, `--help`, first ranking, first fit.

Each row is a whole process, started several times in turns with a bare interpreter. `warm` finds compiled
kernels in the package's cache, `cold` runs a copy of the package without a cache. The second table has the
import time of each heavy library, which a command saves if it does not import it.

    python benchmarks/startup_benchmark.py [--rounds 5] [--cold-rounds 1]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median

import directranker
from directranker import RankSVM, example_dataset, write_letor

from measuring import compare, describe_machine, measure_seconds

HEAVY = (
    "numpy",
    "scipy.linalg",
    "pyarrow",
    "numba",
    "sklearn.base",
    "lightgbm",
    "torch",
    "matplotlib.pyplot",
)
FIT = "from directranker import *; {}.fit(example_dataset())"
PLAIN_NET = "DirectRanker(random_state=0, teacher=None, transform='piecewise-linear')"
# Seconds of a warm process minus those of a bare interpreter, on two cores.
MAX_SECONDS = {"import directranker": 0.3, "directranker --help": 1.0, "directranker rank": 2.5}


def make_commands(folder: Path) -> dict[str, list[str]]:
    """Return the commands to time, by name; `folder` contains a saved model and data."""
    package = ["-m", "directranker"]
    files = [str(folder / name) for name in ("model", "data.txt", "scores.txt")]
    return {
        "import directranker": ["-c", "import directranker"],
        "directranker --help": [*package, "--help"],
        "directranker train --help": [*package, "train", "--help"],
        "directranker rank": [*package, "rank", *files[:2], "--out", files[2]],
        "RankSVM().fit": ["-c", FIT.format("RankSVM()")],
        "DirectRanker().fit, plain net": ["-c", FIT.format(PLAIN_NET)],
        "DirectRanker().fit": ["-c", FIT.format("DirectRanker(random_state=0)")],
    }


def run(arguments: list[str], package: Path, folder: Path) -> None:
    """Run a process with the package of this folder; an error contains its output."""
    environment = {**os.environ, "PYTHONPATH": str(package)}
    finished = subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    if finished.returncode:
        raise RuntimeError(f"{arguments} ended with {finished.returncode}: {finished.stderr[-2000:]}")


def measure_cold(arguments: list[str], folder: Path, rounds: int) -> float:
    """Measure the median over processes without compiled kernels or bytecode of the package."""
    seconds = []
    source = Path(directranker.__file__).parent
    for number in range(rounds):
        copy = folder / f"copy-{number}"
        shutil.copytree(source, copy / "directranker", ignore=shutil.ignore_patterns("__pycache__"))
        seconds.append(measure_seconds(partial(run, arguments, copy, folder)))
        shutil.rmtree(copy)
    return median(seconds)


def print_processes(folder: Path, *, rounds: int, cold_rounds: int) -> bool:
    """Print a row per process; return whether all limits are met."""
    package = Path(directranker.__file__).parents[1]
    tasks = {
        name: partial(run, arguments, package, folder) for name, arguments in make_commands(folder).items()
    }
    for task in tasks.values():
        task()  # compile, and fill the file cache
    seconds = compare({"bare": partial(run, ["-c", "pass"], package, folder), **tasks}, rounds)
    bare = median(seconds["bare"])
    print(f"\nseconds minus those of a bare interpreter ({bare:.3f})")
    print(f"{'process':32}{'warm':>8}{'cold':>8}{'required':>14}")
    reached = True
    for name, arguments in make_commands(folder).items():
        warm = median(seconds[name]) - bare
        cold = measure_cold(arguments, folder, cold_rounds) - bare
        limit = MAX_SECONDS.get(name)
        print(f"{name:32}{warm:>8.2f}{cold:>8.2f}{'' if limit is None else f'warm ≤ {limit:g}':>14}")
        reached = reached and (limit is None or warm <= limit)
    return reached


def print_imports(folder: Path, *, rounds: int) -> None:
    """Print the import time of each heavy library."""
    tasks = {name: partial(run, ["-c", f"import {name}"], folder, folder) for name in HEAVY}
    seconds = compare({"bare": partial(run, ["-c", "pass"], folder, folder), **tasks}, rounds)
    print(f"\n{'import':32}{'seconds':>8}")
    for name in HEAVY:
        print(f"{name:32}{median(seconds[name]) - median(seconds['bare']):>8.2f}")


def main() -> int:
    """Print both tables; return 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cold-rounds", type=int, default=1)
    options = parser.parse_args()
    print(describe_machine("torch", "numba", "scikit-learn", "lightgbm"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = example_dataset()
        write_letor(data.select(range(50)), folder / "data.txt")
        RankSVM().fit(data).save(folder / "model")
        reached = print_processes(folder, rounds=options.rounds, cold_rounds=options.cold_rounds)
        print_imports(folder, rounds=options.rounds)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
