"""The cost of a trained ranker in production: ranking, ONNX, C, loading, and the first ranking of a process.

Synthetic data of the shape of MSLR-WEB10K. `rank` runs as the command does, in a separate process, from a
saved model and a saved data set to a TREC run; LightGBM's process reads the same saved data set, predicts
with 500 trees of 64 leaves through its Python predictor, and writes the same run with the same code. Memory
is the peak of the whole process, for all kinds of input, and for saved data sets and text also at larger
sizes.

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

from measuring import compare, describe_machine, measure_seconds
from mslr_like import make_mslr_like

C_TIMING = """
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
RANK_WITH_LIGHTGBM = """
import sys, time
import lightgbm
from pathlib import Path
from directranker.data.ranking_files import open_ranking_writer
from directranker.data.formats import stream_dataset
from directranker.ranking import rank_pieces
class Trees:
    def __init__(self, path):
        self.booster = lightgbm.Booster(model_file=path)
    def predict(self, features):
        return self.booster.predict(features)
trees = Trees(sys.argv[1])
start = time.perf_counter()
with open_ranking_writer(Path(sys.argv[3]), "trec", tag="x") as write:
    for table in rank_pieces(trees, stream_dataset(sys.argv[2])):
        write(table)
print(time.perf_counter() - start)
"""
RANK_WITH_OURS = """
import sys, time
from directranker.cli import main
from directranker.persistence import load_ranker
from pathlib import Path
load_ranker(sys.argv[1])
start = time.perf_counter()
model, data, out = sys.argv[1:4]
sys.argv[1:] = ["rank", model, data, "--out", out, "--tag", "x"]
try:
    main()
except SystemExit as ended:
    assert not ended.code
seconds = time.perf_counter() - start
# Not ru_maxrss, which a child process inherits from its parent.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(seconds, peak.split()[1])
"""
LOAD_AND_PREDICT = """
import sys
import numpy as np
from directranker import load_ranker
ranker = load_ranker(sys.argv[1])
ranker.predict(np.load(sys.argv[2]))
"""
LOAD = """
import sys, time
import directranker.persistence, lightgbm
start = time.perf_counter()
directranker.persistence.load_ranker(sys.argv[1])
print(time.perf_counter() - start)
"""


Result = tuple[str, float, str, bool]
ROWS_PER_CALL = 512
IN_BLOCKS = f"{ROWS_PER_CALL} rows at a time"


def run_script(script: str, *arguments: str | Path, stdin: Any = None) -> list[float]:
    """Run a script in a new process and return the numbers on its last line."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    process = subprocess.run(command, check=True, stdin=stdin, stdout=subprocess.PIPE, text=True)
    return [float(number) for number in process.stdout.splitlines()[-1].split()]


def train_lightgbm(data: RankingDataset, path: Path) -> None:
    """Train 500 trees of 64 leaves on a subset of the data."""
    subset = data.select(range(min(150, data.n_queries)))
    parameters: dict[str, Any] = {"num_leaves": 64, "objective": "regression", "verbosity": -1}
    booster = lightgbm.train(parameters, lightgbm.Dataset(subset.features, subset.relevance), 500)
    booster.save_model(path)


def measure_ranking(data: RankingDataset, model: str, folder: Path, rounds: int) -> list[Result]:
    """Compare the document rate of `rank` with LightGBM's, and measure its memory."""
    ours, theirs, peaks = [], [], []
    for _ in range(rounds):
        seconds, kilobytes = run_script(RANK_WITH_OURS, folder / model, folder / "data", folder / "out.run")
        ours.append(seconds)
        peaks.append(kilobytes / 1024)
        theirs.append(
            run_script(RANK_WITH_LIGHTGBM, folder / "trees.txt", folder / "data", folder / "their.run")[0]
        )
    ratio = _compute_ratio(theirs, ours)
    rates = [data.n_documents / median(seconds) for seconds in (ours, theirs)]
    print(f"rank, {model}: {rates[0]:,.0f} documents/s, LightGBM {rates[1]:,.0f}")
    return [
        (f"rank, {model}: times LightGBM's document rate", ratio, "≥ 5", ratio >= 5),
        (f"rank, {model}: peak memory, MB", max(peaks), "< 500", max(peaks) < 500),
    ]


def measure_memory(data: RankingDataset, folder: Path) -> list[Result]:
    """Measure the peak memory of `rank` with each kind of input, in MB."""
    name = f"{data.n_documents:,} documents"
    saved, text, parquet = (folder / f"memory{ending}" for ending in ("", ".txt", ".parquet"))
    data.save(saved, overwrite=True)
    write_letor(data, text)
    write_parquet(data, parquet)
    peaks = {
        path.suffix or "saved": run_script(RANK_WITH_OURS, folder / "default", path, folder / "out.run")[1]
        for path in (saved, text, parquet)
    }
    with text.open("rb") as stdin:
        peaks["standard input"] = run_script(
            RANK_WITH_OURS, folder / "default", "-", folder / "out.run", stdin=stdin
        )[1]
    return [
        (f"rank, {kind}, {name}: peak memory, MB", kilobytes / 1024, "< 500", kilobytes < 500 * 1024)
        for kind, kilobytes in peaks.items()
    ]


def compare_onnx(data: RankingDataset, ranker: Any, name: str, folder: Path, rounds: int) -> list[Result]:
    """Compare the speed of onnxruntime with `predict`: query by query as in serving, and in bulk.

    In bulk also torch, with the same net on the encoded rows; onnxruntime with blocks of rows; and, as an
    upper bound for any graph, the product of the encoding and the weights of the first layer alone: `predict`
    sums the bins of a piecewise-linear encoding without materialising it, which no operator of ONNX does.
    """
    import onnxruntime  # noqa: PLC0415 - slow to import

    few = data.select(range(min(200, data.n_queries)))
    export_ranker(ranker, folder / "onnx", to="onnx", rows=few)
    session = onnxruntime.InferenceSession(str(folder / "onnx" / "model.onnx"))
    table = np.array(few.features)
    product, encoding = make_first_product(ranker), ranker.transform_.transform(table)
    cuts: dict[str, Any] = {"query by query": few.offsets, "in bulk": [0, len(table)]}
    blocks = [table[start : start + ROWS_PER_CALL] for start in range(0, len(table), ROWS_PER_CALL)]
    results = []
    for mode, offsets in cuts.items():
        queries = [table[start:stop] for start, stop in pairwise(offsets)]
        tasks: dict[str, Callable[[], Any]] = {
            "predict": lambda queries=queries: [ranker.predict(rows) for rows in queries],  # type: ignore[misc]
            "onnx": lambda queries=queries: [session.run(None, {"features": rows}) for rows in queries],  # type: ignore[misc]
        }
        if mode == "in bulk":
            tasks["torch"] = lambda: ranker.net_(torch.from_numpy(ranker.transform_.transform(table)))
            tasks[IN_BLOCKS] = lambda: [session.run(None, {"features": rows}) for rows in blocks]
            tasks["the first product"] = lambda: product.run(None, {"encoding": encoding})
        with torch.no_grad():
            seconds = compare(tasks, rounds, warm=True)
        for other in (name for name in tasks if name != "onnx"):
            ratio = _compute_ratio(seconds[other], seconds["onnx"])
            row = f"onnxruntime, {name}, {mode}: times {other}'s rate"
            is_required = other in ("predict", "torch")
            results.append((row, ratio, "≥ 1" if is_required else "", ratio >= 1 or not is_required))
        if mode == "in bulk":
            bound = _compute_ratio(seconds["predict"], seconds["the first product"])
            results.append((f"the first product, {name}, {mode}: times predict's rate", bound, "", True))
    return results


def _compute_ratio(theirs: list[float], ours: list[float]) -> float:
    """Compute the median over rounds of their time divided by ours."""
    return median(their / our for their, our in zip(theirs, ours, strict=True))


def make_first_product(ranker: Any) -> Any:
    """Make an onnxruntime session that multiplies an encoding by the weights of the first layer."""
    import onnx  # noqa: PLC0415 - slow to import
    import onnxruntime  # noqa: PLC0415 - slow to import

    weight = ranker.net_.state_dict()["feature_net.linear_1.weight"].numpy().T.copy()
    kind, helper = onnx.TensorProto.FLOAT, onnx.helper
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["encoding", "weight"], ["sums"])],
        "product",
        [helper.make_tensor_value_info("encoding", kind, ["n", weight.shape[0]])],
        [helper.make_tensor_value_info("sums", kind, ["n", weight.shape[1]])],
        initializer=[onnx.numpy_helper.from_array(weight, "weight")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    return onnxruntime.InferenceSession(model.SerializeToString())


def measure_c(data: RankingDataset, ranker: Any, folder: Path, *flags: str) -> float:
    """Measure the best time of the C function for a query of 100 documents, in microseconds."""
    c_folder = folder / "".join(["c", *flags])
    export_ranker(ranker, c_folder, to="c", rows=data.select(range(20)), name="ranker")
    (c_folder / "main.c").write_text(C_TIMING.format(n=100), encoding="ascii")
    compiler = find_c_compiler()
    if compiler is None:
        raise SystemExit("no C compiler found; install gcc or clang")
    options = ["-O3", *flags, "-D_POSIX_C_SOURCE=199309L", "-std=c99"]
    command = [compiler, *options, "main.c", "ranker.c", "-lm", "-o", "timed"]
    subprocess.run(command, check=True, cwd=c_folder)
    process = subprocess.run([str(c_folder / "timed")], check=True, capture_output=True, text=True)
    return float(process.stdout) * 1e6


def measure_cold_starts(model: Path, folder: Path, data: RankingDataset) -> list[Result]:
    """Measure the first ranking of a query in a new process including imports: the median of five."""
    one = data.select([0])
    one.save(folder / "one")
    np.save(folder / "one.npy", one.features)
    commands = {
        "directranker rank": ["-m", "directranker", "rank", str(model), str(folder / "one")],
        "load_ranker, predict": ["-c", LOAD_AND_PREDICT, str(model), str(folder / "one.npy")],
    }
    results = []
    for name, arguments in commands.items():
        command = [sys.executable, *arguments]
        runs = [
            measure_seconds(lambda run=command: subprocess.run(run, check=True, capture_output=True))  # type: ignore[misc]
            for _ in range(6)
        ]
        cold = median(runs[1:])
        results.append((f"first ranking of a cold process, {name}, s", cold, "≤ 2.5", cold <= 2.5))
    return results


def main() -> None:
    """Measure, print each figure with its requirement, and exit with 1 if one is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=6000, help="about 120 documents each")
    parser.add_argument(
        "--more-queries", type=int, default=0, help="also measure memory with this many queries"
    )
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(describe_machine("lightgbm", "torch", "onnxruntime"))
    started = time.perf_counter()
    data = make_mslr_like(options.queries)
    quick: dict[str, Any] = {"max_epochs": 1, "random_state": 0}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        few = data.select(range(100))
        default = DirectRanker(**quick).fit(few)
        small = DirectRanker(**quick, hidden_layers=(64,), transform="standard").fit(few)
        default.save(folder / "default")
        small.save(folder / "small")
        results = []
        data.save(folder / "data")
        train_lightgbm(data, folder / "trees.txt")
        for name in ("default", "small"):
            results += measure_ranking(data, name, folder, options.rounds)
        for name, ranker in (("defaults", default), ("136-64-1, standard", small)):
            (folder / name).mkdir()
            results += compare_onnx(data, ranker, name, folder / name, options.rounds)
        for flags in ((), ("-march=native",)):
            each = measure_c(data, small, folder, *flags)
            results.append(
                (f"C {' '.join(flags)}: µs for 100 documents, 136-64-1", each, "< 100", each < 100)
            )
        load = min(run_script(LOAD, folder / "default")[0] for _ in range(3)) * 1000
        results.append(("load_ranker beyond imports, ms", load, "< 50", load < 50))
        results += measure_cold_starts(folder / "default", folder, data)
        results += measure_memory(data, folder)
        if options.more_queries:
            results += measure_memory(make_mslr_like(options.more_queries), folder)
    for name, value, required, reached in results:
        verdict = "" if not required else "reached" if reached else "MISSED"
        print(f"{name:70}{value:>10.2f}{required:>9}  {verdict}")
    print(f"{data.n_documents} documents, {time.perf_counter() - started:.0f} s in total")
    sys.exit(0 if all(result[3] for result in results) else 1)


if __name__ == "__main__":
    main()
