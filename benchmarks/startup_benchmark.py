"""How long a new process takes until it is useful: import, `--help`, first ranking, first fit.

Each row is a whole process, started several times in alternation with a bare interpreter. `warm` finds
compiled kernels beside the package, `cold` runs a copy of the package without any. The second table is what
each heavy library costs to import: what a command saves by importing it only where it is used.

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

from measuring import compare, machine, seconds_of

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
# Seconds of a warm process beyond those of a bare interpreter, on two cores.
REQUIRED = {"import directranker": 0.3, "directranker --help": 1.0, "directranker rank": 2.5}


def commands(folder: Path) -> dict[str, list[str]]:
    """The processes to time, by name; `folder` has a saved model and data."""
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
    """Run one process to its end with the package of this folder; its output is part of an error."""
    environment = {**os.environ, "PYTHONPATH": str(package)}
    finished = subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    if finished.returncode:
        raise RuntimeError(f"{arguments} ended with {finished.returncode}: {finished.stderr[-2000:]}")


def cold_seconds(arguments: list[str], folder: Path, rounds: int) -> float:
    """The median over processes that each find no compiled kernel and no bytecode of the package."""
    seconds = []
    source = Path(directranker.__file__).parent
    for number in range(rounds):
        copy = folder / f"copy-{number}"
        shutil.copytree(source, copy / "directranker", ignore=shutil.ignore_patterns("__pycache__"))
        seconds.append(seconds_of(partial(run, arguments, copy, folder)))
        shutil.rmtree(copy)
    return median(seconds)


def print_processes(folder: Path, *, rounds: int, cold_rounds: int) -> bool:
    """Print a row per process; whether all required figures are reached."""
    package = Path(directranker.__file__).parents[1]
    works = {name: partial(run, arguments, package, folder) for name, arguments in commands(folder).items()}
    for work in works.values():
        work()  # compiles what is missing, and fills the file cache
    seconds = compare({"bare": partial(run, ["-c", "pass"], package, folder), **works}, rounds)
    bare = median(seconds["bare"])
    print(f"\nseconds beyond those of a bare interpreter ({bare:.3f})")
    print(f"{'process':32}{'warm':>8}{'cold':>8}{'required':>14}")
    reached = True
    for name, arguments in commands(folder).items():
        warm = median(seconds[name]) - bare
        cold = cold_seconds(arguments, folder, cold_rounds) - bare
        limit = REQUIRED.get(name)
        print(f"{name:32}{warm:>8.2f}{cold:>8.2f}{'' if limit is None else f'warm ≤ {limit:g}':>14}")
        reached = reached and (limit is None or warm <= limit)
    return reached


def print_imports(folder: Path, *, rounds: int) -> None:
    """Print what each heavy library costs a process that imports nothing else."""
    works = {name: partial(run, ["-c", f"import {name}"], folder, folder) for name in HEAVY}
    seconds = compare({"bare": partial(run, ["-c", "pass"], folder, folder), **works}, rounds)
    print(f"\n{'import':32}{'seconds':>8}")
    for name in HEAVY:
        print(f"{name:32}{median(seconds[name]) - median(seconds['bare']):>8.2f}")


def main() -> int:
    """Print both tables; 1 where a required figure is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cold-rounds", type=int, default=1)
    options = parser.parse_args()
    print(machine("torch", "numba", "scikit-learn", "lightgbm"))
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
