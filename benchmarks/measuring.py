"""Timing for benchmarks: tasks run in turns for several rounds, and a ratio is the median over the rounds.

Absolute times differ between machines and over time. Two tasks timed within the same minute give a reliable
ratio.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

__all__ = ["compare", "describe_machine", "measure_seconds", "print_ratios"]

Tasks = Mapping[str, Callable[[], Any]]


def measure_seconds(task: Callable[[], Any]) -> float:
    """Measure the seconds of one call."""
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def compare(tasks: Tasks, rounds: int, *, warm: bool = False) -> dict[str, list[float]]:
    """Time all tasks in turn, round by round.

    With `warm`, each turn starts with a call that is not timed. On virtual machines freed memory returns to
    the host within seconds, and the next task would pay for allocating it again: about 0.2 s per 100 MB here,
    which is negligible for a task of 20 s but not for one of 0.3 s.
    """
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            if warm:
                task()
            seconds[name].append(measure_seconds(task))
    return seconds


def print_ratios(seconds: Mapping[str, list[float]], base: str, required: Mapping[str, float]) -> bool:
    """Print the ratio of each task's time to that of `base`; return whether all required ratios are met."""
    reached = True
    width = max(map(len, seconds)) + 2
    print(f"{'':{width}}{'seconds':>10}{'ratio':>10}{'required':>10}")
    for name, each in seconds.items():
        ratio = median(theirs / ours for theirs, ours in zip(each, seconds[base], strict=True))
        limit = required.get(name)
        print(
            f"{name:{width}}{median(each):>10.4f}{ratio:>10.1f}{'' if limit is None else f'≥ {limit:g}':>10}"
        )
        reached = reached and (limit is None or ratio >= limit)
    return reached


def describe_machine(*packages: str) -> str:
    """Describe the machine and the versions of the packages."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = names[0].split(":")[1].strip() if names else cpu
    versions = ", ".join(f"{package} {version(package)}" for package in ("directranker", *packages))
    return f"{cpu}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}"
