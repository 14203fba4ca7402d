"""How benchmarks measure: works take turns for several rounds, and a ratio is the median over the rounds.

Machines are noisy and a second on one is none on another; two works timed within the same minute tell
how much one is faster than the other.
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

__all__ = ["compare", "machine", "print_ratios", "seconds_of"]

Works = Mapping[str, Callable[[], Any]]


def seconds_of(work: Callable[[], Any]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare(works: Works, rounds: int, *, warm: bool = False) -> dict[str, list[float]]:
    """Time all works in turn, round by round.

    `warm` begins each turn with a call that does not count. On virtual machines memory that was freed goes
    back to the host within seconds, and taking it again would be timed with whoever comes next: some 0.2 s
    per 100 MB here, which is nothing beside 20 s and as much again beside 0.3.
    """
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            if warm:
                work()
            seconds[name].append(seconds_of(work))
    return seconds


def print_ratios(seconds: Mapping[str, list[float]], base: str, required: Mapping[str, float]) -> bool:
    """Print how many times as long as `base` each work takes; whether all required ratios are reached."""
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


def machine(*packages: str) -> str:
    """Where this is measured, and with which versions."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = names[0].split(":")[1].strip() if names else cpu
    versions = ", ".join(f"{package} {version(package)}" for package in ("directranker", *packages))
    return f"{cpu}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}"
