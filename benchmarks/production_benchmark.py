"""What a trained ranker costs in production: ranking, ONNX, C, loading, and the first ranking of a process.

Made-up data of the shape of MSLR-WEB10K. `rank` runs as the command does, in a process of its own, from a
saved model and a saved data set to a TREC run; LightGBM's side reads the same saved data set and predicts
with 500 trees of 64 leaves, and writes nothing.

    python benchmarks/production_benchmark.py --queries 6000
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import lightgbm
import numpy as np

from directranker import DirectRanker, RankingDataset, export_ranker
from directranker.export.c import c_compiler

from measuring import compare, machine, seconds_of
from mslr_like import mslr_like

TIMED_IN_C = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "ranker.h"

int main(void) {{
    static float features[{n} * RANKER_N_FEATURES], scores[{n}];
    double best = 1e9;
    const size_t n_numbers = sizeof features / sizeof *features;
    for (size_t i = 0; i < n_numbers; i++) features[i] = (float)(rand() % 1000) / 100.0f;
    for (int round = 0; round < 2000; round++) {{
        struct timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        ranker_score(features, {n}, scores);
        clock_gettime(CLOCK_MONOTONIC, &to);
        const double seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
        if (seconds < best) best = seconds;
    }}
    printf("%.9f\\n", best);
    return 0;
}}
"""
LIGHTGBM_SIDE = """
import sys, time
import lightgbm
from directranker import RankingDataset
booster = lightgbm.Booster(model_file=sys.argv[1])
data = RankingDataset.load(sys.argv[2])
start = time.perf_counter()
booster.predict(data.features)
print(time.perf_counter() - start)
"""
OUR_SIDE = """
import sys, time
from directranker.cli.ranking import rank
from directranker.persistence import load_ranker
from pathlib import Path
load_ranker(sys.argv[1])
start = time.perf_counter()
rank(Path(sys.argv[1]), Path(sys.argv[2]), out=Path(sys.argv[3]), tag="x")
seconds = time.perf_counter() - start
# Not ru_maxrss, which a child inherits from the process that started it.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(seconds, peak.split()[1])
"""
LOADING = """
import sys, time
import directranker.persistence, lightgbm
start = time.perf_counter()
directranker.persistence.load_ranker(sys.argv[1])
print(time.perf_counter() - start)
"""


def in_process(script: str, *arguments: str | Path) -> list[float]:
    """The numbers that a script prints last, in a new process."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(word) for word in done.stdout.splitlines()[-1].split()]


def trees_of_lightgbm(data: RankingDataset, path: Path) -> None:
    """Train 500 trees of 64 leaves on a part of the data."""
    part = data.select(range(min(150, data.n_queries)))
    parameters: dict[str, Any] = {"num_leaves": 64, "objective": "regression", "verbosity": -1}
    booster = lightgbm.train(parameters, lightgbm.Dataset(part.features, part.relevance), 500)
    booster.save_model(path)


def ranking(data: RankingDataset, model: str, place: Path, rounds: int) -> list[tuple[str, float, str, bool]]:
    """The document rate of `rank` against LightGBM's, and its memory."""
    ours, theirs, memory = [], [], []
    for _ in range(rounds):
        seconds, kilobytes = in_process(OUR_SIDE, place / model, place / "data", place / "out.run")
        ours.append(seconds)
        memory.append(kilobytes / 1024)
        theirs.append(in_process(LIGHTGBM_SIDE, place / "trees.txt", place / "data")[0])
    ratio = median(slow / quick for slow, quick in zip(theirs, ours, strict=True))
    rates = [data.n_documents / median(seconds) for seconds in (ours, theirs)]
    print(f"rank, {model}: {rates[0]:,.0f} documents/s, LightGBM {rates[1]:,.0f}")
    return [
        (f"rank, {model}: times LightGBM's document rate", ratio, "≥ 5", ratio >= 5),
        (f"rank, {model}: peak memory, MB", max(memory), "< 500", max(memory) < 500),
    ]


def onnx_against_predict(data: RankingDataset, ranker: Any, place: Path, rounds: int) -> float:
    """How many times as long as onnxruntime our own predict takes, query by query as in serving."""
    import onnxruntime  # noqa: PLC0415 - an optional package

    few = data.select(range(min(200, data.n_queries)))
    export_ranker(ranker, place / "onnx", to="onnx", rows=few)
    session = onnxruntime.InferenceSession(str(place / "onnx" / "model.onnx"))
    lists = [np.array(few.select([query]).features) for query in range(few.n_queries)]
    works: dict[str, Callable[[], Any]] = {
        "predict": lambda: [ranker.predict(rows) for rows in lists],
        "onnx": lambda: [session.run(None, {"features": rows}) for rows in lists],
    }
    seconds = compare(works, rounds, warm=True)
    return median(ours / onnx for ours, onnx in zip(seconds["predict"], seconds["onnx"], strict=True))


def microseconds_in_c(data: RankingDataset, ranker: Any, place: Path, *flags: str) -> float:
    """The best time of the C function for one query of 100 documents."""
    folder = place / "".join(["c", *flags])
    export_ranker(ranker, folder, to="c", rows=data.select(range(20)), name="ranker")
    (folder / "main.c").write_text(TIMED_IN_C.format(n=100), encoding="ascii")
    compiler = c_compiler()
    if compiler is None:
        raise SystemExit("there is no C compiler")
    options = ["-O3", *flags, "-D_POSIX_C_SOURCE=199309L", "-std=c99"]
    command = [compiler, *options, "main.c", "ranker.c", "-lm", "-o", "timed"]
    subprocess.run(command, check=True, cwd=folder)
    done = subprocess.run([str(folder / "timed")], check=True, capture_output=True, text=True)
    return float(done.stdout) * 1e6


def cold_start(model: Path, place: Path, data: RankingDataset) -> float:
    """The first ranking of one query in a new process, imports and all."""
    data.select([0]).save(place / "one")
    command = [sys.executable, "-m", "directranker", "rank", str(model), str(place / "one")]
    return min(seconds_of(lambda: subprocess.run(command, check=True, capture_output=True)) for _ in range(4))


def main() -> None:
    """Measure, print each figure beside what it must reach, and fail where one is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=6000, help="about 120 documents each")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(machine("lightgbm", "torch", "onnxruntime"))
    started = time.perf_counter()
    data = mslr_like(options.queries)
    quick: dict[str, Any] = {"max_epochs": 1, "random_state": 0}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        few = data.select(range(100))
        default = DirectRanker(**quick).fit(few)
        small = DirectRanker(**quick, hidden_layers=(64,), transform="standard").fit(few)
        default.save(place / "default")
        small.save(place / "small")
        results = []
        data.save(place / "data")
        trees_of_lightgbm(data, place / "trees.txt")
        for name in ("default", "small"):
            results += ranking(data, name, place, options.rounds)
        for name, ranker in (("defaults", default), ("136-64-1, standard", small)):
            (place / name).mkdir()
            times = onnx_against_predict(data, ranker, place / name, options.rounds)
            results.append((f"onnxruntime, {name}: times predict's rate", times, "≥ 1", times >= 1))
        for flags in ((), ("-march=native",)):
            each = microseconds_in_c(data, small, place, *flags)
            results.append(
                (f"C {' '.join(flags)}: µs for 100 documents, 136-64-1", each, "< 100", each < 100)
            )
        load = min(in_process(LOADING, place / "default")[0] for _ in range(3)) * 1000
        results.append(("load_ranker beyond imports, ms", load, "< 50", load < 50))
        cold = cold_start(place / "default", place, data)
        results.append(("first ranking of a cold process, s", cold, "≤ 2.5", cold <= 2.5))
    for name, value, required, reached in results:
        print(f"{name:55}{value:>10.2f}{required:>9}  {'' if reached else 'MISSED'}")
    print(f"{data.n_documents} documents, {time.perf_counter() - started:.0f} s in all")
    sys.exit(0 if all(result[3] for result in results) else 1)


if __name__ == "__main__":
    main()
