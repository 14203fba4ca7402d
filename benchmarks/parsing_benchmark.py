"""Read an MSLR-like text of at least 150 MB, compared with scikit-learn.

Time: ours compared with `load_svmlight_file(query_id=True)`, in turns. Memory: the increase of the peak
memory of a separate process, which may be the array plus 1.5 times the text in flight.

    python benchmarks/parsing_benchmark.py
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from directranker import RankingDataset, read_letor, write_letor
from directranker.compilation import get_n_threads
from directranker.data.letor.builder import BLOCK_BYTES

from measuring import compare, describe_machine, print_ratios
from mslr_like import make_mslr_like

ROUNDS = 5
REQUIRED = {"scikit-learn, load_svmlight_file": 60.0}
REQUIRED_OPENING = {"scikit-learn, load_svmlight_file": 1000.0}

# Runs in a separate process, so that nothing else is measured.
PEAK_MEMORY = """
import sys
from pathlib import Path
from directranker import read_letor

def read_memory(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

read_letor(sys.argv[2])  # compile, start threads
Path("/proc/self/clear_refs").write_text("5")  # reset the peak
before = read_memory("VmRSS:")
data = read_letor(sys.argv[1])
print(read_memory("VmHWM:") - before, data.features.nbytes + data.relevance.nbytes)
"""


def main() -> None:
    """Write the text, measure, print, and exit with 1 if a requirement is missed."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--queries", type=int, default=1250, help="about 143 KB of text each")
    queries = arguments.parse_args().queries
    print(describe_machine("scikit-learn", "numba", "numpy"))
    with tempfile.TemporaryDirectory() as folder:
        text, small, saved = (Path(folder) / name for name in ("data.txt", "small.txt", "saved"))
        data = make_mslr_like(queries)
        write_letor(data, text)
        write_letor(data.select(range(5)), small)
        read_letor(small)  # compile
        print(f"{text.stat().st_size / 1e6:.0f} MB of text, {data}\n")
        theirs, *_ = load_svmlight_file(str(small), query_id=True)
        np.testing.assert_allclose(theirs.toarray(), data.select(range(5)).features, rtol=1e-6)
        ours = read_letor(text)
        np.testing.assert_array_equal(ours.features, data.features)
        ours.save(saved)
        seconds = compare(
            {
                "directranker, read_letor": lambda: read_letor(text),
                "scikit-learn, load_svmlight_file": lambda: load_svmlight_file(str(text), query_id=True),
                "directranker, open the saved data set": lambda: RankingDataset.load(saved),
            },
            ROUNDS,
        )
        reached = print_ratios(seconds, "directranker, read_letor", REQUIRED)
        print("\nrelative to opening the saved data set:")
        reached &= print_ratios(seconds, "directranker, open the saved data set", REQUIRED_OPENING)
        reached &= check_memory(text, small)
    sys.exit(0 if reached else 1)


def check_memory(text: Path, small: Path) -> bool:
    """Print the peak memory of parsing and its limit; return whether it is below."""
    if not Path("/proc/self/clear_refs").exists():
        print("\npeak memory: only measured on Linux")
        return True
    command = [sys.executable, "-c", PEAK_MEMORY, str(text), str(small)]
    peak, array = map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    in_flight = get_n_threads() * BLOCK_BYTES
    limit = array + 1.5 * in_flight
    print(
        f"\npeak memory of parsing: {peak / 1e6:.1f} MB; the array {array / 1e6:.1f} MB "
        f"and 1.5 times the text in flight of {in_flight / 1e6:.1f} MB: {limit / 1e6:.1f} MB"
    )
    return peak <= limit


if __name__ == "__main__":
    main()
