"""What a trained ranker costs in production: ranking, ONNX, C, loading, and the first ranking of a process.

Made-up data of the shape of MSLR-WEB10K. `rank` runs as the command does, in a process of its own, from a
saved model and a saved data set to a TREC run; LightGBM's side reads the same saved data set, predicts with
500 trees of 64 leaves through its Python predictor, and writes the same run by the same code. Memory is the
peak of the whole process, for all kinds of input, and for saved data sets and text also at larger sizes.

    python benchmarks/production_benchmark.py --queries 6000 --more-queries 16700
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import lightgbm
import numpy as np
import torch

from directranker import DirectRanker, RankingDataset, export_ranker, write_letor, write_parquet
from directranker.export.c import find_c_compiler

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
from pathlib import Path
from directranker.data.ranking_files import ranking_writer
from directranker.data.streaming import stream_dataset
from directranker.ranking import ranked_tables
class Trees:
    def __init__(self, path):
        self.booster = lightgbm.Booster(model_file=path)
    def predict(self, piece):
        return self.booster.predict(piece.features)
trees = Trees(sys.argv[1])
start = time.perf_counter()
with ranking_writer(Path(sys.argv[3]), "trec", tag="x") as write:
    for table in ranked_tables(trees, stream_dataset(sys.argv[2])):
        write(table)
print(time.perf_counter() - start)
"""
OUR_SIDE = """
import sys, time
from directranker.cli.rank import rank
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
IN_PYTHON = """
import sys
import numpy as np
from directranker import load_ranker
ranker = load_ranker(sys.argv[1])
ranker.predict(np.load(sys.argv[2]))
"""
LOADING = """
import sys, time
import directranker.persistence, lightgbm
start = time.perf_counter()
directranker.persistence.load_ranker(sys.argv[1])
print(time.perf_counter() - start)
"""


Result = tuple[str, float, str, bool]
AT_A_TIME = 512
PIECES = f"{AT_A_TIME} rows at a time"


def in_process(script: str, *arguments: str | Path, stdin: Any = None) -> list[float]:
    """The numbers that a script prints last, in a new process."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdin=stdin, stdout=subprocess.PIPE, text=True)
    return [float(word) for word in done.stdout.splitlines()[-1].split()]


def trees_of_lightgbm(data: RankingDataset, path: Path) -> None:
    """Train 500 trees of 64 leaves on a part of the data."""
    part = data.select(range(min(150, data.n_queries)))
    parameters: dict[str, Any] = {"num_leaves": 64, "objective": "regression", "verbosity": -1}
    booster = lightgbm.train(parameters, lightgbm.Dataset(part.features, part.relevance), 500)
    booster.save_model(path)


def ranking(data: RankingDataset, model: str, place: Path, rounds: int) -> list[Result]:
    """The document rate of `rank` against LightGBM's, and its memory."""
    ours, theirs, peaks = [], [], []
    for _ in range(rounds):
        seconds, kilobytes = in_process(OUR_SIDE, place / model, place / "data", place / "out.run")
        ours.append(seconds)
        peaks.append(kilobytes / 1024)
        theirs.append(in_process(LIGHTGBM_SIDE, place / "trees.txt", place / "data", place / "their.run")[0])
    ratio = _times(theirs, ours)
    rates = [data.n_documents / median(seconds) for seconds in (ours, theirs)]
    print(f"rank, {model}: {rates[0]:,.0f} documents/s, LightGBM {rates[1]:,.0f}")
    return [
        (f"rank, {model}: times LightGBM's document rate", ratio, "≥ 5", ratio >= 5),
        (f"rank, {model}: peak memory, MB", max(peaks), "< 500", max(peaks) < 500),
    ]


def memory(data: RankingDataset, place: Path) -> list[Result]:
    """The peak memory of `rank` with each kind of input, in MB."""
    name = f"{data.n_documents:,} documents"
    saved, text, parquet = (place / f"memory{ending}" for ending in ("", ".txt", ".parquet"))
    data.save(saved, overwrite=True)
    write_letor(data, text)
    write_parquet(data, parquet)
    peaks = {
        path.suffix or "saved": in_process(OUR_SIDE, place / "default", path, place / "out.run")[1]
        for path in (saved, text, parquet)
    }
    with text.open("rb") as stdin:
        peaks["standard input"] = in_process(
            OUR_SIDE, place / "default", "-", place / "out.run", stdin=stdin
        )[1]
    return [
        (f"rank, {kind}, {name}: peak memory, MB", kilobytes / 1024, "< 500", kilobytes < 500 * 1024)
        for kind, kilobytes in peaks.items()
    ]


def onnx_against_predict(
    data: RankingDataset, ranker: Any, name: str, place: Path, rounds: int
) -> list[Result]:
    """How many times as long as onnxruntime our own predict takes: query by query as in serving, in bulk.

    In bulk also torch, by the same net on what the transform makes of the rows; onnxruntime with some of the
    rows at a time; and, as what a graph could reach at best, the product of the encoding and the first
    layer's weights, alone in a graph: `predict` sums the bins of a piecewise-linear encoding without forming
    it, and no operator of ONNX does that.
    """
    import onnxruntime  # noqa: PLC0415 - an optional package

    few = data.select(range(min(200, data.n_queries)))
    export_ranker(ranker, place / "onnx", to="onnx", rows=few)
    session = onnxruntime.InferenceSession(str(place / "onnx" / "model.onnx"))
    table = np.array(few.features)
    bare, encoding = bare_product(ranker), ranker.transform_.transform(table)
    cuts: dict[str, Any] = {"query by query": few.offsets, "in bulk": [0, len(table)]}
    some = [table[start : start + AT_A_TIME] for start in range(0, len(table), AT_A_TIME)]
    results = []
    for way, offsets in cuts.items():
        lists = [table[start:stop] for start, stop in pairwise(offsets)]
        works: dict[str, Callable[[], Any]] = {
            "predict": lambda lists=lists: [ranker.predict(rows) for rows in lists],  # type: ignore[misc]
            "onnx": lambda lists=lists: [session.run(None, {"features": rows}) for rows in lists],  # type: ignore[misc]
        }
        if way == "in bulk":
            works["torch"] = lambda: ranker.net_(torch.from_numpy(ranker.transform_.transform(table)))
            works[PIECES] = lambda: [session.run(None, {"features": rows}) for rows in some]
            works["the bare product"] = lambda: bare.run(None, {"encoding": encoding})
        with torch.no_grad():
            seconds = compare(works, rounds, warm=True)
        for other in (name for name in works if name != "onnx"):
            times = _times(seconds[other], seconds["onnx"])
            row = f"onnxruntime, {name}, {way}: times {other}'s rate"
            is_asked = other in ("predict", "torch")
            results.append((row, times, "≥ 1" if is_asked else "", times >= 1 or not is_asked))
        if way == "in bulk":
            bound = _times(seconds["predict"], seconds["the bare product"])
            results.append((f"the bare product, {name}, {way}: times predict's rate", bound, "", True))
    return results


def _times(theirs: list[float], ours: list[float]) -> float:
    """How many times as long as ours theirs takes, the median over the rounds."""
    return median(slow / quick for slow, quick in zip(theirs, ours, strict=True))


def bare_product(ranker: Any) -> Any:
    """A session of onnxruntime that multiplies an encoding by the weights of a ranker's first layer."""
    import onnx  # noqa: PLC0415 - optional packages
    import onnxruntime  # noqa: PLC0415

    weight = ranker.net_.state_dict()["feature_net.linear_1.weight"].numpy().T.copy()
    kind, helper = onnx.TensorProto.FLOAT, onnx.helper
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["encoding", "weight"], ["sums"])],
        "product",
        [helper.make_tensor_value_info("encoding", kind, ["n", weight.shape[0]])],
        [helper.make_tensor_value_info("sums", kind, ["n", weight.shape[1]])],
        initializer=[onnx.numpy_helper.from_array(weight, "weight")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    return onnxruntime.InferenceSession(made.SerializeToString())


def microseconds_in_c(data: RankingDataset, ranker: Any, place: Path, *flags: str) -> float:
    """The best time of the C function for one query of 100 documents."""
    folder = place / "".join(["c", *flags])
    export_ranker(ranker, folder, to="c", rows=data.select(range(20)), name="ranker")
    (folder / "main.c").write_text(TIMED_IN_C.format(n=100), encoding="ascii")
    compiler = find_c_compiler()
    if compiler is None:
        raise SystemExit("there is no C compiler")
    options = ["-O3", *flags, "-D_POSIX_C_SOURCE=199309L", "-std=c99"]
    command = [compiler, *options, "main.c", "ranker.c", "-lm", "-o", "timed"]
    subprocess.run(command, check=True, cwd=folder)
    done = subprocess.run([str(folder / "timed")], check=True, capture_output=True, text=True)
    return float(done.stdout) * 1e6


def cold_starts(model: Path, place: Path, data: RankingDataset) -> list[Result]:
    """The first ranking of one query in a new process, imports and all: the median of five, files warm."""
    one = data.select([0])
    one.save(place / "one")
    np.save(place / "one.npy", one.features)
    commands = {
        "directranker rank": ["-m", "directranker", "rank", str(model), str(place / "one")],
        "load_ranker, predict": ["-c", IN_PYTHON, str(model), str(place / "one.npy")],
    }
    results = []
    for name, arguments in commands.items():
        command = [sys.executable, *arguments]
        runs = [
            seconds_of(lambda run=command: subprocess.run(run, check=True, capture_output=True))  # type: ignore[misc]
            for _ in range(6)
        ]
        cold = median(runs[1:])
        results.append((f"first ranking of a cold process, {name}, s", cold, "≤ 2.5", cold <= 2.5))
    return results


def main() -> None:
    """Measure, print each figure beside what it must reach, and fail where one is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=6000, help="about 120 documents each")
    parser.add_argument("--more-queries", type=int, default=0, help="measure memory with so many as well")
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
            results += onnx_against_predict(data, ranker, name, place / name, options.rounds)
        for flags in ((), ("-march=native",)):
            each = microseconds_in_c(data, small, place, *flags)
            results.append(
                (f"C {' '.join(flags)}: µs for 100 documents, 136-64-1", each, "< 100", each < 100)
            )
        load = min(in_process(LOADING, place / "default")[0] for _ in range(3)) * 1000
        results.append(("load_ranker beyond imports, ms", load, "< 50", load < 50))
        results += cold_starts(place / "default", place, data)
        results += memory(data, place)
        if options.more_queries:
            results += memory(mslr_like(options.more_queries), place)
    for name, value, required, reached in results:
        verdict = "" if not required else "reached" if reached else "MISSED"
        print(f"{name:70}{value:>10.2f}{required:>9}  {verdict}")
    print(f"{data.n_documents} documents, {time.perf_counter() - started:.0f} s in all")
    sys.exit(0 if all(result[3] for result in results) else 1)


if __name__ == "__main__":
    main()
