"""Splitting work into slices and running them in threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from directranker.compilation import ANNOUNCEMENT, run_in_parallel, split_evenly, split_queries_evenly


@given(st.integers(0, 50), st.integers(1, 8))
def test_split_evenly_covers_everything_once(n: int, n_slices: int) -> None:
    boundaries = split_evenly(n, n_slices)
    assert [row for start, stop in pairwise(boundaries) for row in range(start, stop)] == list(range(n))
    lengths = np.diff(boundaries)
    assert lengths.max() - lengths.min() <= 1


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 8))
def test_split_queries_evenly_covers_all_queries_once(lengths: list[int], n_slices: int) -> None:
    boundaries = split_queries_evenly(np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]), n_slices)
    assert boundaries == sorted(set(boundaries))
    assert (boundaries[0], boundaries[-1]) == (0, len(lengths))
    assert len(boundaries) <= n_slices + 1


def test_slices_run_concurrently_and_errors_propagate() -> None:
    both = threading.Barrier(2, timeout=10)
    assert len(run_in_parallel(lambda start, stop: both.wait(), [0, 1, 2])) == 2

    def fail(start: int, stop: int) -> None:
        raise RuntimeError(f"slice {start}")

    with pytest.raises(RuntimeError, match="slice 0"):
        run_in_parallel(fail, [0, 1, 2])


FIRST_CALLS = """
import os, pickle, sys
from pathlib import Path
import numpy as np
from directranker.encoding.per_query import _rank_within_queries as kernel

def call():
    child = os.fork()  # with its own kernels, but the imports of this process
    if not child:
        for dtype in (np.float32, np.float64):
            kernel(np.ones((2, 1), dtype), np.array([0, 2]))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    print("====", file=sys.stderr, flush=True)

call()
call()
for index in Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nbi"):  # as left by a version with other modules
    version = pickle.dumps(pickle.loads(index.read_bytes()))
    index.write_bytes(version + b"cdirectranker.no_such_module\\nName\\n.")
call()
call()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_first_compilation_is_announced_once_and_a_cached_kernel_is_not(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_CALLS],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_OPT": "0"},  # compiles faster
        capture_output=True,
        text=True,
        check=True,
    )
    # Once, though two are compiled, and without a terminal.
    assert done.stderr.split("====\n") == [ANNOUNCEMENT, "", ANNOUNCEMENT, "", ""]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_starts_its_own_threads() -> None:
    work = [0, 1, 2]
    run_in_parallel(lambda start, stop: start, work)
    child = os.fork()
    if child == 0:
        os._exit(0 if run_in_parallel(lambda start, stop: start, work) == [0, 1] else 1)
    assert os.waitpid(child, 0)[1] == 0
