"""Fuzz every Parquet reader: each file must be read, or raise a `DataError` that names the file.

First come columns of every Arrow type in every role, with and without a null, and crafted metadata; then
valid files with changed, missing or moved bytes, most of them in the footer. The error for a file with one
bad column must also name the column. The readers run in separate processes with a memory limit, so that a
crash of Arrow itself is counted.

    python benchmarks/parquet_fuzzing_benchmark.py --files 20000
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow as pa

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "data"))
from directranker import DataError, example_dataset
from directranker.data.formats import read_dataset, stream_dataset
from directranker.data.parquet_files import write_parquet
from directranker.data.tabular import Layout

from hostile_parquet import ROLES, arrow_columns, as_parquet, crafted_tables, mutate, with_column
from measuring import describe_machine

MEMORY = 6 << 30
PER_PROCESS = 1000


def _stream(path: Path) -> int:
    return sum(piece.n_documents for piece in stream_dataset(path))


def _read(path: Path) -> int:
    return read_dataset(path).n_documents


READERS: tuple[Callable[[Path], int], ...] = (_read, _stream)


def try_readers(path: Path, column: str | None = None) -> str:
    """Try all readers on a file; return `read`, `refused`, or the fault."""
    outcomes = set()
    for reader in READERS:
        try:
            reader(path)
            outcomes.add("read")
        except DataError as error:
            names_file = str(error).startswith(f"{path}: ") and "\n" not in str(error)
            is_order = "do not stand together" in str(error)  # an error of the rows, not of a column
            if not names_file or (column is not None and repr(column) not in str(error) and not is_order):
                return f"FAULT: does not name file or column {column!r}: {error}"
            outcomes.add("refused")
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            ours = next(frame for frame in reversed(frames) if "directranker" in frame.filename)
            location = f"{Path(ours.filename).name}:{ours.lineno}"
            return f"FAULT: {type(error).__name__}: {str(error)[:150]} at {location}"
    return " and ".join(sorted(outcomes))


def make_typed_files() -> Iterator[tuple[str, str | None, bytes]]:
    """Make files of every type and role and of crafted metadata: description, column to name, content."""
    for kind, column in arrow_columns().items():
        for role in ROLES:
            for with_null in (False, True):
                try:
                    content = as_parquet(with_column(role, column, with_null=with_null))
                except pa.ArrowException:
                    continue
                if content is not None:
                    yield f"{kind} as {role}{' with a null' * with_null}", role, content
    for name, table in crafted_tables():
        content = as_parquet(table)
        if content is not None:
            yield name, None, content


def make_valid_files(path: Path) -> Iterator[bytes]:
    """Make files that all readers accept: small ones of many types, and larger ones that we write."""
    for _, _, content in make_typed_files():
        path.write_bytes(content)
        if try_readers(path) == "read":
            yield content
    for layout in get_args(Layout):
        write_parquet(example_dataset().select(range(8)), path, layout=layout)
        yield from [path.read_bytes()] * 40  # as frequent as all the others together


def run(first: int, stop: int, seed: int, folder: Path) -> None:
    """Try some mutations in this process; print one line per outcome."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    path, counts = folder / "mutate.parquet", Counter[str]()
    files = list(make_valid_files(path))
    for number in range(first, stop):
        rng = np.random.default_rng([seed, number])
        path.write_bytes(mutate(files[int(rng.integers(len(files)))], rng))
        result = try_readers(path)
        counts[result] += 1
        if result.startswith("FAULT"):
            print(f"{number}: {result}", flush=True)
    print("\n".join(f"={count} {name}" for name, count in counts.items()))


def main() -> None:
    """Try all files, and print the number of each outcome."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", type=int, default=20_000)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--first", type=int, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if options.first is not None:
            run(options.first, options.first + options.files, options.seed, Path(name))
            return
        print(describe_machine("pyarrow", "numpy"))
        counts, path = Counter[str](), Path(name, "typed.parquet")
        for description, column, content in make_typed_files():
            path.write_bytes(content)
            result = try_readers(path, column)
            counts[result.partition(":")[0]] += 1
            if result.startswith("FAULT"):
                print(f"{description}: {result}", flush=True)
        print(f"types and metadata: {dict(counts)}", flush=True)
        sys.exit(_run_mutations(options.files, options.seed) + counts["FAULT"] > 0)


def _run_mutations(n_files: int, seed: int) -> int:
    """Run all mutations in processes; return the number of faults and crashes."""
    counts = Counter[str]()
    for first in range(0, n_files, PER_PROCESS):
        n_here = min(PER_PROCESS, n_files - first)
        command = [
            sys.executable,
            __file__,
            "--first",
            str(first),
            "--files",
            str(n_here),
            "--seed",
            str(seed),
        ]
        process = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
        for line in process.stdout.splitlines():
            if line.startswith("="):
                count, _, description = line[1:].partition(" ")
                counts[description.partition(":")[0]] += int(count)
            else:
                print(line, flush=True)
        if process.returncode:
            counts["CRASH"] += 1
            print(f"from {first} on: exit code {process.returncode}\n{process.stderr[-500:]}", flush=True)
    print(f"mutations: {dict(counts)}")
    return counts["FAULT"] + counts["CRASH"]


if __name__ == "__main__":
    main()
