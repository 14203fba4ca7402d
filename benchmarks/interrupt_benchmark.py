"""Seconds from Ctrl-C to the end of a fit, in the cases where a fit makes long calls.

Each fit runs in a process of its own and gets SIGINT at several moments. The fit must end within 5 seconds.

    python benchmarks/interrupt_benchmark.py [--moments 0.5 1.5 4]
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from measuring import describe_machine

MAX_SECONDS = 5.0
SCRIPT = """
import os, signal, sys, threading, time, warnings
import numpy as np
from directranker import DirectRanker, LambdaMART, ListNet, RankSVM, example_dataset

warnings.simplefilter("ignore")
name, n_queries, n_documents, n_features, moment = sys.argv[1], *map(int, sys.argv[2:5]), float(sys.argv[5])
kind = {"DirectRanker": DirectRanker, "LambdaMART": LambdaMART, "ListNet": ListNet, "RankSVM": RankSVM}[name]
kind().fit(example_dataset().select(range(60)))  # kernels and imports
rng = np.random.default_rng(0)
n_rows = n_queries * n_documents
X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
y, qid = rng.integers(0, 3, n_rows), np.repeat(np.arange(n_queries), n_documents)
pressed = []
def press():
    pressed.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(moment, press).start()
try:
    kind(progress=False).fit(X, y, qid=qid)
except KeyboardInterrupt:
    pass
print(time.perf_counter() - pressed[0] if pressed else -1.0, flush=True)
os._exit(0)  # without waiting for an abandoned thread of LightGBM
"""
CASES = {
    "DirectRanker, 100,000 features": ("DirectRanker", 30, 10, 100_000),
    "LambdaMART, 100,000 features": ("LambdaMART", 30, 10, 100_000),
    "RankSVM, a query of 200,000 documents": ("RankSVM", 1, 200_000, 10),
    "DirectRanker, 200,000 queries of 2": ("DirectRanker", 200_000, 2, 10),
    "ListNet, 200,000 queries of 2": ("ListNet", 200_000, 2, 10),
}


def measure(case: tuple[str, int, int, int], moment: float) -> float:
    """Return the seconds from SIGINT to the end of the fit; below 0 if it had ended before."""
    command = [sys.executable, "-c", SCRIPT, *map(str, case), str(moment)]
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return float(run.stdout.split()[-1])


def main() -> None:
    """Print a row per case; exit with 1 if one takes too long."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--moments", type=float, nargs="+", default=[0.5, 1.5, 4.0])
    moments = parser.parse_args().moments
    print(describe_machine("lightgbm", "torch"))
    reached = True
    for name, case in CASES.items():
        seconds = [measure(case, moment) for moment in moments]
        shown = "  ".join("ended before" if value < 0 else f"{value:6.2f} s" for value in seconds)
        is_reached = max(seconds) <= MAX_SECONDS
        reached = reached and is_reached
        print(
            f"{name:<40} {shown}   ≤ {MAX_SECONDS:g} s  {'reached' if is_reached else 'MISSED'}", flush=True
        )
    sys.exit(0 if reached else 1)


if __name__ == "__main__":
    main()
