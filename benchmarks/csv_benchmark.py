"""Read a CSV with 20 numeric and 10 string columns, compared with `pyarrow.csv.read_csv` alone.

Time: ours and pyarrow's in turns. Ours must take at most 1.5 times as long; it makes a data set, with
features in one array and strings as categories. Memory of streaming: the increase of the peak memory of a
process for the whole file, relative to the one for its first tenth.

    python benchmarks/csv_benchmark.py --megabytes 1000
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from directranker import read_dataset

from measuring import compare, describe_machine

ROUNDS = 5
N_NUMBERS, N_STRINGS = 20, 10
ROWS_PER_BLOCK = 20_000
LIMIT = 1.5
MEMORY_LIMIT = 100e6
PYARROW, OURS = "pyarrow.csv.read_csv", "directranker.read_dataset"

# Runs in a separate process, so that nothing else is measured.
PEAK_MEMORY = """
import sys
from pathlib import Path
from directranker.data.formats import stream_dataset
n_documents = sum(piece.n_documents for piece in stream_dataset(sys.argv[1]))
# Not ru_maxrss, which a process inherits from the one that started it.
lines = Path("/proc/self/status").read_text().splitlines()
print(next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), n_documents)
"""


def main() -> None:
    """Write the file, measure, print, and exit with 1 if a requirement is missed."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--megabytes", type=int, default=200, help="size of the file")
    arguments.add_argument("--rounds", type=int, default=ROUNDS)
    options = arguments.parse_args()
    print(describe_machine("pyarrow", "numpy"))
    with tempfile.TemporaryDirectory() as folder:
        path, small = Path(folder) / "data.csv", Path(folder) / "small.csv"
        write_csv(path, options.megabytes * 10**6)
        write_csv(small, options.megabytes * 10**5)
        check_values(small)
        print(f"{path.stat().st_size / 1e6:.0f} MB, {N_NUMBERS} numeric and {N_STRINGS} string columns\n")
        tasks = {PYARROW: lambda: pyarrow.csv.read_csv(path), OURS: lambda: read_dataset(path)}
        seconds = compare(tasks, options.rounds, warm=True)
        ratio = median(ours / theirs for ours, theirs in zip(seconds[OURS], seconds[PYARROW], strict=True))
        for name, each in seconds.items():
            print(f"{name:30}{median(each):>8.2f} s")
        print(f"ratio {ratio:.2f}, required ≤ {LIMIT}")
        peaks = measure_peak(path), measure_peak(small)
        increase = peaks[0] - peaks[1]
        print(
            f"peak memory of streaming: {peaks[0] / 1e6:.0f} MB for all of it, {peaks[1] / 1e6:.0f} MB for a "
            f"tenth; difference {increase / 1e6:.0f} MB, required ≤ {MEMORY_LIMIT / 1e6:.0f} MB"
        )
    sys.exit(0 if ratio <= LIMIT and increase <= MEMORY_LIMIT else 1)


def write_csv(path: Path, n_bytes: int) -> None:
    """Write blocks of rows until the file has this size."""
    rng = np.random.default_rng(0)
    number = 0
    with path.open("wb") as file:
        while file.tell() < n_bytes:
            options = pyarrow.csv.WriteOptions(include_header=number == 0)
            pyarrow.csv.write_csv(make_block(rng, number), file, write_options=options)
            number += 1


def make_block(rng: np.random.Generator, number: int) -> pa.Table:
    """Make rows of 20 documents per query; strings have from 10 to 10,000 distinct values."""
    rows = np.arange(number * ROWS_PER_BLOCK, (number + 1) * ROWS_PER_BLOCK)
    columns: dict[str, NDArray[Any]] = {"qid": rows // 20, "relevance": rng.integers(0, 5, len(rows))}
    for index in range(N_NUMBERS):
        columns[f"number_{index}"] = rng.normal(size=len(rows)).round(5)
    for index in range(N_STRINGS):
        values = rng.integers(0, 10 ** (1 + index % 4), len(rows)).astype(str)
        columns[f"string_{index}"] = np.char.add(f"value-{index}-", values)
    return pa.table(columns)


def check_values(path: Path) -> None:
    """Compare what is read with what pyarrow reads."""
    table, data = pyarrow.csv.read_csv(path), read_dataset(path)
    for index, name in enumerate(data.feature_names):
        values = data.features[:, index]
        if name in data.categories:
            texts = data.categories[name].take(pa.array(values.astype(np.int64)))
            np.testing.assert_array_equal(texts.to_pylist(), table[name].to_pylist())
        else:
            np.testing.assert_array_equal(values, table[name].to_numpy().astype(np.float32))


def measure_peak(path: Path) -> int:
    """Return the peak memory of a process that streams a file."""
    command = [sys.executable, "-c", PEAK_MEMORY, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout.split()[0])


if __name__ == "__main__":
    main()
